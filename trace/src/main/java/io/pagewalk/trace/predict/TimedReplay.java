package io.pagewalk.trace.predict;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.KernelTimer;
import java.io.IOException;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Lets the flush queues' timers expire at the recorded times, in between the moments of a trace. */
final class TimedReplay implements MomentSink {
    /*
     * When a flush queue's timer expires is not computed: late ticks move it. The record tells it, but names each timer by a hash.
     * A start follows the unmap that armed the timer, so the first start of a hash belongs to the device whose timer is armed and
     * has no hash yet; from then on the machine's timer must be armed at each start and never in between.
     *
     * Start lines are written inside the unmap, behind its line: at the same time the unmap comes first. An expiry at the time of a
     * line comes before it.
     */
    private static final String TIMER_NAME = "fq_flush_timeout ";

    private final FlushTimers record;
    private final PredictingMachine machine;
    private final MomentSink next;
    private final Map<String, KernelTimer> byHash = new HashMap<>();
    private final Set<String> devices = new HashSet<>();
    private final Set<KernelTimer> open = new HashSet<>();
    private @Nullable TimerEvent due;
    private long starts;
    private long startsMet;
    private long expiries;
    private long expiriesMet;

    TimedReplay(FlushTimers record, PredictingMachine machine, MomentSink next) throws IOException {
        this.record = record;
        this.machine = machine;
        this.next = next;
        this.due = record.next();
    }

    @Override
    public void accept(Moment moment, Call call) throws IOException {
        holdBack(call.device);
        advanceTo(moment.header.timestampNanos());
        next.accept(moment, call);
    }

    /** Takes the timer of a device, when it first appears, out of the clock's hands. */
    private void holdBack(String device) {
        if (devices.add(device)) {
            Device added = machine.device(device);
            KernelTimer timer = machine.machine().clock().named(TIMER_NAME + added.name());
            if (timer != null) {
                timer.holdBack();
                open.add(timer);
            }
        }
    }

    private void advanceTo(long timeNanos) throws IOException {
        TimerEvent event = due;
        while (event != null && isBefore(event, timeNanos)) {
            run(event);
            event = record.next();
        }
        due = event;
    }

    private static boolean isBefore(TimerEvent event, long timeNanos) {
        return event.timeNanos() < timeNanos || (event.expires() && event.timeNanos() == timeNanos);
    }

    private void run(TimerEvent event) {
        KernelTimer timer = byHash.computeIfAbsent(event.timer(), hash -> armedWithoutHash());
        if (event.expires()) {
            expiries++;
            machine.machine().clock().advanceTo(event.timeNanos());
            if (timer != null && timer.expireNow(event.cpu())) {
                expiriesMet++;
            }
        } else {
            starts++;
            if (timer != null && timer.isArmed()) {
                startsMet++;
            }
        }
    }

    private @Nullable KernelTimer armedWithoutHash() {
        for (KernelTimer timer : open) {
            if (timer.isArmed()) {
                open.remove(timer);
                return timer;
            }
        }
        return null;
    }

    @Override
    public void finish() throws IOException {
        advanceTo(Long.MAX_VALUE);
        next.finish();
    }

    TimerFigures figures() {
        return new TimerFigures(byHash.size(), starts, startsMet, expiries, expiriesMet);
    }
}
