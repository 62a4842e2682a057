package io.pagewalk.kit.toy;

import io.pagewalk.dma.Access;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.spi.BusPort;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** The ranges of one device and the port that looks them up. Thread-safe. */
final class ToyRanges implements BusPort {
    /** Nothing is mapped at the address. */
    static final int NOT_MAPPED = 1;
    /** The mapping's direction does not allow the access. */
    static final int WRONG_DIRECTION = 2;

    private static final long FIRST_PAGE = Addresses.PAGE_SIZE;

    private final TreeMap<Long, Range> ranges = new TreeMap<>();

    /** Gives the lowest free pages to a run of bytes; -1 when none end at or below the limit. */
    synchronized long add(long[] pagePhysAddrs, long pageOffset, long sizeBytes, DmaDirection direction, long limit) {
        long pages = pagePhysAddrs.length * Addresses.PAGE_SIZE;
        long first = FIRST_PAGE;
        for (Range range : ranges.values()) {
            if (first + pages <= Addresses.alignDown(range.dmaAddr, Addresses.PAGE_SIZE)) {
                break;
            }
            first = range.lastPageEnd();
        }
        if (Addresses.lessThan(limit, Addresses.last(first, pages))) {
            return -1L;
        }
        ranges.put(first + pageOffset, new Range(first + pageOffset, pagePhysAddrs, sizeBytes, direction));
        return first + pageOffset;
    }

    synchronized void remove(long dmaAddr) {
        ranges.remove(dmaAddr);
    }

    synchronized int count() {
        return ranges.size();
    }

    synchronized void checkOrder(String device, Consumer<String> violation) {
        long end = FIRST_PAGE;
        for (Range range : ranges.values()) {
            if (range.dmaAddr < end) {
                violation.accept(
                        device + ": range " + Addresses.hex(range.dmaAddr) + " starts before " + Addresses.hex(end));
            }
            end = range.lastPageEnd();
        }
    }

    @Override
    public synchronized long translate(long dmaAddr, Access access) {
        @Nullable Range range = rangeAt(dmaAddr);
        if (range == null) {
            return BusPort.fault(NOT_MAPPED);
        }
        boolean allowed = (!access.reads() || range.direction.deviceReads())
                && (!access.writes() || range.direction.deviceWrites());
        return allowed ? range.physAddr(dmaAddr) : BusPort.fault(WRONG_DIRECTION);
    }

    @Override
    public synchronized long spanBytes(long dmaAddr) {
        long toPageEnd = Addresses.PAGE_SIZE - (dmaAddr & (Addresses.PAGE_SIZE - 1));
        @Nullable Range range = rangeAt(dmaAddr);
        return range == null ? 1 : Math.min(toPageEnd, range.sizeBytes - (dmaAddr - range.dmaAddr));
    }

    private @Nullable Range rangeAt(long dmaAddr) {
        Map.@Nullable Entry<Long, Range> below = ranges.floorEntry(dmaAddr);
        return below != null && below.getValue().holds(dmaAddr) ? below.getValue() : null;
    }

    @Override
    public String faultText(int code) {
        return code == NOT_MAPPED ? "not mapped" : "not mapped in that direction";
    }
}
