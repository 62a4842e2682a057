package io.pagewalk.backends.iommu.driver;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import io.pagewalk.backends.iommu.pgtable.TablePageList;
import io.pagewalk.dma.Access;
import io.pagewalk.dma.spi.BackendOptions;
import java.lang.management.ManagementFactory;
import org.junit.jupiter.api.Test;

/** Hot paths cost no heap, whether tables lie in the pool or not. */
class VtdAllocationTest {
    private static final long PAGE = VtdWorld.PAGE;
    private static final int ROUNDS = 2000;
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    private final TablePageList freed = new TablePageList();
    private long sink;

    @Test
    void mapTranslateInvalidateAndUnmapAllocateNothing() {
        VtdWorld world = VtdWorld.create();
        assertAllocatesNothing(() -> cycle(world));
    }

    @Test
    void outsideThePoolNothingIsAllocatedEither() {
        VtdWorld world = VtdWorld.create(BackendOptions.NONE.with("iommu.tablePoolBytes", 0));
        assertAllocatesNothing(() -> cycle(world));
    }

    @Test
    void tablesThatComeAndGoAllocateNothing() {
        VtdWorld world = VtdWorld.create();
        assertAllocatesNothing(() -> {
            world.table.mapPages(0, 0x800_1000, PAGE, 512, VtdWorld.RW);
            sink += world.table.unmapPages(0, 512 * PAGE, freed);
            world.driver.invalidateRange(world.domainId, 0, 512 * PAGE - 1, false);
            world.driver.freeTablePages(freed);
        });
    }

    @Test
    void faultsAllocateNothing() {
        VtdWorld world = VtdWorld.create();
        assertAllocatesNothing(() -> sink += world.translate(0x123_4000, Access.ATOMIC));
        world.driver.detach(world.device);
        assertAllocatesNothing(() -> sink += world.translate(0x123_4000, Access.READ));
    }

    private void cycle(VtdWorld world) {
        sink += world.table.mapPages(0x5000, 0x800_0000, PAGE, 4, VtdWorld.RW);
        sink += world.translate(0x5000, Access.READ) + world.translate(0x6000, Access.WRITE);
        sink += world.table.iovaToPhys(0x7000);
        sink += world.table.unmapPages(0x5000, 4 * PAGE, freed);
        world.driver.invalidateRange(world.domainId, 0x5000, 0x8fff, true);
        world.driver.invalidateDomain(world.domainId);
    }

    /** The thread's own counter is exact; what the first rounds load is not counted. */
    private static void assertAllocatesNothing(Runnable hot) {
        run(hot);
        long least = Long.MAX_VALUE;
        for (int attempt = 0; attempt < 5 && least != 0; attempt++) {
            long before = THREADS.getCurrentThreadAllocatedBytes();
            run(hot);
            least = Math.min(least, THREADS.getCurrentThreadAllocatedBytes() - before);
        }
        assertThat(least).as("bytes in %d rounds", ROUNDS).isZero();
    }

    private static void run(Runnable hot) {
        for (int i = 0; i < ROUNDS; i++) {
            hot.run();
        }
    }
}
