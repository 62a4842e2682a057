package io.pagewalk.dma.debug;

import org.jspecify.annotations.Nullable;

/**
 * How many errors there were, and which of them the kernel prints.
 *
 * <p>Implements dma-core:DBG-7. Not thread-safe.
 */
final class ErrorLimits {
    final DriverFilter filter;
    private long errorCount;
    private long errorsShown;
    private long allErrors;

    ErrorLimits(DmaDebugOptions options) {
        filter = new DriverFilter(options.driver());
        errorsShown = options.errorsShown();
        allErrors = options.allErrors() ? 1 : 0;
    }

    /**
     * Counts an error. The limit goes down even when the filter keeps it from being printed.
     *
     * @return whether the kernel prints it
     */
    boolean count(@Nullable DebugDevice device) {
        errorCount++;
        boolean shown = filter.passes(device) && (allErrors != 0 || errorsShown > 0);
        if (allErrors == 0 && errorsShown > 0) {
            errorsShown--;
        }
        return shown;
    }

    long errorCount() {
        return errorCount;
    }

    long errorsShown() {
        return errorsShown;
    }

    void errorsShown(long count) {
        errorsShown = count;
    }

    long allErrors() {
        return allErrors;
    }

    void allErrors(long value) {
        allErrors = value;
    }
}
