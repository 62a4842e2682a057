package io.pagewalk.rdma.umem;

import static io.pagewalk.rdma.umem.UmemWorld.PAGE;
import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.Errno;
import io.pagewalk.rdma.AccessFlags;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Everything that a registration could run out of, one after the other (rdma:UMEM-6, UMEM-7, UMEM-16, UMEM-18, CONV-6).
 */
class UmemFailuresTest {
    private static final int PAGES = 600;

    /** What nothing stands in for; a page that could not be had in the middle of a batch is asked for again (GUP-7). */
    private static final Set<String> FINAL = Set.of("umem.struct", "umem.page_list", "sg.chunk");

    @ParameterizedTest
    @ValueSource(strings = {"direct", "swiotlb", "iommu-strict", "iommu-lazy", "virt", "software"})
    @DisplayName("rdma:CONV-6, UMEM-18: whichever step fails, nothing is charged, pinned, listed, mapped or held")
    void nothingIsLeftWhicheverStepFails(String backend) {
        UmemWorld world = Worlds.on(backend);
        Set<String> failed = new TreeSet<>();
        int step = 0;
        String failedAt;
        do {
            step++;
            long addr = mostlyTouched(world);
            world.machine.failures().failNth(step);
            int error = world.get(addr, (long) PAGES * PAGE, AccessFlags.LOCAL_WRITE);
            failedAt = world.machine.failures().failedAt();
            world.machine.failures().disarm();
            if (error == 0) {
                assertThat(FINAL).doesNotContain(String.valueOf(failedAt));
                world.result.umem().close();
            } else {
                failed.add(String.valueOf(failedAt));
                assertThat(error).isIn(-Errno.ENOMEM, -Errno.EIO);
            }
            assertNothingIsHeld(world, backend + " step " + step + " at " + failedAt);
            world.process.munmap(addr, (long) PAGES * PAGE);
        } while (failedAt != null);

        assertThat(failed).containsAll(FINAL).contains("mm.page");
        assertThat(failed.contains("swiotlb.slots")).isEqualTo(backend.equals("swiotlb"));
        assertThat(failed.contains("iommu.iova")).isEqualTo(backend.startsWith("iommu"));
        assertIdle(world);
    }

    /** So that each batch begins with a page that has to be made, and few others do. */
    private static long mostlyTouched(UmemWorld world) {
        long addr = world.anon(PAGES);
        for (int page = 0; page < PAGES; page++) {
            if (page % 512 > 1) {
                world.process.putLong(addr + (long) page * PAGE, page);
            }
        }
        return addr;
    }

    private static void assertNothingIsHeld(UmemWorld world, String when) {
        assertThat(world.pinnedVm()).as(when).isZero();
        assertThat(world.pinsHeld()).as(when).isZero();
        assertThat(world.machine.scatterlists().liveChunks()).as(when).isEmpty();
        assertThat(world.process.addressSpace().structureReferences()).as(when).isEqualTo(1);
    }

    private static void assertIdle(UmemWorld world) {
        List<String> violations = new ArrayList<>();
        world.machine.quiesce();
        world.machine.checkStructure(violations::add);
        world.machine.checkIdle(violations::add);
        assertThat(violations).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 5, 9})
    @DisplayName("rdma:UMEM-16, SGA-6: a later batch that cannot be listed is unpinned clean, as are those before it")
    void aLaterBatchThatCannotBeListedIsUndone(int chunk) {
        UmemWorld world = UmemWorld.software();
        long addr = world.scattered(1200);
        for (int page = 0; page < 1200; page++) {
            world.machine.frames().clearDirty(world.process.pfnOf(addr + (long) page * PAGE));
        }
        world.machine.failures().failNth("sg.chunk", chunk);

        assertThat(world.get(addr, 1200L * PAGE, AccessFlags.LOCAL_WRITE)).isEqualTo(-Errno.ENOMEM);
        assertThat(world.result.failure().reason()).isEqualTo(UmemFailureReason.CANNOT_LIST);
        assertThat(world.result.failure().numbers()).containsExactly(0xffff_ffffL, 1200L);
        assertThat(world.pins.acquired()).isGreaterThanOrEqualTo(512);
        for (int page = 0; page < 1200; page++) {
            assertThat(world.isDirty(world.process.pfnOf(addr + (long) page * PAGE)))
                    .isFalse();
            assertThat(world.refCount(addr + (long) page * PAGE)).isEqualTo(1);
        }
        assertNothingIsHeld(world, "chunk " + chunk);
    }
}
