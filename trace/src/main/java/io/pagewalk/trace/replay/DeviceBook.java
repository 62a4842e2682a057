package io.pagewalk.trace.replay;

import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.trace.replay.DeviceInfo.MaskSource;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The devices of a replay: each is added to every machine when the trace first needs it, with what is known of it by
 * then.
 */
final class DeviceBook {
    private static final Pattern PCI_NAME = Pattern.compile("[0-9a-f]{4}:([0-9a-f]{2}):([0-9a-f]{2})\\.([0-7])");
    private static final int MOST_PCI_DEVICE = 31;
    private static final long ALL_BITS = -1L;

    private final MachineSpec spec;
    private final List<BackendRun> runs;
    private final List<String> names = new ArrayList<>();
    private final Map<String, Integer> indexes = new HashMap<>();
    private final Map<String, Long> learned = new HashMap<>();
    private final Set<Integer> requesterIds = new HashSet<>();

    DeviceBook(MachineSpec spec, List<BackendRun> runs) {
        this.spec = spec;
        this.runs = runs;
    }

    /** Takes a mask that the trace tells; the machine file's word counts more. */
    void learn(String name, long mask) {
        learned.put(name, mask);
        Integer index = indexes.get(name);
        if (index != null && specOf(name).mask() == null) {
            for (BackendRun run : runs) {
                run.setMask(index, mask);
            }
        }
    }

    int indexOf(String name) {
        Integer known = indexes.get(name);
        return known == null ? add(name) : known;
    }

    private int add(String name) {
        int index = names.size();
        names.add(name);
        indexes.put(name, index);
        DeviceConfig config = specOf(name)
                .applyTo(DeviceConfig.named(name)
                        .withRequesterId(requesterId(name))
                        .withMask(mask(name)));
        for (BackendRun run : runs) {
            run.addDevice(config);
        }
        return index;
    }

    /** Bus, device and function of a PCI name; of two PCI domains only one can have its own. */
    private int requesterId(String name) {
        Matcher pci = PCI_NAME.matcher(name);
        if (!pci.matches() || Integer.parseInt(pci.group(2), 16) > MOST_PCI_DEVICE) {
            return DeviceConfig.ANY_REQUESTER_ID;
        }
        int id = Integer.parseInt(pci.group(1), 16) << 8
                | Integer.parseInt(pci.group(2), 16) << 3
                | Integer.parseInt(pci.group(3));
        return requesterIds.add(id) ? id : DeviceConfig.ANY_REQUESTER_ID;
    }

    private DeviceSpec specOf(String name) {
        return spec.devices().getOrDefault(name, DeviceSpec.NONE);
    }

    private long mask(String name) {
        Long fromSpec = specOf(name).mask();
        return fromSpec != null ? fromSpec : learned.getOrDefault(name, ALL_BITS);
    }

    List<String> names() {
        return names;
    }

    List<DeviceInfo> infos() {
        return names.stream()
                .map(name -> new DeviceInfo(name, mask(name), source(name)))
                .toList();
    }

    private MaskSource source(String name) {
        if (specOf(name).mask() != null) {
            return MaskSource.MACHINE_FILE;
        }
        return learned.containsKey(name) ? MaskSource.TRACE : MaskSource.ASSUMED;
    }
}
