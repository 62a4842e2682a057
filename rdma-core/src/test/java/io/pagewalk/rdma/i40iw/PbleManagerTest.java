package io.pagewalk.rdma.i40iw;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.Machine;
import io.pagewalk.rdma.i40iw.HmcMemory.SegmentType;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class PbleManagerTest {
    private static final long SEGMENT = 2L << 20;
    private static final int SEGMENT_PBLES = 262_144;
    private static final int ENOMEM = -Errno.ENOMEM;

    private final Machine machine = machine("direct");
    private final Device device = machine.addDevice(DeviceConfig.named("irdma").withMask(-1L));
    private final HmcMemory memory = new HmcMemory(device.dma());

    private static Machine machine(String backend) {
        return Machine.builder()
                .ramBytes(64L << 20)
                .chunkBytes(1 << 16)
                .backend(backend)
                .build();
    }

    private PbleManager manager(long base, long count) {
        PbleManager pbles = new PbleManager(memory, base, count, Generation.IRDMA, machine.failures());
        assertThat(pbles.open()).isZero();
        return pbles;
    }

    private static int index(PbleManager pbles, int count) {
        PbleAllocation allocation = new PbleAllocation();
        assertThat(pbles.get(count, PbleManager.LEVEL_1, allocation)).isZero();
        return allocation.index();
    }

    @Test
    @DisplayName("rdma:PBLE-2 to PBLE-6: the worked example")
    void theWorkedExample() {
        PbleManager pbles = manager(0x4000_0800, 786_432);
        assertThat(pbles.chunkGranules(0)).isEqualTo(32_704);
        assertThat(pbles.unallocatedPbles()).isEqualTo(524_544);
        assertThat(pbles.nextFpmAddr()).isEqualTo(0x4020_0000);
        assertThat(pbles.totalPbles()).isEqualTo(261_632);
        assertThat(pbles.freePbles()).isEqualTo(261_632);

        assertThat(index(pbles, 1)).isEqualTo(256);
        assertThat(index(pbles, 8)).isEqualTo(264);
        assertThat(index(pbles, 9)).isEqualTo(272);
        assertThat(index(pbles, 512)).isEqualTo(288);
        assertThat(index(pbles, 3)).isEqualTo(800);
        assertThat(pbles.freePbles()).as("in granules of 8").isEqualTo(261_632 - (8 + 8 + 16 + 512 + 8));
        assertThat(pbles.allocatedPbles()).isEqualTo(1 + 8 + 9 + 512 + 3);

        assertThat(pbles.addChunk()).isZero();
        assertThat(pbles.chunkGranules(0)).isEqualTo(32_768);
        assertThat(pbles.unallocatedPbles()).isEqualTo(262_400);
        assertThat(index(pbles, 1)).as("the newest chunk first").isEqualTo(261_888);
        assertThat(pbles.allocationsMade()).isEqualTo(6);
    }

    @Test
    @DisplayName("rdma:PBLE-4, PBLE-5: whole segments are direct, others paged, and paged ones count as direct too")
    void statisticsCountPagedChunksTwice() {
        PbleManager pbles = manager(0x1000, 511L * 512 + SEGMENT_PBLES + 3 * 512 + 511);
        assertThat(memory.type(0)).isEqualTo(SegmentType.PAGED);
        assertThat(pbles.pagedSegments()).isEqualTo(1);
        assertThat(pbles.directSegments()).isEqualTo(1);

        assertThat(pbles.addChunk()).isZero();
        assertThat(memory.type(1)).isEqualTo(SegmentType.DIRECT);
        assertThat(pbles.pagedSegments()).isEqualTo(1);
        assertThat(pbles.directSegments()).isEqualTo(2);

        assertThat(pbles.addChunk()).isZero();
        assertThat(memory.type(2)).isEqualTo(SegmentType.PAGED);
        assertThat(pbles.chunkGranules(0)).isEqualTo(3 * 64);
        assertThat(pbles.pagedSegments()).isEqualTo(2);
        assertThat(pbles.directSegments()).isEqualTo(3);

        assertThat(pbles.unallocatedPbles()).isEqualTo(511);
        assertThat(pbles.addChunk()).as("rdma:PBLE-3: not even a page is left").isEqualTo(ENOMEM);
        assertThat(pbles.nextFpmAddr()).isEqualTo(2 * SEGMENT + 3 * 0x1000);
        assertThat(pbles.totalPbles()).isEqualTo(511L * 512 + SEGMENT_PBLES + 3 * 512);
    }

    @Test
    @DisplayName("rdma:PBLE-4: without 2 MiB in a row the segment is backed by pages, and counts as paged alone")
    void withoutARunOfMemoryTheSegmentIsPaged() {
        PbleManager pbles = new PbleManager(memory, 0, SEGMENT_PBLES, Generation.IRDMA, machine.failures());
        machine.failures().failNth(2); // the chunk's own structure is the first
        assertThat(pbles.open()).isZero();
        assertThat(memory.type(0)).isEqualTo(SegmentType.PAGED);
        assertThat(pbles.pagedSegments()).isEqualTo(1);
        assertThat(pbles.directSegments()).isZero();
        assertThat(pbles.chunkGranules(0)).isEqualTo(32_768);
    }

    @Test
    @DisplayName("rdma:PBLE-4: a segment that has backing keeps its type")
    void aBackedSegmentKeepsItsType() {
        assertThat(memory.addDirect(0)).isZero();
        assertThat(memory.addPages(1, 0, 3)).isZero();
        PbleManager pbles = manager(0x10_0000, 128L * 512 + 128L * 512 + 512);
        assertThat(memory.type(0)).isEqualTo(SegmentType.DIRECT);
        assertThat(pbles.directSegments()).isEqualTo(1);
        assertThat(pbles.pagedSegments()).isZero();
        assertThat(pbles.totalPbles()).isEqualTo(256 * 512);
    }

    @Test
    @DisplayName("rdma:PBLE-7, PBLE-10: too long for a run, a list has leaves of 512 whose indexes stand in its root")
    void aListTooLongForARunHasLeaves() {
        PbleManager pbles = manager(0, 8 * 512); // one page is less than a segment: 8 pages
        PbleAllocation hole = new PbleAllocation();
        index(pbles, 2 * 512);
        assertThat(pbles.get(512, PbleManager.LEVEL_1, hole)).isZero();
        index(pbles, 3 * 512);
        pbles.free(hole); // free: page 2, and pages 6 and 7

        PbleAllocation list = new PbleAllocation();
        assertThat(pbles.get(1030, PbleManager.LEVEL_1, new PbleAllocation())).isEqualTo(ENOMEM);
        assertThat(pbles.get(1030, PbleManager.ANY_LEVEL, list)).isZero();
        assertThat(list.level()).isEqualTo(2);
        assertThat(list.count()).isEqualTo(1030);
        assertThat(list.index()).as("the root: 3 PBLEs in the lowest granule").isEqualTo(1024);
        assertThat(list.leaves()).isEqualTo(3);
        assertThat(list.leafIndex(0)).as("no longer a whole page in the hole").isEqualTo(6 * 512);
        assertThat(list.leafIndex(1)).isEqualTo(7 * 512);
        assertThat(list.leafIndex(2)).as("six more fit behind the root").isEqualTo(1032);
        for (int leaf = 0; leaf < 3; leaf++) {
            assertThat(memory.getLong((1024L + leaf) * 8)).isEqualTo(list.leafIndex(leaf));
        }
        assertThat(pbles.freePbles()).isEqualTo(3 * 512 - 8 - 1024 - 8);

        pbles.free(list);
        assertThat(list.level()).isZero();
        assertThat(pbles.freePbles()).isEqualTo(3 * 512);
        assertThat(pbles.freedPbles()).isEqualTo(512 + 1030);
        assertThat(pbles.allocationsFreed()).isEqualTo(2);
        assertThat(pbles.allocationsFailed()).isEqualTo(1);
    }

    @Test
    @DisplayName("rdma:PBLE-7: what there is no room for leaves nothing taken")
    void leavesThatDoNotFitAreGivenBack() {
        PbleManager pbles = manager(0, 4 * 512);
        PbleAllocation list = new PbleAllocation();
        index(pbles, 8);
        assertThat(pbles.get(2049, PbleManager.ANY_LEVEL, list)).isEqualTo(ENOMEM);
        assertThat(list.level()).isZero();
        assertThat(pbles.freePbles()).isEqualTo(4 * 512 - 8);
        assertThat(index(pbles, 4 * 512 - 8))
                .as("all that was free is in one run again")
                .isEqualTo(8);
        assertThat(pbles.get(512, PbleManager.ANY_LEVEL, list))
                .as("512 need no leaves")
                .isEqualTo(ENOMEM);
    }

    @Test
    @DisplayName("rdma:PBLE-7: a leaf list that cannot be allocated ends the attempt")
    void withoutMemoryForTheLeavesThereAreNone() {
        PbleManager pbles = manager(0, 4 * 512);
        index(pbles, 8);
        index(pbles, 1024);
        PbleAllocation list = new PbleAllocation();
        machine.failures().failNth("i40iw.pble_leaves", 1);
        assertThat(pbles.get(513, PbleManager.LEVEL_1_OR_2, list)).isZero();
        assertThat(list.level()).as("one run: no leaves were needed").isEqualTo(1);
        pbles.free(list);
        index(pbles, 504);
        assertThat(pbles.get(513, PbleManager.LEVEL_1_OR_2, list)).isEqualTo(ENOMEM);
        assertThat(pbles.freePbles()).isEqualTo(512);
    }

    @Test
    @DisplayName("rdma:PBLE-8: a list that finds no room makes the memory grow, once for a level that was asked for")
    void growthIsBoundedByTheLevelsAskedFor() {
        long segments = 4;
        PbleManager pbles = manager(0, segments * SEGMENT_PBLES);
        index(pbles, SEGMENT_PBLES);
        PbleAllocation list = new PbleAllocation();
        assertThat(pbles.get(SEGMENT_PBLES + 1, PbleManager.LEVEL_1_OR_2, list)).isEqualTo(ENOMEM);
        assertThat(pbles.totalPbles()).as("one growth").isEqualTo(2L * SEGMENT_PBLES);
        assertThat(pbles.get(3 * SEGMENT_PBLES, PbleManager.LEVEL_1, list)).isEqualTo(ENOMEM);
        assertThat(pbles.totalPbles()).as("one more").isEqualTo(3L * SEGMENT_PBLES);
        assertThat(pbles.get(2 * SEGMENT_PBLES + 1, PbleManager.ANY_LEVEL, list))
                .as("(c >> 18) + 1 = 3 growths, of which one is possible")
                .isZero();
        assertThat(pbles.totalPbles()).isEqualTo(4L * SEGMENT_PBLES);
        assertThat(list.level()).isEqualTo(2);
    }

    @Test
    @DisplayName("rdma:PBLE-8: a growth that fails ends the search with its error")
    void aGrowthThatFailsEndsTheSearch() {
        PbleManager pbles = manager(0, 3L * SEGMENT_PBLES);
        index(pbles, SEGMENT_PBLES);
        machine.failures().failNth("i40iw.pble_chunk", 1);
        PbleAllocation list = new PbleAllocation();
        assertThat(pbles.get(SEGMENT_PBLES + 512, PbleManager.ANY_LEVEL, list)).isEqualTo(ENOMEM);
        assertThat(pbles.totalPbles()).isEqualTo(SEGMENT_PBLES);
        assertThat(pbles.allocationsFailed()).isEqualTo(1);
        assertThat(pbles.get(1, PbleManager.ANY_LEVEL, list)).isZero();
        assertThat(list.index()).isEqualTo(SEGMENT_PBLES);
    }

    @Test
    @DisplayName("rdma:PBLE-9: i40iw asks for no level")
    void i40iwAsksForNoLevel() {
        PbleManager pbles = new PbleManager(memory, 0, 4 * 512, Generation.I40IW, machine.failures());
        assertThat(pbles.open()).isZero();
        PbleAllocation list = new PbleAllocation();
        assertThatIllegalArgumentException()
                .isThrownBy(() -> pbles.get(1, PbleManager.LEVEL_1, list))
                .withMessage("I40IW gets no PBLEs of levels 1");
        assertThat(pbles.get(1, PbleManager.ANY_LEVEL, list)).isZero();
    }

    @Test
    void badArgumentsChangeNothing() {
        PbleManager pbles = manager(0, 4 * 512);
        PbleAllocation list = new PbleAllocation();
        assertThatIllegalArgumentException()
                .isThrownBy(() -> pbles.get(-1, 0, list))
                .withMessage("a list of -1 PBLEs");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> pbles.get(1, 2, list))
                .withMessage("IRDMA gets no PBLEs of levels 2");
        assertThatIllegalStateException().isThrownBy(() -> pbles.free(list)).withMessage("no PBLEs are held");
        assertThat(pbles.get(9, 0, list)).isZero();
        assertThatIllegalStateException()
                .isThrownBy(() -> pbles.get(1, 0, list))
                .withMessage("the allocation holds 9 PBLEs already");
        assertThatThrownBy(() -> pbles.set(list, 9, 1)).isInstanceOf(IndexOutOfBoundsException.class);
        assertThat(pbles.allocationsMade()).isEqualTo(1);
        assertThat(pbles.allocationsFailed()).isZero();
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new PbleManager(memory, 4, 512, Generation.IRDMA, machine.failures()));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new PbleManager(memory, 0x4000_0ff8L, 0, Generation.IRDMA, machine.failures()))
                .withMessage("0 PBLEs from 0x40000ff8: 1 to 2^32 can be managed");
    }

    @ParameterizedTest
    @ValueSource(longs = {Long.MAX_VALUE - 0xfff - 0x1000, Long.MIN_VALUE - 8, Long.MIN_VALUE, -0x4000, -0x3008})
    @DisplayName("rdma:PBLE-2: FPM addresses are unsigned, and PBLEs lie anywhere but across their end")
    void pblesLieAnywhereUpToTheLastAddress(long base) {
        long skipped = (-base & 0xfff) / 8;
        PbleManager pbles = manager(base, skipped + 3 * 512);
        List<PbleAllocation> lists = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            PbleAllocation list = new PbleAllocation();
            assertThat(pbles.get(512, PbleManager.LEVEL_1, list)).isZero();
            assertThat(list.index()).isEqualTo((int) skipped + i * 512);
            pbles.set(list, 511, 0x1000 + i);
            lists.add(list);
        }
        for (int i = 0; i < 3; i++) {
            assertThat(pbles.get(lists.get(i).index() + 511)).isEqualTo(0x1000 + i);
        }
        assertThat(pbles.get(1, PbleManager.LEVEL_1, new PbleAllocation())).isEqualTo(-Errno.ENOMEM);
        assertThat(pbles.unallocatedPbles()).isZero();
    }

    @Test
    void pblesEndWithTheLastAddress() {
        PbleManager last = manager(-0x2000, 1024);
        assertThat(index(last, 1024)).isZero();
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new PbleManager(memory, -0x2000, 1025, Generation.IRDMA, machine.failures()))
                .withMessage("1025 PBLEs from 0xffffffffffffe000 pass the end of all addresses");
        new PbleManager(memory, -8, 1, Generation.IRDMA, machine.failures());
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new PbleManager(memory, -8, 2, Generation.IRDMA, machine.failures()));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new PbleManager(memory, -4, 1, Generation.IRDMA, machine.failures()));
    }

    @Test
    @DisplayName("rdma:IRD-3: a list of no pages stands at the first free granule and takes nothing")
    void aListOfNoPagesTakesNothing() {
        PbleManager pbles = manager(0, 512);
        index(pbles, 8);
        PbleAllocation list = new PbleAllocation();
        assertThat(pbles.get(0, PbleManager.ANY_LEVEL, list)).isZero();
        assertThat(list.level()).isEqualTo(1);
        assertThat(list.index()).isEqualTo(8);
        assertThat(pbles.freePbles()).isEqualTo(504);
        assertThat(index(pbles, 504)).isEqualTo(8);
        pbles.free(list);
        assertThat(pbles.get(0, PbleManager.ANY_LEVEL, list)).as("all is taken").isEqualTo(ENOMEM);
    }

    @ParameterizedTest
    @ValueSource(strings = {"direct", "swiotlb", "iommu-strict", "iommu-lazy", "virt"})
    @DisplayName("rdma:PBLE-1: the device reads over its bus what the driver wrote, in whole segments and in pages")
    void theDeviceReadsWhatTheDriverWrote(String backend) {
        try (Machine other = machine(backend)) {
            Device nic = other.addDevice(DeviceConfig.named("nic").withMask(-1L));
            try (HmcMemory backing = new HmcMemory(nic.dma())) {
                PbleManager pbles =
                        new PbleManager(backing, 0x1f_e000, 1024L + SEGMENT_PBLES, Generation.IRDMA, other.failures());
                assertThat(pbles.open()).isZero();
                assertThat(pbles.addChunk()).isZero();
                PbleAllocation whole = new PbleAllocation();
                PbleAllocation paged = new PbleAllocation();
                assertThat(pbles.get(SEGMENT_PBLES, PbleManager.LEVEL_1, whole)).isZero();
                assertThat(pbles.get(1024, PbleManager.LEVEL_1, paged)).isZero();
                requireRead(pbles, nic, whole, 0, SEGMENT_PBLES - 1, 511, 512);
                requireRead(pbles, nic, paged, 0, 511, 512, 1023);
            }
        }
    }

    private static void requireRead(PbleManager pbles, Device nic, PbleAllocation list, int... entries) {
        for (int entry : entries) {
            pbles.set(list, entry, 0x1234_5000L + entry);
        }
        for (int entry : entries) {
            assertThat(nic.bus().readLong(pbles.dmaAddr(list.index() + entry))).isEqualTo(0x1234_5000L + entry);
        }
    }
}
