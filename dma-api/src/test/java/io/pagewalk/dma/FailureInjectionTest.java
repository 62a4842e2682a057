package io.pagewalk.dma;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Failing the n-th: architecture rule 6. */
class FailureInjectionTest {
    private final FailureInjection failures = new FailureInjection();
    private final FailurePoint slots = failures.point("swiotlb.slots");
    private final FailurePoint iova = failures.point("iommu.iova");

    private List<String> passBoth(int rounds) {
        List<String> failed = new ArrayList<>();
        for (int i = 1; i <= rounds; i++) {
            for (FailurePoint point : new FailurePoint[] {slots, iova}) {
                if (point.fails()) {
                    failed.add(point.name() + " " + i);
                }
            }
        }
        return failed;
    }

    @Test
    void nothingFailsAndNothingIsCountedUntilToldSo() {
        assertThat(passBoth(10)).isEmpty();
        assertThat(failures.passed()).isZero();
        assertThat(failures.failedAt()).isNull();
    }

    @Test
    void theNthPassingOfAllPointsFailsOnce() {
        failures.failNth(4);

        assertThat(passBoth(10)).containsExactly("iommu.iova 2");
        assertThat(failures.failedAt()).isEqualTo("iommu.iova");
        assertThat(failures.passed()).isEqualTo(20);
    }

    @Test
    void theNthPassingOfOnePointIgnoresTheOthers() {
        failures.failNth("swiotlb.slots", 3);

        assertThat(passBoth(10)).containsExactly("swiotlb.slots 3");
        assertThat(failures.passed()).isEqualTo(10);
    }

    @Test
    void aPointCanBeArmedBeforeItsOwnerMakesIt() {
        failures.failNth("virt.later", 1);
        FailurePoint later = failures.point("virt.later");

        assertThat(iova.fails()).isFalse();
        assertThat(later.fails()).isTrue();
    }

    @Test
    void countingWithoutFailingTellsHowManyPassingsThereAre() {
        failures.failNth(Long.MAX_VALUE);

        assertThat(passBoth(7)).isEmpty();
        assertThat(failures.passed()).isEqualTo(14);
    }

    @Test
    void armingAgainStartsTheCountAnew() {
        failures.failNth(2);
        passBoth(3);
        failures.failNth(1);

        assertThat(failures.failedAt()).isNull();
        assertThat(failures.passed()).isZero();
        assertThat(passBoth(1)).containsExactly("swiotlb.slots 1");
    }

    @Test
    void disarmedPointsNeitherFailNorCount() {
        failures.failNth(3);
        passBoth(1);
        failures.disarm();

        assertThat(passBoth(5)).isEmpty();
        assertThat(failures.passed()).isEqualTo(2);
    }

    @ParameterizedTest
    @ValueSource(longs = {0, -1, Long.MIN_VALUE})
    void thePassingsAreCountedFromOne(long n) {
        assertThatThrownBy(() -> failures.failNth(n))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("the first passing is number 1, not " + n);
        assertThatThrownBy(() -> failures.failNth("iommu.iova", n)).isInstanceOf(IllegalArgumentException.class);
        assertThat(passBoth(3)).isEmpty();
    }

    @Test
    void aPointIsTheSameForTheSameNameAndNamesAreSorted() {
        assertThat(failures.point("iommu.iova")).isSameAs(iova);
        assertThat(failures.pointNames()).containsExactly("iommu.iova", "swiotlb.slots");
    }

    private FailureReason noted() {
        FailureSlot slot = new FailureSlot(failures);
        slot.record(FailureReason.NO_IOVA, Errno.ENOMEM, 2, 0xfff, 0, 0);
        assertThat(slot.errno()).isEqualTo(Errno.ENOMEM);
        return slot.reason();
    }

    @Test
    void theCauseOfACallThatWasToldToFailIsThatItWasTold() {
        failures.failNth("iommu.iova", 2);

        assertThat(iova.failsCall()).isFalse();
        assertThat(noted()).isEqualTo(FailureReason.NO_IOVA);
        assertThat(iova.failsCall()).isTrue();
        assertThat(noted()).isEqualTo(FailureReason.INJECTED);
        assertThat(noted()).as("the next failure is a real one").isEqualTo(FailureReason.NO_IOVA);
    }

    @Test
    void aPointThatItsOwnerGetsOverLeavesNoCause() {
        failures.failNth(1);

        assertThat(slots.fails()).isTrue();
        assertThat(noted()).isEqualTo(FailureReason.NO_IOVA);
    }

    @Test
    void disarmingAndArmingAgainForgetACauseThatNobodyNoted() {
        failures.failNth(1);
        iova.failsCall();
        failures.failNth(1);
        assertThat(noted()).isEqualTo(FailureReason.NO_IOVA);

        iova.failsCall();
        failures.disarm();
        failures.failNth(5);
        assertThat(noted()).isEqualTo(FailureReason.NO_IOVA);
    }

    @Test
    void theFailureOfAnotherThreadIsItsOwn() throws InterruptedException {
        failures.failNth(1);
        Thread other = new Thread(iova::failsCall);
        other.start();
        other.join();

        assertThat(noted()).isEqualTo(FailureReason.NO_IOVA);
    }

    @Test
    void anInjectedCauseHasNoNumbers() {
        failures.failNth(1);
        iova.failsCall();
        FailureSlot slot = new FailureSlot(failures);
        slot.record(FailureReason.NO_IOVA, Errno.ENOMEM, 2, 0xfff, 0, 0);

        assertThat(slot).hasToString("INJECTED (ENOMEM; disarm the machine's failure injection)");
    }
}
