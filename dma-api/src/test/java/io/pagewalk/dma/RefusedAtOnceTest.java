package io.pagewalk.dma;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.fake.FakeProvider;
import io.pagewalk.dma.memory.KernelLayout;
import io.pagewalk.dma.memory.PageAllocator;
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
}
