package io.pagewalk.backends.virt;

import static io.pagewalk.dma.DmaDirection.BIDIRECTIONAL;
import static io.pagewalk.dma.DmaDirection.FROM_DEVICE;
import static io.pagewalk.dma.DmaDirection.TO_DEVICE;
import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.backends.AllocatedBytes;
import io.pagewalk.dma.CoherentBuffer;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.Dma;
import io.pagewalk.dma.DmaAttrs;
import io.pagewalk.dma.FailureReason;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.PhysRange;
import io.pagewalk.dma.memory.RamMap;
import io.pagewalk.dma.scatterlist.SgTable;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** rdma:DMA-4 to DMA-6, DMA-18. */
class VirtOpsTest {
    private static final long DIRECT_MAP = 0xffff_8880_0000_0000L;

    private final Machine machine = Machine.builder()
            .ram(RamMap.of(PhysRange.ofSize(0, 64 << 20)))
            .chunkBytes(1 << 16)
            .backend("virt")
            .build();
    private final Device device =
            machine.addDevice(DeviceConfig.named("rxe0").withMask(0xffff).withAddressBits(16));
    private final Dma dma = device.dma();

    @Test
    @DisplayName("DMA-4, DMA-6")
    void addressIsTheKernelsOwnWhateverMaskAndWires() {
        long dmaAddr = dma.mapPage(0x12_3456, 0x100, BIDIRECTIONAL, 0);
        assertThat(dmaAddr).isEqualTo(DIRECT_MAP + 0x12_3456);
        assertThat(dma.mapSingle(dmaAddr, 0x100, BIDIRECTIONAL, 0)).isEqualTo(dmaAddr);
        assertThat(dma.mapResource(0xf000_0000L, 4, TO_DEVICE, 0)).isEqualTo(DIRECT_MAP + 0xf000_0000L);
        dma.unmapResource(DIRECT_MAP + 0xf000_0000L, 4, TO_DEVICE, 0);
        assertThat(device.bus().writeLong(dmaAddr, 5)).isEqualTo(8);
        assertThat(machine.cpuMemory().getLong(0x12_3456)).isEqualTo(5);
        dma.syncSingleForCpu(dmaAddr, 8, BIDIRECTIONAL);
        dma.syncSingleForDevice(dmaAddr, 8, BIDIRECTIONAL);
        dma.unmapPage(dmaAddr, 0x100, BIDIRECTIONAL, DmaAttrs.NONE);
        assertThat(machine.cpuMemory().getLong(0x12_3456)).isEqualTo(5);
    }

    @Test
    @DisplayName("DMA-5")
    void listIsMappedOneToOne() {
        SgTable sg = new SgTable(2).add(0x5000, 0x200, 0x30).add(0x9000, 0x1000);
        assertThat(dma.mapSg(sg, 2, FROM_DEVICE, 0)).isEqualTo(2);
        assertThat(sg.dmaAddr(0)).isEqualTo(DIRECT_MAP + 0x5200);
        assertThat(sg.dmaLengthBytes(0)).isEqualTo(0x30);
        assertThat(sg.dmaAddr(1)).isEqualTo(DIRECT_MAP + 0x9000);
        dma.syncSgForCpu(sg, 2, FROM_DEVICE);
        dma.syncSgForDevice(sg, 2, FROM_DEVICE);
        dma.unmapSg(sg, 2, FROM_DEVICE, 0);
    }

    @Test
    void onlyPointersIntoTheDirectMapReachMemory() {
        assertThat(device.bus().readLong(0x5000)).isEqualTo(-1L);
        assertThat(device.bus().readLong(0xffff_c900_0000_0000L)).isEqualTo(-1L);
        assertThat(device.bus().readLong(DIRECT_MAP + (64 << 20))).isEqualTo(-1L);
        assertThat(machine.faults().count()).isEqualTo(3);
        VirtPort port = new VirtPort(machine.layout());
        assertThat(port.faultText(VirtPort.NOT_DIRECT_MAP)).contains("direct map");
        assertThat(port.faultText(9)).isEqualTo("fault 9");
        assertThat(port.onWires()).isFalse();
    }

    @Test
    void accessesCrossPagesAndChunks() {
        byte[] bytes = new byte[0x3_0000];
        java.util.Arrays.fill(bytes, (byte) 3);
        assertThat(device.bus().write(DIRECT_MAP + 0x1_fff0, bytes, 0, bytes.length))
                .isEqualTo(bytes.length);
        assertThat(machine.cpuMemory().getByte(0x1_fff0 + 0x2_ffffL)).isEqualTo((byte) 3);
    }

    @Test
    @DisplayName("DMA-18")
    void coherentMemoryIsPlainPages() {
        try (CoherentBuffer buffer = dma.alloc(0x1800)) {
            assertThat(buffer.dmaAddr()).isEqualTo(DIRECT_MAP + buffer.physAddr(0));
            assertThat(held()).containsExactly("coherent allocations of 2 pages were not freed");
            device.bus().writeLong(buffer.dmaAddr() + 0x1000, 9);
            assertThat(buffer.getLong(0x1000)).isEqualTo(9);
        }
        assertThat(held()).isEmpty();
        machine.failures().failNth("virt.pages", 1);
        assertThat(dma.allocCoherent(0x1000, 0)).isNull();
        assertThat(dma.lastFailure().reason()).isEqualTo(FailureReason.INJECTED);
        assertThat(dma.allocCoherent(0, 0)).isNull();
    }

    private List<String> held() {
        List<String> held = new ArrayList<>();
        machine.checkStructure(held::add);
        machine.checkIdle(held::add);
        return held;
    }

    @Test
    void nothingLimitsAndNothingNeedsSync() {
        assertThat(device.setMask(1)).isZero();
        assertThat(device.skipsSync()).isTrue();
        assertThat(dma.maxMappingSize()).isEqualTo(-1L);
        assertThat(dma.requiredMask()).isEqualTo(-1L);
        machine.report((metric, value) -> assertThat(metric).isNull());
    }

    @Test
    void hotPathsAllocateNothing() throws ReflectiveOperationException {
        SgTable sg = new SgTable(2).add(0x5000, 0x30).add(0x9000, 0x1000);
        long bytes = new AllocatedBytes().during(10_000, () -> {
            dma.unmapPage(dma.mapPage(0x5000, 0x100, TO_DEVICE, 0), 0x100, TO_DEVICE, 0);
            dma.mapSg(sg, 2, TO_DEVICE, 0);
            dma.unmapSg(sg, 2, TO_DEVICE, 0);
        });
        assertThat(bytes / 10_000.0).isLessThan(0.2);
    }
}
