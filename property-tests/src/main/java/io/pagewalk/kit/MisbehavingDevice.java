package io.pagewalk.kit;

import io.pagewalk.dma.BusWord;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceBus;
import io.pagewalk.dma.memory.Addresses;
import java.util.Arrays;
import java.util.SplittableRandom;

/**
 * A device that keeps to no rule: it reads, writes and does atomics at addresses that it was given, at those it was
 * given once, beside them, at forgeries of them and anywhere, in any size, whether anything is mapped or not.
 *
 * <p>For authors of driver models and backends: tell it of each address that is handed out, let it misbehave before,
 * during and after, and look for {@link #MARK} where no mapping let it write. Fill what it must not read with a byte of
 * your own: {@link #secretsSeen} counts those it got. Its accesses follow from the seed. Not thread-safe; several
 * devices may misbehave at once.
 */
public final class MisbehavingDevice {
    /** All that it writes; an atomic may change a word by adding this byte eight times. */
    public static final byte MARK = (byte) 0xa5;

    private static final long MARKS = 0xa5a5_a5a5_a5a5_a5a5L;
    private static final int REMEMBERED = 256;
    private static final int LONGEST = 3 * 4096 + 8;

    private final DeviceBus bus;
    private final SplittableRandom random;
    private final byte secret;
    private final BusWord old = new BusWord();
    private final byte[] marks = new byte[LONGEST];
    private final byte[] seen = new byte[LONGEST];
    private final long[] starts = new long[REMEMBERED];
    private final long[] sizes = new long[REMEMBERED];
    private int told;
    private long accesses;
    private long bytesReached;
    private long secretsSeen;

    /**
     * Makes one out of a device.
     *
     * @param device whose bus it uses
     * @param seed decides over all that it does
     * @param secret a byte that stands in memory which it must not read, and nowhere else; not {@link #MARK}, nor all
     *     ones, which is what blocked reads return
     */
    public MisbehavingDevice(Device device, long seed, byte secret) {
        this.bus = device.bus();
        this.random = new SplittableRandom(seed);
        this.secret = secret;
        Arrays.fill(marks, MARK);
    }

    // ---- what it knows

    /**
     * Tells it of addresses. It remembers the latest 256 runs, mapped or not.
     *
     * @param dmaAddr first byte
     * @param sizeBytes length, at least 1
     */
    public void learn(long dmaAddr, long sizeBytes) {
        starts[told % REMEMBERED] = dmaAddr;
        sizes[told % REMEMBERED] = Math.max(1, sizeBytes);
        told++;
    }

    /**
     * Tells it of a run of addresses.
     *
     * @param extent the run
     */
    public void learn(DmaExtent extent) {
        learn(extent.dmaAddr(), extent.sizeBytes());
    }

    // ---- what it does

    /**
     * Makes accesses.
     *
     * @param count how many
     */
    public void misbehave(int count) {
        for (int i = 0; i < count; i++) {
            misbehave();
        }
    }

    private void misbehave() {
        accesses++;
        long dmaAddr = address();
        switch (random.nextInt(6)) {
            case 0 -> read(dmaAddr, length());
            case 1 -> bytesReached += bus.write(dmaAddr, marks, 0, length());
            case 2 -> bytesReached += bus.writeLong(dmaAddr, MARKS);
            case 3 -> bytesReached += lookAt(bus.fetchAdd(dmaAddr & -Long.BYTES, MARKS, old));
            case 4 -> bytesReached += lookAt(bus.compareAndSwap(dmaAddr & -Long.BYTES, random.nextInt(2), MARKS, old));
            default -> readLong(dmaAddr);
        }
    }

    private void read(long dmaAddr, int lengthBytes) {
        int done = bus.read(dmaAddr, seen, 0, lengthBytes);
        bytesReached += done;
        for (int i = 0; i < lengthBytes; i++) {
            secretsSeen += seen[i] == secret ? 1 : 0;
        }
    }

    private void readLong(long dmaAddr) {
        lookAt(bus.readLong(dmaAddr));
    }

    private int lookAt(int done) {
        if (done != 0) {
            lookAt(old.value());
        }
        return done;
    }

    private void lookAt(long word) {
        for (int i = 0; i < Long.BYTES; i++) {
            secretsSeen += (byte) (word >>> (8 * i)) == secret ? 1 : 0;
        }
    }

    private int length() {
        return random.nextInt(4) == 0 ? 1 + random.nextInt(LONGEST) : 1 + random.nextInt(64);
    }

    // ---- where

    private long address() {
        if (told == 0 || random.nextInt(4) == 0) {
            return anywhere();
        }
        int which = random.nextInt(Math.min(told, REMEMBERED));
        long start = starts[which];
        long size = sizes[which];
        return switch (random.nextInt(6)) {
            case 0 -> start + Math.floorMod(random.nextLong(), size);
            case 1 -> start - 1 - random.nextInt(64);
            case 2 -> start + size - 1 - random.nextInt(64);
            case 3 -> start + size + random.nextInt(64);
            case 4 -> start + (random.nextInt(33) - 16) * Addresses.PAGE_SIZE;
            default -> start ^ 1L << random.nextInt(Long.SIZE);
        };
    }

    /** Anywhere at all, where RAM is likely, and at the edges of address widths. */
    private long anywhere() {
        return switch (random.nextInt(4)) {
            case 0 -> random.nextLong();
            case 1 -> random.nextLong(1L << 33);
            case 2 -> random.nextLong(1L << 20) << Addresses.PAGE_SHIFT;
            default -> (1L << random.nextInt(Long.SIZE)) + random.nextInt(33) - 16;
        };
    }

    // ---- what came of it

    /**
     * How often it tried.
     *
     * @return accesses so far
     */
    public long accesses() {
        return accesses;
    }

    /**
     * How many bytes it read by runs, wrote or changed; words that it read are not counted, as nobody can tell whether
     * they were reached.
     *
     * @return bytes so far
     */
    public long bytesReached() {
        return bytesReached;
    }

    /**
     * How often the secret byte came back from a read.
     *
     * @return times so far
     */
    public long secretsSeen() {
        return secretsSeen;
    }
}
