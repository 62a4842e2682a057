package io.pagewalk.dma;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.fake.World;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Scoped mappings, and the causes that failures carry: architecture rule 5. */
class DmaMappingTest {
    private final World world = World.make();

    @Test
    void aMappingSyncsAndEndsWithItsBlock() {
        try (DmaMapping mapping = world.dma.map(0x1000, 0x200, DmaDirection.FROM_DEVICE)) {
            assertThat(mapping.dmaAddr()).isEqualTo(0x1000);
            mapping.syncForCpu();
            mapping.syncForDevice();
        }

        assertThat(world.backend.calls)
                .containsExactly(
                        "mapPage cpu 0 0x1000+0x200 FROM_DEVICE attrs 0x0",
                        "syncForCpu cpu 0 0x1000+0x200 FROM_DEVICE",
                        "syncForDevice cpu 0 0x1000+0x200 FROM_DEVICE",
                        "unmapPage cpu 0 0x1000+0x200 FROM_DEVICE attrs 0x0");
    }

    @Test
    void closingTwiceUnmapsOnce() {
        DmaMapping mapping = world.dma.map(0x1000, 0x200, DmaDirection.FROM_DEVICE);
        mapping.close();
        mapping.close();

        assertThat(world.backend.calls).hasSize(2);
    }

    @Test
    void useAfterCloseIsRefused() {
        DmaMapping mapping = world.dma.map(0x1000, 0x200, DmaDirection.FROM_DEVICE);
        mapping.close();

        for (Runnable use : new Runnable[] {mapping::dmaAddr, mapping::syncForCpu, mapping::syncForDevice}) {
            assertThatThrownBy(use::run)
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessage("the mapping at 0x1000 was unmapped");
        }
        assertThat(world.backend.calls).hasSize(2);
    }

    @Test
    void aMappingAtTheHighestAddressesIsNoError() { // TYP-3
        world.backend.onMap = physAddr -> -2L;
        world.dma.map(0x1000, 1, DmaDirection.TO_DEVICE).close();

        assertThat(world.backend.calls).last().isEqualTo("unmapPage cpu 0 0xfffffffffffffffe+0x1 TO_DEVICE attrs 0x0");
    }

    @Test
    void aFailureSaysWhatWasTriedWhyAndWhatWouldHelp() {
        world.backend.onMap = physAddr -> -1L;
        world.backend.cause = slot -> slot.record(
                FailureReason.MASK_TOO_SMALL, Errno.EIO, 0x1_a729_6000L, 708608, 0xffff_ffffL, 0xffff_ffffL);

        assertThatThrownBy(() -> world.dma.map(0x1_a729_6000L, 708608, DmaDirection.TO_DEVICE))
                .isInstanceOfSatisfying(DmaException.class, e -> {
                    assertThat(e.errno()).isEqualTo(5);
                    assertThat(e.failure().reason()).isEqualTo(FailureReason.MASK_TOO_SMALL);
                    assertThat(e.failure().numbers())
                            .containsExactly(0x1_a729_6000L, 708608L, 0xffff_ffffL, 0xffff_ffffL);
                })
                .hasMessage("nic cannot map 0x1a7296000+0xad000: MASK_TOO_SMALL: address 0x1a7296000, size 708608, "
                        + "mask 0xffffffff, bus limit 0xffffffff "
                        + "(EIO; enable swiotlb, or give the device a wider mask)");
    }

    @Test
    void numbersAreUnsignedInTexts() {
        assertThat(new DmaFailure(FailureReason.NO_MEMORY, 12, List.of(-1L, -1L)))
                .hasToString("NO_MEMORY: size 18446744073709551615, mask 0xffffffffffffffff "
                        + "(ENOMEM; give the machine more memory below the mask)");
    }

    @Test
    void anExceptionNeverCarriesAnOlderCause() {
        world.backend.onMap = physAddr -> -1L;
        world.backend.onAlloc = size -> null;
        world.backend.cause = slot -> slot.record(FailureReason.INJECTED, Errno.ENOMEM, 0, 0, 0, 0);
        world.dma.mapPage(0x1000, 16, DmaDirection.TO_DEVICE, 0);
        assertThat(world.dma.lastFailure().toString())
                .isEqualTo("INJECTED (ENOMEM; disarm the machine's failure injection)");

        world.backend.cause = slot -> {};
        assertThatThrownBy(() -> world.dma.map(0x1000, 16, DmaDirection.TO_DEVICE))
                .hasMessage("nic cannot map 0x1000+0x10: UNSPECIFIED (0; none known)");
        assertThatThrownBy(() -> world.dma.alloc(16)).hasMessageContaining("UNSPECIFIED");
    }

    @Test
    void theLatestFailureIsACopy() {
        world.backend.onMap = physAddr -> -1L;
        world.backend.cause = slot -> slot.record(FailureReason.NO_IOVA, Errno.ENOMEM, 2, 0xfff, 0, 0);
        world.dma.mapPage(0x1000, 16, DmaDirection.TO_DEVICE, 0);
        DmaFailure before = world.dma.lastFailure();
        world.backend.cause = slot -> slot.record(FailureReason.INJECTED, Errno.ENOMEM, 0, 0, 0, 0);
        world.dma.mapPage(0x1000, 16, DmaDirection.TO_DEVICE, 0);

        assertThat(before)
                .hasToString("NO_IOVA: pages 2, limit 0xfff "
                        + "(ENOMEM; unmap something, or give the device a wider mask)");
    }

    @ParameterizedTest
    @EnumSource(FailureReason.class)
    void everyReasonNamesEachOfItsNumbersAndAKnob(FailureReason reason) {
        FailureSlot slot = new FailureSlot(new FailureInjection());
        slot.record(reason, Errno.ENOMEM, 1, 2, 3, 4);
        DmaFailure failure = slot.snapshot();

        assertThat(reason.labels()).hasSizeLessThanOrEqualTo(4).doesNotContain("");
        assertThat(failure.numbers())
                .isEqualTo(List.of(1L, 2L, 3L, 4L).subList(0, reason.labels().size()));
        assertThat(failure.toString()).contains(reason.name()).contains(reason.knob());
        assertThat(reason.labels())
                .allSatisfy(label -> assertThat(failure.toString()).contains(label));
    }

    @Test
    void errorNumbersAreNamedByEitherSign() { // TYP-8
        int[] numbers = {5, 6, 12, 16, 19, 22, 95, 121};

        assertThat(Arrays.stream(numbers).mapToObj(Errno::name))
                .containsExactly("EIO", "ENXIO", "ENOMEM", "EBUSY", "ENODEV", "EINVAL", "EOPNOTSUPP", "EREMOTEIO");
        assertThat(Errno.name(-12)).isEqualTo("ENOMEM");
        assertThat(Errno.name(-Errno.EINTR)).isEqualTo("EINTR");
        assertThat(Errno.name(-Errno.EAGAIN)).isEqualTo("EAGAIN");
        assertThat(Errno.name(-Errno.EACCES)).isEqualTo("EACCES");
        assertThat(new int[] {Errno.EINTR, Errno.EAGAIN, Errno.EACCES}).containsExactly(4, 11, 13);
        assertThat(Errno.name(999)).isEqualTo("999");
    }
}
