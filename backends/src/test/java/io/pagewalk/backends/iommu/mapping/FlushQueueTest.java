package io.pagewalk.backends.iommu.mapping;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.backends.iommu.iova.IovaDomain;
import io.pagewalk.backends.iommu.iova.IovaTree;
import io.pagewalk.backends.iommu.pgtable.TablePageList;
import io.pagewalk.dma.Machine;
import java.util.Collections;
import java.util.Objects;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** When queued addresses come back. */
class FlushQueueTest {
    private static final long MILLISECOND = 1_000_000;
    private static final long LIMIT_32 = 0xfffff;

    private final Machine machine = Machine.builder().ramBytes(16 << 20).cpus(2).build();
    private final RecordingDriver driver = new RecordingDriver(RecordingDriver.APERTURE_48);
    private final IovaDomain iovas = new IovaDomain(machine, 4096, 1, true);
    private final IommuCore core = new IommuCore(driver.newTable(), driver, machine.log());
    private final FlushQueue queue = new FlushQueue("dev", 2, FlushOptions.PER_CPU, machine.clock(), core, driver, iovas);
    private final TablePageList none = new TablePageList();

    @BeforeEach
    void attach() {
        core.attachedAs(2);
    }

    /** Takes a page and queues it at once, as a map and an unmap do. */
    private long mapAndUnmap(int cpu) {
        long pfn = iovas.allocFast(cpu, 1, LIMIT_32, false);
        queue.queue(cpu, pfn, 1, none);
        return pfn << 12;
    }

    @Test
    @DisplayName("iommu:FQ-11: a full ring flushes in the unmapping thread, and its addresses come back newest first")
    void fullRingFlushesAndItsAddressesComeBack() {
        for (int i = 0; i < 255; i++) {
            assertThat(mapAndUnmap(0)).isEqualTo(0xfffff000L - ((long) i << 12));
        }
        assertThat(queue.flushes()).isZero();
        assertThat(queue.queued(0)).isEqualTo(255);
        assertThat(mapAndUnmap(0)).isEqualTo(0xfff00000L);
        assertThat(queue.flushes()).isEqualTo(1);
        assertThat(queue.queued(0)).isEqualTo(1);
        assertThat(mapAndUnmap(0)).isEqualTo(0xfff01000L);
        assertThat(mapAndUnmap(0)).isEqualTo(0xfff81000L);
        for (int i = 258; i < 510; i++) {
            mapAndUnmap(0);
        }
        assertThat(queue.flushes()).isEqualTo(1);
        mapAndUnmap(0);
        assertThat(queue.flushes()).isEqualTo(2);
        assertThat(queue.isTimerOn()).isTrue();
        machine.clock().advance(10 * MILLISECOND);
        assertThat(queue.flushes()).isEqualTo(3);
        assertThat(queue.queued()).isZero();
        assertThat(queue.isTimerOn()).isFalse();
        assertThat(driver.calls).isEqualTo(Collections.nCopies(3, "domain"));
    }

    @Test
    @DisplayName(
            "iommu:FQ-4, FQ-7: the timer runs 10 ms after the first queueing and starts again only with the next one")
    void timerRunsOnceAfterTheFirstQueueing() {
        mapAndUnmap(0);
        machine.clock().advance(5 * MILLISECOND);
        mapAndUnmap(0);
        machine.clock().advance(5 * MILLISECOND - 1);
        assertThat(queue.flushes()).isZero();
        machine.clock().advance(1);
        assertThat(queue.flushes()).isEqualTo(1);
        assertThat(queue.queued()).isZero();
        machine.clock().advance(1000 * MILLISECOND);
        assertThat(queue.flushes()).isEqualTo(1);
        mapAndUnmap(1);
        assertThat(queue.isTimerOn()).isTrue();
    }

    @Test
    @DisplayName("iommu:FQ-7: the timer reaps all rings into the caches of the CPU that armed it")
    void timerReapsIntoTheCachesOfItsCpu() {
        long first = mapAndUnmap(1);
        long second = mapAndUnmap(0);
        machine.clock().advance(10 * MILLISECOND);
        assertThat(iovas.allocFast(1, 1, LIMIT_32, false) << 12).isEqualTo(first);
        assertThat(iovas.allocFast(1, 1, LIMIT_32, false) << 12).isEqualTo(second);
    }

    @Test
    @DisplayName("iommu:FQ-8: an address is not used again before a flush")
    void queuedAddressIsNotUsedAgain() {
        long queued = mapAndUnmap(0);
        assertThat(iovas.allocFast(0, 1, LIMIT_32, true) << 12).isNotEqualTo(queued);
    }

    @Test
    @DisplayName("iommu:FQ-6: what is queued while a flush is under way waits for a further one")
    void entryQueuedDuringAFlushNeedsAnother() {
        for (int i = 0; i < 255; i++) {
            mapAndUnmap(0);
        }
        driver.duringFlush(() -> {
            driver.duringFlush(() -> {});
            mapAndUnmap(1);
        });
        mapAndUnmap(0);
        assertThat(queue.flushes()).isEqualTo(1);
        mapAndUnmap(1);
        assertThat(queue.queued(1)).isEqualTo(2);
        machine.clock().advance(10 * MILLISECOND);
        assertThat(queue.queued(1)).isZero();
    }

    @Test
    @DisplayName("iommu:QK-7: a ring that fills up during another CPU's flush loses nothing")
    void ringThatFillsUpDuringAFlushLosesNothing() {
        for (int i = 0; i < 255; i++) {
            mapAndUnmap(0);
        }
        driver.duringFlush(() -> {
            driver.duringFlush(() -> {});
            for (int i = 0; i < 256; i++) {
                mapAndUnmap(1);
            }
        });
        mapAndUnmap(0);
        assertThat(queue.queued(1)).isEqualTo(1);
        queue.quiesce();
        iovas.releaseCaches();
        assertThat(iovas.tree().first()).isEqualTo(IovaTree.ANCHOR);
    }

    @Test
    @DisplayName("iommu:FQ-12: one CPU's flush lets the others reap at their next call")
    void flushOfOneCpuLetsTheOthersReap() {
        for (int i = 0; i < 100; i++) {
            mapAndUnmap(1);
        }
        for (int i = 0; i < 256; i++) {
            mapAndUnmap(0);
        }
        assertThat(queue.flushes()).isEqualTo(1);
        assertThat(queue.queued(1)).isEqualTo(100);
        mapAndUnmap(1);
        assertThat(queue.queued(1)).isEqualTo(1);
    }

    @Test
    @DisplayName("iommu:FQ-5, DALLOC-6: table pages go back only when their entry is reaped")
    void tablePagesGoBackWhenTheirEntryIsReaped() {
        TablePageList freed = new TablePageList();
        freed.add(0x1000);
        freed.add(0x2000);
        queue.queue(0, iovas.allocFast(0, 1, LIMIT_32, false), 1, freed);
        assertThat(freed.isEmpty()).isTrue();
        assertThat(driver.calls).isEmpty();
        machine.clock().advance(10 * MILLISECOND);
        assertThat(driver.calls).containsExactly("domain", "free 2");
    }

    @Test
    @DisplayName("iommu:FQ-9: teardown gives table pages back and stops the timer, without a flush")
    void teardownGivesTablePagesBack() {
        TablePageList freed = new TablePageList();
        freed.add(0x1000);
        queue.queue(0, iovas.allocFast(0, 1, LIMIT_32, false), 1, freed);
        queue.close();
        assertThat(driver.calls).containsExactly("free 1");
        machine.clock().advance(20 * MILLISECOND);
        assertThat(queue.flushes()).isZero();
    }

    @Test
    void quiesceEmptiesTheQueueAndStopsTheTimer() {
        mapAndUnmap(0);
        mapAndUnmap(1);
        queue.quiesce();
        assertThat(queue.queued()).isZero();
        assertThat(queue.flushes()).isEqualTo(1);
        assertThat(machine.clock().armedTimers()).isZero();
        queue.quiesce();
        assertThat(queue.flushes()).isEqualTo(1);
    }

    @Test
    void theTimerHasAName() {
        assertThat(machine.clock().named("fq_flush_timeout dev")).isNotNull();
        mapAndUnmap(1);
        assertThat(Objects.requireNonNull(machine.clock().named("fq_flush_timeout dev")).isArmed())
                .isTrue();
    }
}
