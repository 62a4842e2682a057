package io.pagewalk.rdma.i40iw;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.DeviceConfig;
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
}
