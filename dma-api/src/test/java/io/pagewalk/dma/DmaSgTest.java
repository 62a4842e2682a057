package io.pagewalk.dma;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.events.DmaListener;
import io.pagewalk.dma.fake.World;
import io.pagewalk.dma.scatterlist.SgAppendTable;
import io.pagewalk.dma.scatterlist.SgTable;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Lists: dma-core:FE-10 to FE-15, SG-7. */
class DmaSgTest {
    private final World world = World.make();
    private final SgTable list =
            new SgTable(3).add(0x1000, 0x1000).add(0x3000, 0x1000).add(0x5000, 0x800);

    @ParameterizedTest
    @ValueSource(ints = {-22, -12, -5, -121})
    void theErrorsOfTheKernelsSetPassWithoutAWarn(int errno) { // FE-11, FE-12, FE-13
        world.backend.onMapSg = nents -> errno;

        assertThat(world.dma.mapSgTable(list, DmaDirection.TO_DEVICE, 0)).isEqualTo(errno);
        assertThat(world.dma.mapSg(list, 3, DmaDirection.TO_DEVICE, 0)).isZero();
        assertThat(world.machine.log().warnCount()).isZero();
    }

    @ParameterizedTest
    @ValueSource(ints = {0, -1, -19, -95, -14, -6, -16, Integer.MIN_VALUE})
    void anyOtherResultBecomesEioAndWarnsTheFirstTime(int result) { // FE-11
        world.backend.onMapSg = nents -> result;

        assertThat(world.dma.mapSgTable(list, DmaDirection.TO_DEVICE, 0)).isEqualTo(-5);
        assertThat(world.dma.mapSg(list, 3, DmaDirection.TO_DEVICE, 0)).isZero();
        assertThat(world.machine.log().warnCount()).isEqualTo(1);
        assertThat(world.machine.log().count("dma_map_sg: result")).isEqualTo(2);
        assertThat(world.machine.log().entries().get(0).text())
                .contains("3 entries gave " + result)
                .contains("FE-11");
        assertThat(world.dma.lastFailure().errno()).isEqualTo(5);
    }

    @ParameterizedTest
    @ValueSource(ints = {-22, -12, -5, -121})
    void aKernelOf5xKnowsNoRemoteError(int errno) { // rdma:DMA-10, rdma:QRK-18
        World old = World.make(World.builder().kernelModel(KernelModel.LINUX_5));
        old.backend.onMapSg = nents -> errno;

        assertThat(old.dma.mapSgTable(list, DmaDirection.TO_DEVICE, 0)).isEqualTo(errno == -121 ? -5 : errno);
        assertThat(old.machine.log().warnCount()).isEqualTo(errno == -121 ? 1 : 0);
    }

    @Test
    void anEmptyListWarnsAndGivesEio() { // FE-11, QRK-34
        SgTable empty = new SgTable(1);

        assertThat(world.dma.mapSgTable(empty, DmaDirection.TO_DEVICE, 0)).isEqualTo(-5);
        assertThat(world.dma.mapSg(list, 0, DmaDirection.TO_DEVICE, 0)).isZero();
        assertThat(world.machine.log().warnCount()).isEqualTo(1);
        assertThat(world.machine.log().count("dma_map_sg: result")).isEqualTo(2);
        assertThat(world.dma.lastFailure().toString())
                .isEqualTo("INVALID_LIST: entries 0 (EIO; check the list's lengths)");
        assertThat(world.backend.calls)
                .containsExactly("mapSg cpu 0 0 of 0 TO_DEVICE attrs 0x0", "mapSg cpu 0 0 of 3 TO_DEVICE attrs 0x0");
    }

    @Test
    void anUnexpectedErrorKeepsTheBackendsCause() { // FE-11, architecture rule 5
        world.backend.onMapSg = nents -> -19;
        world.backend.cause = slot -> slot.record(FailureReason.TABLE_ERROR, 19, 0x1000, 0x2000, 19, 0);
        world.dma.mapSgTable(list, DmaDirection.TO_DEVICE, 0);

        assertThat(world.dma.lastFailure())
                .isEqualTo(new DmaFailure(FailureReason.TABLE_ERROR, 5, List.of(0x1000L, 0x2000L, 19L)));
    }

    @Test
    void aTableThatCannotBeMappedKeepsItsSegments() { // FE-13, situation C2
        world.backend.onMapSg = nents -> 2;
        assertThat(world.dma.mapSgTable(list, DmaDirection.TO_DEVICE, 0)).isZero();
        assertThat(list.nents()).isEqualTo(2);

        world.backend.onMapSg = nents -> -12;
        assertThat(world.dma.mapSgTable(list, DmaDirection.TO_DEVICE, 0)).isEqualTo(-12);
        assertThat(list.nents()).isEqualTo(2);
        world.backend.onMapSg = nents -> 0;
        assertThat(world.dma.mapSgTable(list, DmaDirection.TO_DEVICE, 0)).isEqualTo(-5);
        assertThat(list.nents()).isEqualTo(2);
    }

    @Test
    void aTableOfADeviceWithoutMaskIsASuccessOfNoSegments() { // FE-13, QRK-38
        World maskless = World.make(config -> config.withStreamingMask(null));
        list.mapped(3);

        assertThat(maskless.dma.mapSgTable(list, DmaDirection.TO_DEVICE, 0)).isZero();
        assertThat(list.nents()).isZero();
        assertThat(maskless.machine.log().warnCount()).isEqualTo(1);
    }

    @Test
    void withoutAMaskNoListGivesASegmentAndTheFirstWarns() { // FE-10, situation B7
        World maskless = World.make(config -> config.withStreamingMask(null));

        assertThat(maskless.dma.mapSg(list, 3, DmaDirection.TO_DEVICE, 0)).isZero();
        assertThat(maskless.dma.mapSg(list, 3, DmaDirection.TO_DEVICE, 0)).isZero();
        assertThat(maskless.machine.log().warnCount()).isEqualTo(1);
        assertThat(maskless.machine.log().count("dma_map_sg")).isEqualTo(2);
        assertThat(maskless.backend.calls).isEmpty();
        assertThat(maskless.dma.lastFailure().reason()).isEqualTo(FailureReason.NO_MASK);
    }

    @Test
    void mergedSegmentsAreUnmappedByTheOriginalCount() { // FE-15, SG-7, situation C1
        world.backend.onMapSg = nents -> 1;
        assertThat(world.dma.mapSgTable(list, DmaDirection.FROM_DEVICE, 0)).isZero();
        assertThat(list.origNents()).isEqualTo(3);
        assertThat(list.nents()).isEqualTo(1);

        world.dma.unmapSgTable(list, DmaDirection.FROM_DEVICE, DmaAttrs.SKIP_CPU_SYNC);
        assertThat(world.backend.calls).last().isEqualTo("unmapSg cpu 0 3 of 3 FROM_DEVICE attrs 0x20");
        assertThat(list.nents()).isEqualTo(1);
    }

    @Test
    void aPartOfAListCanBeMapped() {
        assertThat(world.dma.mapSg(list, 2, DmaDirection.TO_DEVICE, 0)).isEqualTo(2);
        assertThat(list.nents()).isEqualTo(2);
        assertThat(world.backend.calls).containsExactly("mapSg cpu 0 2 of 3 TO_DEVICE attrs 0x0");
    }

    @ParameterizedTest
    @ValueSource(ints = {-1, 4, Integer.MIN_VALUE, Integer.MAX_VALUE})
    void aCountThatIsNotTheListsIsRefusedAndChangesNothing(int nents) { // architecture rule 5
        list.mapped(2);
        assertThatThrownBy(() -> world.dma.mapSg(list, nents, DmaDirection.TO_DEVICE, 0))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage(nents + " entries of a list of 3");
        assertThatThrownBy(() -> world.dma.unmapSg(list, nents, DmaDirection.TO_DEVICE, 0))
                .isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> world.dma.syncSgForCpu(list, nents, DmaDirection.TO_DEVICE))
                .isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> world.dma.syncSgForDevice(list, nents, DmaDirection.TO_DEVICE))
                .isInstanceOf(IllegalArgumentException.class);
        assertThat(list.nents()).isEqualTo(2);
        assertThat(world.backend.calls).isEmpty();
    }

    @Test
    void aListenerIsToldOfTheResultAfterTheMapAndBeforeTheUnmap() { // FE-11, FE-15
        List<String> told = new ArrayList<>();
        World listened = World.make(World.builder().listener(clock -> new DmaListener() {
            @Override
            public void mappedSg(
                    Device device, int cpu, SgTable sg, int nents, DmaDirection direction, int attrs, int result) {
                told.add("mapped " + nents + " to " + result + " first " + sg.dmaAddr(0));
            }

            @Override
            public void unmappingSg(Device device, int cpu, SgTable sg, int nents, DmaDirection direction) {
                told.add("unmapping " + nents);
            }
        }));
        listened.dma.mapSg(list, 3, DmaDirection.TO_DEVICE, 0);
        listened.dma.unmapSg(list, 3, DmaDirection.TO_DEVICE, 0);
        listened.backend.onMapSg = nents -> -19;
        listened.dma.mapSg(list, 3, DmaDirection.TO_DEVICE, 0);

        assertThat(told).containsExactly("mapped 3 to 3 first 4096", "unmapping 3", "mapped 3 to -5 first -1");
    }

    @Test
    void aFreedListIsNotMapped() { // SG-12: its count stays, its entries are gone
        SgTable table = new SgTable(1);
        world.machine.scatterlists().allocTable(table, 3);
        assertThat(world.dma.mapSgTable(table, DmaDirection.TO_DEVICE, 0)).isZero();
        world.machine.scatterlists().freeTable(table);

        assertThatThrownBy(() -> world.dma.unmapSgTable(table, DmaDirection.TO_DEVICE, 0))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("3 entries of a list of 0");
    }

    @Test
    void spareEntriesOfAnAppendTableMayBeMapped() { // SGA-8: they exist, and the kernel takes the caller's count
        SgAppendTable append = new SgAppendTable();
        world.machine.scatterlists().allocAppendTableFromPages(append, new long[] {1}, 1, 0, 0x1000, 0x1000, 2);

        assertThat(world.dma.mapSg(append.table(), 3, DmaDirection.TO_DEVICE, 0))
                .isEqualTo(3);
    }
}
