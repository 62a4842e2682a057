package io.pagewalk.dma.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;

/** Memory by kernel virtual address. */
class KernelMemoryTest {
    private static final long DIRECT_MAP = 0xffff_8880_0000_0000L;
    private static final long VMALLOC = 0xffff_c900_0000_0000L;

    private final PhysicalMemory bytes = PhysicalMemory.create(RamMap.of(PhysRange.ofSize(0, 0x8000)), 0x1000);
    private final KernelMemory memory = new KernelMemory(KernelLayout.x86_64(), new CpuMemory(bytes));

    @Test
    void theDirectMapIsPhysicalMemory() {
        assertThat(memory.physAddr(DIRECT_MAP + 0x1234)).isEqualTo(0x1234);
        assertThat(memory.physAddr(DIRECT_MAP + 0x100_0000)).as("RAM or not").isEqualTo(0x100_0000);
        memory.putLong(DIRECT_MAP + 0x1234, 0x0102_0304_0506_0708L);
        assertThat(bytes.getLong(0x1234)).isEqualTo(0x0102_0304_0506_0708L);
        assertThat(memory.getLong(DIRECT_MAP + 0x1234)).isEqualTo(0x0102_0304_0506_0708L);
        assertThat(memory.getByte(DIRECT_MAP + 0x1234)).isEqualTo((byte) 8);
    }

    @Test
    void mappedPagesFollowEachOther() {
        long virtAddr = memory.vmap(new long[] {0x6000, 0x2000, 0x4000});

        assertThat(virtAddr).isEqualTo(VMALLOC);
        assertThat(memory.physAddr(VMALLOC)).isEqualTo(0x6000);
        assertThat(memory.physAddr(VMALLOC + 0x1fff)).isEqualTo(0x2fff);
        assertThat(memory.physAddr(VMALLOC + 0x2800)).isEqualTo(0x4800);
        assertThat(memory.physAddr(VMALLOC + 0x3000)).as("the guard page").isEqualTo(-1L);
        assertThat(memory.vmapCount()).isEqualTo(1);
    }

    @Test
    void aWordMayLieOnTwoPagesThatLieApart() {
        memory.vmap(new long[] {0x6000, 0x2000});
        memory.putLong(VMALLOC + 0xffd, 0x8877_6655_4433_2211L);

        assertThat(bytes.getByte(0x6ffd)).isEqualTo((byte) 0x11);
        assertThat(bytes.getByte(0x6fff)).isEqualTo((byte) 0x33);
        assertThat(bytes.getByte(0x2000)).isEqualTo((byte) 0x44);
        assertThat(bytes.getByte(0x2004)).isEqualTo((byte) 0x88);
        assertThat(memory.getLong(VMALLOC + 0xffd)).isEqualTo(0x8877_6655_4433_2211L);
    }

    @Test
    void fillGoesOnFromPageToPage() {
        memory.vmap(new long[] {0x6000, 0x2000, 0x4000});
        memory.fill(VMALLOC + 0xfff, 0x1002, (byte) 7);

        assertThat(bytes.getByte(0x6ffe)).isZero();
        assertThat(bytes.getByte(0x6fff)).isEqualTo((byte) 7);
        assertThat(bytes.getByte(0x2000)).isEqualTo((byte) 7);
        assertThat(bytes.getByte(0x2fff)).isEqualTo((byte) 7);
        assertThat(bytes.getByte(0x4000)).isEqualTo((byte) 7);
        assertThat(bytes.getByte(0x4001)).isZero();
        assertThat(bytes.getByte(0x7000)).isZero();
    }

    @Test
    void onlyRamIsAccessible() {
        memory.vmap(new long[] {0x6000, 0x9000});

        assertThat(memory.isAccessible(DIRECT_MAP + 0x7ff8, 8)).isTrue();
        assertThat(memory.isAccessible(DIRECT_MAP + 0x7ff9, 8)).isFalse();
        assertThat(memory.isAccessible(VMALLOC, 0x1000)).isTrue();
        assertThat(memory.isAccessible(VMALLOC, 0x1001)).isFalse();
        assertThat(memory.isAccessible(VMALLOC + 0x2000, 1)).isFalse();
        assertThat(memory.isAccessible(0, 1)).isFalse();
        assertThat(memory.isAccessible(-1L, 8)).isFalse();
        assertThat(memory.isAccessible(0, 0)).isTrue();
    }

    @Test
    void anAddressWithoutMemoryIsRefused() {
        for (Runnable use : new Runnable[] {
            () -> memory.getLong(0x1000),
            () -> memory.putLong(0x1000, 1),
            () -> memory.getByte(0x1000),
            () -> memory.fill(0x1000, 1, (byte) 0)
        }) {
            assertThatThrownBy(use::run)
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("no memory at kernel address 0x1000");
        }
    }

    @Test
    void theLowestGapIsTakenAndGapsGrowTogether() {
        long[] one = {0x1000};
        long first = memory.vmap(one);
        long second = memory.vmap(one);
        long third = memory.vmap(one);
        long fourth = memory.vmap(one);
        assertThat(List.of(second, third, fourth))
                .containsExactly(VMALLOC + 0x2000, VMALLOC + 0x4000, VMALLOC + 0x6000);

        memory.vunmap(second);
        assertThat(memory.vmap(new long[2])).isEqualTo(VMALLOC + 0x8000);
        memory.vunmap(first);
        assertThat(memory.vmap(new long[3])).as("two gaps are one").isEqualTo(VMALLOC);
        memory.vunmap(fourth);
        memory.vunmap(third);
        assertThat(memory.vmap(new long[3])).as("from behind too").isEqualTo(VMALLOC + 0x4000);
    }

    @Test
    void whatIsNotMappedCannotBeUnmapped() {
        long virtAddr = memory.vmap(new long[2]);
        for (long wrong : new long[] {virtAddr + 0x1000, virtAddr + 1, 0, virtAddr + 0x10_0000, -1L}) {
            assertThatThrownBy(() -> memory.vunmap(wrong))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessage("nothing is mapped at 0x" + Long.toHexString(wrong));
        }
        assertThat(memory.vmapCount()).isEqualTo(1);
        memory.vunmap(virtAddr);
        assertThatThrownBy(() -> memory.vunmap(virtAddr)).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void aFullAreaGivesNothing() {
        KernelLayout tiny = KernelLayout.of(
                KernelLayout.x86_64().directMap(),
                new VirtRange(VMALLOC + 0x800, VMALLOC + 0x4fff),
                KernelLayout.x86_64().text());
        KernelMemory small = new KernelMemory(tiny, new CpuMemory(bytes));

        assertThat(small.vmap(new long[4])).as("no room for the guard page").isZero();
        assertThat(small.vmap(new long[3])).as("from the first whole page on").isEqualTo(VMALLOC + 0x1000);
        assertThat(small.vmap(new long[0])).isZero();
        small.vunmap(VMALLOC + 0x1000);
        assertThat(small.vmap(new long[1])).isEqualTo(VMALLOC + 0x1000);
        assertThat(small.vmap(new long[1])).isEqualTo(VMALLOC + 0x3000);
    }

    @Test
    void aMappingDoesNotChangeWithItsArray() {
        long[] pages = {0x1000};
        memory.vmap(pages);
        pages[0] = 0x2000;

        assertThat(memory.physAddr(VMALLOC)).isEqualTo(0x1000);
    }

    @Test
    void aPageCookieIsNoAddressOfMemory() { // dma-core:ALC-2
        assertThat(KernelMemory.pageCookie(0)).isEqualTo(0xffff_ea00_0000_0000L);
        assertThat(KernelMemory.pageCookie(0x2fff)).isEqualTo(0xffff_ea00_0000_0080L);
        assertThat(memory.physAddr(KernelMemory.pageCookie(0x2000))).isEqualTo(-1L);
    }

    @Property
    void mappingsNeverTouchAndEndInOneGap(@ForAll List<@IntRange(min = 0, max = 9) Integer> steps) {
        List<long[]> live = new ArrayList<>();
        for (int step : steps) {
            if (step < 5 || live.isEmpty()) {
                long virtAddr = memory.vmap(new long[step % 5]);
                for (long[] other : live) {
                    boolean apart = virtAddr + (step % 5 + 1) * 0x1000L <= other[0]
                            || other[0] + (other[1] + 1) * 0x1000 <= virtAddr;
                    assertThat(apart).isTrue();
                }
                live.add(new long[] {virtAddr, step % 5});
            } else {
                memory.vunmap(live.remove(step % live.size())[0]);
            }
            assertThat(memory.vmapCount()).isEqualTo(live.size());
        }
        live.forEach(mapping -> memory.vunmap(mapping[0]));
        assertThat(memory.vmap(new long[50])).isEqualTo(VMALLOC);
        memory.vunmap(VMALLOC);
    }
}
