package io.pagewalk.dma.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.ByteBuffer;
import java.nio.ReadOnlyBufferException;
import java.util.Objects;
import org.junit.jupiter.api.Test;

/** A write-back cache of four lines of 16 bytes between software and memory. */
class CpuCacheTest {
    private static final int LINE = 16;

    private final PhysicalMemory memory = PhysicalMemory.create(RamMap.sizedWithHole(1 << 20), 4096);
    private final CpuMemory cpu = new CpuMemory(memory, new CpuCacheOptions(LINE, 4));
    private final CpuCache cache = Objects.requireNonNull(cpu.cache());

    @Test
    void whatSoftwareWritesStaysInTheCacheUntilItsLineIsCleaned() {
        cpu.putLong(0x100, 7);

        assertThat(memory.getLong(0x100)).isZero();
        assertThat(cpu.getLong(0x100)).isEqualTo(7);
        assertThat(cache.isCached(0x10f)).isTrue();
        assertThat(cache.isCached(0x110)).isFalse();
        assertThat(cache.isDirty(0x100)).isTrue();
        assertThat(cache.fills()).isEqualTo(1);

        cache.clean(0x107, 1);

        assertThat(memory.getLong(0x100)).isEqualTo(7);
        assertThat(cache.isCached(0x100)).isTrue();
        assertThat(cache.isDirty(0x100)).isFalse();
        assertThat(cache.writeBacks()).isEqualTo(1);
        cache.clean(0x100, LINE);
        assertThat(cache.writeBacks()).as("a clean line is not written again").isEqualTo(1);
    }

    @Test
    void aReadBringsInTheWholeLineAndFindsItThereAfterMemoryHasChanged() {
        memory.putLong(0x108, 1);
        assertThat(cpu.getByte(0x100)).isZero();
        memory.putLong(0x108, 2);

        assertThat(cpu.getLong(0x108)).isEqualTo(1);
        assertThat(cache.staleReads()).isEqualTo(1);
        assertThat(cache.lastStalePhysAddr()).isEqualTo(0x108);
        assertThat(cpu.getLong(0x110)).as("another line").isZero();
        assertThat(cache.staleReads()).isEqualTo(1);

        cache.invalidate(0x100, LINE);

        assertThat(cpu.getLong(0x108)).isEqualTo(2);
        assertThat(cache.staleReads()).isEqualTo(1);
        assertThat(cache.lostWrites()).isZero();
    }

    @Test
    void noStaleReadIsCountedBeforeThereWasOneNorOfALineThatTheCpuWrote() {
        assertThat(cache.lastStalePhysAddr()).isEqualTo(-1L);
        cpu.putLong(0x100, 7);
        assertThat(cpu.getLong(0x100)).isEqualTo(7);
        assertThat(cache.staleReads()).isZero();
    }

    @Test
    void wholeLinesLoseWhatTheCpuWroteAndEdgesAreWrittenBackFirst() {
        for (long at = 0x100; at < 0x140; at += LINE) {
            cpu.putLong(at, at);
        }

        cache.invalidate(0x108, 0x20);

        assertThat(cache.cachedLines()).isEqualTo(1);
        assertThat(cache.isDirty(0x130)).isTrue();
        assertThat(memory.getLong(0x100)).as("begins before the range").isEqualTo(0x100);
        assertThat(memory.getLong(0x110)).as("lies inside").isZero();
        assertThat(memory.getLong(0x120)).as("ends behind it").isEqualTo(0x120);
        assertThat(cache.lostWrites()).isEqualTo(1);
        assertThat(cache.writeBacks()).isEqualTo(2);
    }

    @Test
    void flushWritesBackAndDrops() {
        cpu.putLong(0x100, 1);
        cpu.putLong(0x110, 2);

        cache.flush(0x10f, 1);

        assertThat(memory.getLong(0x100)).isEqualTo(1);
        assertThat(memory.getLong(0x110)).isZero();
        assertThat(cache.cachedLines()).isEqualTo(1);
        cache.flushAll();
        assertThat(memory.getLong(0x110)).isEqualTo(2);
        assertThat(cache.cachedLines()).isZero();
    }

    @Test
    void rangesOfNoBytesAndRangesBeyondEverythingAreHarmless() {
        cpu.putLong(0x100, 1);
        cache.invalidate(0x100, 0);
        assertThat(cache.isDirty(0x100)).isTrue();
        cache.invalidate(0x110, -1L);
        assertThat(cache.isDirty(0x100)).isTrue();
        cache.clean(-1L, 64);
        assertThat(cache.isDirty(0x100)).isTrue();
        cache.clean(0, -1L);
        assertThat(memory.getLong(0x100)).isEqualTo(1);
        cache.flush(0x100 - 0x10, 0x10);
        assertThat(cache.cachedLines()).as("the line before").isEqualTo(1);
    }

    @Test
    void theLineUsedLongestAgoMakesRoom() {
        for (long at = 0; at < 4 * LINE; at += LINE) {
            cpu.putLong(at, at + 1);
        }
        cpu.getLong(0);
        cpu.getLong(4 * LINE);

        assertThat(cache.cachedLines()).isEqualTo(4);
        assertThat(cache.isCached(0)).isTrue();
        assertThat(cache.isCached(LINE)).isFalse();
        assertThat(memory.getLong(LINE)).isEqualTo(LINE + 1);
        assertThat(memory.getLong(2 * LINE)).isZero();
        assertThat(cache.fills()).isEqualTo(5);
    }

    @Test
    void anAccessLargerThanTheCacheUsesWhatIsThereAndBringsInNothing() {
        cpu.putLong(0x110, 5);
        cpu.getLong(0x130);
        memory.putLong(0x130, 6);
        byte[] seen = new byte[5 * LINE];

        cpu.read(0x100, seen, 0, seen.length);

        assertThat(seen[0x10]).isEqualTo((byte) 5);
        assertThat(seen[0x30]).as("the cached line, not memory's").isZero();
        assertThat(cache.cachedLines()).isEqualTo(2);
        assertThat(cache.staleReads()).isEqualTo(1);

        cpu.fill(0x100, seen.length, (byte) 9);

        assertThat(cache.cachedLines()).isEqualTo(2);
        assertThat(memory.getByte(0x100)).isEqualTo((byte) 9);
        assertThat(memory.getByte(0x110)).as("went to its line").isZero();
        assertThat(cpu.getByte(0x110)).isEqualTo((byte) 9);

        cpu.write(0x100, new byte[5 * LINE], 0, 5 * LINE);
        assertThat(memory.getByte(0x100)).isZero();
        assertThat(cpu.getByte(0x110)).isZero();
        assertThat(cache.cachedLines()).isEqualTo(2);
    }

    @Test
    void anAccessAsLargeAsTheCacheFillsIt() {
        cpu.fill(0x100, 4 * LINE, (byte) 1);

        assertThat(cache.cachedLines()).isEqualTo(4);
        assertThat(memory.getByte(0x100)).isZero();
    }

    @Test
    void zerosThatAreWrittenBackOrPassByBackNoMemory() {
        cpu.zero(0x8000, 0x1_0000);
        cpu.zero(0x2_0000, LINE);
        cache.flushAll();

        assertThat(memory.residentBytes()).isZero();
    }

    @Test
    void atomicAccessesActOnTheLine() {
        assertThat(cpu.compareAndSetLong(8, 0, 4)).isTrue();
        assertThat(cpu.compareAndSetLong(8, 0, 9)).isFalse();
        assertThat(cpu.compareAndExchangeLong(8, 4, 5)).isEqualTo(4);
        assertThat(cpu.compareAndExchangeLong(8, 4, 6)).isEqualTo(5);
        assertThat(cpu.getAndAddLong(8, 2)).isEqualTo(5);
        assertThat(cpu.getLongAcquire(8)).isEqualTo(7);
        cpu.putLongRelease(8, 8);
        assertThat(cpu.getLong(8)).isEqualTo(8);
        assertThat(memory.getLong(8)).isZero();
    }

    @Test
    void wordsAndBytesOfAllSizesCrossLines() {
        cpu.putLong(12, 0x8877_6655_4433_2211L);
        assertThat(cpu.getInt(14)).isEqualTo(0x6655_4433);
        assertThat(cpu.getShort(15)).isEqualTo((short) 0x5544);
        assertThat(cpu.getByte(19)).isEqualTo((byte) 0x88);
        cpu.putInt(14, 1);
        cpu.putShort(15, (short) 0x0303);
        cpu.putByte(12, (byte) 9);
        assertThat(cpu.getLong(12)).isEqualTo(0x8877_0003_0301_2209L);
    }

    @Test
    void buffersKeepTheirPositionAndTheirErrors() {
        ByteBuffer bytes = ByteBuffer.wrap(new byte[] {1, 2, 3, 4});
        cpu.write(14, bytes, 1, 3);
        ByteBuffer read = ByteBuffer.allocate(4);
        cpu.read(14, read, 1, 3);

        assertThat(read.array()).containsExactly(0, 2, 3, 4);
        assertThat(read.position()).isZero();
        assertThat(bytes.position()).isZero();
        assertThatThrownBy(() -> cpu.read(0, read.asReadOnlyBuffer(), 0, 1))
                .isInstanceOf(ReadOnlyBufferException.class);
        assertThatThrownBy(() -> cpu.read(0, read, 1, 4)).isInstanceOf(IndexOutOfBoundsException.class);
        assertThatThrownBy(() -> cpu.write(0, bytes, 2, 3)).isInstanceOf(IndexOutOfBoundsException.class);
        assertThat(cpu.mismatch(14, new byte[] {9, 2, 3, 5}, 1, 3)).isEqualTo(2);
        assertThat(cpu.mismatch(14, new byte[] {9, 2, 3, 5}, 1, 2)).isEqualTo(-1);
        assertThatThrownBy(() -> cpu.mismatch(0, new byte[2], 1, 2)).isInstanceOf(IndexOutOfBoundsException.class);
    }

    @Test
    void copiesMayOverlapBothWays() {
        byte[] bytes = new byte[100];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = (byte) i;
        }
        cpu.write(0x1000, bytes, 0, 100);
        cpu.copy(0x1000, 0x1003, 100);
        assertThat(cpu.mismatch(0x1003, bytes, 0, 100)).isEqualTo(-1);
        cpu.copy(0x1003, 0x1000, 100);
        assertThat(cpu.mismatch(0x1000, bytes, 0, 100)).isEqualTo(-1);
    }

    @Test
    void whatIsNotRamIsRefusedAndNothingIsCached() {
        long end = 1 << 20;
        assertThatIllegalArgumentException().isThrownBy(() -> cpu.putLong(end - 4, 1));
        assertThatIllegalArgumentException().isThrownBy(() -> cpu.getByte(end));
        assertThatIllegalArgumentException().isThrownBy(() -> cpu.fill(end - 4, 8, (byte) 1));
        assertThatIllegalArgumentException().isThrownBy(() -> cpu.copy(0, end - 4, 8));
        assertThatIllegalArgumentException().isThrownBy(() -> cpu.copy(end - 4, 0, 8));
        assertThatIllegalArgumentException().isThrownBy(() -> cpu.getAndAddLong(4, 1));
        assertThatIllegalArgumentException().isThrownBy(() -> cpu.putLongRelease(4, 1));
        assertThatThrownBy(() -> cpu.read(0, new byte[4], 2, 3)).isInstanceOf(IndexOutOfBoundsException.class);
        assertThatThrownBy(() -> cpu.write(0, new byte[4], 2, 3)).isInstanceOf(IndexOutOfBoundsException.class);
        assertThat(cache.cachedLines()).isZero();
        cpu.read(end, new byte[0], 0, 0);
        cpu.fill(end, 0, (byte) 1);
    }

    @Test
    void aViewIsRefused() {
        assertThatThrownBy(() -> cpu.view(0x100, 8))
                .isInstanceOf(IllegalStateException.class)
                .hasMessage("no view of 0x100+0x8: the machine has a CPU cache");
    }

    @Test
    void theUncachedViewGoesAround() {
        cpu.putLong(0x100, 7);
        CpuMemory uncached = cpu.uncached();

        assertThat(uncached.getLong(0x100)).isZero();
        assertThat(uncached.cache()).isNull();
        CpuMemory plain = new CpuMemory(memory);
        assertThat(plain.uncached()).isSameAs(plain);
    }

    @Test
    void aDeviceThatSnoopsSeesTheCacheAndOneThatDoesNotReachesAround() {
        BusMemory snooping = new BusMemory(memory, cache);
        BusMemory other = new BusMemory(memory, null);
        cpu.putLong(0x100, 7);
        byte[] seen = new byte[4];

        assertThat(other.getLong(0x100)).isZero();
        assertThat(other.getByte(0x100)).isZero();
        other.read(0x100, seen, 1, 2);
        assertThat(seen).containsOnly(0);
        assertThat(snooping.getByte(0x100)).isEqualTo((byte) 7);
        cpu.putLong(0x100, 8);
        assertThat(snooping.getLong(0x100)).isEqualTo(8);
        cpu.putLong(0x100, 9);
        snooping.read(0x100, seen, 1, 2);
        assertThat(seen).containsExactly(0, 9, 0, 0);
        assertThat(cache.isCached(0x100)).as("a read leaves the line").isTrue();

        snooping.putLong(0x108, 5);
        assertThat(cache.isCached(0x100)).as("a write takes it away").isFalse();
        assertThat(cpu.getLong(0x100)).isEqualTo(9);
        assertThat(cpu.getLong(0x108)).isEqualTo(5);
        snooping.putByte(0x108, (byte) 6);
        assertThat(cpu.getLong(0x108)).isEqualTo(6);
        snooping.write(0x107, new byte[] {1, 2, 3}, 1, 2);
        assertThat(cpu.getLong(0x100)).isEqualTo(0x0200_0000_0000_0009L);
        assertThat(cpu.getLong(0x108)).isEqualTo(3);
        assertThat(snooping.getAndAddLong(0x108, 4)).isEqualTo(3);
        assertThat(snooping.compareAndExchangeLong(0x108, 7, 1)).isEqualTo(7);
        assertThat(cpu.getLong(0x108)).isEqualTo(1);

        other.putLong(0x108, 4);
        other.putByte(0x109, (byte) 1);
        assertThat(other.getAndAddLong(0x108, 1)).isEqualTo(0x104);
        assertThat(other.compareAndExchangeLong(0x108, 0x105, 0x200)).isEqualTo(0x105);
        other.write(0x108, new byte[] {3, 4}, 1, 1);
        assertThat(cpu.getLong(0x108)).as("stale").isEqualTo(1);
        cache.invalidate(0x100, LINE);
        assertThat(cpu.getLong(0x108)).isEqualTo(0x204);
        assertThat(other.ram()).isSameAs(memory.ram());
    }

    @Test
    void linesAndSizesAreChecked() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new CpuCacheOptions(24, 4))
                .withMessage("a cache line has a power of two from 8 to 4096 bytes, not 24");
        assertThatIllegalArgumentException().isThrownBy(() -> new CpuCacheOptions(4, 4));
        assertThatIllegalArgumentException().isThrownBy(() -> new CpuCacheOptions(8192, 4));
        assertThatIllegalArgumentException().isThrownBy(() -> new CpuCacheOptions(0, 4));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new CpuCacheOptions(64, 0))
                .withMessage("a cache holds at least 1 line, not 0");
        assertThat(new CpuCacheOptions(4096, 1).lineBytes()).isEqualTo(4096);
        assertThat(new CpuCacheOptions(8, 1).lines()).isEqualTo(1);
        assertThat(CpuCacheOptions.DEFAULT).isEqualTo(new CpuCacheOptions(64, 8192));
        assertThat(cache.lineBytes()).isEqualTo(LINE);
    }

    @Test
    void ramHasToConsistOfWholeLines() {
        for (RamMap ram :
                new RamMap[] {RamMap.of(PhysRange.ofSize(0x100, 0x108)), RamMap.of(PhysRange.ofSize(0x108, 0x108))}) {
            PhysicalMemory odd = PhysicalMemory.create(ram, 64);
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> new CpuMemory(odd, new CpuCacheOptions(16, 4)))
                    .withMessageContaining("does not consist of lines of 16 bytes");
            assertThat(new CpuMemory(odd, new CpuCacheOptions(8, 4)).getLong(0x108))
                    .isZero();
        }
    }
}
