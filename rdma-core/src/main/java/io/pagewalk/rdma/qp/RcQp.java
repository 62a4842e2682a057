package io.pagewalk.rdma.qp;

import io.pagewalk.dma.Errno;
import io.pagewalk.dma.Machine;
import io.pagewalk.rdma.verbs.Pd;
import io.pagewalk.rdma.verbs.Qp;
import io.pagewalk.rdma.verbs.QpAttributes;
import io.pagewalk.rdma.verbs.QpInit;
import io.pagewalk.rdma.verbs.QpState;
import io.pagewalk.rdma.verbs.RecvWr;
import io.pagewalk.rdma.verbs.SendFlags;
import io.pagewalk.rdma.verbs.SendWr;
import io.pagewalk.rdma.verbs.WcStatus;
import io.pagewalk.rdma.verbs.WrOpcode;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A reliable queue pair on a {@link Link}, for providers whose keys are {@link MemoryRegions}.
 *
 * <p>Implements rdma:DP-4 to DP-8, DP-33 and the states of a queue pair. Thread-safe; posting, moving and completing
 * allocate nothing. Receives that find no room on the other side and requests without an answer wait for the machine's
 * clock.
 */
public final class RcQp extends Qp {
    private static final long MAX_MESSAGE = 1L << 31;

    private final SendQueue sends;
    private final RecvQueue receives;
    private final Requester requester;
    private final Responder responder;
    private volatile Link link;
    private @Nullable RcQp peer;
    private volatile QpState state = QpState.RESET;
    private volatile QpAttributes attributes = QpAttributes.usual();
    private volatile @Nullable SendWr badSendWr;

    /**
     * Makes a queue pair in RESET. For a provider.
     *
     * @param pd its domain
     * @param init how it is
     * @param qpNum its number
     * @param regions the provider's keys
     * @param localErrors what requests that fail here complete with
     */
    public RcQp(Pd pd, QpInit init, int qpNum, MemoryRegions regions, LocalErrors localErrors) {
        super(pd, init, qpNum);
        Objects.requireNonNull(regions, "regions");
        sends = new SendQueue(init);
        receives = new RecvQueue(init);
        requester = new Requester(this, regions, localErrors);
        responder = new Responder(this, regions);
        link = Link.loose(this);
    }

    /**
     * What requests that fail on their own side complete with, on a machine.
     *
     * @param machine the machine
     * @param ideal whether the cause is wanted where the kernel hides it
     * @return the rule
     */
    public static LocalErrors statuses(Machine machine, boolean ideal) {
        if (machine.kernelModel().hasTheFirstRxe()) {
            return LocalErrors.CAUSE_OF_LINUX_5;
        }
        return ideal ? LocalErrors.CAUSE : LocalErrors.FLUSHED;
    }

    // ---- state

    @Override
    public QpState state() {
        return state;
    }

    /**
     * What holds for it.
     *
     * @return the attributes of the latest {@link #modify}
     */
    public QpAttributes attributes() {
        return attributes;
    }

    /**
     * What the latest request that failed on this side failed with, which the kernel of 6.12 tells nobody (rdma:DP-10).
     *
     * @return the status; SUCCESS when none has failed
     */
    public WcStatus lastLocalStatus() {
        Link held = hold();
        try {
            return requester.lastLocalStatus();
        } finally {
            held.release();
        }
    }

    /**
     * How many requests wait.
     *
     * @return requests without a completion
     */
    public int postedSends() {
        Link held = hold();
        try {
            return sends.size();
        } finally {
            held.release();
        }
    }

    /**
     * How many receives wait.
     *
     * @return receives without a completion
     */
    public int postedReceives() {
        Link held = hold();
        try {
            return receives.size();
        } finally {
            held.release();
        }
    }

    /** Holds the link, which changes only while it is held by who connects. */
    Link hold() {
        while (true) {
            Link held = link;
            held.hold();
            if (held == link) {
                return held;
            }
            held.release();
        }
    }

    Link link() {
        return link;
    }

    Machine machine() {
        return pd().device().machine();
    }

    void join(Link newLink, RcQp newPeer) {
        peer = newPeer;
        link = newLink;
    }

    /** Ends what connects it; the other end gets no answer any more. Its link is held. */
    void part() {
        RcQp other = peer;
        if (other != null && other.peer == this) {
            other.peer = null;
        }
        peer = null;
        link.leave(this);
    }

    @Override
    public int modify(QpState next, QpAttributes newAttributes) {
        Objects.requireNonNull(newAttributes, "attributes");
        Link held = hold();
        try {
            if (isDestroyed() || !state.mayBecome(next)) {
                return -Errno.EINVAL;
            }
            attributes = newAttributes;
            enter(next);
            return 0;
        } finally {
            held.release();
        }
    }

    private void enter(QpState next) {
        if (next == QpState.ERR) {
            toError();
        } else if (next == QpState.RESET) {
            reset();
        } else {
            state = next;
            link.runUnlessStepped();
        }
    }

    private void reset() {
        state = QpState.RESET;
        requester.stopTimer();
        sends.clear();
        receives.clear();
        responder.reset();
    }

    /** Everything that is posted is flushed, sends first. */
    void toError() {
        state = QpState.ERR;
        requester.stopTimer();
        for (SendWqe wqe = sends.head(); wqe != null; wqe = sends.head()) {
            requester.flush(wqe);
        }
        responder.flushReceives();
    }

    /** Ends it: nothing completes any more. For its provider. */
    public void shutDown() {
        Link held = hold();
        try {
            reset();
            peer = null;
        } finally {
            held.release();
        }
    }

    // ---- posting

    @Override
    public int postSend(SendWr first) {
        Objects.requireNonNull(first, "first");
        Link held = hold();
        try {
            badSendWr = null;
            int error = isDestroyed() ? -Errno.EINVAL : 0;
            for (SendWr wr = first; wr != null; wr = wr.next()) {
                error = error == 0 ? refuse(wr) : error;
                if (error != 0) {
                    badSendWr = wr;
                    break;
                }
                queue(wr);
            }
            if (state == QpState.ERR) {
                toError();
            }
            link.runUnlessStepped();
            return error;
        } finally {
            held.release();
        }
    }

    private void queue(SendWr wr) {
        boolean broken = wr.segments().count() > init().maxSge();
        sends.next().fill(wr, broken && (wr.flags() & SendFlags.INLINE) == 0);
        sends.push();
    }

    @Override
    public @Nullable SendWr badSendWr() {
        return badSendWr;
    }

    /** What is checked before a request is queued, by who posts. */
    private int refuse(SendWr wr) {
        boolean invalid = switch (init().checks()) {
            case KERNEL -> refusedByKernel(wr);
            case USER_LIBRARY -> refusedByLibrary(wr);
            case RAW -> inlineTooLong(wr);
        };
        if (invalid) {
            return -Errno.EINVAL;
        }
        return sends.isFull() ? -Errno.ENOMEM : 0;
    }

    /** rdma:DP-4. */
    private boolean refusedByKernel(SendWr wr) {
        boolean early = state != QpState.RTS && state != QpState.ERR;
        boolean badAtomic = wr.opcode().isAtomic()
                && (wr.segments().totalBytes() != Long.BYTES || (wr.remoteAddr() & Long.BYTES - 1) != 0);
        return early
                || wr.opcode() == WrOpcode.REG_MR_INTEGRITY
                || wr.segments().count() > init().maxSge()
                || wr.segments().totalBytes() > MAX_MESSAGE
                || badAtomic
                || inlineNotPossible(wr)
                || inlineTooLong(wr);
    }

    /** rdma:DP-33. */
    private boolean refusedByLibrary(SendWr wr) {
        boolean badAtomic = wr.opcode().isAtomic()
                && (wr.segments().totalBytes() < Long.BYTES || (wr.remoteAddr() & Long.BYTES - 1) != 0);
        return wr.segments().count() > init().maxSge() || badAtomic || inlineTooLong(wr);
    }

    private static boolean inlineNotPossible(SendWr wr) {
        boolean carries = wr.opcode().isSend() || wr.opcode().isWrite();
        return (wr.flags() & SendFlags.INLINE) != 0 && !carries;
    }

    private boolean inlineTooLong(SendWr wr) {
        return (wr.flags() & SendFlags.INLINE) != 0 && wr.inlineBytes() > init().maxInlineBytes();
    }

    @Override
    public int postRecv(RecvWr wr) {
        Link held = hold();
        try {
            boolean invalid = state == QpState.RESET
                    || isDestroyed()
                    || wr.segments().count() > init().maxSge()
                    || wr.segments().totalBytes() > MAX_MESSAGE;
            if (invalid) {
                return -Errno.EINVAL;
            }
            if (receives.isFull()) {
                return -Errno.ENOMEM;
            }
            receives.push(wr);
            if (state == QpState.ERR) {
                toError();
            }
            return 0;
        } finally {
            held.release();
        }
    }

    /**
     * Whether a posted receive names a key.
     *
     * @param lkey the key
     * @return true while such a receive waits
     */
    public boolean receivesInto(int lkey) {
        Link held = hold();
        try {
            return receives.names(lkey);
        } finally {
            held.release();
        }
    }

    // ---- running; the link is held

    boolean step() {
        SendWqe wqe = sends.head();
        if (wqe == null || state != QpState.RTS) {
            return false;
        }
        boolean ranBefore = wqe.running;
        boolean returned = false;
        wqe.running = true;
        try {
            boolean stepped = requester.step(wqe);
            returned = true;
            return stepped;
        } finally {
            wqe.running = ranBefore;
            if (!returned && isOldest(wqe)) {
                toError();
            }
        }
    }

    /** A timer expired: the oldest request goes on. */
    void retry() {
        Link held = hold();
        try {
            link.runUnlessStepped();
        } finally {
            held.release();
        }
    }

    boolean canBeAnswered() {
        return peer != null && peer.state.receives();
    }

    Responder peerResponder() {
        return Objects.requireNonNull(peer, "peer").responder;
    }

    long peerRnrTimerNanos() {
        return Objects.requireNonNull(peer, "peer").attributes.rnrTimerNanos();
    }

    RecvQueue receives() {
        return receives;
    }

    /** Whether a request is still the oldest one: what ran meanwhile may have flushed it. */
    boolean isOldest(SendWqe wqe) {
        return sends.head() == wqe;
    }

    void popSend() {
        sends.pop();
    }
}
