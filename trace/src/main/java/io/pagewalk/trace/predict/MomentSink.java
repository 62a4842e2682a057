package io.pagewalk.trace.predict;

import java.io.IOException;

/** Takes moments in the order in which they happened. */
interface MomentSink {
    /**
     * Takes the next moment.
     *
     * @param moment of a call that is known
     * @param call its call
     */
    void accept(Moment moment, Call call) throws IOException;

    /** Says that there are no more. */
    void finish() throws IOException;
}
