package io.pagewalk.backends.iommu.mapping;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.Dma;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.FailureReason;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.dma.spi.Metric;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** When hardware is told of an unmap, and what a list that fails leaves behind (iommu:CORE-29, FQ-8, SG-12, SG-19). */
class UnmapOrderTest {
    @Test
    @DisplayName("iommu:CORE-29: a strict unmap has told the hardware of exactly its range when it returns")
    void strictUnmapTellsTheHardwareAtOnce() {
        World world = World.strict();
        long dmaAddr = world.map(0x5010, 0x1ff0);
        world.driver.calls.clear();
        world.unmap(dmaAddr, 0x1ff0);
        long iova = dmaAddr & ~0xfffL;
        assertThat(world.driver.calls).containsExactly(String.format("range 0x%x-0x%x leaf", iova, iova + 0x1fff));
        world.assertNothingIsHeld();
        world.close();
    }

    @Test
    @DisplayName("iommu:FQ-8: a lazy unmap tells the hardware nothing until the queue is flushed as a whole")
    void lazyUnmapTellsTheHardwareLater() {
        World world = World.lazy();
        long dmaAddr = world.map(0x5000, 0x2000);
        world.driver.calls.clear();
        world.unmap(dmaAddr, 0x2000);
        assertThat(world.driver.calls).isEmpty();
        world.backend.quiesce();
        assertThat(world.driver.calls).containsExactly("domain");
        world.assertNothingIsHeld();
        world.close();
    }

    @Test
    @DisplayName("iommu:SG-19: a list whose entry cannot be bounced is -EIO, and what was bounced is not copied back")
    void listThatCannotBeBouncedIsUndoneWithoutACopy() {
        World world = World.untrusted(config -> config);
        SgTable sg = new SgTable(2).add(0x10_0010, 0x100).add(0x20_0010, 0x100);
        sg.setDma(1, 0x77, 0x88);
        world.machine.failures().failNth("swiotlb.slots", 2);
        assertThat(world.ops.mapSg(world.device, 0, sg, 2, DmaDirection.BIDIRECTIONAL, 0))
                .isEqualTo(-Errno.EIO);
        assertThat(sg.dmaAddr(1)).isEqualTo(Dma.DMA_MAPPING_ERROR);
        assertThat(sg.dmaLengthBytes(1)).as("as it was").isEqualTo(0x88);
        assertThat(world.failure().errno()).isEqualTo(Errno.EIO);
        assertThat(world.report())
                .containsEntry(Metric.BYTES_BOUNCED, 0x100L)
                .containsEntry(Metric.POOL_USED_SLOTS, 0L);
        world.assertNothingIsHeld();
        world.close();
    }

    @Test
    @DisplayName("iommu:SG-12: a list that the tables have no page for names the table's error")
    void listWithoutATablePageNamesTheTablesError() {
        World world = World.strict();
        world.table.failNextCall();
        SgTable sg = new SgTable(1).add(0x10_0000, 0x1000);
        assertThat(world.ops.mapSg(world.device, 0, sg, 1, DmaDirection.BIDIRECTIONAL, 0))
                .isNegative();
        assertThat(world.failure().reason()).isEqualTo(FailureReason.TABLE_ERROR);
        assertThat(world.failure().errno()).isEqualTo(Errno.ENOMEM);
        world.assertNothingIsHeld();
        world.close();
    }
}
