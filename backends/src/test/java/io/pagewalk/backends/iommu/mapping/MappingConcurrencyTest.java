package io.pagewalk.backends.iommu.mapping;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.Dma;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.MachineBuilder;
import io.pagewalk.dma.scatterlist.SgTable;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** CPUs that map and unmap at once for one device: each reaches its own bytes, and all comes back. */
class MappingConcurrencyTest {
    private static final int ROUNDS = 1500;
    private static final long PAGES = 64;
    private static final long PAGE = 0x1000;
    private static final long RAM = 0x80_0000;

    @ParameterizedTest
    @CsvSource({"iommu-strict, 3", "iommu-lazy, 3", "iommu-strict, 1", "iommu-lazy, 1"})
    void cpusReachTheirOwnBytes(String backend, int handles) throws Exception {
        MachineBuilder builder = Machine.builder().ramBytes(64 << 20).cpus(3).backend(backend);
        ExecutorService threads = Executors.newFixedThreadPool(4);
        try (Machine machine = builder.build()) {
            Device device = machine.addDevice(DeviceConfig.named("nic"));
            List<Future<?>> running = new ArrayList<>();
            for (int i = 0; i < 3; i++) {
                int self = i;
                running.add(threads.submit(() -> run(machine, device, device.dma(self % handles), self)));
            }
            AtomicBoolean done = new AtomicBoolean();
            Future<?> ticking = threads.submit(() -> tickUntil(done, machine));
            for (Future<?> one : running) {
                one.get();
            }
            done.set(true);
            ticking.get();
            List<String> violations = new ArrayList<>();
            machine.checkStructure(violations::add);
            machine.quiesce();
            machine.checkIdle(violations::add);
            assertThat(violations).isEmpty();
            assertThat(machine.log().warnCount()).isZero();
        } finally {
            threads.shutdownNow();
        }
    }

    /** The flush timer and the trim work run beside the CPUs. */
    private static void tickUntil(AtomicBoolean done, Machine machine) {
        while (!done.get()) {
            machine.clock().advance(1_000_000);
            Thread.onSpinWait();
        }
    }

    /** Each thread has pages of its own, each filled with its number. */
    private static void run(Machine machine, Device device, Dma dma, int self) {
        Random random = new Random(self);
        long base = RAM + self * PAGES * PAGE;
        for (long page = 0; page < PAGES; page++) {
            machine.cpuMemory().putLong(base + page * PAGE, self * 1000L + page);
        }
        SgTable sg = new SgTable(4);
        for (int round = 0; round < ROUNDS; round++) {
            sg.clear();
            int entries = 1 + random.nextInt(4);
            int first = random.nextInt((int) PAGES - 8);
            for (int i = 0; i < entries; i++) {
                sg.add(base + (first + 2L * i) * PAGE, PAGE);
            }
            assertThat(dma.mapSg(sg, entries, DmaDirection.TO_DEVICE, 0)).isEqualTo(1);
            long dmaAddr = dma.mapPage(base + first * PAGE, 2 * PAGE, DmaDirection.TO_DEVICE, 0);
            for (int i = 0; i < entries; i++) {
                assertReads(device, sg.dmaAddr(0) + i * PAGE, self * 1000L + first + 2L * i);
            }
            assertReads(device, dmaAddr + PAGE, self * 1000L + first + 1);
            dma.unmapSg(sg, entries, DmaDirection.TO_DEVICE, 0);
            dma.unmapPage(dmaAddr, 2 * PAGE, DmaDirection.TO_DEVICE, 0);
        }
    }

    private static void assertReads(Device device, long dmaAddr, long expected) {
        long value = device.bus().readLong(dmaAddr);
        if (value != expected) {
            throw new AssertionError("0x" + Long.toHexString(dmaAddr) + " reads " + value + ", not " + expected);
        }
    }
}
