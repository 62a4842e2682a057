package io.pagewalk.backends.iommu.mapping;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.FailureReason;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.scatterlist.SgTable;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** The examples of iommu:SG-23, each on a fresh domain, and what a failing list looks like afterwards. */
class SgMapperTest {
    private static final long PHYS = 0x10000000L;
    private static final long APART = 0x10000000L;
    private static final int K64 = 0x10000;
    private static final int G4_MINUS_1 = -1;
    private static final long NONE = 0;

    /** A list whose entries lie far apart, from pairs of offset and length. */
    private static SgTable list(long... offsetsAndLengths) {
        SgTable sg = new SgTable(8);
        for (int i = 0; i < offsetsAndLengths.length; i += 2) {
            sg.add(PHYS + i / 2 * APART, offsetsAndLengths[i], offsetsAndLengths[i + 1]);
        }
        return sg;
    }

    private static SgTable lengths(long... lengths) {
        SgTable sg = new SgTable(8);
        for (int i = 0; i < lengths.length; i++) {
            sg.add(PHYS + i * APART, 0, lengths[i]);
        }
        return sg;
    }

    private static World world(long boundaryMask, int maxBytes) {
        return World.strict(config -> config.withSegments(maxBytes, boundaryMask));
    }

    private static int map(World world, SgTable sg) {
        return world.ops.mapSg(world.device, 0, sg, sg.origNents(), DmaDirection.BIDIRECTIONAL, 0);
    }

    private static void unmap(World world, SgTable sg) {
        world.ops.unmapSg(world.device, 0, sg, sg.origNents(), DmaDirection.BIDIRECTIONAL, 0);
    }

    /** Maps, compares the segments with pairs of address and length, and sees that the CPU's side is as before. */
    private static void assertSegments(long boundaryMask, int maxBytes, SgTable sg, long... expected) {
        try (World world = world(boundaryMask, maxBytes)) {
            List<String> before = cpuSide(sg);
            assertThat(map(world, sg)).isEqualTo(expected.length / 2);
            assertThat(segments(sg, expected.length / 2)).containsExactly(expected);
            for (int i = expected.length / 2; i < sg.origNents(); i++) {
                assertThat(sg.dmaAddr(i)).as("iommu:SG-16").isEqualTo(-1L);
                assertThat(sg.dmaLengthBytes(i)).isZero();
            }
            assertThat(cpuSide(sg)).isEqualTo(before);
            unmap(world, sg);
            world.assertNothingIsHeld();
        }
    }

    private static long[] segments(SgTable sg, int count) {
        long[] segments = new long[2 * count];
        for (int i = 0; i < count; i++) {
            segments[2 * i] = sg.dmaAddr(i);
            segments[2 * i + 1] = sg.dmaLengthBytes(i);
        }
        return segments;
    }

    private static List<String> cpuSide(SgTable sg) {
        List<String> entries = new ArrayList<>();
        for (int i = 0; i < sg.origNents(); i++) {
            entries.add(sg.pageAddr(i) + " " + sg.offset(i) + " " + sg.lengthBytes(i));
        }
        return entries;
    }

    private static void assertInvalid(long boundaryMask, int maxBytes, SgTable sg) {
        try (World world = world(boundaryMask, maxBytes)) {
            List<String> before = cpuSide(sg);
            assertThat(map(world, sg)).isEqualTo(-Errno.EINVAL);
            assertThat(world.failure().reason()).isEqualTo(FailureReason.INVALID_LIST);
            assertThat(cpuSide(sg)).isEqualTo(before);
            for (int i = 0; i < sg.origNents(); i++) {
                assertThat(sg.dmaAddr(i)).as("iommu:SG-17").isEqualTo(-1L);
                assertThat(sg.dmaLengthBytes(i)).isZero();
            }
            world.backend.quiesce();
            assertThat(world.idleViolations()).isEmpty();
        }
    }

    @Test
    @DisplayName("iommu:SG-23 a: whole pages merge")
    void caseA() {
        assertSegments(NONE, K64, lengths(0x1000, 0x1000, 0x2000), 0xffffc000L, 0x4000);
    }

    @Test
    @DisplayName("iommu:SG-23 b: offsets and tails keep segments apart")
    void caseB() {
        assertSegments(
                NONE,
                K64,
                list(0x200, 0x300, 0, 0x1000, 0x800, 0x800, 0, 0x1000),
                0xffffc200L,
                0x300,
                0xffffd000L,
                0x1000,
                0xffffe800L,
                0x1800);
    }

    @Test
    @DisplayName("iommu:SG-23 c: padding keeps a segment from crossing the boundary")
    void caseC() {
        assertSegments(0xffff, K64, lengths(0x8000, 0xc000, 0x4000), 0xfffe0000L, 0x8000, 0xffff0000L, 0x10000);
    }

    @Test
    @DisplayName("iommu:SG-23 d: a segment that ends at the boundary is not padded")
    void caseD() {
        assertSegments(0xffff, K64, lengths(0x8000, 0x8000, 0x8000), 0xfffe0000L, 0x10000, 0xffff0000L, 0x8000);
    }

    @Test
    @DisplayName("iommu:SG-23 e: the maximum limits merging and never splits")
    void caseE() {
        assertSegments(
                NONE,
                0x3000,
                lengths(0x2000, 0x1000, 0x1000, 0x4000),
                0xffff8000L,
                0x3000,
                0xffffb000L,
                0x1000,
                0xffffc000L,
                0x4000);
    }

    @Test
    @DisplayName("iommu:SG-23 f, SG-21: an empty entry with an offset ends the unmap early")
    void caseF() {
        try (World world = world(NONE, K64)) {
            SgTable sg = list(0, 0x1000, 0x10, 0, 0, 0x1000);
            assertThat(map(world, sg)).isEqualTo(3);
            assertThat(segments(sg, 3)).containsExactly(0xffffc000L, 0x1000, 0xffffd010L, 0, 0xffffe000L, 0x1000);
            unmap(world, sg);
            assertThat(world.table.leaves()).containsOnlyKeys(0xffffd000L, 0xffffe000L);
            world.backend.quiesce();
            assertThat(world.idleViolations()).isNotEmpty();
        }
    }

    @Test
    @DisplayName("iommu:SG-23 g: an empty entry on a page boundary makes the list invalid")
    void caseG() {
        assertInvalid(NONE, K64, list(0, 0x1000, 0, 0, 0, 0x1000));
        assertInvalid(0xffffffffL, K64, list(0, 0x1000, 0, 0, 0, 0x1000));
        assertInvalid(NONE, K64, list(0, 0x1000, 0, 0));
    }

    @Test
    @DisplayName("iommu:SG-23 g2: with a boundary the empty entry pulls in padding")
    void caseG2() {
        try (World world = world(0xffff, K64)) {
            SgTable sg = list(0, 0x1000, 0, 0, 0, 0x1000);
            assertThat(map(world, sg)).isEqualTo(3);
            assertThat(segments(sg, 3)).containsExactly(0xfffe0000L, 0x1000, 0xffff0000L, 0, 0xffff0000L, 0x1000);
        }
    }

    @Test
    @DisplayName("iommu:SG-23 g3: no padding when the boundary is a page")
    void caseG3() {
        try (World world = world(0xfff, K64)) {
            SgTable sg = list(0, 0x1000, 0, 0, 0, 0x1000);
            assertThat(map(world, sg)).isEqualTo(3);
            assertThat(segments(sg, 3)).containsExactly(0xffffe000L, 0x1000, 0xfffff000L, 0, 0xfffff000L, 0x1000);
        }
    }

    @Test
    @DisplayName("iommu:SG-23 g4: an empty last entry that follows physically makes the result short")
    void caseG4() {
        assertInvalid(0xfff, K64, new SgTable(2).add(PHYS, 0x1000).add(PHYS + 0x1000, 0));
    }

    @Test
    @DisplayName("iommu:SG-23 h: an empty first entry hides the rest from unmap, and the addresses leak")
    void caseH() {
        try (World world = world(NONE, K64)) {
            SgTable sg = list(0, 0, 0, 0x1000);
            assertThat(map(world, sg)).isEqualTo(2);
            assertThat(segments(sg, 2)).containsExactly(0xfffff000L, 0, 0xfffff000L, 0x1000);
            unmap(world, sg);
            assertThat(world.table.leaves()).containsOnlyKeys(0xfffff000L);
            assertThat(world.map(PHYS, 0x1000)).isEqualTo(0xffffe000L);
        }
    }

    @Test
    @DisplayName("iommu:SG-23 i, SG-10: a list of nothing takes no address")
    void caseI() {
        assertSegments(NONE, K64, list(0, 0), 0, 0);
    }

    @Test
    @DisplayName("iommu:SG-23 j: an offset beyond a page")
    void caseJ() {
        assertSegments(NONE, K64, list(0x1234, 0x1000, 0, 0x10), 0xffffc234L, 0x1000, 0xffffe000L, 0x10);
    }

    @Test
    @DisplayName("iommu:SG-23 k: padding after a short tail")
    void caseK() {
        assertSegments(
                0xffff,
                K64,
                list(0, 0xf000, 0x10, 0x1000, 0, 0x1000),
                0xfffe0000L,
                0xf000,
                0xffff0010L,
                0x1000,
                0xffff2000L,
                0x1000);
    }

    @Test
    @DisplayName("iommu:SG-23 l: merging stops at the boundary")
    void caseL() {
        assertSegments(0xffff, 2 * K64, lengths(0xf000, 0x1000, 0x1000), 0xfffe0000L, 0x10000, 0xffff0000L, 0x1000);
    }

    @Test
    @DisplayName("iommu:SG-23 m: the size's alignment allows large pages")
    void caseM() {
        assertSegments(NONE, G4_MINUS_1, lengths(0x200000, 0x200000, 0x1000), 0xff800000L, 0x401000);
    }

    @Test
    @DisplayName("iommu:SG-23 n, SG-7: a rounded length beyond 32 bits")
    void caseN() {
        assertInvalid(NONE, K64, lengths(0xfffff001L, 0x1000));
    }

    @Test
    @DisplayName("iommu:SG-23 o: a gap at the tail blocks the merge")
    void caseO() {
        assertSegments(NONE, K64, lengths(0x1800, 0x1000), 0xffffc000L, 0x1800, 0xffffe000L, 0x1000);
    }

    @Test
    @DisplayName("iommu:SG-23 p: a full segment takes no more")
    void caseP() {
        assertSegments(NONE, K64, lengths(0x10000, 0x10000), 0xfffe0000L, 0x10000, 0xffff0000L, 0x10000);
    }

    @Test
    @DisplayName("iommu:SG-23 q: once a segment is beyond the maximum everything merges")
    void caseQ() {
        assertSegments(NONE, 0x3000, lengths(0x4000, 0x1000, 0x9000), 0xffff0000L, 0xe000);
    }

    @Test
    @DisplayName("iommu:SG-23 r: an entry longer than the boundary is neither split nor protected")
    void caseR() {
        assertSegments(0xffff, K64, lengths(0x18000, 0x4000), 0xfffe0000L, 0x1c000);
    }

    @Test
    @DisplayName("iommu:SG-23 s: 4 GiB in all do not fit 32 bits of address")
    void caseS() {
        SgTable sg = new SgTable(2).add(0x10000000L, 0xff000000L).add(0x200000000L, 0x1000000);
        assertSegments(NONE, G4_MINUS_1, sg, 0xffff00000000L, 0xff000000L, 0xffffff000000L, 0x1000000);
    }

    @Test
    @DisplayName("iommu:SG-11, SG-17: without addresses the list is restored and the answer is ENOMEM")
    void listWithoutAddressesIsRestored() {
        try (World world = World.strict(config -> config.withStreamingMask(0xfffL))) {
            SgTable sg = list(0x123, 0x1000, 0, 0x1000);
            List<String> before = cpuSide(sg);
            assertThat(map(world, sg)).isEqualTo(-Errno.ENOMEM);
            assertThat(world.failure().reason()).isEqualTo(FailureReason.NO_IOVA);
            assertThat(world.failure().numbers()).containsExactly(3L, 0xfffL);
            assertThat(cpuSide(sg)).isEqualTo(before);
        }
    }

    @Test
    @DisplayName("iommu:SG-12, SG-17: an error of the tables keeps ENOMEM")
    void listThatTheTablesRefuseIsRestored() {
        try (World world = world(NONE, K64)) {
            SgTable sg = list(0x123, 0x1000, 0, 0x1000);
            List<String> before = cpuSide(sg);
            world.table.failAfter(2);
            assertThat(map(world, sg)).isEqualTo(-Errno.ENOMEM);
            assertThat(world.failure().reason()).isEqualTo(FailureReason.TABLE_ERROR);
            assertThat(world.failure().numbers()).containsExactly(0xffffc000L, 0x3000L, (long) Errno.ENOMEM);
            assertThat(cpuSide(sg)).isEqualTo(before);
            world.assertNothingIsHeld();
        }
    }

    @Test
    @DisplayName("iommu:SG-18: entries that were not reached lose what their DMA fields held")
    void abortTrustsStaleFieldsOfEntriesItDidNotReach() {
        try (World world = world(NONE, K64)) {
            SgTable sg = lengths(0xfffff001L, 0x1000);
            sg.setDma(1, 0x40, 0x77);
            assertThat(map(world, sg)).isEqualTo(-Errno.EINVAL);
            assertThat(sg.offset(1)).isEqualTo(0x40);
            assertThat(sg.lengthBytes(1)).isEqualTo(0x77);
        }
    }

    @Test
    @DisplayName("iommu:SG-8: padding as long as the entry less one byte is left out, though the entry crosses")
    void paddingStopsOneByteShort() {
        RecordingDriver driver = new RecordingDriver(1, RecordingDriver.APERTURE_48);
        Machine machine = World.builder().build();
        try (World world = World.of(machine, driver, false, config -> config.withSegments(K64, 0xf))) {
            SgTable crossing = lengths(8, 9);
            assertThat(map(world, crossing)).isEqualTo(1);
            assertThat(crossing.dmaLengthBytes(0)).isEqualTo(17);
            SgTable padded = lengths(8, 10);
            assertThat(map(world, padded)).isEqualTo(2);
            assertThat(padded.dmaAddr(1) % 16).isZero();
        }
    }

    @Test
    @DisplayName("iommu:SG-8: the padding itself may not make the entry before longer than 32 bits say")
    void paddingThatOverflowsMakesTheListInvalid() {
        try (World world = world(-1L >>> 32, G4_MINUS_1)) {
            SgTable sg = lengths(0xffff_f000L, 0x3000);
            assertThat(map(world, sg)).isEqualTo(-Errno.EINVAL);
            assertThat(cpuSide(sg)).isEqualTo(cpuSide(lengths(0xffff_f000L, 0x3000)));
            world.assertNothingIsHeld();
        }
    }
}
