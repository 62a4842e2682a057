package io.pagewalk.rdma.i40iw;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.Machine;
import io.pagewalk.rdma.i40iw.HmcMemory.SegmentType;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The memory behind FPM addresses (rdma:PBLE-3, PBLE-4): addresses are unsigned, up to the last one. */
class HmcMemoryTest {
    private static final long LAST_SEGMENT = (1L << 43) - 1;
    private static final long LAST_PAGE = 0xffff_ffff_ffff_f000L;

    private final Machine machine = Machine.builder()
            .ramBytes(32L << 20)
            .chunkBytes(1 << 16)
            .backend("direct")
            .build();
    private final HmcMemory memory = new HmcMemory(
            machine.addDevice(DeviceConfig.named("nic").withMask(-1L)).dma());

    @AfterEach
    void close() {
        memory.close();
        machine.close();
    }

    @ParameterizedTest
    @ValueSource(longs = {LAST_PAGE, 0xffff_ffff_ffff_fff8L, Long.MIN_VALUE, -4096 - 8, -(2L << 20), 0x1000, 0x200000})
    void whatIsNotBackedIsRefusedWhereverItLies(long fpmAddr) {
        assertThat(memory.addPages(0, 0, 1)).isZero();
        assertThatThrownBy(() -> memory.putLong(fpmAddr, 1))
                .isExactlyInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining(Long.toHexString(fpmAddr));
        assertThatThrownBy(() -> memory.getLong(fpmAddr)).isExactlyInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> memory.dmaAddr(fpmAddr)).isExactlyInstanceOf(IllegalArgumentException.class);
        assertThat(memory.dmaAddrOrNowhere(fpmAddr)).isEqualTo(HmcMemory.NOWHERE);
    }

    @Test
    void theLastPageOfAllAddressesIsAPageLikeOthers() {
        assertThat(memory.addPages(LAST_SEGMENT, 511, 1)).isZero();
        assertThat(memory.type(LAST_SEGMENT)).isEqualTo(SegmentType.PAGED);
        memory.putLong(LAST_PAGE, 0x1234_5678_9abc_def0L);
        memory.putLong(LAST_PAGE + 4088, 7);
        assertThat(memory.getLong(LAST_PAGE)).isEqualTo(0x1234_5678_9abc_def0L);
        assertThat(memory.getLong(LAST_PAGE + 4088)).isEqualTo(7);
        assertThat(memory.dmaAddr(LAST_PAGE + 4088)).isEqualTo(memory.dmaAddr(LAST_PAGE) + 4088);
        assertThat(memory.dmaAddrOrNowhere(LAST_PAGE - 8)).isEqualTo(HmcMemory.NOWHERE);
    }

    @Test
    void aDirectSegmentInTheUpperHalfHoldsAllItsBytes() {
        long segment = 1L << 42;
        long fpmAddr = segment << 21;
        assertThat(memory.addDirect(segment)).isZero();
        memory.putLong(fpmAddr, 3);
        memory.putLong(fpmAddr + (2 << 20) - 8, 5);
        assertThat(memory.getLong(fpmAddr)).isEqualTo(3);
        assertThat(memory.dmaAddr(fpmAddr + (2 << 20) - 8)).isEqualTo(memory.dmaAddr(fpmAddr) + (2 << 20) - 8);
        assertThat(memory.getLong(fpmAddr + (2 << 20) - 8)).isEqualTo(5);
        assertThat(memory.dmaAddrOrNowhere(fpmAddr + (2 << 20))).isEqualTo(HmcMemory.NOWHERE);
        assertThat(memory.dmaAddrOrNowhere(fpmAddr - 8)).isEqualTo(HmcMemory.NOWHERE);
    }

    @ParameterizedTest
    @ValueSource(longs = {-1, Long.MIN_VALUE, LAST_SEGMENT + 1, Long.MAX_VALUE})
    void aSegmentThatNoAddressLiesInIsNotBacked(long segment) {
        long before = machine.pages().allocatedPages();
        assertThatThrownBy(() -> memory.addDirect(segment))
                .isExactlyInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("segment " + segment);
        assertThatThrownBy(() -> memory.addPages(segment, 0, 1))
                .isExactlyInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("segment " + segment);
        assertThat(memory.type(segment)).isNull();
        assertThat(machine.pages().allocatedPages()).isEqualTo(before);
    }

    @Test
    void aPageThatIsBackedIsNotBackedAgain() {
        assertThat(memory.addPages(3, 4, 2)).isZero();
        assertThat(memory.addDirect(7)).isZero();
        memory.putLong((3L << 21) + 5 * 4096, 55);
        long before = machine.pages().allocatedPages();
        for (int first : new int[] {3, 4, 5}) {
            assertThatThrownBy(() -> memory.addPages(3, first, 2))
                    .isExactlyInstanceOf(IllegalStateException.class)
                    .hasMessage("page " + Math.max(first, 4) + " of segment 3 is backed already");
        }
        assertThatThrownBy(() -> memory.addPages(7, 0, 1))
                .isExactlyInstanceOf(IllegalStateException.class)
                .hasMessage("segment 7 is backed as a whole");
        assertThatThrownBy(() -> memory.addDirect(3)).hasMessage("segment 3 is backed already");
        assertThat(machine.pages().allocatedPages()).isEqualTo(before);
        assertThat(memory.getLong((3L << 21) + 5 * 4096)).isEqualTo(55);
        assertThat(memory.dmaAddrOrNowhere((3L << 21) + 3 * 4096)).isEqualTo(HmcMemory.NOWHERE);
        assertThat(memory.addPages(3, 2, 2)).as("up to them").isZero();
        assertThat(memory.addPages(3, 6, 2)).as("behind them").isZero();
        assertThat(memory.getLong((3L << 21) + 5 * 4096)).isEqualTo(55);
        assertThat(machine.pages().allocatedPages()).isEqualTo(before + 4);
    }

    @Test
    void whicheverPageFailsNoneOfThemIsBacked() {
        assertThat(memory.addPages(2, 0, 1)).isZero();
        memory.putLong(2L << 21, 9);
        long before = machine.pages().allocatedPages();
        for (int segment = 1; segment <= 2; segment++) {
            for (int n = 1; n <= 4; n++) {
                machine.failures().failNth("direct.pages", n);
                assertThat(memory.addPages(segment, 5, 4)).isEqualTo(-Errno.ENOMEM);
                assertThat(machine.pages().allocatedPages()).isEqualTo(before);
                assertThat(memory.dmaAddrOrNowhere(((long) segment << 21) + 5 * 4096))
                        .isEqualTo(HmcMemory.NOWHERE);
            }
        }
        machine.failures().disarm();
        assertThat(memory.type(1)).isNull();
        assertThat(memory.getLong(2L << 21)).isEqualTo(9);
        assertThat(memory.addPages(1, 5, 4)).isZero();
        assertThat(memory.addPages(2, 5, 4)).isZero();
        assertThat(machine.pages().allocatedPages()).isEqualTo(before + 8);
        memory.close();
        assertThat(machine.pages().allocatedPages()).isEqualTo(before - 1);
    }

    @Test
    void segmentsAreFoundInWhateverOrderTheyWereBacked() {
        long[] segments = {5, 1, 3, LAST_SEGMENT, 0, 4, 2};
        for (long segment : segments) {
            assertThat(memory.addPages(segment, 1, 1)).isZero();
            memory.putLong((segment << 21) + 4096, segment + 100);
        }
        for (long segment : segments) {
            assertThat(memory.getLong((segment << 21) + 4096)).isEqualTo(segment + 100);
            assertThat(memory.type(segment)).isEqualTo(SegmentType.PAGED);
            assertThat(memory.dmaAddrOrNowhere(segment << 21)).isEqualTo(HmcMemory.NOWHERE);
        }
        assertThat(memory.type(6)).isNull();
    }
}
