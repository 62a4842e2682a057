package io.pagewalk.trace.predict;

import io.pagewalk.dma.Dma;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.trace.DmaEvent;
import io.pagewalk.trace.SgEvent;
import io.pagewalk.trace.TraceHeader;
import java.util.Arrays;

/** A mapping or allocation of the trace: what its driver asked for, and the addresses that it was given. */
final class Call {
    final AddressKind kind;
    final TraceHeader header;
    final String device;
    final DmaDirection direction;
    final long[] physAddrs;
    /** Bytes of each entry as the driver gave it; empty when the trace does not tell. */
    final long[] lengths;

    final long[] dmaAddrs;
    final long[] dmaLengths;
    final int attrs;
    /** Whether the kernel printed only the first of the list's entries. */
    private final boolean truncated;

    /** The line before its first that the same task wrote in the same context, 0 for none. */
    long previousLine;

    private Call(
            AddressKind kind,
            TraceHeader header,
            String device,
            DmaDirection direction,
            long[] physAddrs,
            long[] lengths,
            long[] dmaAddrs,
            long[] dmaLengths,
            long attrs,
            boolean truncated) {
        this.kind = kind;
        this.header = header;
        this.device = device;
        this.direction = direction;
        this.physAddrs = physAddrs;
        this.lengths = lengths;
        this.dmaAddrs = dmaAddrs;
        this.dmaLengths = dmaLengths;
        this.attrs = (int) attrs;
        this.truncated = truncated;
    }

    static Call page(DmaEvent.MapPage event) {
        long[] size = {event.sizeBytes()};
        boolean failed = event.dmaAddr() == Dma.DMA_MAPPING_ERROR;
        return new Call(
                failed ? AddressKind.FAILED_PAGE : AddressKind.PAGE,
                event.header(),
                event.device(),
                event.direction(),
                new long[] {event.physAddr()},
                size,
                new long[] {event.dmaAddr()},
                size,
                event.attrs(),
                false);
    }

    static Call list(SgEvent.MapSg event, AddressKind kind, long[] lengths) {
        return new Call(
                kind,
                event.header(),
                event.device(),
                event.direction(),
                event.physAddrs(),
                lengths,
                event.dmaAddrs(),
                event.lengths(),
                event.attrs(),
                event.truncated());
    }

    static Call coherent(DmaEvent.CoherentAlloc event) {
        long[] size = {event.sizeBytes()};
        return new Call(
                AddressKind.COHERENT,
                event.header(),
                event.device(),
                DmaDirection.BIDIRECTIONAL,
                new long[0],
                size,
                new long[] {event.dmaAddr()},
                size,
                event.attrs(),
                false);
    }

    long dmaAddr() {
        return dmaAddrs[0];
    }

    /** Bytes from the first DMA address to the end of the last segment, what pads them included. */
    long spanBytes() {
        int last = dmaAddrs.length - 1;
        return dmaAddrs[last] + dmaLengths[last] - dmaAddrs[0];
    }

    /** Whether it is one at which a kernel may stop (dma-core:TYP-6, SWM-12). */
    static boolean isBug(DmaDirection direction, long... sizes) {
        boolean bug = direction == DmaDirection.NONE;
        for (long sizeBytes : sizes) {
            bug |= sizeBytes == 0;
        }
        return bug;
    }

    /** Whether it is the list of an unmap, which has all entries where the map may have only the first. */
    boolean isList(DmaDirection of, long[] entries) {
        if ((kind != AddressKind.LIST && kind != AddressKind.SEGMENT) || direction != of) {
            return false;
        }
        int common = truncated ? Math.min(physAddrs.length, entries.length) : entries.length;
        return Arrays.equals(physAddrs, 0, truncated ? common : physAddrs.length, entries, 0, common);
    }

    static String taskOf(TraceHeader header) {
        return header.task() + "-" + header.pid();
    }
}
