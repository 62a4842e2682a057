package io.pagewalk.backends.direct;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.CoherentBuffer;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.DmaAttrs;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.DmaException;
import io.pagewalk.dma.DmaMemory;
import io.pagewalk.dma.DmaRange;
import io.pagewalk.dma.FailureReason;
import io.pagewalk.dma.Gfp;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.PhysRange;
import io.pagewalk.dma.memory.RamMap;
import io.pagewalk.dma.memory.Zone;
import io.pagewalk.dma.spi.DmaPages;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** dma-core:ALC-1 to ALC-8. */
class DirectCoherentTest {
    private static final long GIB = 1L << 30;

    private final Machine machine =
            Machine.builder().ramBytes(6 * GIB).commandLine("swiotlb=512").build();

    private Device device(long mask) {
        return machine.addDevice(
                DeviceConfig.named("dev" + machine.devices().size()).withMask(mask));
    }

    private void assertIdle() {
        List<String> held = new ArrayList<>();
        machine.checkIdle(held::add);
        assertThat(held).isEmpty();
    }

    @ParameterizedTest
    @DisplayName("ALC-6: the zone follows the mask")
    @CsvSource({"0xffffff, DMA", "0x1ffffff, DMA", "0x1fffffff, DMA32", "0xffffffff, DMA32", "0x7ffffffff, NORMAL"})
    void zoneFollowsTheMask(String mask, Zone zone) {
        try (CoherentBuffer buffer = device(Long.decode(mask)).dma().alloc(0x1000)) {
            assertThat(Zone.of(buffer.physAddr(0)).compareTo(zone)).isLessThanOrEqualTo(0);
            assertThat(buffer.dmaAddr() + 0xfff).isLessThanOrEqualTo(Long.decode(mask));
        }
        assertIdle();
    }

    @Test
    @DisplayName("ALC-1, ALC-5, ALC-8: whole pages, zeroed, aligned to their order")
    void memoryIsZeroedAndNaturallyAligned() {
        Device device = device(-1);
        CoherentBuffer dirty = device.dma().alloc(0x3000);
        for (int at = 0; at < 0x3000; at += 8) {
            dirty.putLong(at, -1L);
        }
        dirty.close();
        try (CoherentBuffer buffer = device.dma().alloc(0x2001)) {
            assertThat(buffer.dmaAddr() & 0x3fff).isZero();
            byte[] bytes = new byte[0x2001];
            buffer.read(0, bytes, 0, bytes.length);
            assertThat(bytes).containsOnly(0);
            device.bus().writeLong(buffer.dmaAddr() + 8, 77);
            assertThat(buffer.getLong(8)).isEqualTo(77);
        }
        assertIdle();
    }

    @Test
    @DisplayName("ALC-2: memory without a kernel mapping is not zeroed")
    void memoryWithoutAKernelMappingKeepsItsContents() {
        Device device = device(-1);
        CoherentBuffer dirty = device.dma().alloc(0x1000);
        dirty.putLong(0, 5);
        long physAddr = dirty.physAddr(0);
        dirty.close();
        try (CoherentBuffer buffer =
                Objects.requireNonNull(device.dma().allocCoherent(0x1000, DmaAttrs.NO_KERNEL_MAPPING))) {
            assertThat(buffer.physAddr(0)).isEqualTo(physAddr);
            assertThat(buffer.getLong(0)).isEqualTo(5);
        }
    }

    @Test
    @DisplayName("ALC-7: pages that lie too high are tried again in lower zones")
    void pagesThatLieTooHighAreTriedAgainLower() {
        assertThat(allocAt(0x1f_ffff_ffffL)).isGreaterThanOrEqualTo(4 * GIB);
        assertThat(allocAt(0x1_0000_ffffL))
                .as("NORMAL gave more than 36 bits' worth, DMA32 fits")
                .isLessThan(4 * GIB);
        assertThat(allocAt(0x101_ffffL))
                .as("DMA32 begins at 16 MiB, where a few pages are in reach at best")
                .isLessThan(0x102_0000L);
        assertIdle();
    }

    private long allocAt(long mask) {
        Device device = device(mask);
        try (CoherentBuffer first = device.dma().alloc(0x2_0000);
                CoherentBuffer second = device.dma().alloc(0x2_0000)) {
            assertThat(first.dmaAddr() + 0x1_ffff).isLessThanOrEqualTo(mask);
            return Math.min(first.physAddr(0), second.physAddr(0));
        }
    }

    @Test
    @DisplayName("ALC-7: no zone is tried after an allocator that has nothing")
    void allocatorThatHasNothingEndsIt() {
        Device device = device(0xffff_ffffL);
        machine.failures().failNth("direct.pages", 1);
        assertThat(device.dma().allocCoherent(0x1000, 0)).isNull();
        assertThat(device.dma().lastFailure().reason()).isEqualTo(FailureReason.INJECTED);
        assertThat(device.dma().lastFailure().numbers()).isEmpty();
        assertThatThrownBy(() -> device.dma().alloc(1L << 40)).isInstanceOf(DmaException.class);
        assertThat(device.dma().allocCoherent(0, 0)).as("TYP-10").isNull();
        assertIdle();
    }

    @Test
    @DisplayName("ALC-6, DIR-9: nothing in reach gives nothing and keeps nothing")
    void nothingInReachKeepsNothing() {
        long before = machine.pages().freeBytes();
        Device device = machine.addDevice(DeviceConfig.named("far").withRanges(new DmaRange(7 * GIB, 0, GIB)));
        assertThat(device.dma().allocCoherent(0x1000, 0)).isNull();
        assertThat(machine.pages().freeBytes()).isEqualTo(before);
    }

    @Test
    void memoryThatWasNotFreedIsNamed() {
        assertThat(device(-1).dma().allocCoherent(0x1001, 0)).isNotNull();
        List<String> held = new ArrayList<>();
        machine.checkIdle(held::add);
        assertThat(held).containsExactly("coherent allocations of 2 pages were not freed");
    }

    @Test
    @DisplayName("coherent memory is never bounced")
    void forcedMachineHandsOutPlainMemory() {
        Machine forced = Machine.builder()
                .ram(RamMap.of(PhysRange.ofSize(0, 64 << 20)))
                .commandLine("swiotlb=512,force")
                .build();
        Device device = forced.addDevice(DeviceConfig.named("dev"));
        try (CoherentBuffer buffer = device.dma().alloc(0x1000)) {
            assertThat(buffer.dmaAddr()).isEqualTo(buffer.physAddr(0));
        }
    }

    @Test
    void aSecondFreeIsRefusedAndCountsNothing() {
        Machine machine = Machine.builder().ramBytes(64 << 20).build();
        DmaMemory memory = machine.addDevice(DeviceConfig.named("nic")).dma().memory();
        DmaPages pages = Objects.requireNonNull(memory.allocPages(0x1000, DmaDirection.BIDIRECTIONAL, Gfp.KERNEL));
        memory.freePages(0x1000, pages.physAddr(), pages.dmaAddr(), DmaDirection.BIDIRECTIONAL);
        assertThatThrownBy(
                        () -> memory.freePages(0x1000, pages.physAddr(), pages.dmaAddr(), DmaDirection.BIDIRECTIONAL))
                .isInstanceOf(IllegalStateException.class);
        List<String> violations = new ArrayList<>();
        machine.checkIdle(violations::add);
        assertThat(violations).isEmpty();
    }
}
