package io.pagewalk.trace;

import io.pagewalk.dma.DmaDirection;

/**
 * Reads the {@code dma} events without lists.
 *
 * <p>Each has two forms. The printed one is what the kernel's print format makes:
 *
 * <pre>  0000:00:04.0 dir=TO_DEVICE dma_addr=fffff000 size=512 phys_addr=1011d9000 attrs=NO_WARN</pre>
 *
 * <p>The named one has the fields in the order of the event's format file, with numbers for names; its address fields
 * are hexadecimal without {@code 0x}:
 *
 * <pre>  device=0000:00:04.0 phys_addr=1011d9000 dma_addr=fffff000 size=512 dir=1 attrs=0x100</pre>
 */
final class DmaText {
    private DmaText() {}

    /** Makes an event of a device's range of DMA addresses; most records' constructors fit. */
    @FunctionalInterface
    interface RangeMaker {
        TraceEvent make(
                TraceHeader header, String device, DmaDirection direction, long dmaAddr, long sizeBytes, long attrs);
    }

    /** Makes an event of such a range and the physical address behind it. */
    @FunctionalInterface
    interface MappingMaker {
        TraceEvent make(
                TraceHeader header,
                String device,
                DmaDirection direction,
                long dmaAddr,
                long sizeBytes,
                long physAddr,
                long attrs);
    }

    /** What every printed event begins with. */
    record Range(String device, DmaDirection direction, long dmaAddr, long sizeBytes) {

        static Range printed(LineCursor cursor) throws LineFormatException {
            String device = cursor.textBefore(" dir=");
            DmaDirection direction = FieldSyntax.directionName(cursor);
            cursor.expect(" dma_addr=");
            long dmaAddr = cursor.hex();
            cursor.expect(" size=");
            return new Range(device, direction, dmaAddr, cursor.decimal());
        }

        TraceEvent with(RangeMaker maker, TraceHeader header, long attrs) {
            return maker.make(header, device, direction, dmaAddr, sizeBytes, attrs);
        }
    }

    static BodyParser printedMap(MappingMaker maker) {
        return (header, cursor) -> {
            Range range = Range.printed(cursor);
            cursor.expect(" phys_addr=");
            long physAddr = cursor.hex();
            long attrs = printedAttrs(cursor);
            return maker.make(header, range.device, range.direction, range.dmaAddr, range.sizeBytes, physAddr, attrs);
        };
    }

    static BodyParser namedMap(MappingMaker maker) {
        return (header, cursor) -> {
            cursor.expect("device=");
            String device = cursor.textBefore(" phys_addr=");
            long physAddr = cursor.hex();
            cursor.expect(" dma_addr=");
            long dmaAddr = cursor.hex();
            cursor.expect(" size=");
            long sizeBytes = cursor.decimal();
            cursor.expect(" dir=");
            DmaDirection direction = FieldSyntax.directionNumber(cursor);
            return maker.make(header, device, direction, dmaAddr, sizeBytes, physAddr, namedAttrs(cursor));
        };
    }

    static BodyParser printedUnmap(RangeMaker maker) {
        return (header, cursor) -> Range.printed(cursor).with(maker, header, printedAttrs(cursor));
    }

    static BodyParser namedUnmap(RangeMaker maker) {
        return (header, cursor) -> {
            Range range = namedAddr(cursor);
            return range.with(maker, header, namedAttrs(cursor));
        };
    }

    static BodyParser printedSync(boolean forCpu) {
        return (header, cursor) -> finishSync(Range.printed(cursor), forCpu, header, cursor);
    }

    static BodyParser namedSync(boolean forCpu) {
        return (header, cursor) -> {
            cursor.expect("device=");
            String device = cursor.textBefore(" dma_addr=");
            return finishSync(namedRange(device, cursor), forCpu, header, cursor);
        };
    }

    private static TraceEvent finishSync(Range range, boolean forCpu, TraceHeader header, LineCursor cursor)
            throws LineFormatException {
        cursor.finish();
        return new DmaEvent.SyncSingle(header, range.device, range.direction, range.dmaAddr, range.sizeBytes, forCpu);
    }

    static BodyParser printedAlloc(RangeMaker maker) {
        return (header, cursor) -> {
            Range range = Range.printed(cursor);
            cursor.expect(" virt_addr=");
            cursor.word();
            cursor.expect(" flags=");
            cursor.word();
            return range.with(maker, header, printedAttrs(cursor));
        };
    }

    static BodyParser namedAlloc(RangeMaker maker) {
        return (header, cursor) -> {
            String device = namedDeviceAndVirtAddr(cursor);
            long dmaAddr = cursor.hex();
            cursor.expect(" size=");
            long sizeBytes = cursor.decimal();
            cursor.expect(" flags=");
            cursor.word();
            cursor.expect(" dir=");
            DmaDirection direction = FieldSyntax.directionNumber(cursor);
            return maker.make(header, device, direction, dmaAddr, sizeBytes, namedAttrs(cursor));
        };
    }

    static BodyParser printedFree(RangeMaker maker) {
        return (header, cursor) -> {
            Range range = Range.printed(cursor);
            cursor.expect(" virt_addr=");
            cursor.word();
            return range.with(maker, header, printedAttrs(cursor));
        };
    }

    static BodyParser namedFree(RangeMaker maker) {
        return (header, cursor) -> {
            String device = namedDeviceAndVirtAddr(cursor);
            Range range = namedRange(device, cursor);
            return range.with(maker, header, namedAttrs(cursor));
        };
    }

    /** A {@link RangeMaker}: coherent memory has no direction of its own, the kernel prints BIDIRECTIONAL. */
    static TraceEvent coherentAlloc(
            TraceHeader header, String device, DmaDirection direction, long dmaAddr, long sizeBytes, long attrs) {
        return new DmaEvent.CoherentAlloc(header, device, dmaAddr, sizeBytes, attrs);
    }

    /** A {@link RangeMaker}, as {@link #coherentAlloc}. */
    static TraceEvent coherentFree(
            TraceHeader header, String device, DmaDirection direction, long dmaAddr, long sizeBytes, long attrs) {
        return new DmaEvent.CoherentFree(header, device, dmaAddr, sizeBytes, attrs);
    }

    private static String namedDeviceAndVirtAddr(LineCursor cursor) throws LineFormatException {
        cursor.expect("device=");
        String device = cursor.textBefore(" virt_addr=");
        cursor.word();
        cursor.expect(" dma_addr=");
        return device;
    }

    private static Range namedAddr(LineCursor cursor) throws LineFormatException {
        cursor.expect("device=");
        String device = cursor.textBefore(" addr=");
        return namedRange(device, cursor);
    }

    private static Range namedRange(String device, LineCursor cursor) throws LineFormatException {
        long dmaAddr = cursor.hex();
        cursor.expect(" size=");
        long sizeBytes = cursor.decimal();
        cursor.expect(" dir=");
        return new Range(device, FieldSyntax.directionNumber(cursor), dmaAddr, sizeBytes);
    }

    static long printedAttrs(LineCursor cursor) throws LineFormatException {
        cursor.expect(" attrs=");
        long attrs = FieldSyntax.attrNames(cursor);
        cursor.finish();
        return attrs;
    }

    static long namedAttrs(LineCursor cursor) throws LineFormatException {
        cursor.expect(" attrs=");
        long attrs = cursor.hex();
        cursor.finish();
        return attrs;
    }
}
