package io.pagewalk.rdma.qp;

import io.pagewalk.dma.Errno;
import io.pagewalk.dma.KernelTimer;
import io.pagewalk.rdma.AccessFlags;
import io.pagewalk.rdma.verbs.QpAttributes;
import io.pagewalk.rdma.verbs.WcStatus;
import io.pagewalk.rdma.verbs.WorkCompletion;
import io.pagewalk.rdma.verbs.WrOpcode;
import java.util.Objects;

/**
 * The half of a queue pair that works on its send queue: requester and completer in one, as an answer comes before the
 * next packet goes. Implements rdma:DP-8 to DP-15. Guarded by the link.
 */
final class Requester {
    /** The shortest times that InfiniBand can say: who asks for less would be asked again at the same moment. */
    private static final long SHORTEST_RNR_NANOS = 10_000;

    private static final long SHORTEST_TIMEOUT_NANOS = 4096;

    private final RcQp qp;
    private final MemoryRegions regions;
    private final LocalErrors localErrors;
    private final SgeCursor cursor;
    private final AtomicWord old = new AtomicWord();
    private final byte[] eight = new byte[Long.BYTES];
    private final WorkCompletion completion = new WorkCompletion();
    private final KernelTimer timer;
    private byte[] packet = new byte[0];
    private WcStatus lastLocalStatus = WcStatus.SUCCESS;

    Requester(RcQp qp, MemoryRegions regions, LocalErrors localErrors) {
        this.qp = qp;
        this.regions = regions;
        this.localErrors = localErrors;
        cursor = new SgeCursor(regions);
        timer = qp.machine().clock().timer(cpu -> qp.retry());
    }

    /** What the latest request that failed on this side failed with, whatever its completion says. */
    WcStatus lastLocalStatus() {
        return lastLocalStatus;
    }

    void stopTimer() {
        timer.cancel();
    }

    /** One packet or operation of the oldest request; false when it waits for a timer. */
    boolean step(SendWqe wqe) {
        if (timer.isArmed()) {
            return false;
        }
        if (!wqe.started) {
            start(wqe);
        }
        if (wqe.broken || (wqe.opcode == WrOpcode.RDMA_READ_WITH_INV && !regions.invalidatesReadSinks())) {
            failHere(wqe, -Errno.EINVAL);
        } else if (wqe.opcode.isLocal()) {
            local(wqe);
        } else if (wqe.opcode == WrOpcode.RDMA_READ || wqe.opcode == WrOpcode.RDMA_READ_WITH_INV) {
            read(wqe);
        } else if (wqe.opcode.isAtomic()) {
            atomic(wqe);
        } else {
            send(wqe);
        }
        return true;
    }

    private void start(SendWqe wqe) {
        QpAttributes attributes = qp.attributes();
        if (packet.length != attributes.pathMtu()) {
            packet = new byte[attributes.pathMtu()];
        }
        wqe.started = true;
        wqe.rnrLeft = attributes.rnrRetry();
        wqe.retriesLeft = attributes.retryCount();
        cursor.start(wqe.segments);
    }

    // ---- operations of this side

    private void local(SendWqe wqe) {
        int error = switch (wqe.opcode) {
            case LOCAL_INV -> regions.invalidate(qp, wqe.rkey);
            case REG_MR, REG_MR_INTEGRITY ->
                regions.registerFast(qp, Objects.requireNonNull(wqe.mr, "mr"), wqe.rkey, wqe.access);
            default ->
                regions.bindWindow(qp, wqe.mwRkey, wqe.rkey, wqe.mrLkey, wqe.mwAddr, wqe.mwLengthBytes, wqe.access);
        };
        if (error != 0) {
            failHere(wqe, error);
        } else {
            complete(wqe);
        }
    }

    // ---- sends and writes

    private void send(SendWqe wqe) {
        int length = (int) Math.min(packet.length, wqe.totalBytes - wqe.doneBytes);
        int error = fill(wqe, length);
        if (error != 0) {
            failHere(wqe, error);
            return;
        }
        int syndrome = qp.canBeAnswered() ? qp.peerResponder().receive(wqe, packet, length) : Syndrome.NO_ANSWER;
        if (syndrome == Syndrome.ACK) {
            progress(wqe, length);
        } else {
            if (!wqe.isInline() && qp.isOldest(wqe)) {
                cursor.rewind(length);
            }
            notAcknowledged(wqe, syndrome);
        }
    }

    private int fill(SendWqe wqe, int length) {
        if (wqe.isInline()) {
            System.arraycopy(wqe.inline, (int) wqe.doneBytes, packet, 0, length);
            return 0;
        }
        return cursor.read(qp.pd(), packet, length);
    }

    private void progress(SendWqe wqe, int length) {
        wqe.doneBytes += length;
        wqe.rnrLeft = qp.attributes().rnrRetry();
        wqe.retriesLeft = qp.attributes().retryCount();
        if (wqe.doneBytes == wqe.totalBytes) {
            finish(wqe);
        }
    }

    /** A read that invalidates does so when all its bytes are there. */
    private void finish(SendWqe wqe) {
        boolean invalidates = wqe.opcode == WrOpcode.RDMA_READ_WITH_INV && wqe.segments.count() > 0;
        int error = invalidates ? regions.invalidate(qp, wqe.segments.lkey(0)) : 0;
        if (error != 0) {
            failHere(wqe, error);
        } else {
            complete(wqe);
        }
    }

    // ---- reads and atomics

    private void read(SendWqe wqe) {
        int length = (int) Math.min(packet.length, wqe.totalBytes - wqe.doneBytes);
        int syndrome = qp.canBeAnswered() ? qp.peerResponder().read(wqe, packet, length) : Syndrome.NO_ANSWER;
        if (syndrome != Syndrome.ACK) {
            notAcknowledged(wqe, syndrome);
        } else if (cursor.write(qp.pd(), AccessFlags.LOCAL_WRITE, packet, length) != 0) {
            lastLocalStatus = WcStatus.LOC_PROT_ERR;
            failWith(wqe, WcStatus.LOC_PROT_ERR);
        } else {
            progress(wqe, length);
        }
    }

    private void atomic(SendWqe wqe) {
        int syndrome = qp.canBeAnswered() ? qp.peerResponder().atomic(wqe, old) : Syndrome.NO_ANSWER;
        if (syndrome != Syndrome.ACK) {
            notAcknowledged(wqe, syndrome);
            return;
        }
        for (int i = 0; i < Long.BYTES; i++) {
            eight[i] = (byte) (old.value() >>> (i * Byte.SIZE));
        }
        if (cursor.write(qp.pd(), AccessFlags.LOCAL_WRITE, eight, Long.BYTES) != 0) {
            lastLocalStatus = WcStatus.LOC_PROT_ERR;
            failWith(wqe, WcStatus.LOC_PROT_ERR);
        } else {
            complete(wqe);
        }
    }

    // ---- what came back

    private void notAcknowledged(SendWqe wqe, int syndrome) {
        if (!qp.isOldest(wqe)) {
            return;
        }
        if (syndrome == Syndrome.RNR_NAK) {
            receiverNotReady(wqe);
        } else if (syndrome == Syndrome.NO_ANSWER) {
            noAnswer(wqe);
        } else {
            failWith(wqe, Syndrome.atRequester(syndrome));
        }
    }

    private void receiverNotReady(SendWqe wqe) {
        boolean forEver = qp.attributes().rnrRetry() == QpAttributes.RNR_FOR_EVER;
        if (!forEver && wqe.rnrLeft == 0) {
            failWith(wqe, WcStatus.RNR_RETRY_EXC_ERR);
            return;
        }
        wqe.rnrLeft -= forEver ? 0 : 1;
        timer.arm(Math.max(qp.peerRnrTimerNanos(), SHORTEST_RNR_NANOS), 0);
    }

    private void noAnswer(SendWqe wqe) {
        if (wqe.retriesLeft == 0) {
            failWith(wqe, WcStatus.RETRY_EXC_ERR);
            return;
        }
        wqe.retriesLeft--;
        timer.arm(Math.max(qp.attributes().timeoutNanos(), SHORTEST_TIMEOUT_NANOS), 0);
    }

    /** A failure of this side, of which only the kernel before or an ideal one tells the cause (rdma:DP-10). */
    private void failHere(SendWqe wqe, int error) {
        lastLocalStatus = localErrors.cause(wqe.opcode, error);
        if (localErrors != LocalErrors.FLUSHED) {
            failWith(wqe, lastLocalStatus);
        } else if (qp.isOldest(wqe)) {
            qp.toError();
        }
    }

    /*
     * An answer that puts its own queue pair in error finds the request flushed: the queue pair is connected with itself, or
     * somebody who was told of a fault moved it. Such a request has had its completion.
     */

    private void failWith(SendWqe wqe, WcStatus status) {
        if (!qp.isOldest(wqe)) {
            return;
        }
        qp.init().sendCq().post(completion.error(wqe.wrId, status, qp.qpNum()));
        qp.popSend();
        qp.toError();
    }

    void flush(SendWqe wqe) {
        qp.init().sendCq().post(completion.error(wqe.wrId, WcStatus.WR_FLUSH_ERR, qp.qpNum()));
        qp.popSend();
    }

    private void complete(SendWqe wqe) {
        if (!qp.isOldest(wqe)) {
            return;
        }
        qp.popSend();
        if (wqe.isSignaled() || qp.init().signalAll()) {
            long bytes = wqe.opcode.isLocal() ? 0 : wqe.totalBytes;
            completion.success(wqe.wrId, wqe.opcode.completion(), bytes, qp.qpNum());
            completion.with(wqe.opcode.hasImmediate() ? io.pagewalk.rdma.verbs.WcFlags.WITH_IMM : 0, wqe.immediate, 0);
            qp.init().sendCq().post(completion);
        }
    }
}
