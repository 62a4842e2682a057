package io.pagewalk.trace.predict;

import java.io.IOException;
import java.util.ArrayDeque;

/** Moments in line order; each goes on once its call, and those of all before it, are known. Bounded. */
final class MomentQueue {
    private static final int MOST = 1 << 15;

    private final ArrayDeque<Moment> moments = new ArrayDeque<>();
    private final MomentSink sink;

    MomentQueue(MomentSink sink) {
        this.sink = sink;
    }

    void add(Moment moment) {
        moments.add(moment);
    }

    /** Lets go what is known; what stays open for too long happened to nobody. */
    void flush() throws IOException {
        while (!moments.isEmpty() && (!moments.getFirst().isOpen() || moments.size() > MOST)) {
            Moment moment = moments.poll();
            Call call = moment.call();
            if (call == null) {
                moment.drop();
            } else {
                sink.accept(moment, call);
            }
        }
    }

    void finish() throws IOException {
        moments.forEach(moment -> {
            if (moment.isOpen()) {
                moment.drop();
            }
        });
        flush();
        sink.finish();
    }
}
