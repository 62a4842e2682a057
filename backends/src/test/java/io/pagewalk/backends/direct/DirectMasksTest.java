package io.pagewalk.backends.direct;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.DmaRange;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.PhysRange;
import io.pagewalk.dma.memory.RamMap;
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
}
