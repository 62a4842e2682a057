package io.pagewalk.backends.iommu.mapping;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.Dma;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.scatterlist.SgTable;
import java.lang.management.ManagementFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Maps and unmaps allocate nothing once everything has been used once. */
class HotPathAllocationTest {
    private static final int ROUNDS = 20_000;
    private static final long RAM = 0x80_0000;
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    private static double bytesPerRound(Runnable round) {
        return bytesPerRound(5 * ROUNDS, ROUNDS, round);
    }

    /** What escape analysis spares only once compiled does not count: the rounds before are many. */
    private static double bytesPerRound(int roundsBefore, int rounds, Runnable round) {
        for (int i = 0; i < roundsBefore; i++) {
            round.run();
        }
        long before = THREADS.getCurrentThreadAllocatedBytes();
        for (int i = 0; i < rounds; i++) {
            round.run();
        }
        return (double) (THREADS.getCurrentThreadAllocatedBytes() - before) / rounds;
    }

    private static Machine machine(String backend) {
        return Machine.builder().ramBytes(128 << 20).backend(backend).build();
    }

    @ParameterizedTest
    @ValueSource(strings = {"iommu-strict", "iommu-lazy"})
    void mapAndUnmapAllocateNothing(String backend) {
        try (Machine machine = machine(backend)) {
            Dma dma = machine.addDevice(DeviceConfig.named("nic")).dma();
            assertThat(bytesPerRound(() -> {
                        long dmaAddr = dma.mapPage(RAM + 0x123, 0x2000, DmaDirection.BIDIRECTIONAL, 0);
                        dma.unmapPage(dmaAddr, 0x2000, DmaDirection.BIDIRECTIONAL, 0);
                    }))
                    .isLessThan(0.05);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"iommu-strict", "iommu-lazy"})
    void mapSgAndUnmapSgAllocateNothing(String backend) {
        try (Machine machine = machine(backend)) {
            Dma dma = machine.addDevice(DeviceConfig.named("nic")).dma(1);
            SgTable sg =
                    new SgTable(4).add(RAM, 0x1000).add(RAM + 0x8000, 0x1800).add(RAM + 0x20_0000, 0x1000);
            assertThat(bytesPerRound(() -> {
                        dma.mapSg(sg, 3, DmaDirection.TO_DEVICE, 0);
                        dma.unmapSg(sg, 3, DmaDirection.TO_DEVICE, 0);
                    }))
                    .isLessThan(0.05);
        }
    }

    @Test
    void addressesThatGoThroughTheDepotAllocateNothing() {
        try (Machine machine = machine("iommu-strict")) {
            Dma dma = machine.addDevice(DeviceConfig.named("nic")).dma();
            long[] addresses = new long[1024];
            double bytes = bytesPerRound(100, 40, () -> {
                for (int i = 0; i < addresses.length; i++) {
                    addresses[i] = dma.mapPage(RAM, 0x1000, DmaDirection.BIDIRECTIONAL, 0);
                }
                for (long dmaAddr : addresses) {
                    dma.unmapPage(dmaAddr, 0x1000, DmaDirection.BIDIRECTIONAL, 0);
                }
            });
            assertThat(bytes / addresses.length).isLessThan(0.05);
        }
    }
}
