package io.pagewalk.dma.held;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.events.LiveRange;
import io.pagewalk.dma.events.OwnerAccount;
import io.pagewalk.dma.fake.World;
import io.pagewalk.dma.spi.Metric;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Everything that is held, in one look. */
class HeldSnapshotTest {
    @Test
    void aSnapshotHasMappingsAllocationsOwnersAndWhatSourcesSay() {
        World world = World.make(World.builder().ledger());
        world.machine.clock().advance(5);
        world.dma.map(0x1000, 0x100, DmaDirection.TO_DEVICE).ownedBy("tx");
        world.dma.alloc(0x1000);
        world.machine.addHeldSource(
                () -> List.of(new HeldSection("pins", List.of("process", "pages"), List.of(List.of("fio", "3")))));
        world.machine.clock().advance(7);

        HeldSnapshot held = world.machine.held();

        assertThat(held.timeNanos()).isEqualTo(12);
        assertThat(held.backend()).isEqualTo(world.machine.backendName());
        assertThat(held.hasLedger()).isTrue();
        assertThat(held.ranges())
                .containsExactly(
                        new HeldRange(
                                "nic", LiveRange.Kind.PAGE, 0x1000, 0x100, DmaDirection.TO_DEVICE, 0x1000, "tx", 5),
                        new HeldRange(
                                "nic",
                                LiveRange.Kind.COHERENT,
                                0x4000,
                                0x1000,
                                DmaDirection.BIDIRECTIONAL,
                                LiveRange.UNKNOWN_PHYS_ADDR,
                                "",
                                5));
        assertThat(held.owners())
                .containsExactly(new OwnerAccount("", 0, 0, 1, 0x1000), new OwnerAccount("tx", 1, 0x100, 0, 0));
        assertThat(held.sections()).extracting(HeldSection::name).containsExactly("pins");
        assertThat(held.text())
                .contains("""

                        mappings and allocations
                          device  kind             address  bytes  direction      physical  owner  age ns
                          nic     page mapping     0x1000   256    TO_DEVICE      0x1000    tx     7
                          nic     coherent memory  0x4000   4096   BIDIRECTIONAL  -                7

                        owners
                          owner       mappings  bytes mapped  allocations  bytes allocated
                          (untagged)  0         0             1            4096
                          tx          1         256           0            0
                        """)
                .endsWith("\npins\n  process  pages\n  fio      3\n")
                .startsWith("held at 12 ns, backend " + world.machine.backendName() + "\n");
    }

    @Test
    void withoutALedgerTheRestIsThere() {
        World world = World.make();
        HeldSnapshot held = world.machine.held();

        assertThat(held.hasLedger()).isFalse();
        assertThat(held.ranges()).isEmpty();
        assertThat(held.owners()).isEmpty();
        assertThat(held.text()).contains("no ledger: mappings, allocations and owners are not known\n");
    }

    @Test
    void emptyTablesSaySoAndMetricsStandInTheirOrder() {
        HeldSnapshot held = new HeldSnapshot(
                1,
                "toy",
                true,
                List.of(),
                List.of(),
                Map.of(Metric.FLUSHES, 2L, Metric.POOL_SLOTS, 512L),
                List.of(new HeldSection("pins", List.of("process"), List.of())));

        assertThat(held.text()).isEqualTo("""
                        held at 1 ns, backend toy

                        mappings and allocations
                          none

                        owners
                          none

                        backend
                          what        value
                          pool slots  512
                          flushes     2

                        pins
                          none
                        """);
        assertThatThrownBy(() -> held.metrics().put(Metric.FLUSHES, 1L)).isInstanceOf(RuntimeException.class);
    }

    @Test
    void aRowHasATextForEachColumn() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new HeldSection("pins", List.of("a", "b"), List.of(List.of("1"))))
                .withMessage("1 texts under the 2 columns of pins: [1]");
    }
}
