package io.pagewalk.rdma.umem;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.Errno;
import java.math.BigInteger;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.statistics.Statistics;

/** Ranges at every boundary of address and length, against arithmetic without an end (rdma:UMEM-3, UMEM-8). */
class UmemRangeProperties {
    private static final BigInteger TWO_64 = BigInteger.ONE.shiftLeft(64);
    private static final BigInteger PAGE = BigInteger.valueOf(0x1000);
    private static final BigInteger MAX_PAGES = BigInteger.valueOf(0xffff_ffffL);

    private final UmemWorld world = UmemWorld.software();

    @Provide
    Arbitrary<Long> numbers() {
        Arbitrary<Long> anchors = Arbitraries.of(0L, 0x1000L, 1L << 44, 0x7fff_ffff_f000L, Long.MIN_VALUE, -0x1000L);
        Arbitrary<Long> steps = Arbitraries.of(0L, 1L, 0xfffL, 0x1000L, 0x1001L, -1L, -0xfffL, -0x1000L, -0x1001L);
        return Arbitraries.oneOf(Combinators.combine(anchors, steps).as(Long::sum), Arbitraries.longs());
    }

    private static BigInteger unsigned(long value) {
        return new BigInteger(Long.toUnsignedString(value));
    }

    private static BigInteger roundUp(BigInteger value) {
        return value.add(PAGE).subtract(BigInteger.ONE).divide(PAGE).multiply(PAGE);
    }

    /** The process has nothing mapped and may lock a page, so that a range that is let in fails later. */
    private static UmemFailureReason expected(long addr, long size) {
        BigInteger end = unsigned(addr).add(unsigned(size));
        if (roundUp(end).compareTo(TWO_64) >= 0) {
            return UmemFailureReason.RANGE_WRAPS;
        }
        BigInteger pages = roundUp(end).divide(PAGE).subtract(unsigned(addr).divide(PAGE));
        if (pages.signum() == 0 || pages.compareTo(MAX_PAGES) > 0) {
            return UmemFailureReason.PAGE_COUNT;
        }
        return pages.equals(BigInteger.ONE) ? UmemFailureReason.CANNOT_PIN : UmemFailureReason.MEMLOCK_LIMIT;
    }

    @Property(tries = 3000)
    void aRangeIsLetInUnlessItWrapsOrHasNoPages(@ForAll("numbers") long addr, @ForAll("numbers") long size) {
        world.process.setMemlockLimit(UmemWorld.PAGE);
        UmemFailureReason reason = expected(addr, size);
        Statistics.collect(reason);

        int error = world.get(addr, size, 0);

        assertThat(world.result.failure().reason()).isEqualTo(reason);
        assertThat(error)
                .isEqualTo(
                        switch (reason) {
                            case RANGE_WRAPS, PAGE_COUNT -> -Errno.EINVAL;
                            case MEMLOCK_LIMIT -> -Errno.ENOMEM;
                            default -> -Errno.EFAULT;
                        });
        assertThat(world.pinnedVm()).isZero();
    }
}
