package io.pagewalk.rdma.umem;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.Errno;
import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What registrations would be charged, before any is made (rdma:MM-2, MM-3, UMEM-3 to UMEM-10, EX-1 to EX-3). */
class PreflightTest {
    private static final long KIB = 1024;
    private static final long USER = 0x7f00_0000_0000L;
    private static final MemlockBudget OF_16_PAGES = new MemlockBudget(64 * KIB, false, 0);

    private static Preflight.Outcome only(MemlockBudget budget, long userAddr, long sizeBytes, long count) {
        return Preflight.of(budget, List.of(new Preflight.Request(userAddr, sizeBytes, count)))
                .outcomes()
                .get(0);
    }

    @Test
    @DisplayName("G1: nine buffers of 4096 bytes from malloc need 18 pages, of which a limit of 64 KiB has 16")
    void smallBuffersOffAPageCountDouble() {
        Preflight preflight = Preflight.of(OF_16_PAGES, List.of(new Preflight.Request(USER + 0x10, 4096, 9)));
        Preflight.Outcome outcome = preflight.outcomes().get(0);

        assertThat(outcome.pagesEach()).isEqualTo(2);
        assertThat(outcome.alignedPagesEach()).isEqualTo(1);
        assertThat(outcome.fitting()).isEqualTo(8);
        assertThat(outcome.errno()).isEqualTo(-Errno.ENOMEM);
        assertThat(outcome.fits()).isFalse();
        assertThat(outcome.pinnedAfter()).isEqualTo(16);
        assertThat(preflight.after()).isEqualTo(new MemlockBudget(64 * KIB, false, 16));
        assertThat(preflight.before()).isEqualTo(OF_16_PAGES);
        assertThat(preflight.fits()).isFalse();
        assertThat(preflight.neededLimitBytes()).isEqualTo(18 * 4096);
        assertThat(preflight.neededLimitBytesAligned()).isEqualTo(9 * 4096);
        assertThat(only(OF_16_PAGES, USER, 4096, 16).fits()).isTrue();
        assertThat(only(OF_16_PAGES, USER, 4096, 17).fitting()).isEqualTo(16);
    }

    @ParameterizedTest(name = "limit {0}, capability {1}, address {2}, size {3}: {4}")
    @CsvSource({
        // EX-1, G2
        "0x10000, false, 0x10000, 0x10000, 0",
        "0x10000, false, 0x10001, 0x10000, -12",
        "0x10000, true, 0x10001, 0x10000, 0",
        // EX-2
        "4095, false, 0x10000, 1, -12",
        "0, false, 0x10000, 1, -1",
        "0, true, 0x10000, 1, 0",
        // EX-3, UMEM-3
        "-1, false, 0xfffffffffffff000, 0x1000, -22",
        "-1, false, 0xffffffffffffe001, 0xfff, 0",
        "-1, false, 0xffffffffffffe001, 0x1000, -22",
        "-1, false, 0x1000, -0x1000, -22",
        "-1, false, 0x1001, -0x1000, -22",
        // UMEM-8, UMEM-9
        "-1, false, 0x10000, 0, -22",
        "-1, false, 0x10001, 0, 0",
        "0, false, 0x10000, 0, -1",
        "-1, false, 0, 0x100000000000, -22",
        "-1, false, 0, 0xffffffff000, 0",
        // no limit counts every page of 64 bits
        "-1, false, 0x10000, 0x10000, 0"
    })
    void kernelsChecksComeInTheirOrder(String limit, boolean capIpcLock, String userAddr, String size, int errno) {
        MemlockBudget budget = new MemlockBudget(number(limit), capIpcLock, 0);

        assertThat(budget.judge(number(userAddr), number(size))).isEqualTo(errno);
        assertThat(only(budget, number(userAddr), number(size), 1).errno()).isEqualTo(errno);
        assertThat(only(budget, number(userAddr), number(size), 1).fitting()).isEqualTo(errno == 0 ? 1 : 0);
    }

    private static long number(String text) {
        boolean negative = text.startsWith("-");
        String digits = negative ? text.substring(1) : text;
        long value = digits.startsWith("0x") ? Long.parseUnsignedLong(digits.substring(2), 16) : Long.parseLong(digits);
        return negative ? -value : value;
    }

    @Test
    @DisplayName("UMEM-10: one that is refused is charged nothing, and the next is judged all the same")
    void refusedOnesAreChargedNothing() {
        List<Preflight.Request> requests = LongStream.of(10, 8, 6, 1)
                .mapToObj(pages -> new Preflight.Request(USER, pages * 4096, 1))
                .toList();
        Preflight preflight = Preflight.of(OF_16_PAGES, requests);

        assertThat(preflight.outcomes())
                .extracting(Preflight.Outcome::errno)
                .containsExactly(0, -Errno.ENOMEM, 0, -Errno.ENOMEM);
        assertThat(preflight.outcomes())
                .extracting(Preflight.Outcome::pinnedAfter)
                .containsExactly(10L, 10L, 16L, 16L);
        assertThat(preflight.neededLimitBytes()).isEqualTo(25 * 4096);
    }

    @Test
    @DisplayName("MM-2: what is pinned stays when the limit is lowered, and counts")
    void whatIsPinnedCounts() {
        assertThat(new MemlockBudget(64 * KIB, false, 15).judge(USER, 4096)).isZero();
        assertThat(new MemlockBudget(64 * KIB, false, 16).judge(USER, 4096)).isEqualTo(-Errno.ENOMEM);
        assertThat(new MemlockBudget(64 * KIB, false, 99).judge(USER, 4096)).isEqualTo(-Errno.ENOMEM);
        assertThat(new MemlockBudget(64 * KIB, true, 99).judge(USER, 4096)).isZero();
        assertThat(only(new MemlockBudget(64 * KIB, false, 14), USER, 4096, 5).fitting())
                .isEqualTo(2);
        assertThat(Preflight.of(new MemlockBudget(0, false, 3), List.of(new Preflight.Request(USER, 4096, 1)))
                        .neededLimitBytes())
                .isEqualTo(4 * 4096);
    }

    @Test
    @DisplayName(
            "rdma:UMEM-23: a driver that moved a region can leave less than nothing pinned, which is judged as well")
    void lessThanNothingPinnedIsRoom() {
        MemlockBudget budget = new MemlockBudget(64 * KIB, false, -1);
        assertThat(budget.judge(USER, 2 * 4096)).isZero();
        assertThat(budget.judge(USER, 0x11000)).isZero();
        assertThat(budget.judge(USER, 0x12000)).isEqualTo(-Errno.ENOMEM);
        assertThat(new MemlockBudget(64 * KIB, false, -3).judge(USER, 4096))
                .as("the kernel compares unsigned")
                .isEqualTo(-Errno.ENOMEM);
        assertThat(only(budget, USER, 4096, 20).fitting()).isEqualTo(17);
        assertThat(only(budget, USER, 4096, 20).pinnedAfter()).isEqualTo(16);
        MemlockBudget capable = new MemlockBudget(64 * KIB, true, -5);
        assertThat(only(capable, USER, 4096, 20).fitting()).isEqualTo(20);
        assertThat(Preflight.of(budget, List.of(new Preflight.Request(USER, 4096, 1)))
                        .neededLimitBytes())
                .isZero();
    }

    @Test
    void whatIsWrongInItselfNeedsNoLimit() {
        Preflight preflight = Preflight.of(
                OF_16_PAGES,
                List.of(
                        new Preflight.Request(-4096, 4096, 1),
                        new Preflight.Request(USER, 0, 1),
                        new Preflight.Request(USER, 1, 1)));

        assertThat(preflight.fits()).isFalse();
        assertThat(preflight.outcomes())
                .extracting(Preflight.Outcome::errno)
                .containsExactly(-Errno.EINVAL, -Errno.EINVAL, 0);
        assertThat(preflight.neededLimitBytes()).isEqualTo(4096);
    }

    @Test
    @DisplayName("rdma:UMEM-4, UMEM-8: a limit of 0 hides that a range is wrong in itself, and needs no more for it")
    void aLimitOfNothingHidesWhatIsWrongInItself() {
        Preflight preflight = Preflight.of(
                new MemlockBudget(0, false, 0),
                List.of(
                        new Preflight.Request(USER, 0, 1),
                        new Preflight.Request(USER, 1L << 44, 1),
                        new Preflight.Request(USER, 1, 1)));

        assertThat(preflight.outcomes())
                .extracting(Preflight.Outcome::errno)
                .containsExactly(-Errno.EPERM, -Errno.EPERM, -Errno.EPERM);
        assertThat(preflight.outcomes())
                .extracting(Preflight.Outcome::isWrongInItself)
                .containsExactly(true, true, false);
        assertThat(preflight.neededLimitBytes()).isEqualTo(4096);
        assertThat(preflight.neededLimitBytesAligned()).isEqualTo(4096);
    }

    @Test
    void numbersBeyondALimitsReachAreNoLimit() {
        long most = Long.MAX_VALUE;
        Preflight vast = Preflight.of(
                new MemlockBudget(MemlockBudget.UNLIMITED, false, 0), List.of(new Preflight.Request(USER, 4096, most)));

        assertThat(vast.outcomes().get(0).fitting()).isEqualTo(-1L >>> 12);
        assertThat(vast.neededLimitBytes()).isEqualTo(MemlockBudget.UNLIMITED);
        Preflight capable =
                Preflight.of(new MemlockBudget(0, true, 0), List.of(new Preflight.Request(USER + 1, 4096, most)));
        assertThat(capable.outcomes().get(0).fitting()).isEqualTo(most / 2);
        assertThat(capable.neededLimitBytes()).isEqualTo(MemlockBudget.UNLIMITED);
        assertThatThrownBy(() -> new Preflight.Request(USER, 1, 0)).isInstanceOf(IllegalArgumentException.class);
    }
}
