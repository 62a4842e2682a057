package io.pagewalk.dma.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Zones that an architecture has, and the memory they hold (dma-core:MSK-4, ALC-6). */
class ZoneLimitsTest {
    private static final long MIB = 1 << 20;
    private static final long LIMIT_30 = 0x3fff_ffffL;

    @ParameterizedTest
    @CsvSource({
        "true, true, 0xffffff, DMA", "true, true, 0x1000000, DMA32", "true, true, 0xffffffff, DMA32",
        "true, true, 0x100000000, NORMAL", "false, true, 0, DMA32", "true, false, 0x1000000, NORMAL",
        "false, false, 0, NORMAL"
    })
    void addressBelongsToTheFirstConfiguredZoneThatHoldsIt(boolean dma, boolean dma32, String addr, Zone zone) {
        assertThat(ZoneLimits.of(dma, dma32, 0xff_ffffL).of(Long.decode(addr))).isEqualTo(zone);
    }

    @ParameterizedTest
    @CsvSource({
        "true, true, DMA, DMA",
        "false, true, DMA, DMA32",
        "false, false, DMA, NORMAL",
        "true, false, DMA32, NORMAL",
        "true, true, DMA32, DMA32",
        "true, true, NORMAL, NORMAL",
        "false, false, NORMAL, NORMAL"
    })
    void zoneThatIsNotConfiguredIsTheNextAbove(boolean dma, boolean dma32, Zone asked, Zone got) {
        assertThat(ZoneLimits.of(dma, dma32, 0xff_ffffL).resolve(asked)).isEqualTo(got);
    }

    @Test
    void zonesEndWhereTheArchitectureSays() {
        ZoneLimits limits = ZoneLimits.of(true, true, LIMIT_30);
        assertThat(limits.zoneDmaLimit()).isEqualTo(LIMIT_30);
        assertThat(limits.lastAddress(Zone.DMA)).isEqualTo(LIMIT_30);
        assertThat(limits.lastAddress(Zone.DMA32)).isEqualTo(0xffff_ffffL);
        assertThat(limits.lastAddress(Zone.NORMAL)).isEqualTo(-1L);
        ZoneLimits wide = ZoneLimits.of(true, true, 0xf_ffff_ffffL);
        assertThat(wide.lastAddress(Zone.DMA32)).as("never below DMA").isEqualTo(0xf_ffff_ffffL);
        assertThat(ZoneLimits.PC.zoneDmaLimit()).isEqualTo(0xff_ffffL);
        assertThat(limits).hasToString("DMA to 0x3fffffff, DMA32, NORMAL");
        assertThat(ZoneLimits.of(false, false, LIMIT_30)).hasToString("NORMAL");
    }

    @Test
    void zoneEndsNoBlockInTheMiddle() {
        assertThatThrownBy(() -> ZoneLimits.of(true, true, 0x3f_fffeL))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("a zone cannot end at 0x3ffffe, inside a block of 4194304 bytes");
        assertThat(ZoneLimits.of(true, true, 0x3f_ffffL).has(Zone.DMA)).isTrue();
    }

    private static PageAllocator allocator(ZoneLimits limits) {
        PhysRange ram = PhysRange.ofSize(0, 64 * MIB);
        PhysicalMemory memory = PhysicalMemory.create(RamMap.of(ram), 1 << 16);
        return PageAllocator.create(memory, new PageFrames(), List.of(ram), limits);
    }

    @Test
    void allocatorHasTheZonesThatAreConfigured() {
        PageAllocator moved = allocator(ZoneLimits.of(true, true, 0x1ff_ffffL));
        assertThat(moved.freeBytes(Zone.DMA)).isEqualTo(32 * MIB);
        assertThat(moved.freeBytes(Zone.DMA32)).isEqualTo(32 * MIB);
        PageAllocator noDma = allocator(ZoneLimits.of(false, true, 0xff_ffffL));
        assertThat(noDma.freeBytes(Zone.DMA)).isZero();
        assertThat(noDma.freeBytes(Zone.DMA32)).isEqualTo(64 * MIB);
        assertThat(noDma.allocPages(Zone.DMA, 0)).as("DMA32 stands for it").isZero();
        PageAllocator plain = allocator(ZoneLimits.of(false, false, 0xff_ffffL));
        assertThat(plain.freeBytes(Zone.NORMAL)).isEqualTo(64 * MIB);
        long page = plain.allocPages(Zone.DMA32, 3);
        assertThat(page).isZero();
        plain.freePages(page, 3);
        assertThat(plain.freeBytes(Zone.NORMAL)).isEqualTo(64 * MIB);
        assertThat(plain.freeBytes(Zone.DMA)).isZero();
    }

    @Test
    void rangeCanBeGivenBack() {
        PageAllocator pages = allocator(ZoneLimits.PC);
        long physAddr = pages.allocContiguous(3 * MIB, 0x1000, 17 * MIB - 1);
        assertThat(physAddr).isEqualTo(14 * MIB);
        assertThat(pages.freeBytes()).isEqualTo(61 * MIB);
        pages.giveBack(physAddr, 3 * MIB);
        assertThat(pages.freeBytes(Zone.DMA)).isEqualTo(16 * MIB);
        assertThat(pages.freeBytes(Zone.DMA32)).isEqualTo(48 * MIB);
        assertThat(pages.allocContiguous(64 * MIB, 0x1000, -1L))
                .as("all joined again")
                .isZero();
        pages.giveBack(0, 64 * MIB);
        assertThatThrownBy(() -> pages.giveBack(0x1000, 0x1000))
                .isInstanceOf(IllegalStateException.class)
                .hasMessage("cannot give back 0x1000+0x1000: of its pages 1 are free");
        assertThatThrownBy(() -> pages.giveBack(0x1000, 0)).isInstanceOf(IllegalArgumentException.class);
    }
}
