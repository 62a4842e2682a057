package io.pagewalk.dma.events;

import jdk.jfr.Category;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/** The events that {@link JfrListener} commits. Their fields are what a recording shows. */
final class JfrEvents {
    private JfrEvents() {}

    /** What all have: who, and on which CPU. */
    @StackTrace
    @Category({"Pagewalk", "DMA"})
    abstract static class OfDevice extends Event {
        @Label("Device")
        String device = "";

        @Label("CPU")
        int cpu;
    }

    /** What those of a buffer have besides. */
    abstract static class OfBuffer extends OfDevice {
        @Label("Kind")
        String kind = "";

        @Label("DMA address")
        long dmaAddr;

        @Label("Size in bytes")
        long sizeBytes;

        @Label("Direction")
        String direction = "";
    }

    /** A buffer of any kind was mapped or allocated. */
    @Name("io.pagewalk.Map")
    @Label("DMA map")
    static final class Mapped extends OfBuffer {
        @Label("Physical address")
        long physAddr;

        @Label("CPU entries")
        int nents;

        @Label("DMA segments")
        int segments;
    }

    /** A buffer of any kind is about to be unmapped or freed. */
    @Name("io.pagewalk.Unmap")
    @Label("DMA unmap")
    static final class Unmapped extends OfBuffer {}

    /** A mapping was synced. */
    @Name("io.pagewalk.Sync")
    @Label("DMA sync")
    static final class Synced extends OfBuffer {
        @Label("For the CPU")
        boolean forCpu;
    }

    /** A buffer is about to be bounced. */
    @Name("io.pagewalk.Bounce")
    @Label("Bounce")
    static final class Bounced extends OfDevice {
        @Label("DMA mask")
        long dmaMask;

        @Label("DMA address of the buffer itself")
        long dmaAddr;

        @Label("Size in bytes")
        long sizeBytes;

        @Label("Forced")
        boolean force;
    }

    /** A map failed. */
    @Name("io.pagewalk.Failure")
    @Label("DMA map failed")
    static final class Failed extends OfDevice {
        @Label("Kind")
        String kind = "";

        @Label("Physical address")
        long physAddr;

        @Label("Size in bytes")
        long sizeBytes;

        @Label("Cause")
        String cause = "";
    }

    /** A page was freed while a mapping leads to it. */
    @Name("io.pagewalk.FreedWhileMapped")
    @Label("Page freed while mapped")
    static final class FreedMapped extends OfBuffer {
        @Label("Physical address of the page")
        long physAddr;

        @Label("Owner of the mapping")
        String owner = "";

        @Label("Age of the mapping in nanoseconds of the machine's time")
        long ageNanos;
    }

    /** A device's access did not reach memory. */
    @Name("io.pagewalk.Fault")
    @Label("DMA fault")
    static final class Faulted extends OfDevice {
        @Label("DMA address")
        long dmaAddr;

        @Label("Access")
        String access = "";

        @Label("Reason")
        int reason;

        @Label("Reason in words")
        String text = "";
    }
}
