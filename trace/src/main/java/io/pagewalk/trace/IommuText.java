package io.pagewalk.trace;

import io.pagewalk.trace.IommuEvent.GroupChange;

/**
 * Reads the {@code iommu} events, printed ({@code IOMMU: iova=0x... - 0x...}) or named ({@code iova=0x... paddr=...}).
 */
final class IommuText {
    private IommuText() {}

    static TraceEvent printedMap(TraceHeader header, LineCursor cursor) throws LineFormatException {
        cursor.expect("IOMMU: iova=");
        long iova = cursor.hex();
        cursor.expect(" - ");
        long iovaEnd = cursor.hex();
        cursor.expect(" paddr=");
        long physAddr = cursor.hex();
        cursor.expect(" size=");
        long sizeBytes = cursor.decimal();
        cursor.finish();
        checkEnd(iova, sizeBytes, iovaEnd);
        return new IommuEvent.IommuMap(header, iova, physAddr, sizeBytes);
    }

    static TraceEvent namedMap(TraceHeader header, LineCursor cursor) throws LineFormatException {
        cursor.expect("iova=");
        long iova = cursor.hex();
        cursor.expect(" paddr=");
        long physAddr = cursor.hex();
        cursor.expect(" size=");
        long sizeBytes = cursor.decimal();
        cursor.finish();
        return new IommuEvent.IommuMap(header, iova, physAddr, sizeBytes);
    }

    static TraceEvent printedUnmap(TraceHeader header, LineCursor cursor) throws LineFormatException {
        cursor.expect("IOMMU: iova=");
        long iova = cursor.hex();
        cursor.expect(" - ");
        long iovaEnd = cursor.hex();
        IommuEvent.IommuUnmap event = unmapSizes(header, iova, cursor);
        checkEnd(iova, event.sizeBytes(), iovaEnd);
        return event;
    }

    static TraceEvent namedUnmap(TraceHeader header, LineCursor cursor) throws LineFormatException {
        cursor.expect("iova=");
        long iova = cursor.hex();
        return unmapSizes(header, iova, cursor);
    }

    private static IommuEvent.IommuUnmap unmapSizes(TraceHeader header, long iova, LineCursor cursor)
            throws LineFormatException {
        cursor.expect(" size=");
        long sizeBytes = cursor.decimal();
        cursor.expect(" unmapped_size=");
        long unmappedBytes = cursor.decimal();
        cursor.finish();
        return new IommuEvent.IommuUnmap(header, iova, sizeBytes, unmappedBytes);
    }

    private static void checkEnd(long iova, long sizeBytes, long iovaEnd) throws LineFormatException {
        if (iova + sizeBytes != iovaEnd) {
            throw new LineFormatException(String.format(
                    "0x%x and %s bytes do not end at 0x%x", iova, Long.toUnsignedString(sizeBytes), iovaEnd));
        }
    }

    static BodyParser printedGroup(GroupChange kind) {
        return (header, cursor) -> {
            cursor.expect("IOMMU: groupID=");
            return group(header, kind, cursor);
        };
    }

    static BodyParser namedGroup(GroupChange kind) {
        return (header, cursor) -> {
            cursor.expect("gid=");
            return group(header, kind, cursor);
        };
    }

    private static TraceEvent group(TraceHeader header, GroupChange kind, LineCursor cursor)
            throws LineFormatException {
        int groupId = cursor.signedDecimal();
        cursor.expect(" device=");
        return new IommuEvent.DeviceGroup(header, cursor.lastText(), groupId, kind);
    }

    static TraceEvent printedAttach(TraceHeader header, LineCursor cursor) throws LineFormatException {
        cursor.expect("IOMMU: device=");
        return attach(header, cursor.lastText());
    }

    static TraceEvent namedAttach(TraceHeader header, LineCursor cursor) throws LineFormatException {
        cursor.expect("device=");
        return attach(header, cursor.lastText());
    }

    private static TraceEvent attach(TraceHeader header, String device) {
        return new IommuEvent.DeviceGroup(header, device, IommuEvent.DeviceGroup.NO_GROUP, GroupChange.ATTACH);
    }

    static TraceEvent printedFault(TraceHeader header, LineCursor cursor) throws LineFormatException {
        cursor.expect("IOMMU:");
        String driver = cursor.textBefore(" ");
        String device = cursor.textBefore(" iova=");
        return fault(header, driver, device, cursor);
    }

    static TraceEvent namedFault(TraceHeader header, LineCursor cursor) throws LineFormatException {
        cursor.expect("device=");
        String device = cursor.textBefore(" driver=");
        String driver = cursor.textBefore(" iova=");
        return fault(header, driver, device, cursor);
    }

    private static TraceEvent fault(TraceHeader header, String driver, String device, LineCursor cursor)
            throws LineFormatException {
        long iova = cursor.hex();
        cursor.expect(" flags=");
        int flags = cursor.hexInt();
        cursor.finish();
        return new IommuEvent.IommuFault(header, driver, device, iova, flags);
    }
}
