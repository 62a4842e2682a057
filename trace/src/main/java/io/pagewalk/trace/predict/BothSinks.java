package io.pagewalk.trace.predict;

import java.io.IOException;

/** Gives each moment to two. */
record BothSinks(MomentSink first, MomentSink second) implements MomentSink {
    @Override
    public void accept(Moment moment, Call call) throws IOException {
        first.accept(moment, call);
        second.accept(moment, call);
    }

    @Override
    public void finish() throws IOException {
        first.finish();
        second.finish();
    }
}
