package io.pagewalk.dma.debug;

import io.pagewalk.dma.DmaDirection;

/**
 * One of the fields of a report, in the kernel's order.
 *
 * @param label the label with what joins it to the value, such as {@code map size=}
 * @param text the value as the kernel prints it
 * @param number the value, unsigned; 0 for a direction or type
 */
public record ReportField(String label, String text, long number) {
    static ReportField address(String label, long value) {
        return new ReportField(label + "=", "0x" + hex16(value), value);
    }

    /** The kernel has a prefix of its own there and prints another one (dma-core:DBG-44). */
    static ReportField doubledAddress(String label, long value) {
        return new ReportField(label + "=", "0x0x" + hex16(value), value);
    }

    static ReportField bits(String label, long value) {
        return new ReportField(label + "=", hex16(value), value);
    }

    static ReportField bytes(String label, long value) {
        return new ReportField(label + "=", Long.toUnsignedString(value) + " bytes", value);
    }

    static ReportField count(String label, long value) {
        return new ReportField(label + "=", Long.toUnsignedString(value), value);
    }

    static ReportField direction(String label, DmaDirection value) {
        return new ReportField(label + " with ", "DMA_" + value.name(), 0);
    }

    static ReportField type(String label, MappingType value) {
        return new ReportField(label + " as ", value.kernelName(), 0);
    }

    private static String hex16(long value) {
        return String.format("%016x", value);
    }
}
