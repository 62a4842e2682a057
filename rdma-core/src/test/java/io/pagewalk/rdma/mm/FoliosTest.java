package io.pagewalk.rdma.mm;

import static io.pagewalk.rdma.mm.World.PAGE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.CmaArea;
import io.pagewalk.dma.memory.PhysRange;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@DisplayName("Folios (rdma:MM-7)")
class FoliosTest {
    private static final long FRAMES = 1L << 40;

    @ParameterizedTest
    @ValueSource(longs = {512, 1L << 18, 1L << 36, FRAMES - 1})
    void frameWhereverItIsHasItsOwnState(long pfn) {
        Folios folios = new Folios();
        assertThat(folios.state(pfn)).isZero();
        folios.create(pfn, 0, Folios.ANON);
        folios.addMapCount(pfn, 3);
        assertThat(folios.state(pfn)).isEqualTo(Folios.ANON);
        assertThat(folios.mapCount(pfn)).isEqualTo(3);
        for (long other : new long[] {0, pfn - 1, pfn ^ 512, pfn ^ (1L << 18), pfn ^ (1L << 27)}) {
            assertThat(folios.state(other)).as("frame 0x%x", other).isZero();
            assertThat(folios.mapCount(other)).isZero();
        }
    }

    @Test
    void addressesOf52BitsAreFramesAndNothingElseIs() {
        try (World world = new World()) {
            assertThat(world.pins.maybeDmaPinned(FRAMES - 1)).isFalse();
            assertThatThrownBy(() -> world.pins.maybeDmaPinned(FRAMES))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("there is no page frame 0x10000000000");
            assertThatThrownBy(() -> world.pins.maybeDmaPinned(-1)).isInstanceOf(IllegalArgumentException.class);
        }
    }

    @Test
    void folioThatIsForgottenLeavesNoPage() {
        Folios folios = new Folios();
        folios.create(1024, 9, Folios.ANON | Folios.HUGETLB);
        folios.create(1023, 0, Folios.FILE);
        folios.create(1536, 0, Folios.FILE);
        folios.addMapCount(1024, 2);
        assertThat(folios.head(1535)).isEqualTo(1024);

        folios.forget(1024, 9);

        for (long pfn = 1024; pfn < 1536; pfn++) {
            assertThat(folios.state(pfn)).as("frame %d", pfn).isZero();
        }
        assertThat(folios.mapCount(1024)).isZero();
        assertThat(folios.state(1023)).isEqualTo(Folios.FILE);
        assertThat(folios.state(1536)).isEqualTo(Folios.FILE);
    }

    @Test
    void bitOfAFolioIsSetOnEachOfItsPagesAndNoOther() {
        Folios folios = new Folios();
        folios.create(1024, 9, Folios.ANON);
        folios.setOnFolio(1030, Folios.ISOLATED);
        for (long pfn = 1024; pfn < 1536; pfn++) {
            assertThat(folios.has(pfn, Folios.ISOLATED)).as("frame %d", pfn).isTrue();
        }
        assertThat(folios.state(1023)).isZero();
        assertThat(folios.state(1536)).isZero();
        folios.setOnFolio(7, Folios.ISOLATED);
        assertThat(folios.state(7)).isEqualTo(Folios.ISOLATED);
        assertThat(folios.state(8)).isZero();
    }

    @Test
    void pagesOfATransparentHugePageAreExclusiveOneByOneAndThoseOfHugetlbTogether() {
        // MM-7
        Folios folios = new Folios();
        folios.create(1024, 9, Folios.ANON);
        folios.setExclusive(1030);
        assertThat(folios.isExclusive(1030)).isTrue();
        assertThat(folios.isExclusive(1024)).isFalse();
        assertThat(folios.isExclusive(1031)).isFalse();

        folios.create(2048, 9, Folios.ANON | Folios.HUGETLB);
        folios.setExclusive(2050);
        assertThat(folios.isExclusive(2048)).isTrue();
        assertThat(folios.isExclusive(2559)).isTrue();
        folios.clearExclusive(2200);
        assertThat(folios.isExclusive(2050)).isFalse();
    }

    // ---- marks

    @Test
    void onlyPagesThatSomebodyHasAreMarked() {
        // GUP-13
        try (World world = new World()) {
            long address = world.touched(1);
            long pfn = world.process.pfnOf(address);
            world.process.munmap(address, PAGE);
            assertThat(world.memory.folios().state(pfn)).as("freed").isZero();
            assertThatThrownBy(() -> world.memory.markIsolated(pfn))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("no process and no file has page frame 0x%x", pfn);
            assertThatThrownBy(() -> world.memory.markDeviceCoherent(pfn))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("no process and no file has page frame 0x%x", pfn);
            assertThat(world.memory.folios().state(pfn)).isZero();
            assertThatThrownBy(() -> world.memory.markIsolated(FRAMES))
                    .hasMessage("there is no page frame 0x10000000000");
        }
    }

    @Test
    void pagesOfFilesInPersistentMemoryKeepTheirBytes() {
        // RXE-15
        try (World world = new World();
                UserFile fsdax = world.file(FileKind.FSDAX, 1);
                UserFile device = world.file(FileKind.DEVICE_DAX, 1);
                UserFile shmem = world.file(FileKind.SHMEM, 1)) {
            assertThat(isPersistent(world, fsdax)).isTrue();
            assertThat(isPersistent(world, device)).isTrue();
            assertThat(isPersistent(world, shmem)).isFalse();
            assertThat(world.memory.isPersistent(world.memory.zeroPfn())).isFalse();
            assertThatThrownBy(() -> world.memory.isPersistent(-1)).isInstanceOf(IllegalArgumentException.class);
        }
    }

    private static boolean isPersistent(World world, UserFile file) {
        long address = world.map(file.forWriting(), 1, World.RW, Mmap.MAP_SHARED);
        world.process.putLong(address, 1);
        return world.memory.isPersistent(world.process.pfnOf(address));
    }

    @Test
    void zeroPageIsZeroedWhateverItsFrameHeldBefore() {
        // MM-8
        try (Machine machine = Machine.builder().ramBytes(32 << 20).build()) {
            long dirtied = (32 << 20) - PAGE;
            for (long at = dirtied; at < dirtied + PAGE; at += 8) {
                machine.memory().putLong(at, -1);
            }
            UserMemory memory = UserMemory.of(machine);
            assertThat(memory.zeroPfn()).as("the last frame").isEqualTo(dirtied / PAGE);
            assertThat(machine.memory().getLong(dirtied)).isZero();
            assertThat(machine.memory().getLong(dirtied + PAGE - 8)).isZero();
        }
    }

    @Test
    void pagesGoBackToTheAreaTheyCameFrom() {
        // GUP-13
        try (World world = new World()) {
            CmaArea first = area(world, 0x180_0000);
            long address = world.untouched(2);
            world.process.putLong(address, 1);
            CmaArea second = area(world, 0x1a0_0000);
            world.process.putLong(address + PAGE, 1);
            assertThat(first.usedPages()).isEqualTo(1);
            assertThat(second.usedPages()).isEqualTo(1);

            world.process.munmap(address + PAGE, PAGE);
            assertThat(second.usedPages()).isZero();
            assertThat(first.usedPages()).isEqualTo(1);
            world.process.munmap(address, PAGE);
            assertThat(first.usedPages()).isZero();
        }
    }

    private static CmaArea area(World world, long physAddr) {
        world.machine.pages().reserve(physAddr, 4 * PAGE);
        CmaArea area = new CmaArea("area", PhysRange.ofSize(physAddr, 4 * PAGE));
        world.memory.takePagesFrom(area);
        return area;
    }
}
