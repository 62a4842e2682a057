package io.pagewalk.cli;

import io.pagewalk.backends.iommu.api.Iommu;
import io.pagewalk.backends.iommu.api.LeafRun;
import io.pagewalk.dma.Access;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.memory.Addresses;
import java.util.Iterator;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;

/**
 * Where to ask an IOMMU about a device, and what its unit answers: both ends of each run of leaves with their
 * neighbours, places inside, and places anywhere. All are multiples of 8.
 */
final class TableProbes {
    private static final int INSIDE = 2;
    private static final int ANYWHERE = 64;
    private static final long WORD = 8;
    private static final long INTERRUPTS = 0xfee0_0000L;
    private static final long INTERRUPT_BYTES = 0x10_0000L;

    private final Iommu iommu;
    private final Device device;
    private final int widthBits;
    private final Random random;
    private final Set<Long> iovas = new TreeSet<>(Long::compareUnsigned);

    TableProbes(Iommu iommu, Device device, int widthBits, Random random) {
        this.iommu = iommu;
        this.device = device;
        this.widthBits = widthBits;
        this.random = random;
        iommu.domainOf(device).leaves().forEach(this::addRun);
        for (int i = 0; i < ANYWHERE; i++) {
            add(random.nextLong());
        }
        add(0);
        add(Addresses.bitMask(widthBits));
    }

    private void addRun(LeafRun run) {
        add(run.iova());
        add(run.iova() - WORD);
        add(run.iova() + run.sizeBytes() - WORD);
        add(run.iova() + run.sizeBytes());
        for (int i = 0; i < INSIDE; i++) {
            add(run.iova() + Math.floorMod(random.nextLong(), run.sizeBytes()));
        }
    }

    /** Within the width and beside the interrupt range: of what lies there the tables say nothing. */
    private void add(long iova) {
        long probe = iova & Addresses.bitMask(widthBits) & -WORD;
        if (!Addresses.lessThan(probe - INTERRUPTS, INTERRUPT_BYTES)) {
            iovas.add(probe);
        }
    }

    int size() {
        return iovas.size();
    }

    Iterator<Long> iterator() {
        return iovas.iterator();
    }

    /** What the unit answers: a physical address, or -1. */
    long answer(long iova, Access access) {
        return iommu.translate(device, iova, access);
    }
}
