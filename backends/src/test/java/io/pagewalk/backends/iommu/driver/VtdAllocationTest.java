package io.pagewalk.backends.iommu.driver;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.backends.AllocatedBytes;
import io.pagewalk.backends.iommu.pgtable.TablePageList;
import io.pagewalk.dma.Access;
import io.pagewalk.dma.spi.BackendOptions;
import org.junit.jupiter.api.Test;

/** Hot paths cost no heap, whether tables lie in the pool or not. */
class VtdAllocationTest {
    private static final long PAGE = VtdWorld.PAGE;
    private static final int ROUNDS = 2000;
    private static final long COST_OF_ASKING = 1000;

    private final TablePageList freed = new TablePageList();
    private long sink;

    @Test
    void mapTranslateInvalidateAndUnmapAllocateNothing() throws ReflectiveOperationException {
        VtdWorld world = VtdWorld.create();
        assertAllocatesNothing(() -> cycle(world));
    }

    @Test
    void outsideThePoolNothingIsAllocatedEither() throws ReflectiveOperationException {
        VtdWorld world = VtdWorld.create(BackendOptions.NONE.with("iommu.tablePoolBytes", 0));
        assertAllocatesNothing(() -> cycle(world));
    }

    @Test
    void tablesThatComeAndGoAllocateNothing() throws ReflectiveOperationException {
        VtdWorld world = VtdWorld.create();
        assertAllocatesNothing(() -> {
            world.table.mapPages(0, 0x800_1000, PAGE, 512, VtdWorld.RW);
            sink += world.table.unmapPages(0, 512 * PAGE, freed);
            world.driver.invalidateRange(world.domainId, 0, 512 * PAGE - 1, false);
            world.driver.freeTablePages(freed);
        });
    }

    @Test
    void faultsAllocateNothing() throws ReflectiveOperationException {
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

    private static void assertAllocatesNothing(Runnable hot) throws ReflectiveOperationException {
        AllocatedBytes allocated = new AllocatedBytes();
        long least = Long.MAX_VALUE;
        for (int attempt = 0; attempt < 5 && least >= COST_OF_ASKING; attempt++) {
            least = Math.min(least, allocated.during(ROUNDS, hot));
        }
        assertThat(least).as("bytes in %d rounds", ROUNDS).isLessThan(COST_OF_ASKING);
    }
}
