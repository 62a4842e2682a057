package io.pagewalk.trace.predict;

import io.pagewalk.trace.TraceHeader;
import org.jspecify.annotations.Nullable;

/** When a call took its address or gave it back: the place of a line, once its call is known. */
final class Moment {
    final TraceHeader header;
    final boolean takes;

    private @Nullable Call call;
    private boolean dropped;

    Moment(TraceHeader header, boolean takes) {
        this.header = header;
        this.takes = takes;
    }

    void belongsTo(Call known) {
        call = known;
    }

    /** Says that nothing happened here. */
    void drop() {
        dropped = true;
    }

    boolean isOpen() {
        return call == null && !dropped;
    }

    @Nullable Call call() {
        return dropped ? null : call;
    }
}
