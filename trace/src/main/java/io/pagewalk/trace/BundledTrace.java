package io.pagewalk.trace;

import java.io.IOException;
import java.io.InputStream;

/**
 * A trace that comes with the library, for a first look: an NVMe disk, a virtio disk and two network cards on a machine
 * without IOMMU, recorded under Linux 6.12.
 */
public final class BundledTrace {
    private static final String RESOURCE = "trace-direct.txt.gz";

    /** What the bundled trace is called in messages. */
    public static final String NAME = "trace-direct (bundled)";

    private BundledTrace() {}

    /**
     * Opens the bundled trace.
     *
     * @return a reader in front of its first line
     * @throws IOException if the library was packed without it
     */
    public static TraceReader open() throws IOException {
        InputStream resource = BundledTrace.class.getResourceAsStream(RESOURCE);
        if (resource == null) {
            throw new UnreadableTraceException(NAME, "is not part of this build");
        }
        return TraceReader.open(resource, NAME);
    }
}
