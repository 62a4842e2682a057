package io.pagewalk.dma.pool;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.Gfp;
import io.pagewalk.dma.KernelBugException;
import io.pagewalk.dma.KernelConfig;
import io.pagewalk.dma.KernelLog;
import io.pagewalk.dma.fake.World;
import io.pagewalk.dma.memory.KernelMemory;
import io.pagewalk.dma.spi.CoherentPages;
import java.util.List;
import java.util.Objects;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Pools of small blocks: dma-core:POOL-1 to POOL-8. Pages come from 0x10000 on, at DMA address 0x70010000. */
class DmaPoolTest {
    private static final long PAGE = 0x7001_0000L;
    private static final long CPU_PAGE = 0xffff_8880_0001_0000L;

    private final World world = with(false);
    private final KernelMemory memory = world.machine.kernelMemory();

    private static World with(boolean slubDebug) {
        World world = World.make(
                World.builder().kernelConfig(KernelConfig.distribution().withSlubDebug(slubDebug)));
        world.backend.allocateFrom(world.machine.pages());
        return world;
    }

    private static DmaPool pool(World world, long size, long align, long boundary) {
        return present(DmaPool.create("prp list", world.device.dma(1), size, align, boundary));
    }

    private static <T> T present(@Nullable T value) {
        return Objects.requireNonNull(value);
    }

    private static PoolBlock alloc(DmaPool pool) {
        return present(pool.alloc(Gfp.KERNEL));
    }

    @Test
    @DisplayName("dma-core:POOL-1: null if dev null, or what no pool can be")
    void aPoolNeedsADeviceAndAPossibleShape() {
        assertThat(DmaPool.create("p", null, 16, 0, 0)).isNull();
        assertThat(DmaPool.create("p", world.dma, 0, 0, 0)).isNull();
        assertThat(DmaPool.create("p", world.dma, 16, 3, 0)).isNull();
        assertThat(DmaPool.create("p", world.dma, 5000, 1, 4096)).isNull();
        world.machine.failures().failNth("dma_pool.create", 1);
        assertThat(DmaPool.create("p", world.dma, 16, 0, 0)).isNull();

        assertThat(world.device.pools().list()).isEmpty();
        assertThat(world.backend.calls).isEmpty();
    }

    @Test
    @DisplayName("dma-core:POOL-1: name truncated to 31")
    void aLongNameIsCut() {
        String name = "0123456789abcdef0123456789abcdef0";

        assertThat(present(DmaPool.create(name, world.dma, 16, 0, 0)).name()).isEqualTo(name.substring(0, 31));
        assertThat(present(DmaPool.create(name.substring(0, 31), world.dma, 16, 0, 0))
                        .name())
                .hasSize(31);
    }

    @Test
    @DisplayName("dma-core:POOL-2, POOL-4: one dma_alloc_coherent(allocation), handle = page dma + offset")
    void aPageIsAllocatedWhenABlockIsWanted() {
        DmaPool pool = pool(world, 600, 1, 1024);
        assertThat(world.backend.calls).isEmpty();
        PoolBlock first = alloc(pool);
        PoolBlock second = alloc(pool);

        assertThat(first.dmaAddr()).isEqualTo(PAGE);
        assertThat(first.cpuAddr()).isEqualTo(CPU_PAGE);
        assertThat(second.dmaAddr()).isEqualTo(PAGE + 0x400);
        assertThat(second.cpuAddr()).isEqualTo(CPU_PAGE + 0x400);
        assertThat(world.backend.calls).containsExactly("alloc cpu 1 0x1000 attrs 0x0");
        assertThat(pool.activeBlocks()).isEqualTo(2);
        assertThat(pool.totalBlocks()).isEqualTo(4);
        assertThat(pool.blockBytes()).isEqualTo(600);
        assertThat(pool.pageCount()).isEqualTo(1);
    }

    @Test
    void aPageIsAllocatedWithTheCallersFlagsOnTheCallersCpu() { // POOL-2
        DmaPool pool = pool(world, 5000, 1, 8192);
        PoolBlock block = new PoolBlock();

        assertThat(pool.alloc(0, Gfp.KERNEL | Gfp.NOWARN | Gfp.ZERO, block)).isTrue();
        assertThat(world.backend.calls).containsExactly("alloc cpu 0 0x1388 gfp 0x50 attrs 0x100");
        assertThatThrownBy(() -> pool.alloc(2, 0, block)).isInstanceOf(IllegalArgumentException.class);
        assertThat(pool.pageCount()).isEqualTo(1);
    }

    @Test
    @DisplayName("dma-core:POOL-3: LIFO, a new page's blocks ascending")
    void theBlockFreedLastComesFirst() {
        DmaPool pool = pool(world, 2048, 0, 0);
        PoolBlock a = alloc(pool);
        PoolBlock b = alloc(pool);
        PoolBlock c = alloc(pool);
        PoolBlock d = alloc(pool);
        assertThat(List.of(a.dmaAddr(), b.dmaAddr(), c.dmaAddr(), d.dmaAddr()))
                .containsExactly(PAGE, PAGE + 0x800, PAGE + 0x1000, PAGE + 0x1800);
        pool.free(b);
        pool.free(d);
        pool.free(a.cpuAddr(), a.dmaAddr());

        assertThat(alloc(pool).dmaAddr()).isEqualTo(PAGE);
        assertThat(alloc(pool).dmaAddr()).isEqualTo(PAGE + 0x1800);
        assertThat(alloc(pool).dmaAddr()).isEqualTo(PAGE + 0x800);
        assertThat(alloc(pool).dmaAddr()).as("then a new page").isEqualTo(PAGE + 0x2000);
        assertThat(pool.pageCount()).isEqualTo(3);
    }

    @Test
    @DisplayName("dma-core:POOL-3: pages never returned until destroy; POOL-7")
    void pagesAreKeptUntilThePoolIsDestroyed() {
        DmaPool pool = pool(world, 4096, 0, 0);
        PoolBlock a = alloc(pool);
        PoolBlock b = alloc(pool);
        pool.free(a);
        pool.free(b);
        assertThat(world.backend.calls).hasSize(2);
        DmaPool.destroy(pool);

        assertThat(world.backend.calls)
                .endsWith("free cpu 1 0x70011000+0x1000 attrs 0x0", "free cpu 1 0x70010000+0x1000 attrs 0x0")
                .hasSize(4);
        assertThat(world.device.pools().list()).isEmpty();
        assertThat(world.machine.log().entries()).isEmpty();
        for (Runnable use : new Runnable[] {() -> pool.alloc(0), () -> pool.free(a), () -> DmaPool.destroy(pool)}) {
            assertThatThrownBy(use::run)
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessage("pool prp list of nic was destroyed");
        }
    }

    @Test
    @DisplayName("dma-core:POOL-7: null ok; busy -> leaked")
    void aBusyPoolLeaksItsPages() {
        DmaPool.destroy(null);
        DmaPool pool = pool(world, 64, 0, 0);
        alloc(pool);
        DmaPool.destroy(pool);

        assertThat(world.backend.calls).containsExactly("alloc cpu 1 0x1000 attrs 0x0");
        assertThat(world.machine.log().entries().get(0).kind()).isEqualTo(KernelLog.Kind.MESSAGE);
        assertThat(world.machine.log().entries().get(0).text())
                .isEqualTo("nic: pool prp list is busy, 1 blocks in use (dma-core:POOL-7)");
        assertThat(world.device.pools().list()).as("bookkeeping freed").isEmpty();
    }

    @Test
    @DisplayName("dma-core:POOL-4: null if page allocation fails")
    void withoutMemoryThereIsNoBlock() {
        DmaPool pool = pool(world, 64, 0, 0);
        PoolBlock block = new PoolBlock();
        world.machine.failures().failNth("dma_pool.page", 1);
        assertThat(pool.alloc(0, Gfp.KERNEL, block)).isFalse();
        assertThat(world.backend.calls).isEmpty();
        world.backend.onAlloc = size -> null;
        assertThat(pool.alloc(Gfp.KERNEL)).isNull();

        assertThat(block.cpuAddr()).isZero();
        assertThat(block.dmaAddr()).isZero();
        assertThat(pool.activeBlocks()).isZero();
        assertThat(pool.totalBlocks()).isZero();
        assertThat(pool.pageCount()).isZero();
    }

    @Test
    @DisplayName("dma-core:POOL-4: __GFP_ZERO zeroes the rounded size")
    void blocksAreZeroedWhenAsked() {
        DmaPool pool = pool(world, 100, 64, 0);
        PoolBlock block = alloc(pool);
        memory.fill(block.cpuAddr(), 0x100, (byte) 0x5a);
        pool.free(block);

        assertThat(alloc(pool).cpuAddr()).isEqualTo(CPU_PAGE);
        assertThat(memory.getByte(CPU_PAGE + 16))
                .as("else it holds what it held")
                .isEqualTo((byte) 0x5a);
        pool.free(block);
        assertThat(present(pool.alloc(Gfp.ZERO)).cpuAddr()).isEqualTo(CPU_PAGE);
        for (int i = 0; i < 128; i++) {
            assertThat(memory.getByte(CPU_PAGE + i)).isZero();
        }
        assertThat(memory.getByte(CPU_PAGE + 128)).isEqualTo((byte) 0x5a);
    }

    @Test
    @DisplayName("dma-core:POOL-5: block header overwritten")
    void aFreeBlockBeginsWithTheNextOneAndItsOwnAddress() {
        DmaPool pool = pool(world, 1024, 0, 0);
        PoolBlock first = alloc(pool);
        pool.free(first);

        assertThat(memory.getLong(CPU_PAGE)).isEqualTo(CPU_PAGE + 0x400);
        assertThat(memory.getLong(CPU_PAGE + 8)).isEqualTo(PAGE);
        assertThat(memory.getLong(CPU_PAGE + 0xc00)).as("the last has no next").isZero();
        assertThat(memory.getLong(CPU_PAGE + 0xc08)).isEqualTo(PAGE + 0xc00);
    }

    @Test
    @DisplayName("dma-core:POOL-5: no validation; double free corrupts the list")
    void aBlockFreedTwiceIsGivenOutForEver() {
        DmaPool pool = pool(world, 1024, 0, 0);
        PoolBlock block = alloc(pool);
        pool.free(block);
        pool.free(block);

        assertThat(pool.activeBlocks()).as("decremented below zero").isEqualTo(-1);
        for (int i = 0; i < 3; i++) {
            assertThat(alloc(pool).dmaAddr()).isEqualTo(PAGE);
        }
        assertThat(pool.activeBlocks()).isEqualTo(2);
        assertThat(world.machine.log().entries()).isEmpty();
    }

    @Test
    @DisplayName("dma-core:POOL-5: the handle is believed")
    void aWrongHandleComesBackWithTheBlock() {
        DmaPool pool = pool(world, 1024, 0, 0);
        PoolBlock block = alloc(pool);
        pool.free(block.cpuAddr(), 0x1234);

        assertThat(alloc(pool).dmaAddr()).isEqualTo(0x1234);
    }

    @Test
    void aWriteToAFreedBlockLeadsTheKernelAstray() { // POOL-5
        DmaPool pool = pool(world, 1024, 0, 0);
        PoolBlock block = alloc(pool);
        pool.free(block);
        memory.putLong(block.cpuAddr(), 0x123);
        alloc(pool);

        assertThatThrownBy(() -> pool.alloc(0))
                .isInstanceOf(KernelBugException.class)
                .hasMessage("no memory for a pool's block at 0x123: freed with a wrong address, or written to after it"
                        + " was freed (dma-core:POOL-5)");
        assertThat(pool.activeBlocks()).isEqualTo(1);
    }

    @Test
    void anAddressWithoutMemoryCannotBeFreed() { // POOL-5
        DmaPool pool = pool(world, 1024, 0, 0);
        alloc(pool);
        for (long cpuAddr : new long[] {0, 0x1000, -1L, CPU_PAGE + 0x10_0000}) {
            assertThatThrownBy(() -> pool.free(cpuAddr, PAGE)).isInstanceOf(KernelBugException.class);
        }

        assertThat(pool.activeBlocks()).isEqualTo(1);
        assertThat(alloc(pool).dmaAddr()).isEqualTo(PAGE + 0x400);
    }

    @Test
    void blocksMayLieAcrossPagesThatLieApart() { // POOL-2 over iommu:DALLOC-3
        world.backend.onAlloc = size -> new CoherentPages(0xf000_0000L, size, new long[] {0x1_4000, 0x1_2000});
        DmaPool pool = pool(world, 4097, 1, 0);
        PoolBlock block = alloc(pool);
        assertThat(memory.physAddr(block.cpuAddr() + 0x1000)).isEqualTo(0x1_2000);

        world.backend.onAlloc = size -> new CoherentPages(0xf100_0000L, size, new long[] {0x1_6000});
        DmaPool odd = pool(world, 17, 0, 0);
        for (int i = 0; i < 240; i++) {
            assertThat(alloc(odd).dmaAddr()).isEqualTo(0xf100_0000L + i * 17L);
        }
    }

    @Test
    @DisplayName("dma-core:POOL-6: new pages and freed blocks 0xa7, allocated ones 0xa9")
    void blocksArePoisonedUnderDebug() {
        World debug = with(true);
        KernelMemory kernel = debug.machine.kernelMemory();
        DmaPool pool = pool(debug, 100, 64, 0);
        PoolBlock block = alloc(pool);

        assertThat(bytes(kernel, CPU_PAGE, 128)).containsOnly(0xa9);
        assertThat(bytes(kernel, CPU_PAGE + 128 + 16, 112)).containsOnly(0xa7);
        assertThat(kernel.getByte(CPU_PAGE + 0xfff)).isEqualTo((byte) 0xa7);
        pool.free(block);
        assertThat(bytes(kernel, CPU_PAGE + 16, 112)).containsOnly(0xa7);
        assertThat(kernel.getLong(CPU_PAGE)).isEqualTo(CPU_PAGE + 128);
        present(pool.alloc(Gfp.ZERO));
        assertThat(bytes(kernel, CPU_PAGE, 128)).containsOnly(0);
        assertThat(debug.machine.log().entries()).isEmpty();
    }

    private static List<Integer> bytes(KernelMemory kernel, long cpuAddr, int count) {
        return IntStream.range(0, count)
                .mapToObj(i -> kernel.getByte(cpuAddr + i) & 0xff)
                .toList();
    }

    @Test
    @DisplayName("dma-core:POOL-6: corrupted, block still returned")
    void aWriteToAFreedBlockIsReported() {
        World debug = with(true);
        KernelMemory kernel = debug.machine.kernelMemory();
        DmaPool pool = pool(debug, 100, 64, 0);
        PoolBlock block = alloc(pool);
        pool.free(block);
        kernel.fill(CPU_PAGE + 127, 1, (byte) 0x11);
        kernel.fill(CPU_PAGE + 18, 1, (byte) 0x22);

        assertThat(alloc(pool).dmaAddr()).isEqualTo(PAGE);
        assertThat(debug.machine.log().entries()).hasSize(1);
        assertThat(debug.machine.log().entries().get(0).site()).isEqualTo("dma_pool_alloc: corrupted");
        assertThat(debug.machine.log().entries().get(0).text())
                .isEqualTo("nic: pool prp list: block 0x70010000 was written to at offset 18 after it was freed:"
                        + " 80 00 01 00 80 88 ff ff 00 00 01 70 00 00 00 00 a7 a7 22" + " a7".repeat(45)
                        + " (dma-core:POOL-6)");
        pool.free(block);
        kernel.fill(CPU_PAGE + 127, 1, (byte) 0x11);
        alloc(pool);
        assertThat(debug.machine.log().count("dma_pool_alloc: corrupted")).isEqualTo(2);
    }

    @Test
    void theHeaderMayChangeUnderDebug() { // POOL-6: bytes from 16 on
        World debug = with(true);
        DmaPool pool = pool(debug, 16, 0, 0);
        PoolBlock block = alloc(pool);
        pool.free(block);
        assertThat(alloc(pool).dmaAddr()).isEqualTo(PAGE);

        assertThat(debug.machine.log().entries()).isEmpty();
    }

    @Test
    @DisplayName("dma-core:POOL-6: bad dma, already free: not freed")
    void wrongFreesAreReportedAndIgnoredUnderDebug() {
        World debug = with(true);
        DmaPool pool = pool(debug, 1024, 0, 0);
        PoolBlock a = alloc(pool);
        PoolBlock b = alloc(pool);
        pool.free(a.cpuAddr(), PAGE - 1);
        pool.free(a.cpuAddr(), PAGE + 0x1000);
        assertThat(pool.activeBlocks()).isEqualTo(2);
        pool.free(a);
        pool.free(b);
        pool.free(a);
        assertThat(pool.activeBlocks()).isZero();

        assertThat(debug.machine.log().entries())
                .extracting(KernelLog.Entry::text)
                .containsExactly(
                        "nic: pool prp list: no page holds the block at 0xffff888000010000, DMA 0x7000ffff"
                                + " (dma-core:POOL-6)",
                        "nic: pool prp list: no page holds the block at 0xffff888000010000, DMA 0x70011000"
                                + " (dma-core:POOL-6)",
                        "nic: pool prp list: free already: the block at 0xffff888000010000, DMA 0x70010000"
                                + " (dma-core:POOL-6)");
        assertThat(debug.machine.log().count("dma_pool_free: bad dma")).isEqualTo(2);
        assertThat(debug.machine.log().count("dma_pool_free: already free")).isEqualTo(1);
        assertThat(alloc(pool).dmaAddr()).isEqualTo(b.dmaAddr());
        assertThatThrownBy(() -> pool.free(0x1000, PAGE))
                .isInstanceOf(KernelBugException.class)
                .hasMessage("nic: pool prp list: no memory at the block at 0x1000, DMA 0x70010000 (dma-core:POOL-6)");
    }

    @Test
    void aListThatNeverEndsIsABug() { // POOL-5, POOL-6
        World debug = with(true);
        DmaPool pool = pool(debug, 1024, 0, 0);
        PoolBlock a = alloc(pool);
        PoolBlock b = alloc(pool);
        pool.free(a);
        debug.machine.kernelMemory().putLong(a.cpuAddr(), a.cpuAddr());

        assertThatThrownBy(() -> pool.free(b))
                .isInstanceOf(KernelBugException.class)
                .hasMessage("the free list of a pool of 4 blocks does not end: a freed block was written to"
                        + " (dma-core:POOL-5)");
        debug.machine.kernelMemory().putLong(a.cpuAddr(), 0x77);
        assertThatThrownBy(() -> pool.free(b)).isInstanceOf(KernelBugException.class);
        debug.machine.kernelMemory().putLong(a.cpuAddr(), a.cpuAddr());
        assertThat(pool.activeBlocks()).isEqualTo(1);
    }

    @Test
    @DisplayName("dma-core:POOL-8")
    void thePoolsFileListsThePools() {
        assertThat(world.device.pools().text()).isEqualTo("poolinfo - 0.1\n");
        DmaPool small = present(DmaPool.create("small", world.dma, 100, 64, 0));
        DmaPool large = present(DmaPool.create("a pool of a long name", world.dma, 4096, 0, 0));
        alloc(small);
        alloc(large);
        alloc(large);

        assertThat(world.device.pools().list()).containsExactly(large, small);
        assertThat(world.device.pools().text()).isEqualTo("""
                        poolinfo - 0.1
                        a pool of a long name    2    2 4096  2
                        small               1   32  128  1
                        """);
        assertThat(small).hasToString("pool small of nic");
        DmaPool.destroy(large);
        assertThat(world.device.pools().list()).containsExactly(small);
    }
}
