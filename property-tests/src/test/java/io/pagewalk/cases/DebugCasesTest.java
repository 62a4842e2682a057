package io.pagewalk.cases;

import static io.pagewalk.cases.Situation.GIB;
import static io.pagewalk.cases.Situation.MASK_32;
import static io.pagewalk.dma.Dma.DMA_MAPPING_ERROR;
import static io.pagewalk.dma.DmaDirection.FROM_DEVICE;
import static io.pagewalk.dma.DmaDirection.TO_DEVICE;
import static io.pagewalk.dma.debug.DmaDebugKind.CACHELINE_EEXIST;
import static io.pagewalk.dma.debug.DmaDebugKind.CACHELINE_EXCEEDED;
import static io.pagewalk.dma.debug.DmaDebugKind.CPU_TOUCHES_MAPPING;
import static io.pagewalk.dma.debug.DmaDebugKind.PAGE_FREED_WHILE_MAPPED;
import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.ArchConfig;
import io.pagewalk.dma.CoherentBuffer;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.Dma;
import io.pagewalk.dma.DmaAttrs;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.DmaRange;
import io.pagewalk.dma.Gfp;
import io.pagewalk.dma.KernelConfig;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.MachineBuilder;
import io.pagewalk.dma.debug.Caller;
import io.pagewalk.dma.debug.DmaCall;
import io.pagewalk.dma.debug.DmaDebug;
import io.pagewalk.dma.debug.DmaDebugKind;
import io.pagewalk.dma.debug.DmaDebugOptions;
import io.pagewalk.dma.debug.DmaDebugProfile;
import io.pagewalk.dma.debug.DmaDebugReport;
import io.pagewalk.dma.debug.KernelStack;
import io.pagewalk.dma.memory.KernelLayout;
import io.pagewalk.dma.memory.RamMap;
import io.pagewalk.dma.memory.Zone;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.dma.spi.Metric;
import io.pagewalk.kit.MachineValidator;
import io.pagewalk.kit.TestMachines;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Situations F, and what dma-debug says in those of A to E. */
@ExtendWith(MachineValidator.class)
class DebugCasesTest {
    private static final long HIGH = 4 * GIB + 0x10_0000;
    private static final int PAGE = 4096;
    private static final KernelLayout LAYOUT = KernelLayout.x86_64();
    private static final String NIC = "DMA-API: e1000 nic: ";

    private static MachineBuilder pc(String backend) {
        return Machine.builder()
                .ram(RamMap.sizedWithHole(8 * GIB))
                .chunkBytes(1 << 16)
                .backend(backend)
                .dmaDebug(DmaDebugOptions.DEFAULT.withAllErrors(true));
    }

    private static Dma nic(Machine machine) {
        return machine.addDevice(DeviceConfig.named("nic").withDriver("e1000")).dma();
    }

    private static DmaDebug debug(Dma dma) {
        return Objects.requireNonNull(dma.device().machine().dmaDebug());
    }

    private static List<DmaDebugKind> kinds(Dma dma) {
        return debug(dma).reports().stream().map(DmaDebugReport::kind).toList();
    }

    private static List<String> texts(Dma dma) {
        return debug(dma).reports().stream().map(DmaDebugReport::kernelText).toList();
    }

    private static long mapChecked(Dma dma, long physAddr, long sizeBytes, DmaDirection direction) {
        long dmaAddr = dma.mapPage(physAddr, sizeBytes, direction, DmaAttrs.NONE);
        return dma.mappingError(dmaAddr) == 0 ? dmaAddr : DMA_MAPPING_ERROR;
    }

    @Test
    @DisplayName("A1: the leak report")
    void aLeakThatDrainedThePoolIsCountedAtDetach(TestMachines machines) {
        Machine machine = machines.start(pc("direct").commandLine("swiotlb=32768"));
        Dma dma = machine.addDevice(DeviceConfig.named("narrow").withMask(MASK_32))
                .dma();
        int maps = 0;
        while (mapChecked(dma, HIGH + maps * (long) PAGE, 4000, FROM_DEVICE) != DMA_MAPPING_ERROR) {
            maps++;
        }
        assertThat(maps).isEqualTo(16384);
        dma.device().unbindDriver();
        assertThat(texts(dma))
                .singleElement()
                .satisfies(text -> assertThat(text)
                        .startsWith(
                                "DMA-API: pci narrow: device driver has pending DMA allocations while released from device [count=16384] One of leaked entries details: [device address=0x")
                        .endsWith("[size=4000 bytes] [mapped with DMA_FROM_DEVICE] [mapped as single]"));
        assertThat(debug(dma).live()).hasSize(16384);
    }

    @Test
    @DisplayName("A3, A4, B1: a map that fails is no mapping, and no leak")
    void whatCouldNotBeMappedIsNeverRecorded(TestMachines machines) {
        Machine bounced = machines.start(pc("direct").commandLine("swiotlb=512,1,force"));
        Dma dma = nic(bounced);
        assertThat(mapChecked(dma, HIGH, 262145, TO_DEVICE)).isEqualTo(DMA_MAPPING_ERROR);
        for (int i = 0; i < 4; i++) {
            assertThat(mapChecked(dma, HIGH + i * 0x10_0000L, 262144, TO_DEVICE))
                    .isNotEqualTo(DMA_MAPPING_ERROR);
        }
        assertThat(mapChecked(dma, HIGH, 2048, TO_DEVICE))
                .as("the pool is full")
                .isEqualTo(DMA_MAPPING_ERROR);
        assertThat(debug(dma).liveCount()).isEqualTo(4);
        Machine shifted = machines.start(pc("direct"));
        Dma behind = shifted.addDevice(DeviceConfig.named("behind")
                        .withMask(MASK_32)
                        .withBusLimit(0x4_ffff_ffffL)
                        .withRanges(new DmaRange(0, 0x4_0000_0000L, 4 * GIB)))
                .dma();
        assertThat(mapChecked(behind, 0x50dc_4000L, 16384, TO_DEVICE)).isEqualTo(DMA_MAPPING_ERROR);
        behind.device().unbindDriver();
        assertThat(debug(behind).liveCount()).isZero();
        assertThat(kinds(behind)).isEmpty();
    }

    @Test
    @DisplayName("B4: a resource that could not be mapped is recorded all the same")
    void aResourceBeyondTheMaskLeavesARecord(TestMachines machines) {
        Machine machine = machines.start(pc("direct"));
        Dma dma = machine.addDevice(DeviceConfig.named("sd").withMask(MASK_32)).dma();
        assertThat(dma.mapResource(0x3f20_2040L, 4, TO_DEVICE, 0)).isEqualTo(0x3f20_2040L);
        dma.mappingError(0x3f20_2040L);
        assertThat(dma.mapResource(0x10_0000_0000L, 4, TO_DEVICE, 0)).isEqualTo(DMA_MAPPING_ERROR);
        assertThat(debug(dma).liveCount()).as("QRK-33").isEqualTo(2);
        dma.unmapResource(0x3f20_2040L, 4, TO_DEVICE, 0);
        assertThat(kinds(dma)).isEmpty();
    }

    @Test
    @DisplayName("B8: the list of leaks")
    void theBufferThatEachLoadLeavesIsNamed(TestMachines machines) {
        Dma dma = nic(machines.start(pc("direct")));
        List<CoherentBuffer> buffers = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            buffers.add(Objects.requireNonNull(dma.memory().allocCoherent(PAGE, Gfp.KERNEL)));
        }
        buffers.subList(0, 4).forEach(CoherentBuffer::close);
        dma.device().unbindDriver();
        assertThat(texts(dma))
                .containsExactly(NIC
                        + "device driver has pending DMA allocations while released from device [count=1] One of leaked entries details: [device address=0x%016x] [size=4096 bytes] [mapped with DMA_BIDIRECTIONAL] [mapped as coherent]"
                                .formatted(buffers.get(4).dmaAddr()));
    }

    @Test
    @DisplayName("C1: unmapped by the wrong count")
    void aMergedListUnmappedByItsSegmentsIsReported(TestMachines machines) {
        Dma dma = nic(machines.start(pc("iommu-strict")));
        SgTable list = new SgTable(3).add(0x10_0000, PAGE).add(0x40_0000, PAGE).add(0x20_0000, PAGE);
        assertThat(dma.mapSg(list, 3, FROM_DEVICE, 0)).isEqualTo(1);
        dma.unmapSg(list, 1, FROM_DEVICE, 0);
        assertThat(texts(dma))
                .containsExactly(NIC
                        + "device driver frees DMA sg list with different entry count [map count=3] [unmap count=1]");
    }

    @Test
    @DisplayName("C3: the text")
    void aSegmentLongerThanTheDeviceClaimsIsReported(TestMachines machines) {
        Machine machine = machines.start(pc("direct"));
        Dma dma = machine.addDevice(
                        DeviceConfig.named("nic").withDriver("e1000").withSegments(65536, 0))
                .dma();
        SgTable list = new SgTable(1).add(0x10_0000, 540672);
        assertThat(dma.mapSg(list, 1, TO_DEVICE, 0)).isEqualTo(1);
        assertThat(texts(dma))
                .containsExactly(
                        NIC + "mapping sg segment longer than device claims to support [len=540672] [max=65536]");
        dma.unmapSg(list, 1, TO_DEVICE, 0);
        assertThat(kinds(dma)).hasSize(1);
    }

    @Test
    @DisplayName("E6: the text")
    void anUnmapOfAnAddressNeverMappedIsReported(TestMachines machines) {
        for (String backend : List.of("direct", "iommu-strict", "iommu-lazy", "virt")) {
            Dma dma = nic(machines.start(pc(backend)));
            dma.unmapPage(0x1234_5000L, 2048, TO_DEVICE, 0);
            assertThat(texts(dma))
                    .containsExactly(
                            NIC
                                    + "device driver tries to free DMA memory it has not allocated [device address=0x0000000012345000] [size=2048 bytes]");
        }
    }

    @Test
    @DisplayName("E14: on every backend")
    void aPageFreedWhileMappedIsReportedWithItsMapping(TestMachines machines) {
        for (String backend : List.of("direct", "swiotlb", "iommu-strict", "virt")) {
            Machine machine = machines.start(
                    pc(backend).dmaDebug(DmaDebugOptions.DEFAULT.withProfile(DmaDebugProfile.EVERYTHING)));
            Dma dma = nic(machine);
            long page = machine.pages().allocPages(Zone.NORMAL, 0);
            long dmaAddr = mapChecked(dma, page, 512, FROM_DEVICE);
            machine.pages().freePages(page, 0);
            assertThat(kinds(dma)).containsExactly(PAGE_FREED_WHILE_MAPPED);
            DmaDebugReport report = debug(dma).reports().get(0);
            assertThat(Objects.requireNonNull(report.mapping()).dmaAddr()).isEqualTo(dmaAddr);
            assertThat(report.kernelText()).startsWith(NIC + "page is freed while a device still maps it");
            dma.unmapPage(dmaAddr, 512, FROM_DEVICE, 0);
        }
    }

    @Test
    @DisplayName("F1")
    void anUnmapOfADifferentSizeIsReported(TestMachines machines) {
        Dma dma = nic(machines.start(pc("direct")));
        long dmaAddr = mapChecked(dma, 0x81f7_f8c2L, 1536, FROM_DEVICE);
        dma.unmapPage(dmaAddr, 42, FROM_DEVICE, 0);
        assertThat(texts(dma))
                .containsExactly(
                        NIC
                                + "device driver frees DMA memory with different size [device address=0x0000000081f7f8c2] [map size=1536 bytes] [unmap size=42 bytes]");
    }

    @Test
    @DisplayName("F1: behind an IOMMU")
    void onlyWholePagesShowInTheAddressesOfAnIommu(TestMachines machines) {
        Situation quiet = Situation.pc(machines, "iommu-strict", "");
        Dma plain = quiet.machine.addDevice(DeviceConfig.named("nic")).dma();
        plain.unmapPage(plain.mapPage(HIGH, 1536, FROM_DEVICE, 0), 42, FROM_DEVICE, 0);
        assertThat(quiet.metric(Metric.IOVA_HELD_BYTES)).as("no leak").isZero();
        Dma dma = nic(machines.start(pc("iommu-strict")));
        dma.unmapPage(mapChecked(dma, HIGH, 1536, FROM_DEVICE), 42, FROM_DEVICE, 0);
        dma.unmapPage(mapChecked(dma, HIGH, 0x3000, FROM_DEVICE), 0x1000, FROM_DEVICE, 0);
        assertThat(kinds(dma)).containsExactly(DmaDebugKind.DIFFERENT_SIZE, DmaDebugKind.DIFFERENT_SIZE);
        assertThat(texts(dma).get(1)).endsWith("[map size=12288 bytes] [unmap size=4096 bytes]");
    }

    @Test
    @DisplayName("F2")
    void anUnmapBesideAMappingIsReportedWithTheMapping(TestMachines machines) {
        Dma dma = nic(machines.start(pc("direct")));
        long dmaAddr = mapChecked(dma, 0x443d_7000L, 2048, TO_DEVICE);
        dma.unmapPage(dmaAddr + 0x40, 2048, TO_DEVICE, 0);
        assertThat(debug(dma).reports().get(0).line())
                .isEqualTo(NIC
                        + "device driver tries to free DMA memory it has not allocated [device address=0x00000000443d7040] [size=2048 bytes]"
                        + "; 64 bytes inside single mapping 0x443d7000+0x800 TO_DEVICE");
    }

    @Test
    @DisplayName("F4")
    void aMappingThatNobodyAskedAboutIsReported(TestMachines machines) {
        Dma dma = nic(machines.start(pc("direct")));
        dma.unmapPage(dma.mapPage(0x10_0000, 64, TO_DEVICE, 0), 64, TO_DEVICE, 0);
        assertThat(texts(dma))
                .containsExactly(
                        NIC
                                + "device driver failed to check map error[device address=0x0000000000100000] [size=64 bytes] [mapped as single]");
    }

    @Test
    @DisplayName("F4: the physical address in place of a mapping")
    void aFallBackToThePhysicalAddressIsNoMapping(TestMachines machines) {
        Machine machine = machines.start(pc("direct").commandLine("swiotlb=noforce"));
        Dma dma = machine.addDevice(DeviceConfig.named("narrow").withMask(MASK_32))
                .dma();
        assertThat(mapChecked(dma, HIGH, 64, TO_DEVICE)).isEqualTo(DMA_MAPPING_ERROR);
        dma.syncSingleForDevice(HIGH, 64, TO_DEVICE);
        dma.unmapPage(HIGH, 64, TO_DEVICE, 0);
        assertThat(kinds(dma)).containsExactly(DmaDebugKind.SYNC_NOT_ALLOCATED, DmaDebugKind.NOT_ALLOCATED);
    }

    @Test
    @DisplayName("F5")
    void buffersOnTheStackAreReported(TestMachines machines) {
        Machine machine = machines.start(pc("direct"));
        Dma dma = nic(machine);
        machine.runOnStack(0, KernelStack.linear(LAYOUT.physToVirt(0x20_0000), 4L * PAGE));
        mapChecked(dma, 0x20_0123, 16, TO_DEVICE);
        machine.runOnStack(0, KernelStack.vmapped(LAYOUT.vmalloc().first(), List.of(0x50_0000L, 0x30_0000L)));
        mapChecked(dma, 0x30_0123, 16, TO_DEVICE);
        assertThat(texts(dma))
                .containsExactly(
                        NIC + "device driver maps memory from stack [addr=0xffff888000200123]",
                        NIC + "device driver maps memory from stack [probable addr=0xffffc90000001123]");
    }

    @Test
    @DisplayName("F6")
    void aVmallocBufferIsRefusedWithoutARecord(TestMachines machines) {
        Machine machine = machines.start(pc("direct"));
        Dma dma = nic(machine);
        assertThat(dma.mapSingle(LAYOUT.vmalloc().first() + 64, 16, TO_DEVICE, 0))
                .isEqualTo(DMA_MAPPING_ERROR);
        assertThat(machine.log().warnCount()).isEqualTo(1);
        assertThat(debug(dma).liveCount()).isZero();
        assertThat(kinds(dma)).isEmpty();
    }

    private static void nineMappings(Dma dma, DmaDirection direction, int attrs) {
        for (int i = 0; i < 9; i++) {
            dma.mappingError(dma.mapPage(0x10_0000 + i, 1, direction, attrs));
        }
    }

    @Test
    @DisplayName("F7")
    void nineMappingsOfOneLineAreReportedFromTheSecondOn(TestMachines machines) {
        Dma dma = nic(machines.start(pc("direct")));
        nineMappings(dma, TO_DEVICE, 0);
        assertThat(kinds(dma)).isEmpty();
        nineMappings(dma, FROM_DEVICE, 0);
        List<DmaDebugKind> wanted = new ArrayList<>(Collections.nCopies(7, CACHELINE_EEXIST));
        wanted.addAll(List.of(CACHELINE_EXCEEDED, CACHELINE_EEXIST));
        assertThat(kinds(dma)).isEqualTo(wanted);
        assertThat(texts(dma).get(0))
                .isEqualTo(NIC + "cacheline tracking EEXIST, overlapping mappings aren't supported");
    }

    @Test
    @DisplayName("F7: who may, and the newer rule")
    void nineMappingsMayShareALineWhereNothingIsCopied(TestMachines machines) {
        Dma skipped = nic(machines.start(pc("direct")));
        nineMappings(skipped, FROM_DEVICE, DmaAttrs.SKIP_CPU_SYNC);
        assertThat(kinds(skipped)).as("only that it counts no further").containsExactly(CACHELINE_EXCEEDED);
        ArchConfig bouncing = ArchConfig.x86().withBouncesUnalignedKmalloc(true);
        KernelConfig kernel = KernelConfig.distribution().withArch(bouncing);
        Dma bounced = nic(machines.start(pc("direct").kernelConfig(kernel)));
        nineMappings(bounced, FROM_DEVICE, 0);
        assertThat(kinds(bounced)).containsExactly(CACHELINE_EXCEEDED);
        Dma without = nic(machines.start(pc("direct").kernelConfig(kernel).commandLine("swiotlb=noforce")));
        nineMappings(without, FROM_DEVICE, 0);
        assertThat(kinds(without)).as("no pool").contains(CACHELINE_EEXIST);
        Dma newer = nic(machines.start(
                pc("direct").dmaDebug(DmaDebugOptions.DEFAULT.withProfile(DmaDebugProfile.COHERENT_PLATFORM))));
        nineMappings(newer, FROM_DEVICE, 0);
        assertThat(kinds(newer)).isEmpty();
    }

    @Test
    @DisplayName("F8")
    void twoSmallObjectsInOneLineAreReported(TestMachines machines) {
        Dma dma = nic(machines.start(pc("direct")));
        mapChecked(dma, 0x10_0000, 8, FROM_DEVICE);
        mapChecked(dma, 0x10_0008, 8, FROM_DEVICE);
        assertThat(kinds(dma)).containsExactly(CACHELINE_EEXIST);
        assertThat(debug(dma).reports().get(0).line())
                .endsWith("; 8 bytes inside single mapping 0x100000+0x8 FROM_DEVICE");
    }

    @Test
    @DisplayName("F9")
    void theCpuTouchingAnActiveMappingIsAnExtraCheck(TestMachines machines) {
        Dma kernel = nic(machines.start(pc("direct")));
        Machine machine =
                machines.start(pc("direct").dmaDebug(DmaDebugOptions.DEFAULT.withProfile(DmaDebugProfile.EVERYTHING)));
        Dma dma = nic(machine);
        DmaCall touch = new DmaCall.CpuTouch(new Caller(null, 0, 0, null, null), 0x10_0020, 4);
        for (Dma each : List.of(kernel, dma)) {
            mapChecked(each, 0x10_0000, 64, FROM_DEVICE);
            debug(each).accept(touch);
        }
        assertThat(kinds(kernel)).as("6.12 does not look").isEmpty();
        assertThat(kinds(dma)).containsExactly(CPU_TOUCHES_MAPPING);
    }

    @Test
    @DisplayName("F11")
    void aFailedProbeLeavesALeak(TestMachines machines) {
        Dma dma = nic(machines.start(pc("iommu-strict")));
        CoherentBuffer ring = Objects.requireNonNull(dma.memory().allocCoherent(6726, Gfp.KERNEL));
        dma.device().unbindDriver();
        assertThat(texts(dma))
                .containsExactly(NIC
                        + "device driver has pending DMA allocations while released from device [count=1] One of leaked entries details: [device address=0x%016x] [size=6726 bytes] [mapped with DMA_BIDIRECTIONAL] [mapped as coherent]"
                                .formatted(ring.dmaAddr()));
    }

    @Test
    @DisplayName("F13")
    void theWrongFunctionAndTheWrongDirectionAreReported(TestMachines machines) {
        Device device = nic(machines.start(pc("direct"))).device();
        Dma dma = device.dma();
        SgTable list = new SgTable(1).add(0x10_0000, 64);
        dma.mapSg(list, 1, TO_DEVICE, 0);
        dma.unmapPage(list.dmaAddr(0), 64, TO_DEVICE, 0);
        dma.unmapPage(mapChecked(dma, 0x20_0000, 64, TO_DEVICE), 64, FROM_DEVICE, 0);
        assertThat(texts(dma))
                .containsExactly(
                        NIC
                                + "device driver frees DMA memory with wrong function [device address=0x0000000000100000] [size=64 bytes] [mapped as scatter-gather] [unmapped as single]",
                        NIC
                                + "device driver frees DMA memory with different direction [device address=0x0000000000200000] [size=64 bytes] [mapped with DMA_TO_DEVICE] [unmapped with DMA_FROM_DEVICE]");
    }
}
