package io.pagewalk.dma;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Where a PCI function stands: the bridges above it, whether it keeps apart from the other functions of its slot, and
 * the further ids that its requests may carry. Immutable.
 *
 * @param bridge the bridge above it, or null on a root bus
 * @param isolates whether it does not let the other functions of its slot reach it: it has ACS, or is the only one
 * @param aliases further requester ids of the function itself, 0 to 0xffff each
 */
public record PciPlace(@Nullable PciBridge bridge, boolean isolates, List<Integer> aliases) {
    /** On a root bus, by itself, with one id. */
    public static final PciPlace ALONE = new PciPlace(null, true, List.of());

    /**
     * Checks and copies the ids.
     *
     * @throws IllegalArgumentException when one is not 16-bit
     */
    public PciPlace {
        aliases = List.copyOf(aliases);
        for (int alias : aliases) {
            if (alias < 0 || alias > 0xffff) {
                throw new IllegalArgumentException("alias " + alias + " of a device is not 16-bit");
            }
        }
    }

    /**
     * A place below a bridge.
     *
     * @param bridge the bridge
     * @return the place, by itself, with one id
     */
    public static PciPlace below(PciBridge bridge) {
        return new PciPlace(bridge, true, List.of());
    }

    /**
     * The same place of a function that others of its slot can reach.
     *
     * @return a changed copy
     */
    public PciPlace notIsolated() {
        return new PciPlace(bridge, false, aliases);
    }

    /**
     * The same place with further ids of the function itself.
     *
     * @param ids the ids, 0 to 0xffff each
     * @return a changed copy
     */
    public PciPlace withAliases(Integer... ids) {
        return new PciPlace(bridge, isolates, List.of(ids));
    }

    /**
     * All ids under which requests of the device may arrive at an IOMMU, from the device upwards.
     *
     * @param requesterId the device's own id
     * @return its own id first, each id once
     */
    public List<Integer> requesterIds(int requesterId) {
        List<Integer> ids = new ArrayList<>();
        ids.add(requesterId);
        aliases.forEach(alias -> addOnce(ids, alias));
        for (PciBridge above = bridge; above != null; above = above.upstream()) {
            if (above.alias() != PciBridge.KEEPS_IDS) {
                addOnce(ids, above.alias());
            }
        }
        return ids;
    }

    private static void addOnce(List<Integer> ids, int id) {
        if (!ids.contains(id)) {
            ids.add(id);
        }
    }

    /**
     * The id that requests of the device carry where they leave the bus.
     *
     * @param requesterId the device's own id
     * @return the alias of the highest bridge that has one, or the device's own id
     */
    public int carriedId(int requesterId) {
        int carried = requesterId;
        for (PciBridge above = bridge; above != null; above = above.upstream()) {
            carried = above.alias() == PciBridge.KEEPS_IDS ? carried : above.alias();
        }
        return carried;
    }
}
