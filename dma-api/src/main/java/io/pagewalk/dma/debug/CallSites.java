package io.pagewalk.dma.debug;

import io.pagewalk.dma.Dma;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Finds the code that called the DMA API, when that is wanted (dma-core:DBG-2). Thread-safe. */
final class CallSites {
    private static final int FRAMES = 5;
    private static final String JDK = "java.";
    private static final StackWalker WALKER = StackWalker.getInstance();

    /** What lies between a driver and dma-debug. */
    private static final String BETWEEN = Dma.class.getPackageName() + ".";

    private final boolean wanted;

    CallSites(boolean wanted) {
        this.wanted = wanted;
    }

    /** The caller's frames, innermost first; null when nobody asked for them. */
    @Nullable String here() {
        return wanted
                ? WALKER.walk(frames -> frames.dropWhile(CallSites::isBetween)
                        .limit(FRAMES)
                        .map(f -> f.getFileName() + ":" + f.getLineNumber())
                        .collect(Collectors.joining(" < ")))
                : null;
    }

    private static boolean isBetween(StackWalker.StackFrame frame) {
        String name = frame.getClassName();
        return name.startsWith(JDK) || (name.startsWith(BETWEEN) && !name.endsWith("Test"));
    }
}
