package io.pagewalk.dma.memory;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class PhysicalMemoryConcurrencyTest {

    private static final int CHUNK = 64;
    private static final int CHUNKS = 2000;

    private final ExecutorService threads = Executors.newFixedThreadPool(2);

    @AfterEach
    void stop() throws InterruptedException {
        threads.shutdownNow();
        assertThat(threads.awaitTermination(10, TimeUnit.SECONDS)).isTrue();
    }

    @Test
    void noUpdateIsLostWhileTwoThreadsCreateTheSameChunks() throws Exception {
        for (int round = 0; round < 20; round++) {
            // An edge inside a chunk, so that both kinds of chunk are raced for.
            PhysicalMemory memory = PhysicalMemory.create(RamMap.of(new PhysRange(0, CHUNKS * CHUNK + 15)), CHUNK);
            both(() -> addToEveryChunk(memory));

            for (int chunk = 0; chunk <= CHUNKS; chunk++) {
                assertThat(memory.getLong((long) chunk * CHUNK + 8)).isEqualTo(2);
            }
            assertThat(memory.residentBytes()).isEqualTo((CHUNKS + 1) * CHUNK);
        }
    }

    private static void addToEveryChunk(PhysicalMemory memory) {
        for (int chunk = 0; chunk <= CHUNKS; chunk++) {
            memory.getAndAddLong((long) chunk * CHUNK + 8, 1);
        }
    }

    @Test
    void noUpdateOfOneWordIsLost() throws Exception {
        PhysicalMemory memory = PhysicalMemory.create(RamMap.sizedWithHole(1 << 20), CHUNK);
        both(() -> {
            for (int i = 0; i < 100_000; i++) {
                memory.getAndAddLong(0x1000, 1);
            }
        });
        assertThat(memory.getLong(0x1000)).isEqualTo(200_000);
    }

    @Test
    void whatWasWrittenBeforeAReleaseIsSeenAfterTheAcquire() throws Exception {
        PhysicalMemory memory = PhysicalMemory.create(RamMap.sizedWithHole(1 << 20), CHUNK);
        Future<Long> sum = threads.submit(() -> sumOfMessages(memory));
        for (int i = 0; i < CHUNKS; i++) {
            memory.putLong(0x1000 + (long) i * CHUNK, i);
            memory.putLongRelease(0, i + 1);
        }
        assertThat(sum.get(30, TimeUnit.SECONDS)).isEqualTo((long) CHUNKS * (CHUNKS - 1) / 2);
    }

    private static long sumOfMessages(PhysicalMemory memory) {
        long sum = 0;
        for (int i = 0; i < CHUNKS; i++) {
            while (memory.getLongAcquire(0) <= i) {
                Thread.onSpinWait();
            }
            sum += memory.getLong(0x1000 + (long) i * CHUNK);
        }
        return sum;
    }

    @Test
    void framesAreCountedByTwoThreads() throws Exception {
        PageFrames frames = new PageFrames();
        both(() -> {
            for (int pfn = 0; pfn < 5000; pfn++) {
                frames.get(pfn);
                frames.pin(pfn * 100L);
            }
        });
        for (int pfn = 0; pfn < 5000; pfn++) {
            assertThat(frames.refCount(pfn)).isEqualTo(2);
            assertThat(frames.pinCount(pfn * 100L)).isEqualTo(2);
        }
    }

    @Test
    void twoThreadsNeverGetTheSamePage() throws Exception {
        PhysicalMemory memory = PhysicalMemory.create(RamMap.sizedWithHole(64 << 20));
        PageFrames frames = new PageFrames();
        PageAllocator allocator =
                PageAllocator.create(memory, frames, memory.ram().ranges());
        String start = allocator.toString();
        both(() -> {
            for (int i = 0; i < 2000; i++) {
                long physAddr = allocator.allocPages(Zone.DMA32, i % 3);
                long pfn = physAddr >>> Addresses.PAGE_SHIFT;
                assertThat(frames.get(pfn)).isEqualTo(1);
                assertThat(frames.put(pfn)).isZero();
                allocator.freePages(physAddr, i % 3);
            }
        });
        assertThat(allocator).hasToString(start);
    }

    private void both(Runnable work) throws Exception {
        CyclicBarrier start = new CyclicBarrier(2);
        Callable<Void> task = () -> {
            start.await();
            work.run();
            return null;
        };
        for (Future<Void> done : threads.invokeAll(List.of(task, task))) {
            done.get();
        }
    }
}
