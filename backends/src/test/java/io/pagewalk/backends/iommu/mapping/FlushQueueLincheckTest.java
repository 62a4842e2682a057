package io.pagewalk.backends.iommu.mapping;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.backends.iommu.iova.IovaDomain;
import io.pagewalk.backends.iommu.pgtable.TablePageList;
import io.pagewalk.dma.Machine;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.jetbrains.lincheck.datastructures.IntGen;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.Param;
import org.jetbrains.lincheck.datastructures.StressOptions;
import org.jetbrains.lincheck.datastructures.Validate;
import org.junit.jupiter.api.Test;

/**
 * Whatever the order in which two CPUs queue, fill their rings, flush and reap: an address that was queued is waiting
 * or back in a cache, once, and never both (iommu:FQ-4 to FQ-6, FQ-12). Which of the two it is depends on whose flush
 * was under way, by the specification, so that calls answer nothing here; what holds at the end of each run is checked.
 */
public class FlushQueueLincheckTest {
    private static final int CPUS = 2;
    private static final long LIMIT_32 = 0xfffff;

    /** 1 in an ordinary build, more where properties are tried more often. */
    private static final int SCALE = Math.max(1, Integer.getInteger("jqwik.tries.default", 200) / 1000);

    private final Machine machine = Machine.builder()
            .ramBytes(1 << 20)
            .chunkBytes(1 << 16)
            .cpus(CPUS)
            .commandLine("swiotlb=noforce")
            .build();
    private final RecordingDriver driver = new RecordingDriver(RecordingDriver.APERTURE_48);
    private final IovaDomain iovas = new IovaDomain(machine, 4096, 1, true);
    private final IommuCore core = new IommuCore(driver.newTable(), driver, machine.log());
    /** Of four entries, three of which are used, so that a ring fills up at once. */
    private final FlushQueue queue =
            new FlushQueue("dev", CPUS, new FlushOptions(false, 4, 10_000_000L), machine.clock(), core, driver, iovas);

    private final AtomicInteger taken = new AtomicInteger();

    /** Used by lincheck, which makes a queue for each scenario. */
    public FlushQueueLincheckTest() {
        driver.stopRecording();
        core.attachedAs(2);
    }

    /** Takes an address that nobody had before and gives it back. */
    @Operation
    public void unmap(@Param(gen = IntGen.class, conf = "0:1") int cpu) {
        long pfn = iovas.alloc(1, LIMIT_32, true);
        taken.incrementAndGet();
        queue.queue(cpu, pfn, 1, new TablePageList());
    }

    /** What the timer does. */
    @Operation
    public void expire() {
        queue.quiesce();
    }

    @Validate
    public void everyAddressIsInOnePlace() {
        List<Long> places = new ArrayList<>(iovas.cachedPfns());
        queue.forEach(places::add);
        assertThat(places).doesNotHaveDuplicates().hasSize(taken.get());
        assertThat(queue.queued(0)).isLessThanOrEqualTo(3);
        assertThat(queue.queued(1)).isLessThanOrEqualTo(3);
    }

    @Test
    void noAddressIsLostOrDoubledUnderStress() {
        new StressOptions()
                .iterations(3 * SCALE)
                .invocationsPerIteration(30)
                .threads(2)
                .actorsPerThread(4)
                .actorsBefore(4)
                .actorsAfter(0)
                .check(FlushQueueLincheckTest.class);
    }
}
