package io.pagewalk.rdma.model;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.KernelModel;
import io.pagewalk.dma.Machine;
import io.pagewalk.rdma.AccessFlags;
import io.pagewalk.rdma.mm.Process;
import io.pagewalk.rdma.rxe.RxeDevice;
import io.pagewalk.rdma.verbs.Mr;
import io.pagewalk.rdma.verbs.Pd;
import io.pagewalk.rdma.verbs.VerbsDevice;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.stream.LongStream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Requesters on threads of their own, all at the same eight bytes. */
class ConcurrentAtomicsTest {
    private static final int ADDITIONS = 1000;
    /** A swap fails only when an addition came between, so that this many succeed at least {@link #ADDITIONS} times. */
    private static final int ATTEMPTS = 2 * ADDITIONS;

    private static final int PAGE = 4096;
    /** Both halves of the word go up together, so that a torn one is seen. */
    private static final long ONE = 0x1_0000_0001L;

    private static final int ALL =
            AccessFlags.LOCAL_WRITE | AccessFlags.REMOTE_READ | AccessFlags.REMOTE_WRITE | AccessFlags.REMOTE_ATOMIC;

    private static VerbsDevice device(String where) {
        boolean rxe = where.startsWith("rxe");
        Machine machine = Machine.builder()
                .kernelModel(where.equals("rxe of 5.2") ? KernelModel.LINUX_5 : KernelModel.LINUX_6_12)
                .ramBytes(32L << 20)
                .chunkBytes(1 << 16)
                .commandLine(where.equals("swiotlb") ? "swiotlb=2048" : "")
                .backend(rxe ? "direct" : where)
                .build();
        return rxe
                ? RxeDevice.add("rxe0", machine)
                : BusProvider.add(machine.addDevice(DeviceConfig.named("nic").withMask(-1L)));
    }

    @ParameterizedTest
    @ValueSource(strings = {"rxe", "rxe of 5.2", "direct", "swiotlb", "iommu-strict", "iommu-lazy"})
    @DisplayName("rdma:RXE-36, DP-24: no addition and no swap is lost, no value is given twice, no word is torn")
    void noUpdateIsLostAndNoWordIsTorn(String where) throws Exception {
        VerbsDevice device = device(where);
        try (Machine machine = device.machine()) {
            Process process = Process.create(machine);
            Pd pd = device.allocPd(0, "test").value();
            long base = process.mmap(2 * PAGE);
            long word = base + PAGE - Long.BYTES;
            Mr target =
                    device.regUserMr(pd, 0, process, base, 2 * PAGE, base, ALL).value();
            AtomicRequester adder = new AtomicRequester(pd, word, target.rkey());
            AtomicRequester swapper = new AtomicRequester(pd, word, target.rkey());
            AtomicRequester reader = new AtomicRequester(pd, word, target.rkey());

            List<long[]> found = together(List.of(
                    () -> adder.add(ADDITIONS, ONE), () -> swapper.swap(ATTEMPTS, ONE), () -> reader.read(ADDITIONS)));

            long updates = (long) ADDITIONS + found.get(1).length;
            assertThat(found.get(1).length).isGreaterThanOrEqualTo(ADDITIONS);
            assertThat(reader.read()).as("the sum").isEqualTo(updates * ONE);
            assertThat(LongStream.concat(LongStream.of(found.get(0)), LongStream.of(found.get(1)))
                            .sorted())
                    .as("what additions and swaps found: each value once")
                    .containsExactlyElementsOf(
                            LongStream.range(0, updates).mapToObj(i -> i * ONE).toList());
            assertThat(found).allSatisfy(values -> assertThat(values).isSorted());
            assertThat(LongStream.of(found.get(2)).filter(v -> v % ONE != 0 || v > updates * ONE))
                    .as("torn words")
                    .isEmpty();
            device.deregMr(target, 0);
            assertThat(process.getLong(word)).isEqualTo(updates * ONE);
        }
    }

    private static List<long[]> together(List<Supplier<long[]>> tasks) throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(tasks.size());
        CyclicBarrier start = new CyclicBarrier(tasks.size());
        try {
            List<Future<long[]>> running = new ArrayList<>();
            for (Supplier<long[]> task : tasks) {
                running.add(threads.submit(() -> {
                    start.await();
                    return task.get();
                }));
            }
            List<long[]> found = new ArrayList<>();
            for (Future<long[]> one : running) {
                found.add(one.get(60, TimeUnit.SECONDS));
            }
            return found;
        } finally {
            threads.shutdownNow();
        }
    }
}
