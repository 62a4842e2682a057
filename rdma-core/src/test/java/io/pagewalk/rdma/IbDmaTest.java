package io.pagewalk.rdma;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.FailureReason;
import io.pagewalk.dma.KernelConfig;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.MachineBuilder;
import io.pagewalk.dma.memory.PageAllocator;
import io.pagewalk.dma.memory.Zone;
import io.pagewalk.dma.scatterlist.SgTable;
import java.util.Objects;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** The DMA wrappers of the RDMA core (rdma:DMA-1, DMA-4 to DMA-11, DMA-15 to DMA-17, DMA-19, DMA-20). */
class IbDmaTest {
    private static final long DIRECT_MAP = 0xffff_8880_0000_0000L;
    private static final int PAGE = 0x1000;

    private static MachineBuilder builder(String backend) {
        return Machine.builder().ramBytes(16 << 20).chunkBytes(1 << 16).backend(backend);
    }

    private static IbDevice software() {
        return IbDevice.withoutDmaDevice("rxe0", builder("direct").build());
    }

    private static IbDevice adapter(Machine machine, DeviceConfig config) {
        return IbDevice.withDmaDevice("irdma0", machine.addDevice(config));
    }

    private static IbDevice adapter() {
        return adapter(builder("direct").build(), DeviceConfig.named("nic"));
    }

    private static SgTable list() {
        return new SgTable(2).add(0x10_0200, 0x600).add(0x30_0000, 0x2000);
    }

    // ---- the device

    @Test
    @DisplayName("rdma:DMA-1: a device without a DMA device uses virtual DMA")
    void aDeviceWithoutADmaDeviceUsesVirtualDma() {
        IbDevice software = software();
        IbDevice adapter = adapter();

        assertThat(software.usesVirtDma()).isTrue();
        assertThat(software.dmaDevice()).isNull();
        assertThat(software).hasToString("rxe0");
        assertThat(adapter.usesVirtDma()).isFalse();
        assertThat(Objects.requireNonNull(adapter.dmaDevice()).name()).isEqualTo("nic");
        assertThat(adapter.name()).isEqualTo("irdma0");
        assertThat(adapter.machine())
                .isSameAs(Objects.requireNonNull(adapter.dmaDevice()).machine());
    }

    @Test
    @DisplayName("rdma:DMA-1: where virtual DMA is not built there is no device without a DMA device")
    void withoutVirtualDmaEveryDeviceHasADmaDevice() {
        Machine machine = builder("direct")
                .kernelConfig(KernelConfig.distribution().withInfinibandVirtDma(false))
                .build();

        assertThatThrownBy(() -> IbDevice.withoutDmaDevice("rxe0", machine))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("rxe0 has no DMA device, and the kernel is built without INFINIBAND_VIRT_DMA (rdma:DMA-1)");
        assertThat(adapter(machine, DeviceConfig.named("nic")).usesVirtDma()).isFalse();
    }

    @Test
    void eachCpuHasItsHandle() {
        IbDevice device = software();

        assertThat(device.dma()).isSameAs(device.dma(0)).isNotSameAs(device.dma(1));
        assertThatThrownBy(() -> device.dma(2)).isInstanceOf(IndexOutOfBoundsException.class);
        assertThatThrownBy(() -> IbDevice.withoutDmaDevice(" ", device.machine()))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("an RDMA device needs a name");
    }

    // ---- virtual DMA

    @Test
    @DisplayName("rdma:DMA-4, DMA-6: virtual DMA hands out kernel virtual addresses, and knows no error")
    void virtualDmaHandsOutKernelVirtualAddresses() {
        IbDma dma = software().dma();

        assertThat(dma.mapSingle(DIRECT_MAP + 0x123, 16, DmaDirection.TO_DEVICE))
                .isEqualTo(DIRECT_MAP + 0x123);
        assertThat(dma.mapSingle(0xffff_c900_0000_0000L, 16, DmaDirection.TO_DEVICE))
                .isEqualTo(0xffff_c900_0000_0000L);
        assertThat(dma.mapPage(0x5123, 16, DmaDirection.FROM_DEVICE)).isEqualTo(DIRECT_MAP + 0x5123);
        assertThat(dma.mappingError(IbDma.DMA_MAPPING_ERROR)).isZero();
        assertThat(dma.maxSegmentBytes()).isEqualTo(0xffff_ffffL);
        assertThat(dma.isPciP2pSupported()).isFalse();
        assertThat(dma.lastFailure()).isNull();
        assertThat(IbDma.virtDmaToPtr(DIRECT_MAP + 0x5123)).isEqualTo(DIRECT_MAP + 0x5123);
        assertThat(dma.virtDmaToPage(DIRECT_MAP + 0x5123)).isEqualTo(0x5000);
    }

    @Test
    @DisplayName("rdma:DMA-5: each entry becomes a segment at its kernel virtual address")
    void virtualDmaMapsEachEntry() {
        IbDma dma = software().dma();
        SgTable sg = list();

        assertThat(dma.mapSg(sg, 1, DmaDirection.NONE, 0)).isEqualTo(1);
        assertThat(sg.nents()).isEqualTo(1);
        assertThat(sg.dmaAddr(0)).isEqualTo(DIRECT_MAP + 0x10_0200);
        assertThat(sg.dmaLengthBytes(0)).isEqualTo(0x600);
        assertThat(sg.dmaLengthBytes(1)).isZero();
        assertThat(dma.mapSg(sg, 0, DmaDirection.TO_DEVICE, 0)).isZero();
        assertThatThrownBy(() -> dma.mapSg(sg, 3, DmaDirection.TO_DEVICE, 0))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("3 entries of a list of 2");
        assertThatThrownBy(() -> dma.mapSg(sg, -1, DmaDirection.TO_DEVICE, 0))
                .isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    @DisplayName("rdma:DMA-7: virtual DMA maps a whole table, and an empty one is -EIO with its count kept")
    void virtualDmaMapsAWholeTable() {
        IbDma dma = software().dma();
        SgTable sg = list();
        SgTable empty = new SgTable(1);
        empty.mapped(7);

        assertThat(dma.mapSgTable(sg, DmaDirection.BIDIRECTIONAL, 0)).isZero();
        assertThat(sg.nents()).isEqualTo(2);
        assertThat(sg.dmaAddr(1)).isEqualTo(DIRECT_MAP + 0x30_0000);
        assertThat(dma.mapSgTable(empty, DmaDirection.BIDIRECTIONAL, 0)).isEqualTo(-Errno.EIO);
        assertThat(empty.nents()).isEqualTo(7);
    }

    @Test
    @DisplayName("rdma:DMA-4: unmap and sync of virtual DMA do nothing")
    void virtualDmaHasNothingToUndo() {
        IbDevice device = software();
        IbDma dma = device.dma();
        SgTable sg = list();
        dma.mapSgTable(sg, DmaDirection.BIDIRECTIONAL, 0);

        dma.unmapSgTable(sg, DmaDirection.NONE, 0);
        dma.unmapSg(sg, 2, DmaDirection.NONE, 0);
        dma.unmapPage(DIRECT_MAP, 1, DmaDirection.NONE);
        dma.unmapSingle(DIRECT_MAP, 1, DmaDirection.NONE);
        dma.syncSingleForCpu(DIRECT_MAP, 1, DmaDirection.NONE);
        dma.syncSingleForDevice(DIRECT_MAP, 1, DmaDirection.NONE);
        assertThat(sg.dmaAddr(0)).isEqualTo(DIRECT_MAP + 0x10_0200);
        assertThat(device.machine().log().entries()).isEmpty();
    }

    @Test
    @DisplayName("rdma:DMA-5, DMA-6: the virt backend and virtual DMA give the same addresses")
    void theVirtBackendGivesTheSameAddresses() {
        Machine machine = builder("virt").build();
        Device device = machine.addDevice(DeviceConfig.named("soft"));
        IbDma real = IbDevice.withDmaDevice("soft", device).dma();
        IbDma virtual = IbDevice.withoutDmaDevice("rxe0", machine).dma();
        SgTable first = list();
        SgTable second = list();
        real.mapSgTable(first, DmaDirection.BIDIRECTIONAL, 0);
        virtual.mapSgTable(second, DmaDirection.BIDIRECTIONAL, 0);

        assertThat(virtual.mapPage(0x5123, 16, DmaDirection.TO_DEVICE))
                .isEqualTo(real.mapPage(0x5123, 16, DmaDirection.TO_DEVICE));
        for (int i = 0; i < 2; i++) {
            assertThat(second.dmaAddr(i)).isEqualTo(first.dmaAddr(i));
            assertThat(second.dmaLengthBytes(i)).isEqualTo(first.dmaLengthBytes(i));
        }
    }

    // ---- a real device

    @Test
    @DisplayName("rdma:DMA-8, DMA-15, DMA-19: a real device goes through its DMA API, in the direction given")
    void aRealDeviceGoesThroughItsDmaApi() {
        Machine machine = builder("iommu-strict").build();
        IbDevice device = adapter(machine, DeviceConfig.named("nic"));
        IbDma dma = device.dma(1);
        long physAddr = machine.pages().allocPages(Zone.NORMAL, 0);
        assertThat(physAddr).isNotEqualTo(PageAllocator.NO_PAGE);
        machine.cpuMemory().putLong(physAddr, 0x1234_5678L);
        Device bus = Objects.requireNonNull(device.dmaDevice());

        long readable = dma.mapPage(physAddr, PAGE, DmaDirection.TO_DEVICE);
        assertThat(dma.mappingError(readable)).isZero();
        assertThat(bus.bus().readLong(readable)).isEqualTo(0x1234_5678L);
        assertThat(bus.bus().writeLong(readable, 1)).isZero();
        dma.unmapPage(readable, PAGE, DmaDirection.TO_DEVICE);
        assertThat(bus.bus().readLong(readable)).isEqualTo(-1L);

        long writable = dma.mapSingle(DIRECT_MAP + physAddr, PAGE, DmaDirection.FROM_DEVICE);
        assertThat(bus.bus().writeLong(writable, 77)).isEqualTo(8);
        dma.unmapSingle(writable, PAGE, DmaDirection.FROM_DEVICE);
        assertThat(bus.bus().writeLong(writable, 78)).isZero();
        assertThat(machine.cpuMemory().getLong(physAddr)).isEqualTo(77);
    }

    @Test
    @DisplayName(
            "rdma:DMA-8, DMA-20: a table may have fewer segments than entries behind an IOMMU, until it is unmapped")
    void aTableMayHaveFewerSegmentsThanEntries() {
        Machine machine = builder("iommu-strict").build();
        IbDevice device = adapter(machine, DeviceConfig.named("nic").withSegments(1 << 20, 0));
        IbDma dma = device.dma();
        SgTable sg = new SgTable(2).add(0x10_0000, PAGE).add(0x30_0000, PAGE);

        assertThat(dma.mapSgTable(sg, DmaDirection.BIDIRECTIONAL, 0)).isZero();
        assertThat(sg.nents()).isEqualTo(1);
        assertThat(sg.origNents()).isEqualTo(2);
        assertThat(sg.dmaLengthBytes(0)).isEqualTo(2 * PAGE);
        dma.unmapSgTable(sg, DmaDirection.BIDIRECTIONAL, 0);
        assertThat(dma.mapSg(sg, 2, DmaDirection.BIDIRECTIONAL, 0)).isEqualTo(1);
        dma.unmapSg(sg, 2, DmaDirection.BIDIRECTIONAL, 0);
        assertThat(Objects.requireNonNull(device.dmaDevice()).bus().readLong(sg.dmaAddr(0)))
                .isEqualTo(-1L);
    }

    @Test
    @DisplayName("rdma:DMA-8, DMA-11, DMA-15: what cannot be mapped is an errno, a 0 or an address of all ones")
    void whatCannotBeMappedIsAnError() {
        IbDma dma = adapter(builder("direct").build(), DeviceConfig.named("nic").withMask(0xffff))
                .dma();
        SgTable sg = new SgTable(1).add(0x10_0000, PAGE);
        sg.mapped(9);

        assertThat(dma.mapSgTable(sg, DmaDirection.BIDIRECTIONAL, 0)).isEqualTo(-Errno.EIO);
        assertThat(sg.nents()).isEqualTo(9);
        assertThat(dma.mapSg(sg, 1, DmaDirection.BIDIRECTIONAL, 0)).isZero();
        long failed = dma.mapPage(0x10_0000, PAGE, DmaDirection.TO_DEVICE);
        assertThat(failed).isEqualTo(IbDma.DMA_MAPPING_ERROR);
        assertThat(dma.mappingError(failed)).isEqualTo(-Errno.ENOMEM);
        assertThat(Objects.requireNonNull(dma.lastFailure()).reason()).isEqualTo(FailureReason.MASK_TOO_SMALL);
    }

    @Test
    @DisplayName("rdma:DMA-9: a device without a mask maps a table with success and no segments")
    void aDeviceWithoutAMaskMapsNothingSuccessfully() {
        Machine machine = builder("direct").build();
        IbDma dma = adapter(machine, DeviceConfig.named("nic").withStreamingMask(null))
                .dma();
        SgTable sg = list();

        assertThat(dma.mapSgTable(sg, DmaDirection.BIDIRECTIONAL, 0)).isZero();
        assertThat(sg.nents()).isZero();
        assertThat(machine.log().warnCount()).isEqualTo(1);
    }

    @Test
    @DisplayName("rdma:DMA-10: an empty table is -EIO and WARNed of")
    void anEmptyTableIsAnError() {
        Machine machine = builder("direct").build();
        IbDma dma = adapter(machine, DeviceConfig.named("nic")).dma();

        assertThat(dma.mapSgTable(new SgTable(1), DmaDirection.BIDIRECTIONAL, 0))
                .isEqualTo(-Errno.EIO);
        assertThat(machine.log().warnCount()).isEqualTo(1);
    }

    @Test
    @DisplayName("rdma:DMA-16: the largest segment is the DMA device's, 64 KiB unless it says more")
    void theLargestSegmentIsTheDevices() {
        Machine machine = builder("direct").build();

        assertThat(adapter(machine, DeviceConfig.named("a")).dma().maxSegmentBytes())
                .isEqualTo(65536);
        assertThat(adapter(machine, DeviceConfig.named("b").withSegments(0x8000, 0))
                        .dma()
                        .maxSegmentBytes())
                .isEqualTo(0x8000);
        assertThat(adapter().dma().isPciP2pSupported()).isTrue();
    }

    @Test
    @DisplayName("rdma:DMA-17: a vmalloc address is refused by a real device")
    void aVmallocAddressIsRefused() {
        IbDevice device = adapter();

        assertThat(device.dma().mapSingle(0xffff_c900_0000_0000L, 16, DmaDirection.TO_DEVICE))
                .isEqualTo(IbDma.DMA_MAPPING_ERROR);
        assertThat(device.machine().log().warnCount()).isEqualTo(1);
    }

    @Test
    @DisplayName("rdma:DMA-4: sync reaches the bounce buffer of a real device")
    void syncReachesTheBounceBuffer() {
        Machine machine = Machine.builder()
                .ramBytes(64 << 20)
                .commandLine("swiotlb=2048,force")
                .backend("swiotlb")
                .build();
        IbDevice device = adapter(machine, DeviceConfig.named("nic"));
        Device bus = Objects.requireNonNull(device.dmaDevice());
        long physAddr = machine.pages().allocPages(Zone.NORMAL, 0);
        long dmaAddr = device.dma().mapPage(physAddr, PAGE, DmaDirection.BIDIRECTIONAL);
        assertThat(dmaAddr).isNotEqualTo(physAddr);

        machine.cpuMemory().putLong(physAddr, 5);
        device.dma().syncSingleForDevice(dmaAddr, 8, DmaDirection.BIDIRECTIONAL);
        assertThat(bus.bus().readLong(dmaAddr)).isEqualTo(5);
        bus.bus().writeLong(dmaAddr, 6);
        device.dma().syncSingleForCpu(dmaAddr, 8, DmaDirection.BIDIRECTIONAL);
        assertThat(machine.cpuMemory().getLong(physAddr)).isEqualTo(6);
    }
}
