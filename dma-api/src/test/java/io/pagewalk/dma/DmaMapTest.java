package io.pagewalk.dma;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.events.DmaListener;
import io.pagewalk.dma.fake.World;
import io.pagewalk.dma.memory.KernelLayout;
import io.pagewalk.dma.scatterlist.SgTable;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Single mappings and resources: dma-core:TYP-2 to TYP-7, FE-1 to FE-4, FE-20, FE-21. */
class DmaMapTest {
    /** One entry point of the API, called with a direction. */
    record EntryPoint(String name, Call call) {
        interface Call {
            void with(Dma dma, SgTable list, DmaDirection direction);
        }

        @Override
        public String toString() {
            return name;
        }
    }

    /** All that check the direction on a device that needs sync (TYP-6, FE-41). */
    static Stream<EntryPoint> entryPoints() {
        long virtAddr = KernelLayout.x86_64().physToVirt(0x1000);
        return Stream.of(
                new EntryPoint("mapPage", (dma, list, d) -> dma.mapPage(0x1000, 16, d, 0)),
                new EntryPoint("mapSingle", (dma, list, d) -> dma.mapSingle(virtAddr, 16, d, 0)),
                new EntryPoint("map", (dma, list, d) -> dma.map(0x1000, 16, d)),
                new EntryPoint("unmapPage", (dma, list, d) -> dma.unmapPage(0x1000, 16, d, 0)),
                new EntryPoint("mapSg", (dma, list, d) -> dma.mapSg(list, 1, d, 0)),
                new EntryPoint("mapSgTable", (dma, list, d) -> dma.mapSgTable(list, d, 0)),
                new EntryPoint("unmapSg", (dma, list, d) -> dma.unmapSg(list, 1, d, 0)),
                new EntryPoint("unmapSgTable", (dma, list, d) -> dma.unmapSgTable(list, d, 0)),
                new EntryPoint("mapResource", (dma, list, d) -> dma.mapResource(0xfe00_0000L, 16, d, 0)),
                new EntryPoint("unmapResource", (dma, list, d) -> dma.unmapResource(0xfe00_0000L, 16, d, 0)),
                new EntryPoint("syncSingleForCpu", (dma, list, d) -> dma.syncSingleForCpu(0x1000, 16, d)),
                new EntryPoint("syncSingleForDevice", (dma, list, d) -> dma.syncSingleForDevice(0x1000, 16, d)),
                new EntryPoint("syncSgForCpu", (dma, list, d) -> dma.syncSgForCpu(list, 1, d)),
                new EntryPoint("syncSgForDevice", (dma, list, d) -> dma.syncSgForDevice(list, 1, d)),
                new EntryPoint("syncSgTableForCpu", (dma, list, d) -> dma.syncSgTableForCpu(list, d)),
                new EntryPoint("syncSgTableForDevice", (dma, list, d) -> dma.syncSgTableForDevice(list, d)));
    }

    @ParameterizedTest
    @MethodSource("entryPoints")
    void theDirectionNoneIsABugAndReachesNoBackend(EntryPoint entry) {
        World world = World.make();
        SgTable list = new SgTable(1).add(0x1000, 16);

        assertThatThrownBy(() -> entry.call().with(world.dma, list, DmaDirection.NONE))
                .isInstanceOf(KernelBugException.class)
                .hasMessageContaining("NONE")
                .hasMessageContaining("TYP-6");
        assertThat(world.backend.calls).isEmpty();
        assertThat(world.machine.log().warnCount()).isZero();
    }

    /** Architecture rule 5: what is invalid in Java throws and changes nothing. */
    @ParameterizedTest
    @MethodSource("entryPoints")
    @SuppressWarnings("NullAway")
    void aNullDirectionIsRefusedAndReachesNoBackend(EntryPoint entry) {
        World world = World.make();
        SgTable list = new SgTable(1).add(0x1000, 16);

        assertThatThrownBy(() -> entry.call().with(world.dma, list, null)).isInstanceOf(NullPointerException.class);
        assertThat(world.backend.calls).isEmpty();
    }

    @ParameterizedTest
    @MethodSource("entryPoints")
    void theDirectionIsCheckedBeforeTheMask(EntryPoint entry) { // FE-1, FE-10, FE-20
        World world = World.make(config -> config.withStreamingMask(null));
        SgTable list = new SgTable(1).add(0x1000, 16);

        assertThatThrownBy(() -> entry.call().with(world.dma, list, DmaDirection.NONE))
                .isInstanceOf(KernelBugException.class);
        assertThat(world.machine.log().warnCount()).isZero();
    }

    @Test
    void numbersOfDirectionsAreTheKernels() { // TYP-5
        assertThat(DmaDirection.values())
                .containsExactly(
                        DmaDirection.BIDIRECTIONAL,
                        DmaDirection.TO_DEVICE,
                        DmaDirection.FROM_DEVICE,
                        DmaDirection.NONE);
    }

    @Test
    void sizeAndAttributesArePassedOnUnchecked() { // FE-2, ATTR-9, ATTR-10
        World world = World.make();
        world.dma.mapPage(0x1234, 0, DmaDirection.TO_DEVICE, 0x7fff_ffff);
        world.dma.mapPage(-0x1000L, -1L, DmaDirection.FROM_DEVICE, 0);

        assertThat(world.backend.calls)
                .containsExactly(
                        "mapPage cpu 0 0x1234+0x0 TO_DEVICE attrs 0x7fffffff",
                        "mapPage cpu 0 0xfffffffffffff000+0xffffffffffffffff FROM_DEVICE attrs 0x0");
    }

    @Test
    void aMapReturnsWhatTheBackendReturns() {
        World world = World.make();
        world.backend.onMap = physAddr -> physAddr + 0xf000_0000_0000_0000L;

        assertThat(world.dma.mapPage(0x1000, 16, DmaDirection.BIDIRECTIONAL, 0)).isEqualTo(0xf000_0000_0000_1000L);
        world.backend.onMap = physAddr -> 0;
        assertThat(world.dma.mapPage(0x1000, 16, DmaDirection.BIDIRECTIONAL, 0)).isZero();
    }

    @Test
    void onlyAllOnesIsAMappingError() { // TYP-2, TYP-3
        Dma dma = World.make().dma;

        assertThat(dma.mappingError(Dma.DMA_MAPPING_ERROR)).isEqualTo(-12);
        assertThat(dma.mappingError(-1L)).isEqualTo(-12);
        assertThat(dma.mappingError(0)).isZero();
        assertThat(dma.mappingError(-2L)).isZero();
        assertThat(dma.mappingError(0xffff_ffffL)).isZero();
    }

    @Test
    void withoutAMaskEachMapFailsAndEachPlaceWarnsOnce() { // FE-1, FE-20; situation B7
        World world = World.make(config -> config.withStreamingMask(null));

        assertThat(world.dma.mapPage(0x1000, 16, DmaDirection.TO_DEVICE, 0)).isEqualTo(-1L);
        assertThat(world.dma.mapPage(0x1000, 16, DmaDirection.TO_DEVICE, 0)).isEqualTo(-1L);
        assertThat(world.dma.mapResource(0x1000, 16, DmaDirection.TO_DEVICE, 0)).isEqualTo(-1L);
        assertThat(world.dma.mapSingle(world.machine.layout().physToVirt(0x1000), 16, DmaDirection.TO_DEVICE, 0))
                .isEqualTo(-1L);

        assertThat(world.machine.log().warnCount()).isEqualTo(2);
        assertThat(world.machine.log().count("dma_map_page")).isEqualTo(3);
        assertThat(world.machine.log().count("dma_map_resource")).isEqualTo(1);
        assertThat(world.machine.log().entries()).allSatisfy(entry -> {
            assertThat(entry.kind()).isEqualTo(KernelLog.Kind.WARN);
            assertThat(entry.text()).contains("nic").contains("FE-1");
        });
        assertThat(world.backend.calls).isEmpty();
        assertThat(world.dma.lastFailure().reason()).isEqualTo(FailureReason.NO_MASK);
    }

    @Test
    void aMaskOfZeroIsAMask() { // DEV-1: only a null pointer is no mask
        World world = World.make(config -> config.withStreamingMask(0L));

        assertThat(world.dma.mapPage(0x1000, 16, DmaDirection.TO_DEVICE, 0)).isEqualTo(0x1000);
        assertThat(world.machine.log().warnCount()).isZero();
    }

    @Test
    void aMissingMaskFailsWithItsCauseEvenWhenWarningsAreFatal() { // architecture rule 5
        World world = World.make(config -> config.withStreamingMask(null));
        world.machine.log().warnsAreFatal(true);

        assertThatThrownBy(() -> world.dma.mapPage(0x1000, 16, DmaDirection.TO_DEVICE, 0))
                .isInstanceOf(KernelWarnException.class);
        assertThat(world.dma.lastFailure().reason()).isEqualTo(FailureReason.NO_MASK);
    }

    @Test
    void aDirectMapPointerIsMappedByItsPhysicalAddress() { // FE-3
        World world = World.make();
        world.dma.mapSingle(0xffff_8880_0000_1234L, 0x20, DmaDirection.TO_DEVICE, 4);

        assertThat(world.backend.calls).containsExactly("mapPage cpu 0 0x1234+0x20 TO_DEVICE attrs 0x4");
    }

    @Test
    void aVmallocPointerIsRefusedEachTimeWithOneWarn() { // FE-3
        World world = World.make();
        for (long virtAddr : new long[] {0xffff_c900_0000_0000L, 0xffff_e8ff_ffff_ffffL}) {
            assertThat(world.dma.mapSingle(virtAddr, 16, DmaDirection.TO_DEVICE, 0))
                    .isEqualTo(-1L);
        }

        assertThat(world.machine.log().warnCount()).isEqualTo(1);
        assertThat(world.machine.log().count("dma_map_single")).isEqualTo(2);
        assertThat(world.machine.log().entries().get(0).text()).contains("0xffffc90000000000");
        assertThat(world.backend.calls).isEmpty();
        assertThat(world.dma.lastFailure().toString())
                .isEqualTo("VMALLOC_ADDRESS: virtual address 0xffffe8ffffffffff "
                        + "(EINVAL; map page by page, or use memory of the direct map)");
    }

    @Test
    void aVmallocPointerIsRefusedBeforeDirectionAndMaskAreLookedAt() { // FE-3: otherwise FE-1
        World world = World.make(config -> config.withStreamingMask(null));

        assertThat(world.dma.mapSingle(0xffff_c900_0000_1000L, 16, DmaDirection.NONE, 0))
                .isEqualTo(-1L);
        assertThat(world.dma.lastFailure().reason()).isEqualTo(FailureReason.VMALLOC_ADDRESS);
    }

    @Test
    void anUnmapAsksForNoMaskAndGoesOnWhateverItIsGiven() { // FE-4, FE-21
        World world = World.make(config -> config.withStreamingMask(null));
        world.dma.unmapPage(-1L, 0, DmaDirection.TO_DEVICE, DmaAttrs.SKIP_CPU_SYNC);
        world.dma.unmapResource(0xfe00_0000L, 16, DmaDirection.TO_DEVICE, 0);

        assertThat(world.backend.calls)
                .containsExactly(
                        "unmapPage cpu 0 0xffffffffffffffff+0x0 TO_DEVICE attrs 0x20",
                        "unmapResource cpu 0 0xfe000000+0x10 TO_DEVICE attrs 0x0");
        assertThat(world.machine.log().warnCount()).isZero();
    }

    @Test
    void aResourceThatCannotBeMappedFailsWithoutAWarnOfTheFrontEnd() { // FE-20
        World world = World.make();
        world.backend.onMapResource = physAddr -> Dma.DMA_MAPPING_ERROR;

        assertThat(world.dma.mapResource(0xfe00_0000L, 0x1000, DmaDirection.BIDIRECTIONAL, 0))
                .isEqualTo(-1L);
        assertThat(world.machine.log().warnCount()).isZero();
        assertThat(world.backend.calls).containsExactly("mapResource cpu 0 0xfe000000+0x1000 BIDIRECTIONAL attrs 0x0");
    }

    @Test
    void eachCpuHasItsOwnHandleAndItsOwnLatestFailure() {
        World world = World.make();
        world.backend.onMap = physAddr -> Dma.DMA_MAPPING_ERROR;
        world.backend.cause = slot -> slot.record(FailureReason.NO_IOVA, Errno.ENOMEM, 1, 0xffff, 0, 0);
        world.device.dma(1).mapPage(0x1000, 16, DmaDirection.TO_DEVICE, 0);

        assertThat(world.backend.calls).containsExactly("mapPage cpu 1 0x1000+0x10 TO_DEVICE attrs 0x0");
        assertThat(world.device.dma(1).lastFailure().reason()).isEqualTo(FailureReason.NO_IOVA);
        assertThat(world.device.dma().lastFailure().reason()).isEqualTo(FailureReason.UNSPECIFIED);
        assertThat(world.device.dma(0)).isSameAs(world.device.dma());
        assertThatThrownBy(() -> world.device.dma(2))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("CPU 2 of a machine with 2");
    }

    @Test
    void aListenerIsToldAfterAMapWhateverCameOfItAndBeforeAnUnmap() { // FE-1, FE-20 with DBG-13
        List<String> calls = new ArrayList<>();
        World world = World.make(World.builder().listener(clock -> new DmaListener() {
            @Override
            public void mappedPage(
                    Device device,
                    int cpu,
                    long physAddr,
                    long sizeBytes,
                    DmaDirection direction,
                    int attrs,
                    long dmaAddr) {
                calls.add("mapped " + dmaAddr);
            }

            @Override
            public void unmappingPage(Device device, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction) {
                calls.add("unmapping " + dmaAddr);
            }
        }));
        world.backend.onMap = physAddr -> {
            calls.add("map");
            return physAddr == 0 ? -1L : physAddr;
        };
        world.backend.onMapResource = physAddr -> -1L;
        world.dma.mapPage(16, 16, DmaDirection.TO_DEVICE, 0);
        world.dma.mapPage(0, 16, DmaDirection.TO_DEVICE, 0);
        world.dma.mapResource(16, 16, DmaDirection.TO_DEVICE, 0);
        world.dma.unmapPage(16, 16, DmaDirection.TO_DEVICE, 0);

        assertThat(calls).containsExactly("map", "mapped 16", "map", "mapped -1", "mapped -1", "unmapping 16");
    }

    @Test
    void aListenerHearsNothingOfADeviceWithoutAMask() { // FE-1: no record
        List<String> calls = new ArrayList<>();
        Machine machine = World.builder()
                .listener(clock -> new DmaListener() {
                    @Override
                    public void mappedPage(
                            Device device,
                            int cpu,
                            long physAddr,
                            long sizeBytes,
                            DmaDirection direction,
                            int attrs,
                            long dmaAddr) {
                        calls.add("mapped");
                    }
                })
                .build();
        Device device = machine.addDevice(DeviceConfig.named("child").withStreamingMask(null));
        device.dma().mapPage(0x1000, 16, DmaDirection.TO_DEVICE, 0);
        device.dma().mapResource(0x1000, 16, DmaDirection.TO_DEVICE, 0);

        assertThat(calls).isEmpty();
    }
}
