package io.pagewalk.trace.predict;

import io.pagewalk.dma.memory.Addresses;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Iterator;
import org.jspecify.annotations.Nullable;

/** Puts calls that an interrupt overlapped back to where they took their address. */
final class OverlapMover implements MomentSink {
    /*
     * A task takes its address, is interrupted, and writes its line when the interrupt is over: the interrupt's unmaps stand before
     * a line whose moment came first. Which calls that happened to can be told from the record: the unmaps stand between the task's
     * line and its line before, on its CPU, in an interrupt's context over that very task; and the caches of small ranges are
     * stacks, so had the call come behind an unmap of its size on its device and CPU, it would have been given what that gave back.
     * (But for what the interrupt took again.) Was it given something else, it came before. Larger ranges are in no stack, and are left where they are.
     *
     * The latest moments are kept, so that a call can go back past them.
     */
    private static final int KEPT = 1024;
    private static final int MOST_STACKED_ORDER = 5;

    private final ArrayDeque<Moment> latest = new ArrayDeque<>();
    private final MomentSink next;
    private final PredictionListener listener;
    private long moves;

    OverlapMover(MomentSink next, PredictionListener listener) {
        this.next = next;
        this.listener = listener;
    }

    @Override
    public void accept(Moment moment, Call call) throws IOException {
        if (!moment.takes || !moveBack(moment, call)) {
            latest.add(moment);
        }
        if (latest.size() > KEPT) {
            pass(latest.poll());
        }
    }

    private void pass(Moment moment) throws IOException {
        Call call = moment.call();
        if (call != null) {
            next.accept(moment, call);
        }
    }

    private boolean moveBack(Moment moment, Call call) {
        Moment overlapping = firstOverlapping(moment, call);
        if (overlapping == null) {
            return false;
        }
        ArrayDeque<Moment> behind = new ArrayDeque<>();
        while (behind.peek() != overlapping) {
            behind.push(latest.removeLast());
        }
        latest.add(moment);
        latest.addAll(behind);
        tell(moment, overlapping, call);
        return true;
    }

    /** The unmap of an interrupt that the call must have come before, null when there is none. */
    private @Nullable Moment firstOverlapping(Moment moment, Call call) {
        int order = order(call);
        Moment first = null;
        int takenAgain = 0;
        for (Iterator<Moment> at = latest.descendingIterator(); order <= MOST_STACKED_ORDER && at.hasNext(); ) {
            Moment before = at.next();
            Call other = before.call();
            if (other == null || before.header.cpu() != moment.header.cpu()) {
                continue;
            }
            if (before.header.lineNumber() <= call.previousLine || !isInterruptOver(before, moment)) {
                return first;
            }
            if (other.device.equals(call.device) && order(other) == order) {
                if (before.takes) {
                    takenAgain++;
                } else if (takenAgain > 0) {
                    takenAgain--;
                } else if (page(other) == page(call)) {
                    return first;
                } else {
                    first = before;
                }
            }
        }
        return first;
    }

    private static boolean isInterruptOver(Moment before, Moment moment) {
        return TaskContext.of(before.header).interrupts(TaskContext.of(moment.header));
    }

    private void tell(Moment moment, Moment overlapping, Call call) {
        moves++;
        listener.moved(new Move(
                moment.header.lineNumber(),
                overlapping.header.lineNumber(),
                Call.taskOf(moment.header),
                call.device,
                call.dmaAddr()));
    }

    private static long page(Call call) {
        return call.dmaAddr() & Addresses.PAGE_MASK;
    }

    /** The class of sizes that a call's range is cached in: its pages, rounded up to a power of two. */
    private static int order(Call call) {
        long offset = call.dmaAddr() & ~Addresses.PAGE_MASK;
        long pages = (offset + call.spanBytes() + Addresses.PAGE_SIZE - 1) >>> Addresses.PAGE_SHIFT;
        return Long.SIZE - Long.numberOfLeadingZeros(pages - 1);
    }

    long moves() {
        return moves;
    }

    @Override
    public void finish() throws IOException {
        for (Moment moment : latest) {
            pass(moment);
        }
        latest.clear();
        next.finish();
    }
}
