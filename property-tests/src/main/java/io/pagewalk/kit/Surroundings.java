package io.pagewalk.kit;

import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.memory.PhysRange;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;

/** The bytes before and behind the buffers of a mapping: nobody has any business with them. */
final class Surroundings {
    private static final long WIDTH_BYTES = Addresses.PAGE_SIZE;
    private static final long SALT = 0x5e11;

    private final Machine machine;
    private final Segments inside;
    private final Map<Buffer, byte[]> bytesByWindow = new LinkedHashMap<>();

    /** Writes bytes around all buffers and remembers them. */
    Surroundings(Machine machine, Segments inside) {
        this.machine = machine;
        this.inside = inside;
        for (Buffer buffer : inside.buffers()) {
            Buffer range = around(buffer);
            byte[] bytes = Content.of(SALT, range.physAddr(), range.sizeBytes());
            range.write(machine, bytes);
            bytesByWindow.put(range, withoutInside(range, bytes));
        }
    }

    private static Buffer around(Buffer buffer) {
        PhysRange arena = SmallWorld.ARENAS.stream()
                .filter(a -> Addresses.contains(a.first(), a.sizeBytes(), buffer.physAddr(), buffer.sizeBytes()))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException(buffer + " lies in no arena"));
        long first = Addresses.max(arena.first(), buffer.physAddr() - WIDTH_BYTES);
        long last = Addresses.min(arena.last(), buffer.last() + WIDTH_BYTES);
        return new Buffer(first, (int) (last - first + 1));
    }

    private byte[] withoutInside(Buffer range, byte[] bytes) {
        for (Buffer buffer : inside.buffers()) {
            if (buffer.overlaps(range)) {
                int from = (int) Math.max(0, buffer.physAddr() - range.physAddr());
                int to = (int) Math.min(range.sizeBytes(), buffer.last() + 1 - range.physAddr());
                Arrays.fill(bytes, from, to, (byte) 0);
            }
        }
        return bytes;
    }

    /** Throws an AssertionError when a byte outside the buffers has changed. */
    void requireUntouched() {
        bytesByWindow.forEach(this::requireUntouched);
    }

    private void requireUntouched(Buffer window, byte[] before) {
        byte[] now = withoutInside(window, window.read(machine));
        int first = Arrays.mismatch(now, before);
        if (first >= 0) {
            throw new AssertionError(String.format(
                    "byte %s outside the buffers %s has changed from 0x%02x to 0x%02x",
                    Addresses.hex(window.physAddr() + first), inside.buffers(), before[first], now[first]));
        }
    }
}
