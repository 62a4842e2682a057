package io.pagewalk.dma;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.fake.FakeProvider;
import io.pagewalk.dma.memory.CmaArea;
import io.pagewalk.dma.memory.CmaAreas;
import io.pagewalk.dma.memory.KernelLayout;
import io.pagewalk.dma.memory.PageAllocator;
import io.pagewalk.dma.memory.PhysRange;
import io.pagewalk.dma.memory.RamMap;
import io.pagewalk.dma.scatterlist.Scatterlists;
import io.pagewalk.dma.scatterlist.SgMappingIter;
import io.pagewalk.dma.scatterlist.SgPageIter;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.dma.spi.BackendOptions;
import java.util.List;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;

/** What cannot be right is refused by the call that it is given to, not by a later one, and changes nothing. */
class RefusedAtOnceTest {
    private final Machine machine =
            Machine.builder().ramBytes(64 << 20).backend(FakeProvider.NAME).build();

    @Test
    @SuppressWarnings("NullAway") // what is tested
    void aBuilderRefusesNull() {
        MachineBuilder builder = Machine.builder();
        List<ThrowingCallable> setters = List.of(
                () -> builder.ram(null),
                () -> builder.allocatable(null),
                () -> builder.layout(null),
                () -> builder.commandLine(null),
                () -> builder.kernelModel(null),
                () -> builder.kernelConfig(null),
                () -> builder.hostBridgeWindows(null),
                () -> builder.cma(null),
                () -> builder.listener(null),
                () -> builder.backend(null),
                () -> builder.backendOptions(null),
                () -> KernelConfig.distribution().withArch(null));
        setters.forEach(setter -> assertThatThrownBy(setter).isInstanceOf(NullPointerException.class));
        builder.ram(RamMap.sizedWithHole(64 << 20))
                .layout(KernelLayout.x86_64())
                .backendOptions(BackendOptions.NONE)
                .backend(FakeProvider.NAME)
                .build()
                .close();
    }

    @Test
    @SuppressWarnings("NullAway") // what is tested
    void aTimerWithoutACallbackIsRefused() {
        assertThatThrownBy(() -> machine.clock().timer(null)).isInstanceOf(NullPointerException.class);
        machine.clock().advance(1_000_000_000L);
    }

    @Test
    void failureSlotsAreThoseOfTheCpus() {
        Device device = machine.addDevice(DeviceConfig.named("nic"));
        assertThatThrownBy(() -> device.failure(-1))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("CPU -1 of a machine with 2");
        assertThatThrownBy(() -> device.failure(2)).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void aTableHasAtMostSixteenMillionEntries() {
        int tooMany = SgTable.MAX_ENTRIES + 1;
        assertThatThrownBy(() -> new SgTable(Integer.MAX_VALUE))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("a table holds 16777216 entries, not 2147483647");
        SgTable table = new SgTable(1).add(0x1000, 1);
        assertThatThrownBy(() -> table.init(tooMany))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("a table holds 16777216 entries, not 16777217");
        assertThat(table.origNents()).as("unchanged").isEqualTo(1);
        Scatterlists lists = machine.scatterlists();
        assertThat(lists.allocTable(table, tooMany)).isEqualTo(-Errno.ENOMEM);
        assertThat(table.origNents()).isZero();
    }

    @Test
    void anIteratorThatWasNotStartedSaysSo() {
        assertThatThrownBy(() -> new SgPageIter().dmaAddr())
                .isInstanceOf(IllegalStateException.class)
                .hasMessage("the iterator was not started");
        assertThatThrownBy(() -> new SgMappingIter().physAddr())
                .isInstanceOf(IllegalStateException.class)
                .hasMessage("the iterator was not started");
    }

    @Test
    void onlyWhatWasTakenAsARangeIsGivenBack() {
        PageAllocator pages = machine.pages();
        long free = pages.freeBytes();
        long range = pages.allocContiguous(0x4000, 0x1000, -1L);
        assertThatThrownBy(() -> pages.giveBack(range, 0x5000))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("not all of its pages were taken");
        for (long physAddr : List.of(0xffff_c900_0000_0000L, 0x8000_0000_0000_0000L, 0x1_0000_0000L, 0L)) {
            assertThatThrownBy(() -> pages.giveBack(physAddr, 0x1000)).isInstanceOf(IllegalStateException.class);
        }
        assertThat(pages.freeBytes()).isEqualTo(free - 0x4000);
        pages.giveBack(range, 0x1000);
        pages.giveBack(range + 0x1000, 0x3000);
        assertThat(pages.freeBytes()).isEqualTo(free);
        assertThatThrownBy(() -> pages.giveBack(range, 0x1000)).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void aMachineHasAtMostAsManyCpusAsAKernelIsBuiltFor() {
        for (int count : new int[] {0, -1, 8193, Integer.MAX_VALUE}) {
            assertThatThrownBy(() -> Machine.builder().cpus(count))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("a machine has 1 to 8192 CPUs, not " + count);
        }
    }

    @Test
    void interruptsAreThoseOfTheCpus() {
        Interrupts interrupts = machine.interrupts();
        List<ThrowingCallable> calls = List.of(
                () -> interrupts.disable(-1),
                () -> interrupts.enable(2),
                () -> interrupts.areDisabled(Integer.MAX_VALUE));
        calls.forEach(call -> assertThatThrownBy(call)
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("of a machine with 2"));
    }

    @Test
    void aPageThatIsSetAsideHasOneOwner() {
        PhysRange range = PhysRange.ofSize(0x10_0000, 0x4000);
        PhysRange overlapping = PhysRange.ofSize(0x10_3000, 0x4000);
        RestrictedPool pool = RestrictedPool.of("pool", range);
        List<MachineBuilder> builders = List.of(
                builder().cma(new CmaAreas().withDefault(range).with("video", overlapping)),
                builder().cma(new CmaAreas().withDefault(overlapping)).restrictedPools(pool),
                builder().restrictedPools(pool, RestrictedPool.of("other", range)));
        builders.forEach(builder -> assertThatThrownBy(builder::build)
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("regions set aside overlap"));
        MachineBuilder namesakes =
                builder().restrictedPools(pool, RestrictedPool.of("pool", PhysRange.ofSize(0x20_0000, 0x4000)));
        assertThatThrownBy(namesakes::build).hasMessage("two restricted pools are called pool");
    }

    private static MachineBuilder builder() {
        return Machine.builder().ramBytes(64 << 20).backend(FakeProvider.NAME);
    }

    @Test
    void aRegionIsNotGivenToADeviceOfAnotherMachine() {
        Device foreign = builder().build().addDevice(DeviceConfig.named("foreign"));
        assertThatThrownBy(() -> machine.coherentRegions().declare(foreign, 0x10_0000, 0, 0x1000))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("foreign is a device of another machine");
    }

    @Test
    void aContiguousAreaHandsOutWholeRunsOfAtLeastAPage() {
        CmaArea area = new CmaArea("area", PhysRange.ofSize(0x10_0000, 0x8000));
        List<ThrowingCallable> calls = List.of(
                () -> area.alloc(0, 0), () -> area.alloc(-1, 0), () -> area.alloc(1, -1), () -> area.alloc(1, 64));
        calls.forEach(call -> assertThatThrownBy(call).isInstanceOf(IllegalArgumentException.class));
        assertThat(area.alloc(1, 30)).as("no page number has it").isEqualTo(PageAllocator.NO_PAGE);
        assertThat(area.alloc(2, 0)).isEqualTo(0x10_0000);
        assertThat(area.release(0x10_0001, 1)).isFalse();
        assertThat(area.release(0x10_0000, 0)).isFalse();
        assertThat(area.release(0x10_0000, Long.MAX_VALUE)).isFalse();
        assertThat(area.usedPages()).isEqualTo(2);
        assertThatThrownBy(() -> new CmaAreas().withNode(-1, area.range()))
                .isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> new CmaArea("huge", PhysRange.ofSize(0, 1L << 44)))
                .isInstanceOf(IllegalArgumentException.class);
    }
}
