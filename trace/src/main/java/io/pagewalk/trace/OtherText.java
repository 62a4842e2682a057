package io.pagewalk.trace;

import org.jspecify.annotations.Nullable;

/** Reads {@code swiotlb_bounced} and the marks of user space. */
final class OtherText {
    private OtherText() {}

    static TraceEvent printedBounce(TraceHeader header, LineCursor cursor) throws LineFormatException {
        cursor.expect("dev_name: ");
        Bounce bounce = Bounce.read(cursor);
        boolean forced = cursor.accept(" FORCE");
        if (!forced) {
            cursor.expect(" NORMAL");
        }
        return bounce.finish(header, forced, cursor);
    }

    static TraceEvent namedBounce(TraceHeader header, LineCursor cursor) throws LineFormatException {
        cursor.expect("dev_name=");
        Bounce bounce = Bounce.read(cursor);
        cursor.expect(" force=");
        boolean forced = FieldSyntax.flag(cursor);
        return bounce.finish(header, forced, cursor);
    }

    private record Bounce(String device, long dmaMask, long devAddr, long sizeBytes) {

        static Bounce read(LineCursor cursor) throws LineFormatException {
            String device = cursor.textBefore(" dma_mask=");
            long dmaMask = cursor.hex();
            cursor.expect(" dev_addr=");
            long devAddr = cursor.hex();
            cursor.expect(" size=");
            return new Bounce(device, dmaMask, devAddr, cursor.decimal());
        }

        TraceEvent finish(TraceHeader header, boolean forced, LineCursor cursor) throws LineFormatException {
            cursor.finish();
            return new TraceEvent.SwiotlbBounced(header, device, dmaMask, devAddr, sizeBytes, forced);
        }
    }

    /** tracefs: {@code tracing_mark_write: text}. */
    static TraceEvent mark(TraceHeader header, LineCursor cursor) {
        return new TraceEvent.Mark(header, cursor.rest());
    }

    /** trace-cmd: {@code print: tracing_mark_write: text}; any other writer is the kernel itself. */
    static @Nullable TraceEvent printedPrint(TraceHeader header, LineCursor cursor) {
        return cursor.accept("tracing_mark_write: ") ? mark(header, cursor) : null;
    }

    /** trace-cmd -R: {@code print: ip=tracing_mark_write buf=text}. */
    static @Nullable TraceEvent namedPrint(TraceHeader header, LineCursor cursor) {
        return cursor.accept("ip=tracing_mark_write buf=") ? mark(header, cursor) : null;
    }
}
