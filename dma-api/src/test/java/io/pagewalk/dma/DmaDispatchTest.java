package io.pagewalk.dma;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.fake.FakeBackend;
import io.pagewalk.dma.fake.NamedOps;
import io.pagewalk.dma.fake.World;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.dma.spi.CoherentPages;
import io.pagewalk.dma.spi.DmaOps;
import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Which path a call takes: dma-core:SEL-1 to SEL-5, MSK-2, MSK-3, MSK-8, MSK-9, MSK-11 to MSK-15. */
class DmaDispatchTest {
    /** Also the mask that each path requires. */
    private static final long DIRECT = 0xffffL;

    private static final long IOMMU = 0x7f01L;
    private static final long OWN = 0x3fffL;

    private final List<String> calls = new ArrayList<>();
    private final DmaOps direct = NamedOps.of("direct", DIRECT, calls);
    private final DmaOps iommu = NamedOps.of("iommu", IOMMU, calls);
    private final DmaOps own = NamedOps.of("own", OWN, calls);

    private Device device(boolean behindIommu, KernelConfig kernel, UnaryOperator<DeviceConfig> change) {
        Machine machine = World.builder().kernelConfig(kernel).build();
        FakeBackend backend = FakeBackend.of(machine);
        backend.attached = behindIommu ? iommu : direct;
        backend.direct = direct;
        return machine.addDevice(change.apply(DeviceConfig.named("nic")));
    }

    private Device device(UnaryOperator<DeviceConfig> change) {
        return device(false, KernelConfig.distribution(), change);
    }

    private List<String> everyCall(Device device) {
        return everyStreamingCall(device, everyAllocatingCall(device));
    }

    private List<String> everyAllocatingCall(Device device) {
        calls.clear();
        DmaMemory memory = device.dma().memory();
        memory.allocCoherent(16, 0);
        memory.allocPages(16, DmaDirection.TO_DEVICE, 0);
        memory.noncontiguous().alloc(16, DmaDirection.TO_DEVICE, 0, 0);
        memory.freePages(16, 0x1000, 0x1000, DmaDirection.TO_DEVICE);
        memory.noncontiguous().free(16, new SgTable(1).add(0x1000, 16), DmaDirection.TO_DEVICE);
        memory.canMmap();
        device.dma().requiredMask();
        return calls;
    }

    private List<String> everyStreamingCall(Device device, List<String> into) {
        Dma dma = device.dma();
        SgTable sg = new SgTable(1).add(0x1000, 16);
        dma.mapPage(0x1000, 16, DmaDirection.TO_DEVICE, 0);
        dma.unmapPage(0x1000, 16, DmaDirection.TO_DEVICE, 0);
        dma.mapSg(sg, 1, DmaDirection.TO_DEVICE, 0);
        dma.unmapSg(sg, 1, DmaDirection.TO_DEVICE, 0);
        dma.mapResource(0x1000, 16, DmaDirection.TO_DEVICE, 0);
        dma.unmapResource(0x1000, 16, DmaDirection.TO_DEVICE, 0);
        dma.syncSingleForCpu(0x1000, 16, DmaDirection.TO_DEVICE);
        dma.syncSingleForDevice(0x1000, 16, DmaDirection.TO_DEVICE);
        dma.syncSgForCpu(sg, 1, DmaDirection.TO_DEVICE);
        dma.syncSgForDevice(sg, 1, DmaDirection.TO_DEVICE);
        dma.needSync(0x1000);
        dma.maxMappingSize();
        return into;
    }

    private static final String[] ALLOCATING = {
        "allocCoherent", "allocPages", "allocNoncontiguous", "freePages", "freeNoncontiguous", "canMmap", "requiredMask"
    };
    private static final String[] STREAMING = {
        "mapPage",
        "unmapPage",
        "mapSg",
        "unmapSg",
        "mapResource",
        "unmapResource",
        "syncForCpu",
        "syncForDevice",
        "syncSgForCpu",
        "syncSgForDevice",
        "needsSync",
        "maxMappingSize"
    };

    private static List<String> all(String name, String[]... families) {
        List<String> expected = new ArrayList<>();
        for (String[] family : families) {
            for (String call : family) {
                expected.add(name + " " + call);
            }
        }
        return expected;
    }

    @Test
    @DisplayName("dma-core:SEL-2: no ops, no IOMMU")
    void aDeviceWithoutOperationsGoesDirect() {
        Device device = device(config -> config);

        assertThat(everyCall(device)).containsExactlyElementsOf(all("direct", ALLOCATING, STREAMING));
        assertThat(device.isPciP2pdmaSupported()).isTrue();
    }

    @Test
    @DisplayName("dma-core:SEL-1, SEL-2, SEL-4")
    void aDeviceGoesByItsOwnOperations() {
        Device device = device(config -> config.withDmaOps(own));

        assertThat(everyCall(device)).containsExactlyElementsOf(all("own", ALLOCATING, STREAMING));
    }

    @Test
    @DisplayName("dma-core:SEL-1: none always without ARCH_HAS_DMA_OPS")
    void withoutTheOptionOwnOperationsAreIgnored() {
        KernelConfig kernel = KernelConfig.distribution().withDmaOps(false).withArchDmaOps(own);
        Device device = device(false, kernel, config -> config.withDmaOps(own));

        assertThat(everyCall(device)).containsExactlyElementsOf(all("direct", ALLOCATING, STREAMING));
        assertThat(device.isPciP2pdmaSupported()).isTrue();
    }

    @Test
    @DisplayName("dma-core:SEL-1: else the arch default ops")
    void theArchitecturesOperationsStandInForADevicesOwn() {
        KernelConfig kernel = KernelConfig.distribution().withArchDmaOps(NamedOps.of("arch", 1, calls));

        assertThat(everyCall(device(false, kernel, config -> config)))
                .containsExactlyElementsOf(all("arch", ALLOCATING, STREAMING));
        assertThat(everyCall(device(false, kernel, config -> config.withDmaOps(own))))
                .containsExactlyElementsOf(all("own", ALLOCATING, STREAMING));
    }

    @Test
    @DisplayName("dma-core:SEL-4: the IOMMU is asked before the operations")
    void theIommuComesBeforeOwnOperations() {
        Device device = device(true, KernelConfig.distribution(), config -> config.withDmaOps(own));

        assertThat(everyCall(device)).containsExactlyElementsOf(all("iommu", ALLOCATING, STREAMING));
    }

    @ParameterizedTest
    @CsvSource({
        "0xfffe, 0xfffe, 0, own, own",
        "0xffff, 0xfffe, 0, direct, own",
        "0xfffe, 0xffff, 0, own, direct",
        "0xffff, 0xffff, 0, direct, direct",
        "0xffff, 0xffff, 0xfffe, own, own",
        "0xffff, 0xffff, 0xffff, direct, direct",
        "-1, 0, 0, direct, own",
        "0, -1, 0x10000, direct, direct"
    })
    @DisplayName("dma-core:SEL-2, SEL-3: each family looks at its own mask")
    void theBypassGoesAroundOperationsWhereTheMaskReachesAllMemory(
            String streaming, String coherent, String busLimit, String streamingPath, String allocatingPath) {
        KernelConfig kernel = KernelConfig.distribution().withDmaOpsBypass(true);
        Device device = device(
                false,
                kernel,
                config -> config.withDmaOps(own)
                        .withDmaOpsBypass()
                        .withStreamingMask(Long.decode(streaming))
                        .withCoherentMask(Long.decode(coherent))
                        .withBusLimit(Long.decode(busLimit)));

        everyStreamingCall(device, calls);
        assertThat(without(calls, "direct requiredMask")).containsExactlyElementsOf(all(streamingPath, STREAMING));
        calls.clear();
        device.dma().memory().allocCoherent(16, 0);
        device.dma().memory().canMmap();
        assertThat(without(calls, "direct requiredMask"))
                .containsExactly(allocatingPath + " allocCoherent", allocatingPath + " canMmap");
        assertThat(device.dma().requiredMask()).isEqualTo(allocatingPath.equals("own") ? OWN : DIRECT);
    }

    /** What the bypass itself asks. */
    private static List<String> without(List<String> all, String call) {
        return all.stream().filter(c -> !c.equals(call)).toList();
    }

    @Test
    @DisplayName("dma-core:SEL-2: only if compiled in and asked for")
    void theBypassNeedsTheOptionAndTheDevice() {
        KernelConfig compiledIn = KernelConfig.distribution().withDmaOpsBypass(true);
        assertThat(everyCall(device(false, compiledIn, config -> config.withDmaOps(own))))
                .containsExactlyElementsOf(all("own", ALLOCATING, STREAMING));
        assertThat(everyCall(device(config -> config.withDmaOps(own).withDmaOpsBypass())))
                .containsExactlyElementsOf(all("own", ALLOCATING, STREAMING));
        assertThat(everyCall(device(
                        true, compiledIn, config -> config.withDmaOps(own).withDmaOpsBypass())))
                .as("never direct behind an IOMMU")
                .containsExactlyElementsOf(all("iommu", ALLOCATING, STREAMING));
    }

    /** Goes direct below an end that fits. */
    private static ArchMapDirect upTo(long end) {
        return new ArchMapDirect() {
            @Override
            public boolean mapsPage(Device device, long endPhysAddr) {
                return Long.compareUnsigned(endPhysAddr, end) <= 0;
            }

            @Override
            public boolean unmapsPage(Device device, long endDmaAddr) {
                return Long.compareUnsigned(endDmaAddr, end) <= 0;
            }
        };
    }

    private Device escaping(@Nullable DmaOps ops, boolean behindIommu) {
        KernelConfig kernel = KernelConfig.distribution().withArchMapDirect(upTo(0x2000));
        return device(behindIommu, kernel, config -> config.withDmaOps(ops));
    }

    @Test
    @DisplayName("dma-core:SEL-5")
    void theArchitectureSendsSingleMapsDirect() {
        for (Device device : List.of(escaping(own, false), escaping(null, true))) {
            String otherwise = device.isPciP2pdmaSupported() ? "iommu " : "own ";
            calls.clear();
            device.dma().mapPage(0x1000, 0x1000, DmaDirection.TO_DEVICE, 0);
            device.dma().mapPage(0x1000, 0x1001, DmaDirection.TO_DEVICE, 0);
            device.dma().unmapPage(0x1f00, 0x100, DmaDirection.TO_DEVICE, 0);
            device.dma().unmapPage(0x1f00, 0x101, DmaDirection.TO_DEVICE, 0);
            assertThat(calls)
                    .containsExactly(
                            "direct mapPage", otherwise + "mapPage", "direct unmapPage", otherwise + "unmapPage");
        }
    }

    @Test
    @DisplayName("dma-core:SEL-5: sg likewise; every entry has to fit")
    void theArchitectureSendsListsDirectWhenEveryEntryFits() {
        Device device = escaping(own, false);
        SgTable fits = new SgTable(2).add(0x1800, 0x800).add(0x1000, 0x1000);
        fits.setDma(0, 0x1800, 0x800);
        fits.setDma(1, 0x1000, 0x1000);
        SgTable sticksOut = new SgTable(2).add(0x1000, 0x1000).add(0x1000, 0x1001);
        sticksOut.setDma(0, 0x1000, 0x1000);
        sticksOut.setDma(1, 0x1000, 0x1001);
        for (SgTable sg : List.of(fits, sticksOut)) {
            device.dma().mapSg(sg, 2, DmaDirection.TO_DEVICE, 0);
            device.dma().unmapSg(sg, 2, DmaDirection.TO_DEVICE, 0);
        }
        device.dma().mapSg(sticksOut, 1, DmaDirection.TO_DEVICE, 0);

        assertThat(calls).containsExactly("direct mapSg", "direct unmapSg", "own mapSg", "own unmapSg", "direct mapSg");
    }

    @Test
    @DisplayName("dma-core:SEL-5: not consulted for resource or sync")
    void resourcesAndSyncsNeverEscape() {
        Device device = escaping(own, false);
        Dma dma = device.dma();
        dma.mapResource(0, 16, DmaDirection.TO_DEVICE, 0);
        dma.unmapResource(0, 16, DmaDirection.TO_DEVICE, 0);
        dma.syncSingleForCpu(0, 16, DmaDirection.TO_DEVICE);
        dma.syncSingleForDevice(0, 16, DmaDirection.TO_DEVICE);

        assertThat(calls)
                .containsExactly("own mapResource", "own unmapResource", "own syncForCpu", "own syncForDevice");
    }

    @Test
    @DisplayName("dma-core:MSK-3")
    void operationsBesideAnIommuWarnAndSupportNoMask() {
        Device device = device(true, KernelConfig.distribution(), config -> config.withDmaOps(own));

        assertThat(device.setMask(0xffff_ffffL)).isEqualTo(-5);
        assertThat(device.setCoherentMask(0xffff_ffffL)).isEqualTo(-5);
        assertThat(device.streamingMask()).isEqualTo(-1L);
        assertThat(device.machine().log().warnCount()).isEqualTo(2);
        assertThat(device.machine().log().entries().get(0).text())
                .isEqualTo("nic has operations of its own behind an IOMMU (dma-core:MSK-3)");
        assertThat(calls).isEmpty();
    }

    @Test
    @DisplayName("dma-core:MSK-3: iommu, else ops, else direct; the bypass is not asked")
    void whoServesAMaskIsAsked() {
        KernelConfig kernel = KernelConfig.distribution().withDmaOpsBypass(true).withArchMapDirect(upTo(0));
        device(true, kernel, config -> config).setCoherentMask(1);
        device(false, kernel, config -> config).setCoherentMask(1);
        device(false, kernel, config -> config.withDmaOps(own).withDmaOpsBypass())
                .setCoherentMask(1);

        assertThat(calls).containsExactly("iommu isMaskSupported", "direct isMaskSupported", "own isMaskSupported");
    }

    @Test
    @DisplayName("dma-core:MSK-8: direct by the new streaming mask, else the operations' sync methods")
    void theStoredMaskDecidesWhoIsAskedForSync() {
        KernelConfig kernel = KernelConfig.distribution().withDmaOpsBypass(true);
        Device device = device(
                false,
                kernel,
                config -> config.withDmaOps(own).withDmaOpsBypass().withStreamingMask(0xffL));

        assertThat(device.setMask(0xffff)).isZero();
        assertThat(calls).containsExactly("own isMaskSupported", "direct requiredMask", "direct mayNeedSync");
        calls.clear();
        assertThat(device.setMask(0xfffe)).isZero();
        assertThat(calls).containsExactly("own isMaskSupported", "direct requiredMask", "own mayNeedSync");
    }

    @Test
    @DisplayName("dma-core:MSK-9: false if ops or iommu")
    void operationsAreTrustedToReachAllMemory() {
        KernelConfig kernel = KernelConfig.distribution().withDmaOpsBypass(true);
        Device device = device(false, kernel, config -> config.withDmaOps(own).withDmaOpsBypass());

        assertThat(device.isAddressingLimited()).isFalse();
        assertThat(calls).doesNotContain("direct isAllRamMapped", "own isAllRamMapped");

        Device escaping = escaping(null, false);
        calls.clear();
        assertThat(escaping.isAddressingLimited()).isFalse();
        assertThat(calls).containsExactly("direct requiredMask", "direct isAllRamMapped");
    }

    @Test
    @DisplayName("dma-core:MSK-12, MSK-13: iommu value, else ops value, whatever the bypass")
    void hintsComeFromTheOperationsEvenWhenTheyAreGoneAround() {
        KernelConfig kernel = KernelConfig.distribution().withDmaOpsBypass(true);
        Device around = device(false, kernel, config -> config.withDmaOps(own).withDmaOpsBypass());
        assertThat(around.dma().mergeBoundary()).isEqualTo(OWN);
        assertThat(around.dma().maxMappingSize()).isEqualTo(DIRECT);
        assertThat(around.dma().optMappingSize()).isEqualTo(OWN);

        Device behind = device(true, kernel, config -> config.withDmaOps(own));
        assertThat(behind.dma().mergeBoundary()).isEqualTo(IOMMU);
        assertThat(behind.dma().optMappingSize()).isEqualTo(IOMMU);
    }

    @Test
    @DisplayName("dma-core:MSK-15: ops absent, the bypass not considered")
    void peerToPeerNeedsADeviceWithoutOperations() {
        KernelConfig kernel = KernelConfig.distribution().withDmaOpsBypass(true);

        assertThat(device(false, kernel, config -> config.withDmaOps(own).withDmaOpsBypass())
                        .isPciP2pdmaSupported())
                .isFalse();
        assertThat(device(true, kernel, config -> config).isPciP2pdmaSupported())
                .isTrue();
        assertThat(escaping(null, false).isPciP2pdmaSupported()).isTrue();
    }

    @Test
    @DisplayName("dma-core:SEL-3: mmap and get_sgtable by the coherent mask")
    void memoryIsShownByThePathItCameFrom() {
        DmaOps allocates = new DmaOps() {
            @Override
            public long mapPage(Device d, int cpu, long physAddr, long size, DmaDirection direction, int attrs) {
                return 0;
            }

            @Override
            public void unmapPage(Device d, int cpu, long dmaAddr, long size, DmaDirection direction, int attrs) {}

            @Override
            public int mapSg(Device d, int cpu, SgTable sg, int nents, DmaDirection direction, int attrs) {
                return nents;
            }

            @Override
            public CoherentPages allocCoherent(Device d, int cpu, long size, int gfp, int attrs) {
                return CoherentPages.contiguous(0x4000, size, 0x4000);
            }
        };
        Device device = device(config -> config.withDmaOps(allocates));
        CoherentBuffer buffer = device.dma().alloc(0x1000);

        assertThat(device.dma()
                        .memory()
                        .mmap(new UserVma(1, 0), buffer, 0x1000, 0)
                        .result())
                .as("no mmap operation")
                .isEqualTo(-6);
        assertThat(device.dma().memory().getSgTable(new SgTable(1), buffer, 0x1000, 0))
                .isEqualTo(-6);
        assertThat(device.dma().memory().canMmap()).isFalse();
        buffer.close();
        assertThat(calls).isEmpty();
    }

    @Test
    void theBackendStandsInForADirectPathItDoesNotHave() { // SEL-5
        KernelConfig kernel = KernelConfig.distribution().withArchMapDirect(upTo(-1L));
        World world = World.make(World.builder().kernelConfig(kernel), config -> config.withDmaOps(own));

        world.dma.mapPage(0x1000, 16, DmaDirection.TO_DEVICE, 0);
        assertThat(world.backend.calls).containsExactly("mapPage cpu 0 0x1000+0x10 TO_DEVICE attrs 0x0");
        assertThat(calls).isEmpty();
    }
}
