package io.pagewalk.rdma.model;

import io.pagewalk.dma.Errno;
import io.pagewalk.rdma.verbs.PostChecks;
import io.pagewalk.rdma.verbs.QpAttributes;
import io.pagewalk.rdma.verbs.QpInit;
import io.pagewalk.rdma.verbs.RecvWr;
import io.pagewalk.rdma.verbs.SendFlags;
import io.pagewalk.rdma.verbs.SendWr;
import io.pagewalk.rdma.verbs.WcStatus;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** One end: what waits in its queues and what has completed. */
final class ModelQp {
    private static final long LONGEST = 1L << 31;

    final int pd;
    final QpInit init;
    QpAttributes attributes;
    boolean error;
    final Deque<SendWr> sends = new ArrayDeque<>();
    final Deque<Receive> receives = new ArrayDeque<>();
    final List<Done> sent = new ArrayList<>();
    final List<Done> received = new ArrayList<>();
    /** How far the request at the head of the queue has come. */
    @Nullable Transfer transfer;
    /** The receive that a message is coming into. */
    @Nullable Receive current;

    ModelQp(int pd, QpInit init, QpAttributes attributes) {
        this.pd = pd;
        this.init = init;
        this.attributes = attributes;
    }

    /** A posted receive. */
    static final class Receive {
        final long wrId;
        final SgeWalk walk;

        Receive(RecvWr wr) {
            wrId = wr.wrId();
            walk = new SgeWalk(wr.segments());
        }
    }

    /** A message on its way, packet by packet. */
    static final class Transfer {
        final SgeWalk walk;
        int packet;

        Transfer(SendWr wr) {
            walk = new SgeWalk(wr.segments());
        }
    }

    /** rdma:DP-4, DP-33: why a request is not queued, or 0. A queue has no room for longer bytes, whoever writes it. */
    int check(SendWr wr) {
        if (init.checks() == PostChecks.USER_LIBRARY && wr.opcode().isAtomic()) {
            if (wr.segments().totalBytes() < 8 || (wr.remoteAddr() & 7) != 0) {
                return -Errno.EINVAL;
            }
        }
        boolean inline = (wr.flags() & SendFlags.INLINE) != 0;
        if (inline && wr.inlineBytes() > init.maxInlineBytes()) {
            return -Errno.EINVAL;
        }
        if (init.checks() == PostChecks.KERNEL) {
            if (wr.segments().count() > init.maxSge() || wr.segments().totalBytes() > LONGEST) {
                return -Errno.EINVAL;
            }
            if (wr.opcode().isAtomic() && (wr.segments().totalBytes() != 8 || (wr.remoteAddr() & 7) != 0)) {
                return -Errno.EINVAL;
            }
            if (inline && !carriesBytes(wr)) {
                return -Errno.EINVAL;
            }
        }
        return sends.size() == init.maxSendWr() ? -Errno.ENOMEM : 0;
    }

    private static boolean carriesBytes(SendWr wr) {
        return wr.opcode().isSend() || wr.opcode().isWrite();
    }

    /** rdma:DP-7. */
    int postRecv(RecvWr wr) {
        if (wr.segments().count() > init.maxSge() || wr.segments().totalBytes() > LONGEST) {
            return -Errno.EINVAL;
        }
        if (receives.size() == init.maxRecvWr()) {
            return -Errno.ENOMEM;
        }
        receives.add(new Receive(wr));
        if (error) {
            flush();
        }
        return 0;
    }

    /** Everything that waits is flushed (rdma:DP-29). */
    void fail() {
        error = true;
        flush();
    }

    void flush() {
        transfer = null;
        current = null;
        while (!sends.isEmpty()) {
            sent.add(Done.error(sends.remove().wrId(), WcStatus.WR_FLUSH_ERR));
        }
        while (!receives.isEmpty()) {
            received.add(Done.error(receives.remove().wrId, WcStatus.WR_FLUSH_ERR));
        }
    }

    /** The request at the head ends with an error, and all others with it. */
    void failHead(WcStatus status) {
        sent.add(Done.error(sends.remove().wrId(), status));
        fail();
    }

    /** The receive that was taken ends with an error, if one was, and all others with it. */
    void failCurrent(WcStatus status) {
        if (current != null) {
            received.add(Done.error(receives.remove().wrId, status));
        }
        fail();
    }

    boolean allows(int access) {
        return (attributes.access() & access) != 0;
    }
}
