package io.pagewalk.rdma.i40iw;

import io.pagewalk.dma.CoherentBuffer;
import io.pagewalk.dma.Dma;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.Gfp;
import io.pagewalk.dma.memory.Addresses;
import java.util.Arrays;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The host memory that backs a device's private address space: what the device calls FPM addresses. Segments of 2 MiB
 * are backed by one buffer, or page by page; all of it is coherent memory of the device, so that the driver writes it
 * and the device reads it over its bus. FPM addresses are unsigned.
 *
 * <p>Implements what rdma:PBLE-3 and PBLE-4 say of segments. Thread-safe; look-ups take no lock. Changes that fail hold
 * nothing.
 */
public final class HmcMemory implements AutoCloseable {
    private static final int SEGMENT_SHIFT = 21;
    private static final long LAST_SEGMENT = -1L >>> SEGMENT_SHIFT;

    /** Bytes of a segment. */
    public static final long SEGMENT_BYTES = 1L << SEGMENT_SHIFT;

    /** What stands for an address that nothing is behind. */
    static final long NOWHERE = -1L;

    /** Pages of a segment. */
    public static final int SEGMENT_PAGES = (int) (SEGMENT_BYTES / Addresses.PAGE_SIZE);

    /** How a segment is backed. */
    public enum SegmentType {
        /** By one buffer of 2 MiB. */
        DIRECT,
        /** By pages. */
        PAGED
    }

    private static final class Segment {
        private final SegmentType type;
        private final @Nullable CoherentBuffer[] buffers;

        Segment(SegmentType type, @Nullable CoherentBuffer[] buffers) {
            this.type = type;
            this.buffers = buffers;
        }

        private int indexOf(long fpmAddr) {
            return type == SegmentType.DIRECT ? 0 : pageOf(fpmAddr);
        }

        boolean backs(long fpmAddr) {
            return buffers[indexOf(fpmAddr)] != null;
        }

        CoherentBuffer buffer(long fpmAddr) {
            return Objects.requireNonNull(buffers[indexOf(fpmAddr)]);
        }

        long offset(long fpmAddr) {
            return fpmAddr & ((type == SegmentType.DIRECT ? SEGMENT_BYTES : Addresses.PAGE_SIZE) - 1);
        }

        long dmaAddr(long fpmAddr) {
            return buffer(fpmAddr).dmaAddr() + offset(fpmAddr);
        }

        void close() {
            for (CoherentBuffer buffer : buffers) {
                if (buffer != null) {
                    buffer.close();
                }
            }
        }
    }

    /** Segments by ascending number. Replaced as a whole and never changed, so that look-ups need no lock. */
    private static final class Table {
        static final Table EMPTY = new Table(new long[0], new Segment[0]);

        private final long[] numbers;
        private final Segment[] segments;

        private Table(long[] numbers, Segment[] segments) {
            this.numbers = numbers;
            this.segments = segments;
        }

        @Nullable Segment find(long number) {
            int at = Arrays.binarySearch(numbers, number);
            return at < 0 ? null : segments[at];
        }

        /** With a segment that was not there, or in place of the one that was. */
        Table with(long number, Segment segment) {
            int at = Arrays.binarySearch(numbers, number);
            Table changed = at < 0 ? withRoomAt(-1 - at) : new Table(numbers.clone(), segments.clone());
            int place = at < 0 ? -1 - at : at;
            changed.numbers[place] = number;
            changed.segments[place] = segment;
            return changed;
        }

        private Table withRoomAt(int place) {
            long[] moreNumbers = Arrays.copyOf(numbers, numbers.length + 1);
            Segment[] moreSegments = Arrays.copyOf(segments, segments.length + 1);
            System.arraycopy(numbers, place, moreNumbers, place + 1, numbers.length - place);
            System.arraycopy(segments, place, moreSegments, place + 1, segments.length - place);
            return new Table(moreNumbers, moreSegments);
        }
    }

    private final Dma dma;
    private volatile Table table = Table.EMPTY;

    /**
     * Makes an address space with nothing behind it.
     *
     * @param dma of the device
     */
    public HmcMemory(Dma dma) {
        this.dma = Objects.requireNonNull(dma, "dma");
    }

    /**
     * How a segment is backed.
     *
     * @param segment its number: the FPM address, unsigned, divided by 2 MiB
     * @return null when it is not
     */
    public @Nullable SegmentType type(long segment) {
        Segment found = table.find(segment);
        return found == null ? null : found.type;
    }

    /**
     * Backs a whole segment by one buffer.
     *
     * @param segment its number
     * @return 0, or -ENOMEM
     * @throws IllegalArgumentException when no FPM address lies in a segment of that number
     * @throws IllegalStateException when the segment has backing already
     */
    public synchronized int addDirect(long segment) {
        requireNumber(segment);
        if (table.find(segment) != null) {
            throw new IllegalStateException("segment " + segment + " is backed already");
        }
        CoherentBuffer buffer = dma.memory().allocCoherent(SEGMENT_BYTES, Gfp.KERNEL);
        if (buffer == null) {
            return -Errno.ENOMEM;
        }
        table = table.with(segment, new Segment(SegmentType.DIRECT, new CoherentBuffer[] {buffer}));
        return 0;
    }

    /**
     * Backs some pages of a segment, each by a page of its own.
     *
     * @param segment its number
     * @param firstPage the first, from 0 to 511
     * @param pages how many
     * @return 0, or -ENOMEM, and then none of them is backed
     * @throws IllegalArgumentException when no FPM address lies in a segment of that number
     * @throws IllegalStateException when the segment is backed as a whole, or one of the pages is backed already
     * @throws IndexOutOfBoundsException when a segment has no such pages
     */
    public synchronized int addPages(long segment, int firstPage, int pages) {
        requireNumber(segment);
        Objects.checkFromIndexSize(firstPage, pages, SEGMENT_PAGES);
        Segment found = table.find(segment);
        requirePagesFree(segment, found, firstPage, pages);
        @Nullable CoherentBuffer[] buffers = found == null ? new CoherentBuffer[SEGMENT_PAGES] : found.buffers.clone();
        for (int page = firstPage; page < firstPage + pages; page++) {
            buffers[page] = dma.memory().allocCoherent(Addresses.PAGE_SIZE, Gfp.KERNEL);
            if (buffers[page] == null) {
                dropPages(buffers, firstPage, page);
                return -Errno.ENOMEM;
            }
        }
        table = table.with(segment, new Segment(SegmentType.PAGED, buffers));
        return 0;
    }

    private static void requireNumber(long segment) {
        if (segment < 0 || segment > LAST_SEGMENT) {
            throw new IllegalArgumentException(
                    "segment " + segment + ": FPM addresses of 64 bits lie in segments 0 to " + LAST_SEGMENT);
        }
    }

    private static void requirePagesFree(long segment, @Nullable Segment found, int firstPage, int pages) {
        if (found == null) {
            return;
        }
        if (found.type == SegmentType.DIRECT) {
            throw new IllegalStateException("segment " + segment + " is backed as a whole");
        }
        for (int page = firstPage; page < firstPage + pages; page++) {
            if (found.buffers[page] != null) {
                throw new IllegalStateException("page " + page + " of segment " + segment + " is backed already");
            }
        }
    }

    private static void dropPages(@Nullable CoherentBuffer[] buffers, int firstPage, int endPage) {
        for (int page = firstPage; page < endPage; page++) {
            CoherentBuffer buffer = buffers[page];
            if (buffer != null) {
                buffer.close();
                buffers[page] = null;
            }
        }
    }

    /**
     * Writes eight bytes, as the driver.
     *
     * @param fpmAddr where, 8-byte aligned
     * @param value the word
     * @throws IllegalArgumentException when nothing is behind that address
     */
    public void putLong(long fpmAddr, long value) {
        Segment segment = require(fpmAddr);
        segment.buffer(fpmAddr).putLong(segment.offset(fpmAddr), value);
    }

    /**
     * Reads eight bytes, as the driver.
     *
     * @param fpmAddr where, 8-byte aligned
     * @return the word
     * @throws IllegalArgumentException when nothing is behind that address
     */
    public long getLong(long fpmAddr) {
        Segment segment = require(fpmAddr);
        return segment.buffer(fpmAddr).getLong(segment.offset(fpmAddr));
    }

    /**
     * Where the device finds what lies at an address of its own.
     *
     * @param fpmAddr the device's address
     * @return the address on the bus
     * @throws IllegalArgumentException when nothing is behind that address
     */
    public long dmaAddr(long fpmAddr) {
        return require(fpmAddr).dmaAddr(fpmAddr);
    }

    /** Where the device finds it, or {@link #NOWHERE}. */
    long dmaAddrOrNowhere(long fpmAddr) {
        Segment segment = table.find(segmentOf(fpmAddr));
        return segment == null || !segment.backs(fpmAddr) ? NOWHERE : segment.dmaAddr(fpmAddr);
    }

    static long segmentOf(long fpmAddr) {
        return fpmAddr >>> SEGMENT_SHIFT;
    }

    /** Which page of its segment. */
    static int pageOf(long fpmAddr) {
        return (int) (fpmAddr >>> Addresses.PAGE_SHIFT) & (SEGMENT_PAGES - 1);
    }

    private Segment require(long fpmAddr) {
        Segment segment = table.find(segmentOf(fpmAddr));
        if (segment == null || !segment.backs(fpmAddr)) {
            throw new IllegalArgumentException("nothing backs the FPM address " + Addresses.hex(fpmAddr));
        }
        return segment;
    }

    /** Frees all backing. */
    @Override
    public synchronized void close() {
        for (Segment segment : table.segments) {
            segment.close();
        }
        table = Table.EMPTY;
    }
}
