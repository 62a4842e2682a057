package io.pagewalk.dma;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.spi.BackendOptions;
import io.pagewalk.dma.spi.Metric;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.function.Predicate;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The words of the API and what they say of themselves. */
class VocabularyTest {
    private static <E extends Enum<E>> EnumSet<E> those(Class<E> type, Predicate<E> which) {
        EnumSet<E> all = EnumSet.allOf(type);
        all.removeIf(which.negate());
        return all;
    }

    @Test
    @DisplayName("TYP-5: bidirectional is both, none is neither")
    void directionsSayWhatTheDeviceMayDo() {
        assertThat(those(DmaDirection.class, DmaDirection::deviceReads))
                .containsExactly(DmaDirection.BIDIRECTIONAL, DmaDirection.TO_DEVICE);
        assertThat(those(DmaDirection.class, DmaDirection::deviceWrites))
                .containsExactly(DmaDirection.BIDIRECTIONAL, DmaDirection.FROM_DEVICE);
        assertThat(Arrays.stream(DmaDirection.values()).map(Enum::ordinal))
                .as("the kernel's numbers")
                .containsExactly(0, 1, 2, 3);
    }

    @Test
    void anAtomicAccessReadsAndWrites() {
        assertThat(those(Access.class, Access::reads)).containsExactly(Access.READ, Access.ATOMIC);
        assertThat(those(Access.class, Access::writes)).containsExactly(Access.WRITE, Access.ATOMIC);
    }

    /** TYP-8 and those of registration, by the kernel's numbers. */
    @ParameterizedTest
    @CsvSource({
        "1, EPERM",
        "5, EIO",
        "6, ENXIO",
        "12, ENOMEM",
        "14, EFAULT",
        "16, EBUSY",
        "17, EEXIST",
        "19, ENODEV",
        "22, EINVAL",
        "28, ENOSPC",
        "34, ERANGE",
        "38, ENOSYS",
        "75, EOVERFLOW",
        "95, EOPNOTSUPP",
        "110, ETIMEDOUT",
        "121, EREMOTEIO"
    })
    void errorNumbersHaveNamesWhateverTheirSign(int errno, String name) {
        assertThat(Errno.name(errno)).isEqualTo(name);
        assertThat(Errno.name(-errno)).isEqualTo(name);
    }

    @Test
    void otherErrorNumbersStayNumbers() {
        assertThat(Errno.name(0)).isEqualTo("0");
        assertThat(Errno.name(-7)).isEqualTo("-7");
    }

    @Test
    void everyMetricHasALabelOfItsOwnAndAMeaning() {
        assertThat(Arrays.stream(Metric.values()).map(Metric::label)).doesNotHaveDuplicates();
        assertThat(Arrays.stream(Metric.values()).map(Metric::meaning))
                .doesNotHaveDuplicates()
                .allSatisfy(meaning -> assertThat(meaning).isNotBlank());
        assertThat(Metric.POOL_PEAK_SLOTS.label()).isEqualTo("pool peak slots");
        assertThat(Metric.POOL_PEAK_SLOTS.meaning()).isEqualTo("most slots of the pool in use at once");
    }

    @Test
    void optionsShowTheirNumbers() {
        assertThat(BackendOptions.NONE.with("a", 1)).hasToString("{a=1}");
        assertThat(BackendOptions.NONE.with("a", 1).with("a", 2).number("a", 0)).isEqualTo(2);
        assertThat(BackendOptions.NONE.number("a", 7)).isEqualTo(7);
    }

    @Test
    @DisplayName("DIR-23: arm64 cleans for the device always, and invalidates for the CPU unless the device only read")
    void arm64CleansAndInvalidates() {
        StringBuilder told = new StringBuilder();
        CacheMaintenance hooks = CacheMaintenance.arm64(new CacheMaintenance.Lines() {
            @Override
            public void clean(long physAddr, long sizeBytes) {
                told.append(String.format("clean %x+%x ", physAddr, sizeBytes));
            }

            @Override
            public void invalidate(long physAddr, long sizeBytes) {
                told.append(String.format("invalidate %x+%x ", physAddr, sizeBytes));
            }
        });
        hooks.syncForDevice(0x1000, 1, DmaDirection.TO_DEVICE);
        hooks.syncForDevice(0x2000, 2, DmaDirection.FROM_DEVICE);
        hooks.syncForDevice(0x3000, 3, DmaDirection.BIDIRECTIONAL);
        hooks.syncForCpu(0x4000, 4, DmaDirection.TO_DEVICE);
        hooks.syncForCpu(0x5000, 5, DmaDirection.FROM_DEVICE);
        hooks.syncForCpu(0x6000, 6, DmaDirection.BIDIRECTIONAL);
        assertThat(told).hasToString("clean 1000+1 clean 2000+2 clean 3000+3 invalidate 5000+5 invalidate 6000+6 ");
    }

    @Test
    void aFailureSlotShowsTheLatestCause() {
        FailureSlot slot = new FailureSlot(new FailureInjection());
        assertThat(slot.reason()).isEqualTo(FailureReason.UNSPECIFIED);
        assertThat(slot.errno()).isZero();
        slot.record(FailureReason.NO_POOL, Errno.ENOMEM, 0x1000, 16, 3, 4);
        assertThat(slot.reason()).isEqualTo(FailureReason.NO_POOL);
        assertThat(slot.errno()).isEqualTo(12);
        assertThat(slot.snapshot().numbers()).containsExactly(0x1000L, 16L);
        assertThat(slot).hasToString(slot.snapshot().toString());
        assertThat(slot.toString()).startsWith("NO_POOL: ").contains("0x1000").contains("ENOMEM");
        slot.answer(Errno.EIO);
        assertThat(slot.errno()).isEqualTo(5);
        assertThat(slot.reason()).isEqualTo(FailureReason.NO_POOL);
    }

    @Test
    void anInformationIsLoggedAsOne() {
        KernelLog log = new KernelLog(new VirtualClock());
        log.info("here", "text");
        assertThat(log.entries()).containsExactly(new KernelLog.Entry(0, 0, KernelLog.Kind.INFO, "here", "text"));
        assertThat(log.count("here")).isEqualTo(1);
        assertThat(log.warnCount()).isZero();
    }
}
