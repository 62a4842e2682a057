package io.pagewalk.trace;

import io.pagewalk.dma.DmaDirection;

/**
 * Reads the {@code dma} events with lists.
 *
 * <p>tracefs prints them (<code>phys_addrs={0x10269a8c0}</code>). trace-cmd and perf cannot, and show the named form of
 * {@link DmaText} instead, arrays as bytes in memory order ({@code phys_addrs=ARRAY[c0, a8, ...]}): 8 bytes an address,
 * 4 bytes a length.
 */
final class SgText {
    private static final int ADDRESS_BYTES = 8;
    private static final int LENGTH_BYTES = 4;

    private SgText() {}

    static TraceEvent printedMap(TraceHeader header, LineCursor cursor) throws LineFormatException {
        String device = cursor.textBefore(" dir=");
        DmaDirection direction = FieldSyntax.directionName(cursor);
        cursor.expect(" nents=");
        Counts nents = Counts.printed(cursor);
        cursor.expect(" ents=");
        Counts ents = Counts.printed(cursor);
        boolean truncated = cursor.accept(" [TRUNCATED]");
        long[] dmaAddrs = printedList(cursor, " dma_addrs=");
        long[] lengths = printedList(cursor, " sizes=");
        long[] physAddrs = printedList(cursor, " phys_addrs=");
        long attrs = DmaText.printedAttrs(cursor);
        nents.check("phys_addrs", physAddrs.length, truncated);
        ents.check("dma_addrs", dmaAddrs.length, truncated);
        checkPairs(dmaAddrs, lengths);
        return new SgEvent.MapSg(
                header, device, direction, physAddrs, dmaAddrs, lengths, nents.all, ents.all, truncated, attrs);
    }

    static TraceEvent namedMap(TraceHeader header, LineCursor cursor) throws LineFormatException {
        cursor.expect("device=");
        String device = cursor.textBefore(" full_nents=");
        int fullNents = cursor.smallDecimal();
        cursor.expect(" full_ents=");
        int fullEnts = cursor.smallDecimal();
        cursor.expect(" truncated=");
        boolean truncated = FieldSyntax.flag(cursor);
        long[] physAddrs = namedAddresses(cursor, " phys_addrs=");
        long[] dmaAddrs = namedAddresses(cursor, " dma_addrs=");
        long[] lengths = namedLengths(cursor);
        DmaDirection direction = namedDirection(cursor);
        long attrs = DmaText.namedAttrs(cursor);
        new Counts(physAddrs.length, fullNents).check("phys_addrs", physAddrs.length, truncated);
        new Counts(dmaAddrs.length, fullEnts).check("dma_addrs", dmaAddrs.length, truncated);
        checkPairs(dmaAddrs, lengths);
        return new SgEvent.MapSg(
                header, device, direction, physAddrs, dmaAddrs, lengths, fullNents, fullEnts, truncated, attrs);
    }

    static TraceEvent printedUnmap(TraceHeader header, LineCursor cursor) throws LineFormatException {
        String device = cursor.textBefore(" dir=");
        DmaDirection direction = FieldSyntax.directionName(cursor);
        long[] physAddrs = printedList(cursor, " phys_addrs=");
        return new SgEvent.UnmapSg(header, device, direction, physAddrs, DmaText.printedAttrs(cursor));
    }

    static TraceEvent namedUnmap(TraceHeader header, LineCursor cursor) throws LineFormatException {
        String device = namedDevice(cursor, " addrs=");
        long[] physAddrs = namedAddresses(cursor, " addrs=");
        DmaDirection direction = namedDirection(cursor);
        return new SgEvent.UnmapSg(header, device, direction, physAddrs, DmaText.namedAttrs(cursor));
    }

    /** The print format calls the physical addresses {@code dma_addrs}. */
    static TraceEvent printedMapError(TraceHeader header, LineCursor cursor) throws LineFormatException {
        String device = cursor.textBefore(" dir=");
        DmaDirection direction = FieldSyntax.directionName(cursor);
        long[] physAddrs = printedList(cursor, " dma_addrs=");
        cursor.expect(" err=");
        int errno = cursor.signedDecimal();
        return new SgEvent.MapSgError(header, device, direction, physAddrs, errno, DmaText.printedAttrs(cursor));
    }

    static TraceEvent namedMapError(TraceHeader header, LineCursor cursor) throws LineFormatException {
        String device = namedDevice(cursor, " phys_addrs=");
        long[] physAddrs = namedAddresses(cursor, " phys_addrs=");
        cursor.expect(" err=");
        int errno = cursor.signedDecimal();
        DmaDirection direction = namedDirection(cursor);
        return new SgEvent.MapSgError(header, device, direction, physAddrs, errno, DmaText.namedAttrs(cursor));
    }

    static BodyParser printedSync(boolean forCpu) {
        return (header, cursor) -> {
            String device = cursor.textBefore(" dir=");
            DmaDirection direction = FieldSyntax.directionName(cursor);
            long[] dmaAddrs = printedList(cursor, " dma_addrs=");
            long[] lengths = printedList(cursor, " sizes=");
            cursor.finish();
            checkPairs(dmaAddrs, lengths);
            return new SgEvent.SyncSg(header, device, direction, dmaAddrs, lengths, forCpu);
        };
    }

    static BodyParser namedSync(boolean forCpu) {
        return (header, cursor) -> {
            String device = namedDevice(cursor, " dma_addrs=");
            long[] dmaAddrs = namedAddresses(cursor, " dma_addrs=");
            long[] lengths = namedLengths(cursor);
            DmaDirection direction = namedDirection(cursor);
            cursor.finish();
            checkPairs(dmaAddrs, lengths);
            return new SgEvent.SyncSg(header, device, direction, dmaAddrs, lengths, forCpu);
        };
    }

    static TraceEvent printedAlloc(TraceHeader header, LineCursor cursor) throws LineFormatException {
        DmaText.Range range = DmaText.Range.printed(cursor);
        long[] physAddrs = printedList(cursor, " phys_addrs=");
        cursor.expect(" flags=");
        cursor.word();
        long attrs = DmaText.printedAttrs(cursor);
        return new SgEvent.AllocSgt(
                header, range.device(), range.direction(), range.dmaAddr(), range.sizeBytes(), physAddrs, attrs);
    }

    static TraceEvent namedAlloc(TraceHeader header, LineCursor cursor) throws LineFormatException {
        String device = namedDevice(cursor, " phys_addrs=");
        long[] physAddrs = namedAddresses(cursor, " phys_addrs=");
        cursor.expect(" dma_addr=");
        long dmaAddr = cursor.hex();
        cursor.expect(" size=");
        long sizeBytes = cursor.decimal();
        DmaDirection direction = namedDirection(cursor);
        cursor.expect(" flags=");
        cursor.word();
        long attrs = DmaText.namedAttrs(cursor);
        return new SgEvent.AllocSgt(header, device, direction, dmaAddr, sizeBytes, physAddrs, attrs);
    }

    static TraceEvent printedFree(TraceHeader header, LineCursor cursor) throws LineFormatException {
        DmaText.Range range = DmaText.Range.printed(cursor);
        long[] physAddrs = printedList(cursor, " phys_addrs=");
        cursor.finish();
        return new SgEvent.FreeSgt(
                header, range.device(), range.direction(), range.dmaAddr(), range.sizeBytes(), physAddrs);
    }

    static TraceEvent namedFree(TraceHeader header, LineCursor cursor) throws LineFormatException {
        String device = namedDevice(cursor, " phys_addrs=");
        long[] physAddrs = namedAddresses(cursor, " phys_addrs=");
        cursor.expect(" dma_addr=");
        long dmaAddr = cursor.hex();
        cursor.expect(" size=");
        long sizeBytes = cursor.decimal();
        DmaDirection direction = namedDirection(cursor);
        cursor.finish();
        return new SgEvent.FreeSgt(header, device, direction, dmaAddr, sizeBytes, physAddrs);
    }

    /** Takes the device and stays in front of the key that follows it. */
    private static String namedDevice(LineCursor cursor, String nextKey) throws LineFormatException {
        cursor.expect("device=");
        String device = cursor.textBefore(nextKey);
        cursor.moveTo(cursor.position() - nextKey.length());
        return device;
    }

    private static DmaDirection namedDirection(LineCursor cursor) throws LineFormatException {
        cursor.expect(" dir=");
        return FieldSyntax.directionNumber(cursor);
    }

    private static long[] namedAddresses(LineCursor cursor, String key) throws LineFormatException {
        cursor.expect(key);
        return FieldSyntax.byteArray(cursor, ADDRESS_BYTES);
    }

    private static long[] namedLengths(LineCursor cursor) throws LineFormatException {
        cursor.expect(" lengths=");
        return FieldSyntax.byteArray(cursor, LENGTH_BYTES);
    }

    private static long[] printedList(LineCursor cursor, String key) throws LineFormatException {
        cursor.expect(key);
        return FieldSyntax.bracedList(cursor);
    }

    private static void checkPairs(long[] dmaAddrs, long[] lengths) throws LineFormatException {
        if (dmaAddrs.length != lengths.length) {
            throw new LineFormatException(dmaAddrs.length + " DMA addresses but " + lengths.length + " lengths");
        }
        for (long length : lengths) {
            if (length >>> Integer.SIZE != 0) {
                throw new LineFormatException(
                        "a list entry of 0x" + Long.toHexString(length) + " bytes, but its length has 32 bits");
            }
        }
    }

    /** How many entries a list shows, and how many the request has. */
    private record Counts(int shown, int all) {

        /** Takes {@code shown/all}. */
        static Counts printed(LineCursor cursor) throws LineFormatException {
            int shown = cursor.smallDecimal();
            cursor.expect("/");
            return new Counts(shown, cursor.smallDecimal());
        }

        /** Refuses a list that contradicts the counts: its line is damaged. Cut lists are shorter, never longer. */
        void check(String list, int length, boolean truncated) throws LineFormatException {
            if (length != shown || shown > all || (shown < all && !truncated)) {
                throw new LineFormatException(
                        list + " has " + length + " entries, the line says " + shown + " of " + all);
            }
        }
    }
}
