package io.pagewalk.dma.debug;

import static io.pagewalk.dma.DmaDirection.BIDIRECTIONAL;
import static io.pagewalk.dma.DmaDirection.FROM_DEVICE;
import static io.pagewalk.dma.DmaDirection.TO_DEVICE;
import static io.pagewalk.dma.debug.DmaDebugKind.CPU_TOUCHES_MAPPING;
import static io.pagewalk.dma.debug.DmaDebugKind.DIFFERENT_CPU_ADDRESS;
import static io.pagewalk.dma.debug.DmaDebugKind.DIFFERENT_SIZE;
import static io.pagewalk.dma.debug.DmaDebugKind.INVALID_AREA;
import static io.pagewalk.dma.debug.DmaDebugKind.KERNEL_TEXT;
import static io.pagewalk.dma.debug.DmaDebugKind.LEAK;
import static io.pagewalk.dma.debug.DmaDebugKind.MAP_ERROR_NOT_CHECKED;
import static io.pagewalk.dma.debug.DmaDebugKind.NOT_ALLOCATED;
import static io.pagewalk.dma.debug.DmaDebugKind.PAGE_FREED_WHILE_MAPPED;
import static io.pagewalk.dma.debug.DmaDebugKind.STACK;
import static io.pagewalk.dma.debug.DmaDebugKind.SYNC_NOT_ALLOCATED;
import static io.pagewalk.dma.debug.DmaDebugKind.VMALLOC_AREA;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.CoherentBuffer;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.Dma;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.DmaMapping;
import io.pagewalk.dma.Gfp;
import io.pagewalk.dma.KernelConfig;
import io.pagewalk.dma.KernelWarnException;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.MachineBuilder;
import io.pagewalk.dma.events.DmaListener;
import io.pagewalk.dma.fake.World;
import io.pagewalk.dma.memory.KernelLayout;
import io.pagewalk.dma.memory.KernelMemory;
import io.pagewalk.dma.memory.VirtRange;
import io.pagewalk.dma.memory.Zone;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.dma.spi.CoherentPages;
import io.pagewalk.dma.spi.DmaPages;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Calls of a machine as dma-debug hears them. */
class LiveCallsTest {
    private static final KernelLayout LAYOUT = KernelLayout.x86_64();

    private static World world(DmaDebugOptions options) {
        return World.make(World.builder().dmaDebug(options), config -> config.withDriver("e1000"));
    }

    private static World world() {
        return world(DmaDebugOptions.DEFAULT);
    }

    private static DmaDebug debug(World world) {
        return debug(world.machine);
    }

    private static DmaDebug debug(Machine machine) {
        return Objects.requireNonNull(machine.dmaDebug());
    }

    private static List<DmaDebugKind> kinds(World world) {
        return debug(world).reports().stream().map(DmaDebugReport::kind).toList();
    }

    @Test
    void withoutBeingAskedForThereIsNone() {
        World world = World.make();
        assertThat(world.machine.dmaDebug()).isNull();
        assertThat(world.machine.listener()).isNull();
        world.machine.runOnStack(0, KernelStack.linear(0, 1));
        world.device.unbindDriver();
        assertThat(world.machine.kernelConfig().dmaApiDebug()).isFalse();
    }

    @Test
    @DisplayName("FE-1, FE-4, DBG-11: recorded with the buffer's own address")
    void aBufferIsRecordedAndForgotten() {
        World world = world();
        world.backend.onMap = physAddr -> physAddr + 0x10_0000;
        long dmaAddr = world.dma.mapPage(0x1000, 0x20, FROM_DEVICE, 0);
        assertThat(world.dma.mappingError(dmaAddr)).isZero();
        assertThat(debug(world).live()).singleElement().satisfies(m -> {
            assertThat(m.device()).isEqualTo(new DebugDevice("nic", "e1000", "pci"));
            assertThat(m.dmaAddr()).isEqualTo(0x10_1000);
            assertThat(m.physAddr()).isEqualTo(0x1000);
        });
        world.dma.syncSingleForCpu(dmaAddr, 0x20, FROM_DEVICE);
        world.dma.syncSingleRangeForDevice(dmaAddr, 0x10, 0x10, FROM_DEVICE);
        world.dma.unmapPage(dmaAddr, 0x20, FROM_DEVICE, 0);
        assertThat(debug(world).liveCount()).isZero();
        assertThat(kinds(world)).isEmpty();
        assertThat(debug(world).calls()).isEqualTo(5);
    }

    @Test
    @DisplayName("FE-4, FE-15, FE-53: looked at after the unmap of a buffer, before that of a list and before a free")
    void theMomentIsTheKernels() {
        MachineBuilder builder = World.builder().dmaDebug(DmaDebugOptions.DEFAULT.withAllErrors(true));
        World world = World.make(builder);
        world.machine.log().warnsAreFatal(true);
        assertThatThrownBy(() -> world.dma.unmapPage(0x1000, 8, TO_DEVICE, 0))
                .isInstanceOf(KernelWarnException.class)
                .hasMessageContaining("tries to free DMA memory it has not allocated");
        assertThat(world.backend.calls).hasSize(1).allMatch(c -> c.startsWith("unmapPage"));
        SgTable list = new SgTable(1).add(0x1000, 8);
        assertThatThrownBy(() -> world.dma.unmapSg(list, 1, TO_DEVICE, 0)).isInstanceOf(KernelWarnException.class);
        assertThatThrownBy(() -> world.dma.memory().freePages(8, 0x5000, 0x9_5000, TO_DEVICE))
                .isInstanceOf(KernelWarnException.class);
        assertThat(world.backend.calls).hasSize(1);
        assertThatThrownBy(() -> world.dma.syncSingleForCpu(0x1000, 8, TO_DEVICE))
                .isInstanceOf(KernelWarnException.class);
        assertThatThrownBy(() -> world.dma.unmapResource(0x1000, 8, TO_DEVICE, 0))
                .isInstanceOf(KernelWarnException.class);
        assertThat(world.backend.calls).hasSize(3);
    }

    @Test
    @DisplayName("DBG-7: what the kernel prints goes to the machine's log")
    void whatIsShownIsLogged() {
        World world = world();
        world.dma.unmapPage(0x1000, 8, TO_DEVICE, 0);
        world.dma.unmapPage(0x2000, 8, TO_DEVICE, 0);
        assertThat(world.machine.log().warnCount()).isEqualTo(1);
        assertThat(world.machine.log().count("dma_debug: NOT_ALLOCATED")).isEqualTo(1);
        assertThat(world.machine.log().entries().get(0).text())
                .isEqualTo("DMA-API: e1000 nic: device driver tries to free DMA memory it has not allocated"
                        + " [device address=0x0000000000001000] [size=8 bytes]");
        assertThat(debug(world).errorCount()).isEqualTo(2);
        World platform =
                World.make(World.builder().dmaDebug(DmaDebugOptions.DEFAULT), config -> DeviceConfig.platform("uart"));
        platform.dma.unmapPage(0x1000, 8, TO_DEVICE, 0);
        assertThat(platform.machine.log().entries().get(0).text()).startsWith("DMA-API: platform uart: ");
    }

    @Test
    @DisplayName("DBG-1, DBG-71, DBG-75: the machine's command line")
    void theCommandLineCounts() {
        World off = World.make(World.builder().commandLine("dma_debug=off").dmaDebug(DmaDebugOptions.DEFAULT));
        off.dma.unmapPage(0x1000, 8, TO_DEVICE, 0);
        assertThat(debug(off).isDisabled()).isTrue();
        assertThat(debug(off).reportCount()).isZero();
        World few = World.make(World.builder()
                .commandLine("dma_debug_entries=32 dma_debug_driver=nvme")
                .dmaDebug(DmaDebugOptions.DEFAULT));
        assertThat(debug(few).totalEntries()).isEqualTo(32);
        assertThat(debug(few).files().read("driver_filter")).isEqualTo("nvme\n");
    }

    @Test
    @DisplayName("DBG-22, DBG-72: failure points")
    void memoryCanRunOutAtTwoPoints() {
        World entries =
                World.make(World.builder().commandLine("dma_debug_entries=0").dmaDebug(DmaDebugOptions.DEFAULT));
        entries.machine.failures().failNth("dma_debug.entries", 1);
        entries.dma.mapPage(0x1000, 8, FROM_DEVICE, 0);
        assertThat(debug(entries).isDisabled()).isTrue();
        assertThat(entries.machine.log().entries().get(0).text()).isEqualTo("debugging out of memory - disabling");
        World line = world();
        line.machine.failures().failNth("dma_debug.cacheline", 1);
        line.dma.mapPage(0x1000, 8, FROM_DEVICE, 0);
        assertThat(debug(line).isDisabled()).isTrue();
        assertThat(line.machine.log().entries().get(0).text())
                .isEqualTo("cacheline tracking ENOMEM, dma-debug disabled");
    }

    @Test
    @DisplayName("FE-40, TYP-7: sync calls are never skipped")
    void syncsReachDmaDebugWhereTheyWouldBeSkipped() {
        World world = world();
        assertThat(world.device.setMask(-1L)).isZero();
        assertThat(world.device.skipsSync()).isTrue();
        assertThat(world.dma.devNeedSync()).isTrue();
        world.dma.syncSingleForDevice(0x1000, 8, TO_DEVICE);
        assertThat(kinds(world)).containsExactly(SYNC_NOT_ALLOCATED);
    }

    @Test
    @DisplayName("DBG-10, FE-3, F6: pointers")
    void pointersOfNoLinearMemoryAreReported() {
        World world = world();
        long vmalloc = LAYOUT.vmalloc().first();
        assertThat(world.dma.mapSingle(vmalloc, 8, TO_DEVICE, 0)).isEqualTo(Dma.DMA_MAPPING_ERROR);
        assertThat(debug(world).calls())
                .as("F6: refused before dma-debug looks")
                .isZero();
        world.dma.mapSingle(LAYOUT.text().first(), 64, TO_DEVICE, 0);
        assertThat(kinds(world)).containsExactly(INVALID_AREA);
        assertThat(debug(world).reports().get(0).kernelText())
                .isEqualTo(
                        "DMA-API: e1000 nic: device driver maps memory from invalid area [addr=0xffffffff80000000] [len=64]");
        world.dma.mapSingle(LAYOUT.physToVirt(0x9000), 8, TO_DEVICE, 0);
        assertThat(kinds(world)).as("in the direct map, without RAM").containsExactly(INVALID_AREA, INVALID_AREA);
        long good = LAYOUT.physToVirt(0x1000);
        long dmaAddr = world.dma.mapSingle(good, 8, TO_DEVICE, 0);
        world.dma.mappingError(dmaAddr);
        world.dma.unmapPage(dmaAddr, 8, TO_DEVICE, 0);
        assertThat(kinds(world)).hasSize(2);
        Feed feed = new Feed();
        feed.areas = new KernelAreas(LAYOUT, World.RAM, List.of(), 2);
        feed.debug.accept(new DmaCall.MapPointer(feed.caller(), vmalloc, 8));
        assertThat(feed.kinds()).as("unreachable by dma_map_single").containsExactly(INVALID_AREA, VMALLOC_AREA);
        assertThat(feed.text())
                .isEqualTo(
                        "DMA-API: e1000 0000:00:08.0: device driver maps memory from vmalloc area [addr=0xffffc90000000000] [len=8]");
        Feed blind = new Feed();
        blind.debug.accept(new DmaCall.MapPointer(blind.caller(), vmalloc, 8));
        assertThat(blind.heard).as("nothing is known of addresses").isEmpty();
    }

    @Test
    @DisplayName("DBG-16, F5: a stack in the direct map")
    void aBufferOnALinearStackIsReported() {
        World world = world();
        long stack = LAYOUT.physToVirt(0x4000);
        world.machine.runOnStack(1, KernelStack.linear(stack, 0x2000));
        Dma dma = world.device.dma(1);
        dma.mapPage(0x4010, 8, TO_DEVICE, 0);
        assertThat(kinds(world)).containsExactly(STACK);
        assertThat(debug(world).reports().get(0).kernelText())
                .isEqualTo("DMA-API: e1000 nic: device driver maps memory from stack [addr=0xffff888000004010]");
        dma.mapPage(0x5fff, 8, TO_DEVICE, 0);
        dma.mapPage(0x6000, 8, TO_DEVICE, 0);
        dma.mapPage(0x3fff, 8, TO_DEVICE, 0);
        world.dma.mapPage(0x4010, 8, TO_DEVICE, 0);
        assertThat(debug(world).count(STACK))
                .as("the CPU's own stack, the first byte")
                .isEqualTo(2);
        world.machine.runOnStack(1, null);
        assertThatThrownBy(() -> world.machine.runOnStack(2, null)).hasMessage("CPU 2 of a machine with 2");
        assertThatThrownBy(() -> world.machine.runOnStack(-1, null)).hasMessage("CPU -1 of a machine with 2");
        dma.mapPage(0x4020, 8, TO_DEVICE, 0);
        assertThat(debug(world).count(STACK)).isEqualTo(2);
    }

    @Test
    @DisplayName("DBG-16, DBG-12, F5: a stack in the vmalloc area")
    void aBufferOnAVmappedStackIsReportedWithItsProbableAddress() {
        World world = world();
        long stack = LAYOUT.vmalloc().first();
        world.machine.runOnStack(0, KernelStack.vmapped(stack, List.of(0x7000L, 0x2000L)));
        SgTable list = new SgTable(2).add(0x1000, 8).add(0x2abc, 8);
        world.dma.mapSg(list, 2, TO_DEVICE, 0);
        assertThat(kinds(world)).containsExactly(STACK);
        assertThat(debug(world).reports().get(0).kernelText())
                .isEqualTo(
                        "DMA-API: e1000 nic: device driver maps memory from stack [probable addr=0xffffc90000001abc]");
    }

    @Test
    @DisplayName("DBG-17: text and read-only data")
    void aBufferThatMeetsTheKernelImageIsReported() {
        VirtRange text = new VirtRange(LAYOUT.physToVirt(0x2000), LAYOUT.physToVirt(0x2fff));
        VirtRange rodata = new VirtRange(LAYOUT.physToVirt(0x4000), LAYOUT.physToVirt(0x4fff));
        World world = world(DmaDebugOptions.DEFAULT.withKernelImage(text, rodata));
        world.dma.mapPage(0x1ff8, 8, TO_DEVICE, 0);
        world.dma.mapPage(0x3000, 0x1000, TO_DEVICE, 0);
        assertThat(kinds(world)).isEmpty();
        world.dma.mapPage(0x1ff8, 9, TO_DEVICE, 0);
        world.dma.mapPage(0x2fff, 8, TO_DEVICE, 0);
        world.dma.mapPage(0x1000, 0x3000, TO_DEVICE, 0);
        world.dma.mapSg(new SgTable(1).add(0x4800, 16), 1, TO_DEVICE, 0);
        assertThat(kinds(world)).containsExactly(KERNEL_TEXT, KERNEL_TEXT, KERNEL_TEXT, KERNEL_TEXT);
        assertThat(debug(world).reports().get(3).kernelText())
                .isEqualTo(
                        "DMA-API: e1000 nic: device driver maps memory from kernel text or rodata [addr=0xffff888000004800] [len=16]");
    }

    @Test
    @DisplayName("DBG-14, DBG-44: coherent memory, by the address of its first page")
    void coherentMemoryIsRecordedWithItsPhysicalAddress() {
        World world = world();
        CoherentBuffer buffer = Objects.requireNonNull(world.dma.memory().allocCoherent(100, Gfp.KERNEL));
        assertThat(debug(world).live()).singleElement().satisfies(m -> {
            assertThat(m.type()).isEqualTo(MappingType.COHERENT);
            assertThat(m.sizeBytes()).isEqualTo(100);
            assertThat(m.direction()).isEqualTo(BIDIRECTIONAL);
            assertThat(m.physAddr()).isEqualTo(0x4000);
        });
        long dmaAddr = buffer.dmaAddr();
        buffer.close();
        assertThat(kinds(world)).isEmpty();
        assertThat(debug(world).liveCount()).isZero();
        Objects.requireNonNull(world.dma.memory().allocCoherent(100, Gfp.KERNEL));
        assertThatThrownBy(() -> world.dma.memory().freeCoherent(100, LAYOUT.physToVirt(0x1000), dmaAddr))
                .isInstanceOf(IllegalStateException.class);
        assertThat(kinds(world)).containsExactly(DIFFERENT_CPU_ADDRESS);
    }

    @Test
    @DisplayName("DBG-14: pages that lie apart, by their vmalloc address")
    void pagesThatLieApartAreRecordedToo() {
        World world = world();
        world.backend.onAlloc = size -> new CoherentPages(0x8_0000, size, new long[] {0x3000, 0x1000});
        CoherentBuffer buffer = Objects.requireNonNull(world.dma.memory().allocCoherent(0x2000, Gfp.KERNEL));
        assertThat(LAYOUT.isVmalloc(buffer.cpuAddr())).isTrue();
        assertThat(debug(world).live()).extracting(DebugMapping::physAddr).containsExactly(0x3000L);
        buffer.close();
        assertThat(kinds(world)).isEmpty();
    }

    @Test
    @DisplayName("DBG-14, DBG-50: a page cookie is nobody's address")
    void memoryWithoutAnAddressIsNotRecorded() {
        World world = world();
        long cookie = KernelMemory.pageCookie(0x4000);
        world.backend.onAlloc =
                size -> CoherentPages.contiguous(0x4000, size, 0x4000).withCpuAddr(cookie);
        CoherentBuffer buffer = Objects.requireNonNull(world.dma.memory().allocCoherent(100, Gfp.KERNEL));
        assertThat(buffer.cpuAddr()).isEqualTo(cookie);
        buffer.close();
        assertThat(debug(world).calls()).isZero();
    }

    @Test
    @DisplayName("DBG-15, FE-54, FE-55, FE-64, FE-65: pages and noncontiguous memory")
    void pagesAndListsThatComeMappedAreRecorded() {
        World world = world();
        DmaPages pages = Objects.requireNonNull(world.dma.memory().allocPages(100, FROM_DEVICE, Gfp.KERNEL));
        assertThat(debug(world).live()).singleElement().satisfies(m -> {
            assertThat(m.type()).isEqualTo(MappingType.NONCOHERENT);
            assertThat(m.sizeBytes()).as("as asked for").isEqualTo(100);
            assertThat(m.physAddr()).isEqualTo(0x5000);
        });
        world.dma.memory().freePages(100, pages.physAddr(), pages.dmaAddr(), FROM_DEVICE);
        SgTable list =
                Objects.requireNonNull(world.dma.memory().noncontiguous().alloc(0x1800, FROM_DEVICE, Gfp.KERNEL, 0));
        assertThat(debug(world).live()).singleElement().satisfies(m -> {
            assertThat(m.type()).isEqualTo(MappingType.SCATTER_GATHER);
            assertThat(m.callEnts()).isEqualTo(1);
            assertThat(m.mappedEnts()).isEqualTo(1);
        });
        world.dma.memory().noncontiguous().free(0x1800, list, FROM_DEVICE);
        assertThat(debug(world).liveCount()).isZero();
        assertThat(kinds(world)).isEmpty();
    }

    @Test
    @DisplayName("DBG-13: resources")
    void resourcesAreTheirOwnKind() {
        World world = world();
        long dmaAddr = world.dma.mapResource(0x1000, 8, TO_DEVICE, 0);
        assertThat(debug(world).live()).extracting(DebugMapping::type).containsExactly(MappingType.RESOURCE);
        world.dma.unmapResource(dmaAddr, 8, TO_DEVICE, 0);
        assertThat(kinds(world)).containsExactly(MAP_ERROR_NOT_CHECKED);
    }

    @Test
    @DisplayName("DBG-12, DBG-25: lists, with the device's limits of the moment")
    void listsAreRecordedAndComparedWithTheDevicesLimits() {
        World world = world();
        SgTable list = new SgTable(2).add(0x1000, 0x800).add(0x3000, 0x400);
        assertThat(world.dma.mapSg(list, 2, TO_DEVICE, 0)).isEqualTo(2);
        world.dma.syncSgForDevice(list, 2, TO_DEVICE);
        world.dma.syncSgForCpu(list, 2, TO_DEVICE);
        world.dma.unmapSg(list, 2, TO_DEVICE, 0);
        assertThat(kinds(world)).isEmpty();
        world.device.setMaxSegmentBytes(0x7ff);
        world.device.setSegmentBoundaryMask(0xff);
        world.dma.mapSg(list, 2, TO_DEVICE, 0);
        assertThat(kinds(world))
                .containsExactly(
                        DmaDebugKind.SEGMENT_TOO_LONG,
                        DmaDebugKind.SEGMENT_ACROSS_BOUNDARY,
                        DmaDebugKind.SEGMENT_ACROSS_BOUNDARY);
        world.backend.onMapSg = nents -> -12;
        world.dma.mapSg(new SgTable(1).add(0x5000, 8), 1, TO_DEVICE, 0);
        assertThat(debug(world).liveCount()).as("a failure is no call").isEqualTo(2);
    }

    @Test
    @DisplayName("DBG-70, FE-73: what the driver leaves, after what is freed for it")
    void unbindingReportsWhatIsLeft() {
        World world = world();
        Objects.requireNonNull(world.dma.memory().managed().allocCoherent(64, Gfp.KERNEL));
        world.device.unbindDriver();
        assertThat(kinds(world)).isEmpty();
        world.dma.mapPage(0x1000, 8, TO_DEVICE, 0);
        world.device.unbindDriver();
        assertThat(kinds(world)).containsExactly(LEAK);
    }

    @Test
    void theConvenienceCallsAskForTheError() {
        World world = world();
        try (DmaMapping mapping = world.dma.map(0x1000, 64, BIDIRECTIONAL)) {
            mapping.syncForCpu();
            mapping.syncForDevice();
        }
        assertThat(kinds(world)).isEmpty();
    }

    @Test
    void anotherListenerHearsTheSameCalls() {
        List<String> heard = new ArrayList<>();
        World world =
                World.make(World.builder().dmaDebug(DmaDebugOptions.DEFAULT).listener(clock -> new DmaListener() {
                    @Override
                    public void mappedPage(
                            Device device,
                            int cpu,
                            long physAddr,
                            long sizeBytes,
                            DmaDirection direction,
                            int attrs,
                            long dmaAddr) {
                        heard.add("mapped");
                    }

                    @Override
                    public void checkingError(Device device, int cpu, long dmaAddr) {
                        heard.add("asked");
                    }

                    @Override
                    public void unmappedPage(
                            Device device, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction) {
                        heard.add("unmapped");
                    }
                }));
        long dmaAddr = world.dma.mapResource(0x1000, 8, TO_DEVICE, 0);
        world.dma.mappingError(dmaAddr);
        world.dma.unmapResource(dmaAddr, 8, TO_DEVICE, 0);
        assertThat(heard).containsExactly("mapped", "asked", "unmapped");
        assertThat(debug(world).calls()).isEqualTo(3);
        assertThat(kinds(world)).isEmpty();
    }

    @Test
    @DisplayName("DBG-2: call sites on request")
    void theCodeThatCalledIsNoted() {
        World world = world(DmaDebugOptions.DEFAULT.withCallSites(true));
        world.dma.mapPage(0x1000, 16, TO_DEVICE, 0);
        world.dma.mappingError(0x1000);
        world.dma.unmapPage(0x1000, 8, TO_DEVICE, 0);
        DmaDebugReport report = debug(world).reports().get(0);
        assertThat(report.kind()).isEqualTo(DIFFERENT_SIZE);
        assertThat(report.caller().site()).startsWith("LiveCallsTest.java:");
        assertThat(report.line())
                .contains(
                        "; it is single mapping 0x1000+0x10 TO_DEVICE (LiveCallsTest.java:",
                        "; called at LiveCallsTest");
        assertThat(Objects.requireNonNull(report.caller().site()).split(" < ")).hasSizeLessThanOrEqualTo(5);
        World silent = world();
        silent.dma.unmapPage(0x1000, 8, TO_DEVICE, 0);
        assertThat(debug(silent).reports().get(0).caller().site()).isNull();
    }

    @Test
    void aTagNamesTheOwnerOfAMapping() {
        World world = world();
        world.dma.mapPage(0x1000, 16, TO_DEVICE, 0);
        debug(world).tag(LiveCalls.deviceOf(world.device), 0x1000, "ring 3");
        debug(world).tag(LiveCalls.deviceOf(world.device), 0x9000, "nobody");
        world.dma.unmapPage(0x1010, 8, TO_DEVICE, 0);
        assertThat(kinds(world)).containsExactly(NOT_ALLOCATED);
        assertThat(debug(world).reports().get(0).line())
                .endsWith("; 0 bytes past the end of single mapping 0x1000+0x10 TO_DEVICE of ring 3");
    }

    @Test
    @DisplayName("E14: a page that is freed while mapped")
    void aPageFreedWhileMappedNamesTheMapping() {
        World world = world(DmaDebugOptions.DEFAULT.withProfile(DmaDebugProfile.EVERYTHING));
        long page = world.machine.pages().allocPages(Zone.NORMAL, 1);
        world.dma.mapPage(page + 0xff0, 0x20, FROM_DEVICE, 0);
        debug(world).tag(LiveCalls.deviceOf(world.device), page + 0xff0, "rx");
        world.machine.pages().freePages(page, 1);
        assertThat(kinds(world)).containsExactly(PAGE_FREED_WHILE_MAPPED, PAGE_FREED_WHILE_MAPPED);
        assertThat(debug(world).errorCount()).as("no kernel counts it").isZero();
        DmaDebugReport report = debug(world).reports().get(0);
        assertThat(report.shown()).isTrue();
        assertThat(report.line())
                .isEqualTo(
                        "DMA-API: e1000 nic: page is freed while a device still maps it [page=0x%016x] [device address=0x%016x]"
                                        .formatted(page, page + 0xff0)
                                + " [size=32 bytes] [mapped with DMA_FROM_DEVICE] [mapped as single]; it is single mapping 0x%x+0x20 FROM_DEVICE of rx"
                                        .formatted(page + 0xff0));
    }

    @Test
    void aPageFreedAfterItsUnmapIsNoReport() {
        World world = world(DmaDebugOptions.DEFAULT.withProfile(DmaDebugProfile.EVERYTHING));
        long page = world.machine.pages().allocPages(Zone.NORMAL, 0);
        SgTable list = new SgTable(1).add(page, 0x100);
        world.dma.mapSg(list, 1, FROM_DEVICE, 0);
        world.dma.unmapSg(list, 1, FROM_DEVICE, 0);
        world.machine.pages().freePages(page, 0);
        assertThat(kinds(world)).isEmpty();
        long again = world.machine.pages().allocPages(Zone.NORMAL, 0);
        assertThat(again).isEqualTo(page);
        world.dma.mapSg(list, 1, FROM_DEVICE, 0);
        world.machine.pages().freePages(page, 0);
        assertThat(kinds(world)).containsExactly(PAGE_FREED_WHILE_MAPPED);
        World kernel = world();
        long other = kernel.machine.pages().allocPages(Zone.NORMAL, 0);
        kernel.dma.mapPage(other, 8, FROM_DEVICE, 0);
        kernel.machine.pages().freePages(other, 0);
        assertThat(kinds(kernel)).as("6.12 does not look").isEmpty();
    }

    @Test
    @DisplayName("F9: the CPU touches a line that a device may write")
    void aTouchOfAnActiveLineIsReportedWhenAskedFor() {
        World world = world(DmaDebugOptions.DEFAULT.withProfile(DmaDebugProfile.EVERYTHING));
        world.dma.mapPage(0x1000, 0x200, FROM_DEVICE, 0);
        world.dma.mapPage(0x2000, 0x200, TO_DEVICE, 0);
        Caller cpu = new Caller(null, 0, 0, null, null);
        debug(world).accept(new DmaCall.CpuTouch(cpu, 0x103f, 1));
        assertThat(kinds(world)).containsExactly(CPU_TOUCHES_MAPPING);
        assertThat(debug(world).reports().get(0).kernelText())
                .isEqualTo("DMA-API: e1000 nic: cpu touching an active dma mapped cacheline [cln=0x0000000000000040]");
        debug(world).accept(new DmaCall.CpuTouch(cpu, 0x1040, 0x40));
        debug(world).accept(new DmaCall.CpuTouch(cpu, 0x2000, 0x40));
        debug(world).accept(new DmaCall.CpuTouch(cpu, 0x1000, 0));
        assertThat(kinds(world)).hasSize(1);
        debug(world).accept(new DmaCall.CpuTouch(cpu, 0xff0, 0x20));
        assertThat(kinds(world)).hasSize(2);
    }

    @Test
    void aKernelConfigurationIsKeptButForDmaDebug() {
        World world = World.make(World.builder()
                .kernelConfig(KernelConfig.distribution().withSgChain(false))
                .dmaDebug(DmaDebugOptions.DEFAULT));
        assertThat(world.machine.kernelConfig().dmaApiDebug()).isTrue();
        assertThat(world.machine.kernelConfig().sgChain()).isFalse();
    }
}
