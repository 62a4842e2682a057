package io.pagewalk.cli;

import io.pagewalk.backends.iommu.api.Iommu;
import io.pagewalk.backends.iommu.api.IommuPagingDomain;
import io.pagewalk.backends.iommu.api.IommuProt;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.spi.BackendOptions;
import java.util.Random;
import java.util.function.IntConsumer;

/**
 * A machine with one device behind a domain of random mappings: some pages and runs of pages, some large ones, with all
 * permissions, close together in a few stretches of the address space; one in eight is taken away again.
 */
final class RandomTables implements AutoCloseable {
    private static final long RAM_BYTES = 4L << 30;
    private static final long RAM_PAGES = 3L << 18;
    private static final int REQUESTERS = 0x1_0000;
    private static final int STRETCHES = 12;
    private static final int PAGES_OF_STRETCH = 4 * 512;
    private static final int LARGE_PAGE_SHIFT = 21;
    private static final int LARGE_PAGES = 64;
    private static final int[] PROTS = {IommuProt.READ, IommuProt.WRITE, IommuProt.READ | IommuProt.WRITE};

    private final Random random;
    private final Machine machine;
    private final Device device;
    private final IommuPagingDomain domain;
    private final long[] stretches = new long[STRETCHES];

    RandomTables(int widthBits, Random random) {
        this.random = random;
        machine = Machine.builder()
                .ramBytes(RAM_BYTES)
                .backend("iommu-strict")
                .backendOptions(BackendOptions.NONE.with("iommu.widthBits", widthBits))
                .build();
        device = machine.addDevice(DeviceConfig.named("random").withRequesterId(random.nextInt(REQUESTERS)));
        domain = Iommu.of(machine).allocPagingDomain();
        domain.attach(device);
        for (int i = 0; i < STRETCHES; i++) {
            long stretchBytes = PAGES_OF_STRETCH * Addresses.PAGE_SIZE;
            stretches[i] = random.nextLong() & domain.apertureEnd() & -stretchBytes;
        }
    }

    Machine machine() {
        return machine;
    }

    /** Makes mappings; {@code done} hears how many are. */
    void map(int count, IntConsumer done) {
        for (int made = 1; made <= count; made++) {
            mapOne();
            done.accept(made);
        }
    }

    /** A place that is taken already is left as it is. */
    private void mapOne() {
        long stretch = stretches[random.nextInt(STRETCHES)];
        boolean large = random.nextInt(20) == 0;
        long sizeBytes = large ? 1L << LARGE_PAGE_SHIFT : (1 + random.nextInt(8)) * Addresses.PAGE_SIZE;
        long offset = random.nextInt(PAGES_OF_STRETCH) * Addresses.PAGE_SIZE;
        long iova = Addresses.min(
                stretch + (offset & -(large ? sizeBytes : 1)),
                stretch + PAGES_OF_STRETCH * Addresses.PAGE_SIZE - sizeBytes);
        if (isFree(iova, sizeBytes)) {
            domain.map(iova, physAddr(large), sizeBytes, PROTS[random.nextInt(PROTS.length)]);
            if (random.nextInt(8) == 0) {
                domain.unmap(iova, sizeBytes);
            }
        }
    }

    private boolean isFree(long iova, long sizeBytes) {
        for (long offset = 0; offset < sizeBytes; offset += Addresses.PAGE_SIZE) {
            if (domain.iovaToPhys(iova + offset) != 0) {
                return false;
            }
        }
        return true;
    }

    /** Anywhere in the first 3 GiB but in the first page, whose address would look like "not mapped". */
    private long physAddr(boolean large) {
        return large
                ? (1L + random.nextInt(LARGE_PAGES)) << LARGE_PAGE_SHIFT
                : (1L + Math.floorMod(random.nextLong(), RAM_PAGES - 9)) * Addresses.PAGE_SIZE;
    }

    @Override
    public void close() {
        domain.detach(device);
        domain.close();
        machine.close();
    }
}
