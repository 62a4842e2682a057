package io.pagewalk.dma.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class PhysicalMemoryTest {

    private static final int CHUNK = 64;

    /** RAM at 0 to 0x3ff, and from 0x405 to 0x7fe: edges inside chunks. */
    private final PhysicalMemory memory =
            PhysicalMemory.create(RamMap.of(new PhysRange(0, 0x3ff), new PhysRange(0x405, 0x7fe)), CHUNK);

    // ---- sparse

    @Test
    void aMachineOf64GiBStartsAtOnceAndHoldsNothing() {
        PhysicalMemory.create(RamMap.sizedWithHole(1 << 20));
        long before = System.nanoTime();
        PhysicalMemory large = PhysicalMemory.create(RamMap.sizedWithHole(64L << 30));
        Duration taken = Duration.ofNanos(System.nanoTime() - before);

        assertThat(taken).isLessThan(Duration.ofMillis(50));
        assertThat(large.residentBytes()).isZero();
        assertThat(large.getLong(0)).isZero();
        assertThat(large.getLong(large.ram().top() - 7)).isZero();
        assertThat(large.residentBytes()).isZero();
        assertThat(large.chunkSizeBytes()).isEqualTo(2 << 20);
    }

    @Test
    void fourTebibytesInSmallChunksStartAtOnceToo() {
        PhysicalMemory huge = PhysicalMemory.create(RamMap.sizedWithHole(4L << 40), 64 << 10);

        huge.putLong(3L << 40, 7);

        assertThat(huge.getLong(3L << 40)).isEqualTo(7);
        assertThat(huge.residentBytes()).isEqualTo(64 << 10);
    }

    @Test
    void readingBacksNothing() {
        memory.getLong(0);
        memory.getLong(CHUNK - 3);
        memory.getLongAcquire(8);
        memory.read(0, new byte[0x400], 0, 0x400);
        memory.mismatch(0, new byte[16], 0, 16);

        assertThat(memory.residentBytes()).isZero();
    }

    @Test
    void aWriteBacksOneChunk() {
        memory.putByte(5, (byte) 1);
        memory.putByte(CHUNK - 1, (byte) 1);
        assertThat(memory.residentBytes()).isEqualTo(CHUNK);

        memory.putShort(2 * CHUNK - 1, (short) -1);
        assertThat(memory.residentBytes()).isEqualTo(3 * CHUNK);
    }

    @Test
    void zeroingUntouchedMemoryBacksNothing() {
        memory.zero(0, 0x400);
        memory.fill(0, 0x400, (byte) 0);
        memory.copy(0, 0x200, 0x200);

        assertThat(memory.residentBytes()).isZero();
    }

    // ---- little-endian, any width

    @Test
    void bytesAreInLittleEndianOrderInsideAndAcrossChunks() {
        for (long physAddr : new long[] {0, 8, 3, CHUNK - 1, CHUNK - 4, CHUNK - 7, 0x405, 0x7f7}) {
            memory.putLong(physAddr, 0x8877_6655_4433_2211L);

            assertThat(memory.getByte(physAddr)).isEqualTo((byte) 0x11);
            assertThat(memory.getByte(physAddr + 7)).isEqualTo((byte) 0x88);
            assertThat(memory.getShort(physAddr + 1)).isEqualTo((short) 0x3322);
            assertThat(memory.getInt(physAddr + 2)).isEqualTo(0x6655_4433);
            assertThat(memory.getLong(physAddr)).isEqualTo(0x8877_6655_4433_2211L);
        }
    }

    // ---- only RAM

    @Test
    void anAccessThatTouchesAHoleIsRefusedAndChangesNothing() {
        byte[] bytes = new byte[16];
        assertThatIllegalArgumentException()
                .isThrownBy(() -> memory.putLong(0x3fc, -1))
                .withMessage("physical address 0x3fc+0x8 is not RAM");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> memory.write(0x3f8, bytes, 0, 16))
                .withMessage("physical address 0x3f8+0x10 is not RAM");
        assertThatIllegalArgumentException().isThrownBy(() -> memory.copy(0, 0x3f8, 16));
        assertThatIllegalArgumentException().isThrownBy(() -> memory.copy(0x3f8, 0, 16));
        assertThatIllegalArgumentException().isThrownBy(() -> memory.fill(0x3f8, 16, (byte) 1));
        assertThatIllegalArgumentException().isThrownBy(() -> memory.zero(0x3f8, 16));
        assertThatIllegalArgumentException().isThrownBy(() -> memory.discard(0x3f8, 16));
        assertThatIllegalArgumentException().isThrownBy(() -> memory.mismatch(0x3f8, bytes, 0, 16));
        assertThatIllegalArgumentException().isThrownBy(() -> memory.read(0x3f8, bytes, 0, 16));
        assertThat(memory.residentBytes()).isZero();
    }

    @Test
    void ramMayBeginAndEndInsideAChunk() {
        memory.putByte(0x405, (byte) 5);
        memory.putByte(0x7fe, (byte) 7);

        assertThat(memory.getByte(0x405)).isEqualTo((byte) 5);
        assertThat(memory.getByte(0x7fe)).isEqualTo((byte) 7);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> memory.getByte(0x404))
                .withMessage("physical address 0x404+0x1 is not RAM");
        assertThatIllegalArgumentException().isThrownBy(() -> memory.putByte(0x7ff, (byte) 1));
        assertThatIllegalArgumentException().isThrownBy(() -> memory.getLong(0x400));
        assertThatIllegalArgumentException().isThrownBy(() -> memory.getAndAddLong(0x400, 1));
        assertThatIllegalArgumentException().isThrownBy(() -> memory.getLong(0x7f8));
    }

    @Test
    void addressesFarBeyondRamAreRefusedAndNotFoldedBackIntoIt() {
        memory.putLong(0, 5);
        for (long physAddr : new long[] {0x800, 1L << 15, 1L << 47, 1L << 63, -8, (1L << 32) * 512 * CHUNK}) {
            assertThatIllegalArgumentException().isThrownBy(() -> memory.getLong(physAddr));
            assertThatIllegalArgumentException().isThrownBy(() -> memory.putInt(physAddr, 1));
            assertThatIllegalArgumentException().isThrownBy(() -> memory.getLongAcquire(physAddr));
        }
        assertThatIllegalArgumentException().isThrownBy(() -> memory.zero(0, -1L));
        assertThatIllegalArgumentException().isThrownBy(() -> memory.copy(0, 8, -1L));
    }

    @Test
    void anAccessOfNoBytesIsAllowedAnywhere() {
        memory.read(-1L, new byte[0], 0, 0);
        memory.write(0x400, new byte[0], 0, 0);
        memory.copy(0x400, -1L, 0);
        memory.fill(0x400, 0, (byte) 1);
        memory.discard(1L << 60, 0);

        assertThat(memory.mismatch(0x400, new byte[0], 0, 0)).isEqualTo(-1);
        assertThat(memory.isRam(0x400, 0)).isTrue();
        assertThat(memory.isRam(0x400, 1)).isFalse();
    }

    @Test
    void arraysThatAreTooShortAreRefusedBeforeAnythingIsWritten() {
        memory.putByte(0, (byte) 9);
        for (long physAddr : new long[] {0, 2 * CHUNK}) {
            assertThatExceptionOfType(IndexOutOfBoundsException.class)
                    .isThrownBy(() -> memory.write(physAddr, new byte[4], 1, 4));
            assertThatExceptionOfType(IndexOutOfBoundsException.class)
                    .isThrownBy(() -> memory.read(physAddr, new byte[4], 0, 5));
            assertThatExceptionOfType(IndexOutOfBoundsException.class)
                    .isThrownBy(() -> memory.read(physAddr, new byte[4], 0, -1));
            assertThatExceptionOfType(IndexOutOfBoundsException.class)
                    .isThrownBy(() -> memory.write(physAddr, ByteBuffer.allocate(4), 0, 5));
            assertThatExceptionOfType(IndexOutOfBoundsException.class)
                    .isThrownBy(() -> memory.read(physAddr, ByteBuffer.allocate(4), 2, 3));
        }
        assertThatExceptionOfType(IndexOutOfBoundsException.class)
                .isThrownBy(() -> memory.mismatch(0, new byte[4], 2, 3));
        assertThat(memory.getLong(0)).isEqualTo(9);
    }

    // ---- atomics

    @Test
    void atomicAccessesReadAndWriteAlignedWords() {
        assertThat(memory.compareAndSetLong(8, 0, 5)).isTrue();
        assertThat(memory.compareAndSetLong(8, 0, 6)).isFalse();
        assertThat(memory.compareAndExchangeLong(8, 5, 7)).isEqualTo(5);
        assertThat(memory.compareAndExchangeLong(8, 5, 8)).isEqualTo(7);
        assertThat(memory.getAndAddLong(8, -8)).isEqualTo(7);
        assertThat(memory.getLongAcquire(8)).isEqualTo(-1);
        memory.putLongRelease(0x408, 3);
        assertThat(memory.getLongAcquire(0x408)).isEqualTo(3);
        assertThat(memory.getAndAddLong(0x408, 1)).isEqualTo(3);
        assertThat(memory.getLong(0x408)).isEqualTo(4);
    }

    @Test
    void atomicAccessesNeedAlignment() {
        String message = "physical address 0xc of an atomic access is not a multiple of 8";
        assertThatIllegalArgumentException()
                .isThrownBy(() -> memory.getLongAcquire(12))
                .withMessage(message);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> memory.putLongRelease(12, 1))
                .withMessage(message);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> memory.compareAndSetLong(12, 0, 1))
                .withMessage(message);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> memory.compareAndExchangeLong(12, 0, 1))
                .withMessage(message);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> memory.getAndAddLong(12, 1))
                .withMessage(message);
    }

    // ---- views and regions

    @Test
    void aViewAndItsMemoryAreTheSameBytes() {
        ByteBuffer view = memory.view(CHUNK + 8, 16);
        assertThat(view.capacity()).isEqualTo(16);
        assertThat(view.order()).isEqualTo(ByteOrder.LITTLE_ENDIAN);

        view.putLong(0, 0x1234);
        memory.putLong(CHUNK + 16, 0x5678);

        assertThat(memory.getLong(CHUNK + 8)).isEqualTo(0x1234);
        assertThat(view.getLong(8)).isEqualTo(0x5678);
    }

    @Test
    void aViewLiesInOneChunk() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> memory.view(CHUNK - 8, 16))
                .withMessage("a view of 0x38+0x10 would cross chunks of 0x40 bytes");
        assertThatIllegalArgumentException().isThrownBy(() -> memory.view(0x400, 8));
        assertThatIllegalArgumentException().isThrownBy(() -> memory.view(0, 0));
        assertThat(memory.view(0x405, 3).capacity()).isEqualTo(3);
    }

    @Test
    void aContiguousRegionIsOneBufferAndOrdinaryMemory() {
        ByteBuffer region = memory.contiguousRegion(CHUNK, 4 * CHUNK);
        assertThat(region.capacity()).isEqualTo(4 * CHUNK);
        assertThat(memory.residentBytes()).isEqualTo(4 * CHUNK);

        memory.putLong(2 * CHUNK - 4, 0x1122_3344_5566_7788L);
        region.putLong(3 * CHUNK, 9);

        assertThat(region.getLong(CHUNK - 4)).isEqualTo(0x1122_3344_5566_7788L);
        assertThat(memory.getLong(4 * CHUNK)).isEqualTo(9);
        assertThat(memory.view(CHUNK + 8, 3 * CHUNK).getLong(CHUNK - 12)).isEqualTo(0x1122_3344_5566_7788L);
        assertThat(memory.getAndAddLong(4 * CHUNK, 1)).isEqualTo(9);
    }

    @Test
    void aContiguousRegionIsMadeOfUntouchedWholeChunksOfRam() {
        memory.putByte(2 * CHUNK, (byte) 1);
        assertThatIllegalStateException()
                .isThrownBy(() -> memory.contiguousRegion(CHUNK, 2 * CHUNK))
                .withMessage("memory at 0x80+0x40 is in use already, so 0x40+0x80 cannot become one contiguous region");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> memory.contiguousRegion(8, CHUNK))
                .withMessage("contiguous region 0x8+0x40 is not made of whole chunks of 0x40 bytes");
        assertThatIllegalArgumentException().isThrownBy(() -> memory.contiguousRegion(CHUNK, 8));
        assertThatIllegalArgumentException().isThrownBy(() -> memory.contiguousRegion(CHUNK, 0));
        assertThatIllegalArgumentException().isThrownBy(() -> memory.contiguousRegion(0x400, CHUNK));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> memory.contiguousRegion(0, 1L << 31))
                .withMessageContaining("is not below 0x7ffff000 bytes");
        assertThat(memory.residentBytes()).isEqualTo(CHUNK);
    }

    // ---- discarding

    @Test
    void discardedMemoryReadsAsZeroAndGivesBackWholeChunks() {
        memory.fill(0, 4 * CHUNK, (byte) 0x55);

        memory.discard(CHUNK - 8, 2 * CHUNK + 16);

        assertThat(memory.residentBytes()).isEqualTo(2 * CHUNK);
        assertThat(memory.mismatch(CHUNK - 8, new byte[2 * CHUNK + 16], 0, 2 * CHUNK + 16))
                .isEqualTo(-1);
        assertThat(memory.getByte(CHUNK - 9)).isEqualTo((byte) 0x55);
        assertThat(memory.getByte(3 * CHUNK + 8)).isEqualTo((byte) 0x55);
    }

    @Test
    void aRecycledChunkReadsAsZero() {
        memory.fill(0, CHUNK, (byte) 0x55);
        memory.discard(0, CHUNK);
        memory.putByte(2 * CHUNK, (byte) 1);

        assertThat(memory.getLong(2 * CHUNK)).isEqualTo(1);
        assertThat(memory.getLong(3 * CHUNK - 8)).isZero();
        assertThat(memory.residentBytes()).isEqualTo(CHUNK);
    }

    @Test
    void aDiscardedRegionStaysContiguous() {
        ByteBuffer region = memory.contiguousRegion(0, 2 * CHUNK);
        memory.fill(0, 2 * CHUNK, (byte) 0x55);

        memory.discard(0, 2 * CHUNK);
        memory.putLong(CHUNK, 3);

        assertThat(region.getLong(0)).isZero();
        assertThat(region.getLong(CHUNK)).isEqualTo(3);
        assertThat(memory.residentBytes()).isEqualTo(2 * CHUNK);
    }

    @Test
    void discardingATerabyteLeavesNothingResident() {
        PhysicalMemory large = PhysicalMemory.create(RamMap.of(new PhysRange(0, (1L << 40) - 1)), 64 << 10);
        large.putLong(1L << 39, 1);

        large.discard(0, 1L << 40);

        assertThat(large.residentBytes()).isZero();
        assertThat(large.getLong(1L << 39)).isZero();
    }

    // ---- running out of direct memory

    @Test
    void runningOutOfDirectMemoryNamesTheFlagAndWhatIsResident() {
        AtomicInteger left = new AtomicInteger(1);
        PhysicalMemory scarce = PhysicalMemory.create(RamMap.sizedWithHole(1 << 20), CHUNK, size -> take(left, size));
        scarce.putLong(0, 1);

        DirectMemoryExhaustedException exhausted =
                catchThrowableOfType(DirectMemoryExhaustedException.class, () -> scarce.putLong(0x1000, 2));

        assertThat(exhausted)
                .hasMessageContaining("-XX:MaxDirectMemorySize")
                .hasMessageContaining("0x1000+")
                .hasMessageContaining("64 bytes of RAM are resident");
        assertThat(exhausted.residentBytes()).isEqualTo(CHUNK);
        assertThat(scarce.getLong(0x1000)).isZero();
        assertThat(scarce.getLong(0)).isEqualTo(1);
        assertThat(scarce.residentBytes()).isEqualTo(CHUNK);
    }

    @Test
    void recycledChunksAreGivenUpBeforeDirectMemoryIsExhausted() {
        AtomicInteger left = new AtomicInteger(1);
        AtomicInteger refusals = new AtomicInteger();
        PhysicalMemory scarce = PhysicalMemory.create(RamMap.sizedWithHole(1 << 20), CHUNK, size -> {
            if (left.get() == 0 && refusals.getAndIncrement() == 0) {
                left.set(1);
                throw new OutOfMemoryError("Cannot reserve " + size + " bytes of direct buffer memory");
            }
            return take(left, size);
        });
        scarce.putLong(0, 1);
        scarce.discard(0, CHUNK);

        scarce.contiguousRegion(0, 2 * CHUNK);

        assertThat(refusals).hasValue(1);
        assertThat(scarce.residentBytes()).isEqualTo(2 * CHUNK);
    }

    private static ByteBuffer take(AtomicInteger left, int sizeBytes) {
        if (left.getAndDecrement() == 0) {
            throw new OutOfMemoryError("Cannot reserve " + sizeBytes + " bytes of direct buffer memory");
        }
        return ByteBuffer.allocateDirect(sizeBytes);
    }

    // ---- making

    @Test
    void chunksArePowersOfTwoFrom64Bytes() {
        RamMap ram = RamMap.sizedWithHole(1 << 20);
        for (int size : new int[] {0, 32, 96, Integer.MIN_VALUE, -64}) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> PhysicalMemory.create(ram, size))
                    .withMessage("chunk size " + size + " is not a power of two from 64 to 1073741824");
        }
    }

    @Test
    void ramTooLargeForItsChunksIsRefused() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> PhysicalMemory.create(RamMap.of(new PhysRange(0, (1L << 38) - 1)), 64))
                .withMessage("RAM up to 0x3fffffffff needs chunks larger than 64 bytes");
        assertThat(PhysicalMemory.create(RamMap.of(new PhysRange(0, (1L << 37) - 1)), 64)
                        .residentBytes())
                .isZero();
    }
}
