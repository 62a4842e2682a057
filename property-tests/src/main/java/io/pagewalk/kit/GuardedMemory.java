package io.pagewalk.kit;

import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.memory.PhysRange;
import java.util.Arrays;

/**
 * The arenas of a small world, filled with a secret byte wherever nothing is mapped: a device that reads it has read
 * too much, and where it is gone, something was written. The unit is the page, as IOMMUs have no smaller one. Not
 * thread-safe.
 */
public final class GuardedMemory {
    /** What stands in pages that are not open. */
    public static final byte SECRET = 0x5c;

    private static final int PAGE = (int) Addresses.PAGE_SIZE;

    private final Machine machine;
    private final byte[] secret = new byte[PAGE];
    private final byte[] page = new byte[PAGE];
    private long openFirst;
    private long openEnd;
    private boolean openForWriting;

    /**
     * Fills the arenas.
     *
     * @param machine a machine of {@link SmallWorld}
     */
    public GuardedMemory(Machine machine) {
        this.machine = machine;
        Arrays.fill(secret, SECRET);
        for (PhysRange arena : SmallWorld.ARENAS) {
            fill(arena.first(), arena.sizeBytes(), secret);
        }
    }

    private void fill(long first, long sizeBytes, byte[] bytes) {
        for (long offset = 0; offset < sizeBytes; offset += PAGE) {
            machine.cpuMemory().write(first + offset, bytes, 0, PAGE);
        }
    }

    /**
     * Zeroes the pages of a buffer, which is about to be mapped; one buffer is open at a time.
     *
     * @param buffer within the arenas
     * @param forWriting whether the device may write there
     */
    public void open(Buffer buffer, boolean forWriting) {
        openFirst = Addresses.alignDown(buffer.physAddr(), PAGE);
        openEnd = Addresses.alignDown(buffer.last(), PAGE) + PAGE;
        openForWriting = forWriting;
        fill(openFirst, openEnd - openFirst, new byte[PAGE]);
    }

    /**
     * Fills the pages of the buffer that was open.
     *
     * @param buffer the same buffer
     */
    public void close(Buffer buffer) {
        fill(openFirst, openEnd - openFirst, secret);
        openFirst = 0;
        openEnd = 0;
    }

    /**
     * Lets a device misbehave, and checks that every page is as it was but for those that it may write.
     *
     * @param device the device
     * @param accesses how many
     * @throws AssertionError that names the first byte that changed
     */
    public void requireUntouchedBy(MisbehavingDevice device, int accesses) {
        device.misbehave(accesses);
        for (PhysRange arena : SmallWorld.ARENAS) {
            for (long at = arena.first(); Addresses.lessThan(at, arena.first() + arena.sizeBytes()); at += PAGE) {
                requireUntouched(at);
            }
        }
    }

    private void requireUntouched(long pageAddr) {
        boolean open = Addresses.lessThan(pageAddr - openFirst, openEnd - openFirst);
        if (open && openForWriting) {
            return;
        }
        machine.memory().read(pageAddr, page, 0, PAGE);
        int changed = Arrays.mismatch(page, open ? new byte[PAGE] : secret);
        if (changed >= 0) {
            throw new AssertionError(String.format(
                    "the device wrote 0x%02x at 0x%x, where nothing is mapped for it to write",
                    page[changed] & 0xff, pageAddr + changed));
        }
    }
}
