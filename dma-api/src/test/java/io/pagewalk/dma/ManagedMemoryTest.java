package io.pagewalk.dma;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.fake.World;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Managed memory: dma-core:FE-73. */
@DisplayName("dma-core:FE-73")
class ManagedMemoryTest {
    private final World world = World.make();
    private final ManagedMemory managed = world.device.dma(1).memory().managed();

    ManagedMemoryTest() {
        world.backend.allocateFrom(world.machine.pages());
    }

    private static CoherentBuffer present(@Nullable CoherentBuffer buffer) {
        return Objects.requireNonNull(buffer);
    }

    @Test
    void whatIsLeftIsFreedWhenTheDriverGoesTheLatestFirst() {
        CoherentBuffer first = present(managed.allocAttrs(0x1000, Gfp.KERNEL, DmaAttrs.WRITE_COMBINE));
        CoherentBuffer second = present(managed.allocCoherent(0x2000, Gfp.NOWARN));
        world.backend.calls.clear();
        world.device.releaseManaged();

        assertThat(world.backend.calls)
                .containsExactly("free cpu 0 0x70012000+0x2000 attrs 0x100", "free cpu 0 0x70010000+0x1000 attrs 0x4");
        assertThatThrownBy(() -> first.getLong(0)).isInstanceOf(IllegalStateException.class);
        second.close();
        world.device.releaseManaged();
        assertThat(world.backend.calls).hasSize(2);
        assertThat(world.machine.log().entries()).isEmpty();
    }

    @Test
    void memoryFreedByHandIsFreedOnceAndWithoutAttributes() {
        CoherentBuffer buffer = present(managed.allocAttrs(0x1000, Gfp.KERNEL, DmaAttrs.WRITE_COMBINE));
        managed.freeCoherent(0x1000, buffer.cpuAddr(), buffer.dmaAddr());
        world.device.releaseManaged();

        assertThat(world.backend.calls)
                .containsExactly("alloc cpu 1 0x1000 attrs 0x4", "free cpu 1 0x70010000+0x1000 attrs 0x0");
        assertThat(world.machine.log().entries()).isEmpty();
    }

    @Test
    void closingAManagedBufferFreesItByHand() {
        present(managed.allocAttrs(0x1000, Gfp.KERNEL, DmaAttrs.WRITE_COMBINE)).close();
        world.device.releaseManaged();

        assertThat(world.backend.calls)
                .containsExactly("alloc cpu 1 0x1000 attrs 0x4", "free cpu 1 0x70010000+0x1000 attrs 0x0");
        assertThat(world.machine.log().entries()).isEmpty();
    }

    @Test
    void aRecordIsFoundByTheCpuAddressAloneAndADifferenceWarns() {
        CoherentBuffer sized = present(managed.allocCoherent(0x1000, 0));
        CoherentBuffer handled = present(managed.allocCoherent(0x1000, 0));
        managed.freeCoherent(0x800, sized.cpuAddr(), sized.dmaAddr());
        managed.freeCoherent(0x1000, handled.cpuAddr(), 0x123);

        assertThat(world.machine.log().warnCount()).isEqualTo(2);
        assertThat(world.machine.log().count("dmam_match")).isEqualTo(2);
        assertThat(world.machine.log().entries().get(0).text())
                .isEqualTo("nic has another record than 0xffff888000010000+0x800 at 0x70010000 (dma-core:FE-73)");
        world.device.releaseManaged();
        assertThat(world.backend.calls).as("freed all the same").hasSize(4);
    }

    @Test
    void memoryWithoutARecordWarnsAndIsFreedAllTheSame() {
        CoherentBuffer plain = world.dma.alloc(0x1000);
        managed.freeCoherent(0x1000, plain.cpuAddr(), plain.dmaAddr());

        assertThat(world.machine.log().warnCount()).isEqualTo(1);
        assertThat(world.machine.log().entries().get(0).text())
                .isEqualTo("nic has no record of 0xffff888000010000+0x1000 at 0x70010000 (dma-core:FE-73)");
        assertThat(world.backend.calls).last().isEqualTo("free cpu 1 0x70010000+0x1000 attrs 0x0");
        assertThatThrownBy(() -> managed.freeCoherent(0x1000, 0x123, 0)).isInstanceOf(IllegalStateException.class);
        assertThat(world.machine.log().warnCount()).isEqualTo(2);
    }

    @Test
    void withoutMemoryForTheRecordNothingIsAllocated() {
        world.machine.failures().failNth("dma.devres", 1);
        assertThat(managed.allocCoherent(0x1000, 0)).isNull();
        assertThat(world.backend.calls).isEmpty();
        assertThat(world.device.dma(1).lastFailure().toString())
                .isEqualTo("INJECTED (ENOMEM; disarm the machine's failure injection)");
        assertThat(managed.allocCoherent(0x1000, 0)).isNotNull();
    }

    @Test
    void withoutMemoryThereIsNoRecord() {
        world.backend.onAlloc = size -> null;
        assertThat(managed.allocCoherent(0x1000, 0)).isNull();
        world.device.releaseManaged();

        assertThat(world.backend.calls).containsExactly("alloc cpu 1 0x1000 gfp 0x0 attrs 0x0");
    }

    @Test
    void memoryThatItsDriverFreedPastTheRecordIsNotFreedAgainAndTheRestIs() {
        CoherentBuffer first = present(managed.allocCoherent(0x1000, 0));
        CoherentBuffer past = present(managed.allocCoherent(0x1000, 0));
        world.device.dma().memory().freeCoherent(0x1000, past.cpuAddr(), past.dmaAddr());
        world.backend.calls.clear();
        long gone = first.dmaAddr();
        world.device.releaseManaged();

        assertThat(world.backend.calls).containsExactly("free cpu 0 0x" + Long.toHexString(gone) + "+0x1000 attrs 0x0");
        assertThat(world.machine.log().warnCount()).isEqualTo(1);
        assertThat(world.machine.log().entries())
                .last()
                .extracting(KernelLog.Entry::text)
                .asString()
                .contains("freed already");
    }

    @Test
    void memoryOfARegionThatIsGoneIsNotFreed() {
        assertThat(world.device.declareCoherentMemory(0x1_0000, 0, 0x4000)).isZero();
        present(managed.allocCoherent(0x1000, 0));
        world.device.releaseCoherentMemory();
        world.device.releaseManaged();

        assertThat(world.machine.log().warnCount()).isEqualTo(1);
    }
}
