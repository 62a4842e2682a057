package io.pagewalk.trace.predict;

import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.memory.PhysRange;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Judges the addresses of a lazy IOMMU whose flush timers were not recorded: could they have been given out? */
final class ValidityCheck implements MomentSink {
    private static final PhysRange MSI_WINDOW = new PhysRange(0xfee0_0000L, 0xfeef_ffffL);

    /** Smaller ranges are rounded up to a power of two pages, so that the caches can keep them (iommu:IOVA-24). */
    private static final long LEAST_NOT_ROUNDED = 32;

    private final Score score;
    private final RecordedMachine recorded;
    private final List<PhysRange> reserved;
    private final Map<String, DeviceRanges> devices = new HashMap<>();

    ValidityCheck(RecordedMachine recorded, Score score) {
        this.recorded = recorded;
        this.score = score;
        this.reserved = new ArrayList<>(recorded.reserved());
        reserved.add(MSI_WINDOW);
        reserved.add(new PhysRange(0, Addresses.PAGE_SIZE - 1));
    }

    @Override
    public void accept(Moment moment, Call call) {
        DeviceRanges ranges = devices.computeIfAbsent(call.device, name -> new DeviceRanges(name, limit(name)));
        if (call.kind == AddressKind.FAILED_PAGE) {
            return;
        }
        PhysRange range = range(call);
        if (moment.takes) {
            String wrong = wrongWith(range, call, ranges);
            String timing = ranges.take(range, moment.header);
            score.judge(
                    call.kind,
                    call.header,
                    call.device,
                    call.dmaAddr(),
                    call.dmaAddr(),
                    wrong.isEmpty() ? timing : wrong);
        } else {
            ranges.give(range, moment.header);
        }
    }

    private long limit(String device) {
        Long mask = recorded.device(device).mask();
        long aperture = Addresses.bitMask(recorded.iommuWidthBits());
        return mask == null ? aperture : Addresses.min(mask, aperture);
    }

    /** All pages that the call's address stands for, those included that only pad it. */
    private static PhysRange range(Call call) {
        long first = call.dmaAddr() & Addresses.PAGE_MASK;
        long bytes = Addresses.alignUp(call.dmaAddr() - first + call.spanBytes(), Addresses.PAGE_SIZE);
        long pages = bytes >>> Addresses.PAGE_SHIFT;
        return PhysRange.ofSize(first, (pages < LEAST_NOT_ROUNDED ? roundUp(pages) : pages) << Addresses.PAGE_SHIFT);
    }

    private static long roundUp(long pages) {
        return Long.bitCount(pages) == 1 ? pages : Long.highestOneBit(pages) << 1;
    }

    private String wrongWith(PhysRange range, Call call, DeviceRanges ranges) {
        long alignment = roundUp(range.sizeBytes());
        if (!Addresses.isAligned(range.first(), alignment)) {
            return "not aligned to " + Addresses.hex(alignment);
        }
        long last = call.dmaAddr() + call.spanBytes() - 1;
        if (Addresses.lessThan(ranges.limit(), last)) {
            return "ends at " + Addresses.hex(last) + ", beyond the limit " + Addresses.hex(ranges.limit());
        }
        for (PhysRange window : reserved) {
            if (Addresses.overlaps(window.first(), window.sizeBytes(), range.first(), range.sizeBytes())) {
                return "in the reserved range " + window;
            }
        }
        return "";
    }

    @Override
    public void finish() {
        devices.clear();
    }
}
