package io.pagewalk.trace.check;

import io.pagewalk.dma.debug.DmaDebugProfile;
import io.pagewalk.dma.debug.SegmentLimits;
import io.pagewalk.trace.replay.DeviceSpec;
import io.pagewalk.trace.replay.MachineSpec;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * How a trace is checked.
 *
 * @param profile which checks are made
 * @param partial whether mappings are older than the trace, so that an address that is not known is nothing to report
 * @param leaks whether whatever is mapped at the end is a leak
 * @param machine what devices can take, as far as it says so
 * @param keptReports how many reports are kept, the first ones
 */
public record CheckOptions(
        DmaDebugProfile profile, boolean partial, boolean leaks, MachineSpec machine, int keptReports) {
    private static final long DEFAULT_MAX_SEGMENT = 0x1_0000;

    /** As the kernel checks, from the first mapping on, with all reports up to a million. */
    public static final CheckOptions DEFAULT =
            new CheckOptions(DmaDebugProfile.NON_COHERENT_PLATFORM, false, false, MachineSpec.DEFAULT, 1_000_000);

    /**
     * Refuses a negative count.
     *
     * @param profile which checks are made
     * @param partial whether mappings are older than the trace
     * @param leaks whether whatever is mapped at the end is a leak
     * @param machine what devices can take, as far as it says so
     * @param keptReports how many reports are kept, the first ones
     */
    public CheckOptions {
        Objects.requireNonNull(profile, "profile");
        if (keptReports < 0) {
            throw new IllegalArgumentException(keptReports + " reports");
        }
    }

    /** What a device can take; null when nobody says. 0 is a default (dma-core:DEV-5). */
    @Nullable SegmentLimits limitsOf(String device) {
        DeviceSpec spec = machine.devices().get(device);
        if (spec == null || (spec.maxSegmentBytes() == null && spec.segmentBoundaryMask() == null)) {
            return null;
        }
        Integer max = spec.maxSegmentBytes();
        Long boundary = spec.segmentBoundaryMask();
        return new SegmentLimits(
                max == null || max == 0 ? DEFAULT_MAX_SEGMENT : Integer.toUnsignedLong(max),
                boundary == null || boundary == 0 ? -1L : boundary);
    }
}
