package io.pagewalk.rdma;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.rdma.umem.BlockIterator;
import io.pagewalk.rdma.umem.UmemRegion;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What drivers do with a registered region in their loops allocates nothing. */
class RegionAllocationTest {
    private static final int ROUNDS = 30_000;
    private static final int GOES = 6;
    private static final int PAGE = 0x1000;

    private long sum;

    /** The best of several goes: while the compiler is at work, deoptimised frames bring back objects it had spared. */
    private static long leastBytes(Runnable round) throws ReflectiveOperationException {
        AllocatedBytes allocated = new AllocatedBytes();
        long least = Long.MAX_VALUE;
        for (int go = 0; go < GOES && least >= ROUNDS / 20; go++) {
            least = Math.min(least, allocated.during(ROUNDS, round));
        }
        return least;
    }

    private int countPage(long pageDmaAddr) {
        sum += pageDmaAddr;
        return 0;
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void wrappersPageSizesBlocksAndPagesAllocateNothing(boolean software) throws ReflectiveOperationException {
        Machine machine =
                Machine.builder().ramBytes(16 << 20).chunkBytes(1 << 16).build();
        IbDevice device = software
                ? IbDevice.withoutDmaDevice("rxe0", machine)
                : IbDevice.withDmaDevice("ib0", machine.addDevice(DeviceConfig.named("nic")));
        IbDma dma = device.dma();
        SgTable sg = new SgTable(2).add(0x10_0000, 4 * PAGE).add(0x20_0000, 4 * PAGE);
        UmemRegion region = new UmemRegion(sg, 0x7000_0000L, 8 * PAGE);
        BlockIterator blocks = new BlockIterator();
        SgToPages pages = new SgToPages();
        PageSetter setter = this::countPage;

        long bytes = leastBytes(() -> {
            dma.mapSgTable(sg, DmaDirection.BIDIRECTIONAL, 0);
            long size = region.findBestPgsz(-PAGE, 0x7000_0000L);
            blocks.start(region, size);
            while (blocks.next()) {
                sum += blocks.dmaAddr();
            }
            sum += pages.map(sg, sg.nents(), 0, PAGE, setter);
            sum += region.dmaAddr(0x7000_5000L) + region.physAddr(0x7000_5000L);
            long one = dma.mapPage(0x10_0000, PAGE, DmaDirection.TO_DEVICE);
            dma.syncSingleForDevice(one, PAGE, DmaDirection.TO_DEVICE);
            dma.unmapPage(one, PAGE, DmaDirection.TO_DEVICE);
            dma.unmapSgTable(sg, DmaDirection.BIDIRECTIONAL, 0);
        });

        assertThat(sum).isNotZero();
        assertThat(bytes).as("below 0.05 bytes a round, asking included").isLessThan(ROUNDS / 20);
    }
}
