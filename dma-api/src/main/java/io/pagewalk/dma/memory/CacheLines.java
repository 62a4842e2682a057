package io.pagewalk.dma.memory;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** The lines of a cache by number, and what moves them between cache and memory. Its owner holds a lock. */
final class CacheLines {
    /** Bytes of a line that the CPU works on. */
    static final class Line {
        private final byte[] bytes;
        private boolean dirty;

        private Line(byte[] bytes) {
            this.bytes = bytes;
        }

        byte[] bytes() {
            return bytes;
        }

        boolean isDirty() {
            return dirty;
        }

        void markDirty() {
            dirty = true;
        }
    }

    private final PhysicalMemory memory;
    private final int lineBytes;
    private final int lineShift;
    private final int capacity;
    private final Map<Long, Line> lines = new LinkedHashMap<>(16, 0.75f, true);
    private final byte[] scratch;
    private long fills;
    private long writeBacks;
    private long lostWrites;

    CacheLines(PhysicalMemory memory, CpuCacheOptions options) {
        this.memory = memory;
        this.lineBytes = options.lineBytes();
        this.lineShift = Integer.numberOfTrailingZeros(lineBytes);
        this.capacity = options.lines();
        this.scratch = new byte[lineBytes];
    }

    int lineBytes() {
        return lineBytes;
    }

    int count() {
        return lines.size();
    }

    long fills() {
        return fills;
    }

    long writeBacks() {
        return writeBacks;
    }

    long lostWrites() {
        return lostWrites;
    }

    long numberOf(long physAddr) {
        return physAddr >>> lineShift;
    }

    int offsetOf(long physAddr) {
        return (int) physAddr & (lineBytes - 1);
    }

    boolean isLarge(long sizeBytes) {
        return Addresses.lessThan((long) capacity << lineShift, sizeBytes);
    }

    /** The line at an address if the cache has it. */
    @Nullable Line find(long physAddr) {
        return lines.get(numberOf(physAddr));
    }

    /** The line at an address, brought in if need be. */
    Line fetch(long physAddr) {
        Line line = find(physAddr);
        return line == null ? bringIn(numberOf(physAddr)) : line;
    }

    private Line bringIn(long number) {
        Line line = new Line(new byte[lineBytes]);
        memory.read(number << lineShift, line.bytes, 0, lineBytes);
        fills++;
        if (lines.size() >= capacity) {
            Iterator<Map.Entry<Long, Line>> oldest = lines.entrySet().iterator();
            Map.Entry<Long, Line> victim = oldest.next();
            writeBack(victim.getKey(), victim.getValue());
            oldest.remove();
        }
        lines.put(number, line);
        return line;
    }

    /** Whether memory holds other bytes than a line that the CPU has not written. */
    boolean isStale(long physAddr, Line line) {
        if (line.dirty) {
            return false;
        }
        memory.read(numberOf(physAddr) << lineShift, scratch, 0, lineBytes);
        return !Arrays.equals(scratch, line.bytes);
    }

    private void writeBack(long number, Line line) {
        if (line.dirty) {
            writeLine(number << lineShift, line.bytes);
            line.dirty = false;
            writeBacks++;
        }
    }

    /** Zeros must not back memory that was never touched. */
    private void writeLine(long physAddr, byte[] bytes) {
        for (byte each : bytes) {
            if (each != 0) {
                memory.write(physAddr, bytes, 0, lineBytes);
                return;
            }
        }
        memory.zero(physAddr, lineBytes);
    }

    // ---- maintenance of a range

    void clean(long physAddr, long sizeBytes) {
        for (long number : cached(physAddr, sizeBytes)) {
            writeBack(number, present(number));
        }
    }

    void flush(long physAddr, long sizeBytes) {
        for (long number : cached(physAddr, sizeBytes)) {
            writeBack(number, present(number));
            lines.remove(number);
        }
    }

    /** Drops whole lines as they are; those that the range only touches are written back first. */
    void invalidate(long physAddr, long sizeBytes) {
        for (long number : cached(physAddr, sizeBytes)) {
            Line line = present(number);
            if (Addresses.contains(physAddr, sizeBytes, number << lineShift, lineBytes)) {
                lostWrites += line.dirty ? 1 : 0;
            } else {
                writeBack(number, line);
            }
            lines.remove(number);
        }
    }

    private Line present(long number) {
        return Objects.requireNonNull(lines.get(number));
    }

    /** The numbers of the lines that a range touches and the cache has, ascending or in order of use. */
    private List<Long> cached(long physAddr, long sizeBytes) {
        List<Long> numbers = new ArrayList<>();
        if (sizeBytes == 0 || lines.isEmpty()) {
            return numbers;
        }
        long first = numberOf(physAddr);
        long lastAddr = Addresses.last(physAddr, sizeBytes);
        long last = numberOf(Addresses.lessThan(lastAddr, physAddr) ? -1L : lastAddr);
        if (last - first < lines.size()) {
            for (long number = first; number <= last; number++) {
                if (lines.containsKey(number)) {
                    numbers.add(number);
                }
            }
        } else {
            for (long number : lines.keySet()) {
                if (number >= first && number <= last) {
                    numbers.add(number);
                }
            }
        }
        return numbers;
    }

    void flushAll() {
        lines.forEach(this::writeBack);
        lines.clear();
    }
}
