package io.pagewalk.backends.iommu.mapping;

import io.pagewalk.backends.iommu.api.IommuProt;
import io.pagewalk.backends.iommu.api.ReservedRegion;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.memory.PhysRange;
import java.util.ArrayList;
import java.util.List;

/** The reserved regions of devices and groups. Implements iommu:CORE-30, CORE-31, CORE-33, CORE-34. */
final class RegionList {
    private static final int READ_WRITE = IommuProt.READ | IommuProt.WRITE;
    private static final int USB = 0x0c03;
    private static final int DISPLAY_BASE_CLASS = 0x03;
    private static final int ISA_BRIDGE = 0x0601;
    private static final long ISA_BYTES = 16 << 20;
    private static final ReservedRegion MSI = new ReservedRegion(0xfee0_0000L, 0x10_0000L, 0, ReservedRegion.Type.MSI);

    private RegionList() {}

    /** The regions of a device, in the order in which the VT-d driver adds them (iommu:CORE-33). */
    static List<ReservedRegion> of(Device device) {
        List<ReservedRegion> regions = new ArrayList<>();
        int pciClass = device.config().pciClass();
        boolean relaxable = pciClass == USB || pciClass >>> 8 == DISPLAY_BASE_CLASS;
        for (PhysRange region : device.config().firmwareRegions()) {
            ReservedRegion.Type type = relaxable ? ReservedRegion.Type.DIRECT_RELAXABLE : ReservedRegion.Type.DIRECT;
            regions.add(new ReservedRegion(region.first(), region.sizeBytes(), READ_WRITE, type));
        }
        if (pciClass == ISA_BRIDGE) {
            regions.add(new ReservedRegion(0, ISA_BYTES, READ_WRITE, ReservedRegion.Type.DIRECT_RELAXABLE));
        }
        regions.add(MSI);
        return regions;
    }

    /** Says which of a device's regions firmware got wrong; they are used all the same (iommu:CORE-34). */
    static void reportInsane(Device device) {
        for (PhysRange region : device.config().firmwareRegions()) {
            boolean aligned = Addresses.isAligned(region.first() | (region.last() + 1), Addresses.PAGE_SIZE);
            if (!aligned || !Addresses.lessThan(region.first(), region.last())) {
                device.machine()
                        .log()
                        .message(
                                "dmar_parse_one_rmrr",
                                "Your BIOS is broken; bad RMRR " + region + " of " + device.name()
                                        + " (iommu:CORE-34)");
            }
        }
    }

    /** The regions of a group, ordered and merged (iommu:CORE-31). */
    static List<ReservedRegion> ofGroup(List<Device> members) {
        List<ReservedRegion> all = new ArrayList<>();
        members.forEach(member -> of(member).forEach(region -> insert(all, region)));
        return all;
    }

    /** Inserts a region by start, ahead of equals of its type or a later one, and merges its type (iommu:CORE-31). */
    static void insert(List<ReservedRegion> ordered, ReservedRegion region) {
        int at = 0;
        while (at < ordered.size() && isBefore(ordered.get(at), region)) {
            at++;
        }
        ordered.add(at, region);
        merge(ordered, region.type());
    }

    private static boolean isBefore(ReservedRegion there, ReservedRegion region) {
        return there.start() == region.start()
                ? there.type().compareTo(region.type()) < 0
                : Addresses.lessThan(there.start(), region.start());
    }

    private static void merge(List<ReservedRegion> ordered, ReservedRegion.Type type) {
        int previous = -1;
        for (int i = 0; i < ordered.size(); i++) {
            ReservedRegion next = ordered.get(i);
            if (next.type() != type) {
                continue;
            }
            if (previous >= 0
                    && Addresses.lessOrEqual(next.start(), ordered.get(previous).last() + 1)) {
                ordered.set(previous, joined(ordered.get(previous), next));
                ordered.remove(i--);
            } else {
                previous = i;
            }
        }
    }

    private static ReservedRegion joined(ReservedRegion first, ReservedRegion second) {
        long last = Addresses.max(first.last(), second.last());
        return new ReservedRegion(first.start(), last - first.start() + 1, first.prot(), first.type());
    }
}
