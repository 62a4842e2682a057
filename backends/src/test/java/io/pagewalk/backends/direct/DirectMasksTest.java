package io.pagewalk.backends.direct;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.backends.RecordingCache;
import io.pagewalk.dma.CoherentBuffer;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.DmaAttrs;
import io.pagewalk.dma.DmaRange;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.KernelConfig;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.PageProtection;
import io.pagewalk.dma.UserMapping;
import io.pagewalk.dma.UserVma;
import io.pagewalk.dma.memory.PhysRange;
import io.pagewalk.dma.memory.RamMap;
import io.pagewalk.dma.scatterlist.SgTable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class DirectMasksTest {
    private static final long GIB = 1L << 30;

    private static Machine machine(RamMap ram, String commandLine) {
        return Machine.builder().ram(ram).commandLine(commandLine).build();
    }

    private static Device device(Machine machine, DeviceConfig config) {
        return machine.addDevice(config);
    }

    /** MSK-1: 0x100000 page frames need 32 bits, and so on. */
    @ParameterizedTest
    @CsvSource({"0x100000, 0xffffffff", "0x240000, 0x3ffffffff", "0x440000, 0x7ffffffff"})
    void requiredMaskReachesTheLastPage(String frames, String mask) {
        Machine machine = machine(RamMap.of(PhysRange.ofSize(0, Long.decode(frames) << 12)), "");
        assertThat(device(machine, DeviceConfig.named("dev")).dma().requiredMask())
                .isEqualTo(Long.decode(mask));
    }

    @Test
    @DisplayName("MSK-1: an address that no range translates needs all bits")
    void requiredMaskOfUntranslatableMemoryIsAllOnes() {
        Machine machine = machine(RamMap.of(PhysRange.ofSize(0, 6 * GIB)), "");
        DeviceConfig config = DeviceConfig.named("dev").withRanges(new DmaRange(0, 0, GIB));
        assertThat(device(machine, config).dma().requiredMask()).isEqualTo(-1L);
    }

    /** MSK-4: 32 bits always, fewer only when they reach the 16 MiB of the lowest zone, or all of a smaller memory. */
    @ParameterizedTest
    @CsvSource({
        "0x40000000, 0xffffffff, 0",
        "0x40000000, 0x1ffffff, 0",
        "0x40000000, 0xffffff, 0",
        "0x40000000, 0xfffffe, -5",
        "0x40000000, 0, -5",
        "0x800000, 0x7fffff, 0",
        "0x800000, 0x7ff000, 0",
        "0x800000, 0x7fefff, -5"
    })
    void masksBelow32BitsMustReachTheLowestZone(String ramBytes, String mask, int result) {
        Machine machine = machine(RamMap.of(PhysRange.ofSize(0, Long.decode(ramBytes))), "");
        Device device = device(machine, DeviceConfig.named("dev"));
        assertThat(device.setMask(Long.decode(mask))).isEqualTo(result);
        assertThat(device.streamingMask()).isEqualTo(result == 0 ? Long.decode(mask) : -1L);
    }

    @Test
    @DisplayName("MSK-4")
    void offsetBusNeedsAWiderMask() {
        Machine machine = machine(RamMap.of(PhysRange.ofSize(0, GIB)), "");
        DeviceConfig config = DeviceConfig.named("dev").withRanges(new DmaRange(0, 0x1000_0000, GIB));
        Device device = device(machine, config);
        assertThat(device.setMask(0x10ff_fffeL)).isEqualTo(-Errno.EIO);
        assertThat(device.setMask(0x10ff_ffffL)).isZero();
    }

    @Test
    @DisplayName("MSK-11, SWM-15")
    void onlyWhoMayBounceHasAMaximum() {
        Machine machine = machine(RamMap.sizedWithHole(6 * GIB), "swiotlb=256,1");
        assertThat(device(machine, DeviceConfig.named("wide")).dma().maxMappingSize())
                .isEqualTo(-1L);
        Device narrow = device(
                machine, DeviceConfig.named("narrow").withMask(0xffff_ffffL).withMinAlignMask(0xfff));
        assertThat(narrow.dma().maxMappingSize()).isEqualTo(0x3f000);
        Machine forced = machine(RamMap.sizedWithHole(GIB), "swiotlb=256,1,force");
        assertThat(device(forced, DeviceConfig.named("wide")).dma().maxMappingSize())
                .isEqualTo(0x40000);
        Machine poolless = machine(RamMap.sizedWithHole(6 * GIB), "swiotlb=noforce");
        assertThat(device(poolless, DeviceConfig.named("narrow").withMask(0xffff_ffffL))
                        .dma()
                        .maxMappingSize())
                .isEqualTo(-1L);
    }

    @Test
    @DisplayName("MSK-9, MSK-10: ranges that leave memory out limit addressing whatever the mask")
    void rangesMustCoverAllMemory() {
        Machine machine = machine(RamMap.of(PhysRange.ofSize(0x800, 0x10_0000), PhysRange.ofSize(GIB, 0x10_0000)), "");
        DmaRange low = new DmaRange(0x1000, 0x1000, 0xf_f000);
        DmaRange high = new DmaRange(GIB, GIB, 0x8_0000);
        DmaRange rest = new DmaRange(GIB + 0x8_0000, GIB + 0x8_0000, 0x8_0000);
        DeviceConfig config = DeviceConfig.named("all").withRanges(rest, low, high);
        assertThat(device(machine, config).isAddressingLimited()).isFalse();
        DeviceConfig gap = DeviceConfig.named("gap").withRanges(rest, high);
        assertThat(device(machine, gap).isAddressingLimited()).isTrue();
        DeviceConfig tiny = DeviceConfig.named("tiny").withRanges(new DmaRange(0, 0, 0x800), rest, low, high);
        assertThat(device(machine, tiny).isAddressingLimited())
                .as("an entry below a page ends the scan")
                .isTrue();
        assertThat(device(machine, DeviceConfig.named("plain")).isAddressingLimited())
                .isFalse();
        assertThat(device(machine, DeviceConfig.named("narrow").withStreamingMask(0L))
                        .isAddressingLimited())
                .as("a mask of 0 counts as 32 bits (DEV-3)")
                .isFalse();
        assertThat(device(machine, DeviceConfig.named("bus").withBusLimit(0x1fff_ffff))
                        .isAddressingLimited())
                .isTrue();
    }

    @Test
    @DisplayName("MSK-10: partial pages are trimmed inward, and without a whole page nothing is mapped")
    void wholePagesOfMemoryMustBeMapped() {
        DmaRange one = new DmaRange(0x1000, 0x1000, 0x1000);
        Machine ragged = machine(RamMap.of(PhysRange.ofSize(0x800, 0x1fff)), "swiotlb=noforce");
        assertThat(device(ragged, DeviceConfig.named("dev").withRanges(one)).isAddressingLimited())
                .isFalse();
        Machine crumbs =
                machine(RamMap.of(PhysRange.ofSize(0x800, 0xfff), PhysRange.ofSize(0x2800, 0x800)), "swiotlb=noforce");
        assertThat(device(crumbs, DeviceConfig.named("dev").withRanges(new DmaRange(0, 0, 0x4000)))
                        .isAddressingLimited())
                .as("no whole page")
                .isTrue();
        assertThat(device(crumbs, DeviceConfig.named("plain")).isAddressingLimited())
                .as("no map at all")
                .isFalse();
    }

    @Test
    @DisplayName("MSK-10: the scan steps from entry to entry, in any order, and over overlaps")
    void entriesMayOverlapAndStandInAnyOrder() {
        Machine machine = machine(RamMap.of(PhysRange.ofSize(0, 0x6000)), "swiotlb=noforce");
        DmaRange high = new DmaRange(0x3000, 0x3000, 0x3000);
        DmaRange low = new DmaRange(0, 0, 0x4000);
        assertThat(device(machine, DeviceConfig.named("both").withRanges(high, low))
                        .isAddressingLimited())
                .isFalse();
        assertThat(device(machine, DeviceConfig.named("short").withRanges(new DmaRange(0x3000, 0x3000, 0x2fff), low))
                        .isAddressingLimited())
                .as("a part of a page does not count")
                .isTrue();
        assertThat(device(machine, DeviceConfig.named("behind").withRanges(low, high, new DmaRange(0, 0, 1)))
                        .isAddressingLimited())
                .as("a small entry behind those that are needed")
                .isFalse();
    }

    @Test
    @DisplayName("MSK-9: the bus limit alone limits addressing")
    void busLimitLimitsAddressing() {
        Machine machine = machine(RamMap.of(PhysRange.ofSize(0, 2 * GIB)), "swiotlb=noforce");
        assertThat(device(machine, DeviceConfig.named("at").withBusLimit(0x7fff_ffffL))
                        .isAddressingLimited())
                .isFalse();
        assertThat(device(machine, DeviceConfig.named("below").withBusLimit(0x7fff_fffeL))
                        .isAddressingLimited())
                .isTrue();
    }

    @Test
    @DisplayName("MSK-1: an address of 0 needs all bits")
    void requiredMaskOfAddressZeroIsAllOnes() {
        Machine machine = machine(RamMap.of(PhysRange.ofSize(0, 0x2000)), "swiotlb=noforce");
        DeviceConfig config = DeviceConfig.named("dev").withRanges(new DmaRange(0x1000, 0, 0x1000));
        assertThat(device(machine, config).dma().requiredMask()).isEqualTo(-1L);
    }

    @Test
    @DisplayName("MSK-4: without a range for the lowest zone's end no small mask is supported")
    void untranslatableZoneNeedsAllBits() {
        Machine machine = machine(RamMap.of(PhysRange.ofSize(0, GIB)), "swiotlb=noforce");
        Device device = device(machine, DeviceConfig.named("dev").withRanges(new DmaRange(0, 0, 0x10_0000)));
        assertThat(device.setMask(0x7fff_ffffL)).isEqualTo(-Errno.EIO);
        assertThat(device.setMask(0xffff_ffffL)).isZero();
    }

    @Test
    @DisplayName("MSK-14, FE-71, FE-72: who may show coherent memory to a process, and how it is cached")
    void coherentMemoryCanBeShown() {
        RecordingCache cache = new RecordingCache();
        KernelConfig kernel = cache.kernel().withArch(cache.arch().withSetUncached(true));
        Machine machine = Machine.builder().kernelConfig(kernel).build();
        Device coherent = device(machine, DeviceConfig.named("coherent"));
        Device incoherent = device(machine, DeviceConfig.named("incoherent").withCoherent(false));
        assertThat(coherent.dma().memory().canMmap()).isTrue();
        assertThat(incoherent.dma().memory().canMmap()).isFalse();
        Machine both = Machine.builder()
                .kernelConfig(kernel.withNonCoherentMmap(true).withWriteCombine(true))
                .build();
        Device shown = device(both, DeviceConfig.named("incoherent").withCoherent(false));
        assertThat(shown.dma().memory().canMmap()).isTrue();
        CoherentBuffer buffer = shown.dma().alloc(0x2001);
        UserMapping last = shown.dma().memory().mmap(new UserVma(1, 2), buffer, 0x2001, 0);
        assertThat(last.result()).isZero();
        assertThat(last.physAddr(0)).isEqualTo(buffer.physAddr(0) + 0x2000);
        assertThat(last.protection()).isEqualTo(PageProtection.UNCACHED);
        assertThat(shown.dma()
                        .memory()
                        .mmap(new UserVma(1, 0), buffer, 0x2001, DmaAttrs.WRITE_COMBINE)
                        .protection())
                .isEqualTo(PageProtection.WRITE_COMBINE);
        assertThat(shown.dma()
                        .memory()
                        .mmap(new UserVma(1, 3), buffer, 0x2001, 0)
                        .result())
                .isEqualTo(-Errno.ENXIO);
        assertThat(shown.dma()
                        .memory()
                        .mmap(new UserVma(3, 1), buffer, 0x2001, 0)
                        .result())
                .isEqualTo(-Errno.ENXIO);
        CoherentBuffer plain = coherent.dma().alloc(0x1000);
        assertThat(coherent.dma()
                        .memory()
                        .mmap(new UserVma(1, 0), plain, 0x1000, 0)
                        .protection())
                .isEqualTo(PageProtection.CACHED);
    }

    @Test
    @DisplayName("FE-70: coherent memory as a list is one entry of whole pages, found by its DMA address")
    void coherentMemoryIsAListOfOneEntry() {
        Machine machine = machine(RamMap.of(PhysRange.ofSize(0, GIB)), "swiotlb=noforce");
        Device device = device(machine, DeviceConfig.named("dev").withRanges(new DmaRange(0, 0x1000_0000, GIB)));
        CoherentBuffer buffer = device.dma().alloc(0x1801);
        SgTable sg = new SgTable(1);
        assertThat(device.dma().memory().getSgTable(sg, buffer, 0x1801, 0)).isZero();
        assertThat(sg.origNents()).isEqualTo(1);
        assertThat(sg.physAddr(0)).isEqualTo(buffer.dmaAddr() - 0x1000_0000).isEqualTo(buffer.physAddr(0));
        assertThat(sg.lengthBytes(0)).isEqualTo(0x2000);
        assertThat(sg.dmaAddr(0)).isZero();
        assertThat(sg.dmaLengthBytes(0)).isZero();
    }
}
