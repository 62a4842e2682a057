package io.pagewalk.rdma.verbs;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * How a queue pair shall be: {@code struct ib_qp_init_attr}. Immutable; {@link #of} gives the usual one, the other
 * methods change one thing.
 *
 * @param sendCq where requests complete
 * @param recvCq where receives complete
 * @param maxSendWr how many requests it holds
 * @param maxRecvWr how many receives it holds
 * @param maxSge how many segments each of them has
 * @param maxInlineBytes how many bytes a request carries itself
 * @param signalAll whether every request makes a completion
 * @param checks who posts, and so what is checked
 * @param rw what rdma_rw will need of it
 */
public record QpInit(
        Cq sendCq,
        Cq recvCq,
        int maxSendWr,
        int maxRecvWr,
        int maxSge,
        int maxInlineBytes,
        boolean signalAll,
        PostChecks checks,
        RwInit rw) {
    private static final int USUAL_WR = 16;
    private static final int USUAL_SGE = 4;

    /** Refuses nulls and negative numbers. */
    public QpInit {
        Objects.requireNonNull(sendCq, "sendCq");
        Objects.requireNonNull(recvCq, "recvCq");
        Objects.requireNonNull(checks, "checks");
        Objects.requireNonNull(rw, "rw");
        if (maxSendWr < 0 || maxRecvWr < 0 || maxSge < 0 || maxInlineBytes < 0) {
            throw new IllegalArgumentException("a queue pair cannot hold " + maxSendWr + " sends, " + maxRecvWr
                    + " receives, " + maxSge + " segments, " + maxInlineBytes + " inline bytes");
        }
    }

    /**
     * A queue pair of the kernel's with 16 requests and receives of 4 segments, or as many as the device has when those
     * are fewer: every device takes it.
     *
     * @param sendCq where requests complete, on the device
     * @param recvCq where receives complete
     * @return the description
     */
    public static QpInit of(Cq sendCq, Cq recvCq) {
        DeviceAttributes limits =
                Objects.requireNonNull(sendCq, "sendCq").device().attributes();
        int wr = Math.min(USUAL_WR, limits.maxQpWr());
        int sge = Math.min(USUAL_SGE, limits.maxSge());
        return new QpInit(sendCq, recvCq, wr, wr, sge, 0, false, PostChecks.KERNEL, RwInit.NONE);
    }

    /**
     * Finds what of this is more than a device has. For providers, which answer -EINVAL then; the machine's log tells
     * what it was.
     *
     * @param limits the device's
     * @return the first excess as a phrase with both numbers, or null when there is none
     */
    public @Nullable String excessOver(DeviceAttributes limits) {
        if (maxSendWr > limits.maxQpWr()) {
            return maxSendWr + " requests, of at most " + limits.maxQpWr();
        }
        if (maxRecvWr > limits.maxQpWr()) {
            return maxRecvWr + " receives, of at most " + limits.maxQpWr();
        }
        if (maxSge > limits.maxSge()) {
            return maxSge + " segments, of at most " + limits.maxSge();
        }
        return maxInlineBytes > limits.maxInlineData()
                ? maxInlineBytes + " inline bytes, of at most " + limits.maxInlineData()
                : null;
    }

    /**
     * With other sizes.
     *
     * @param newMaxSendWr how many requests it holds
     * @param newMaxRecvWr how many receives it holds
     * @param newMaxSge how many segments each of them has
     * @return the description
     */
    public QpInit withSizes(int newMaxSendWr, int newMaxRecvWr, int newMaxSge) {
        return new QpInit(sendCq, recvCq, newMaxSendWr, newMaxRecvWr, newMaxSge, maxInlineBytes, signalAll, checks, rw);
    }

    /**
     * With bytes in requests.
     *
     * @param bytes how many a request carries
     * @return the description
     */
    public QpInit withInline(int bytes) {
        return new QpInit(sendCq, recvCq, maxSendWr, maxRecvWr, maxSge, bytes, signalAll, checks, rw);
    }

    /**
     * With a completion for every request.
     *
     * @return the description
     */
    public QpInit signalingAll() {
        return new QpInit(sendCq, recvCq, maxSendWr, maxRecvWr, maxSge, maxInlineBytes, true, checks, rw);
    }

    /**
     * With requests of somebody else.
     *
     * @param newChecks who posts
     * @return the description
     */
    public QpInit with(PostChecks newChecks) {
        return new QpInit(sendCq, recvCq, maxSendWr, maxRecvWr, maxSge, maxInlineBytes, signalAll, newChecks, rw);
    }

    /**
     * With room for contexts of rdma_rw.
     *
     * @param newRw how many, and of what kind
     * @return the description
     */
    public QpInit with(RwInit newRw) {
        return new QpInit(sendCq, recvCq, maxSendWr, maxRecvWr, maxSge, maxInlineBytes, signalAll, checks, newRw);
    }

    /** With another number of requests, which need not be told by the caller. */
    QpInit withSendRoom(int newMaxSendWr) {
        return new QpInit(sendCq, recvCq, newMaxSendWr, maxRecvWr, maxSge, maxInlineBytes, signalAll, checks, rw);
    }
}
