package io.pagewalk.rdma.umem;

import io.pagewalk.dma.DmaFailure;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** What {@link Umems#get} made, or why it made nothing. Reused from call to call. Not thread-safe. */
public final class UmemResult {
    private @Nullable Umem umem;
    private @Nullable UmemFailureReason reason;
    private int errno;
    private long first;
    private long second;
    private long third;
    private long fourth;
    private @Nullable DmaFailure dmaFailure;

    /** Makes a result of no call. */
    public UmemResult() {}

    /**
     * The registration.
     *
     * @return what the latest call made
     * @throws IllegalStateException when it failed, or there was none
     */
    public Umem umem() {
        if (umem == null) {
            throw new IllegalStateException("nothing was registered" + (reason == null ? "" : ": " + failure()));
        }
        return umem;
    }

    /**
     * Why the latest call failed.
     *
     * @return a copy
     * @throws IllegalStateException when it did not fail, or there was none
     */
    public UmemFailure failure() {
        if (reason == null) {
            throw new IllegalStateException("nothing failed");
        }
        List<Long> all = List.of(first, second, third, fourth);
        return new UmemFailure(reason, errno, all.subList(0, reason.labels().size()), dmaFailure);
    }

    /** Notes a success. */
    int made(Umem made) {
        umem = made;
        reason = null;
        dmaFailure = null;
        return 0;
    }

    /** Notes a failure; returns the error number negated. */
    int failed(UmemFailureReason why, int errorNumber, long... numbers) {
        umem = null;
        reason = why;
        errno = errorNumber;
        first = numbers.length > 0 ? numbers[0] : 0;
        second = numbers.length > 1 ? numbers[1] : 0;
        third = numbers.length > 2 ? numbers[2] : 0;
        fourth = numbers.length > 3 ? numbers[3] : 0;
        dmaFailure = null;
        return -errorNumber;
    }

    /** Adds why the device could not map. */
    void because(@Nullable DmaFailure why) {
        dmaFailure = why;
    }
}
