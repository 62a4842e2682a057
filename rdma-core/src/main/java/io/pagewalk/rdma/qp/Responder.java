package io.pagewalk.rdma.qp;

import io.pagewalk.rdma.AccessFlags;
import io.pagewalk.rdma.verbs.WcFlags;
import io.pagewalk.rdma.verbs.WcOpcode;
import io.pagewalk.rdma.verbs.WcStatus;
import io.pagewalk.rdma.verbs.WorkCompletion;
import io.pagewalk.rdma.verbs.WrOpcode;

/**
 * The half of a queue pair that answers its peer. Implements rdma:DP-16 to DP-29, DP-31, DP-34 for reliable
 * connections. Guarded by the link.
 *
 * <p>Differs from Linux: the link loses nothing, so that there are no duplicate requests to replay (rdma:DP-24).
 */
final class Responder {
    /*
     * A packet passes in the kernel's order: may the queue pair do that at all, is there a receive for it, is its length
     * possible, does its key fit, is its range inside; then it is executed and answered (DP-16). Each refusal has a
     * syndrome, and all but "no receive" put the queue pair in error.
     *
     * A receive is taken by the first packet of a send and by the last packet of a write with immediate; until it
     * completes it stays at the head of its queue, so that whatever puts the queue pair in error flushes it.
     *
     * A reset of either side forgets the message that is under way. What goes on with it then, or begins another one before
     * its end, is out of sequence: an invalid request. A read goes on by being asked for anew.
     */

    private static final long MAX_MESSAGE = 1L << 31;

    private final RcQp qp;
    private final MemoryRegions regions;
    private final SgeCursor cursor;
    private final RemoteRef remote = new RemoteRef();
    private final WorkCompletion completion = new WorkCompletion();
    private boolean receiveTaken;
    /** The first packet of a send or a write came, its last one did not. */
    private boolean messageUnderWay;

    private boolean readUnderWay;

    /** A refusal of before the latest reset is nothing to the queue pair of after it. */
    private int resets;

    Responder(RcQp qp, MemoryRegions regions) {
        this.qp = qp;
        this.regions = regions;
        cursor = new SgeCursor(regions);
    }

    void reset() {
        resets++;
        receiveTaken = false;
        messageUnderWay = false;
        readUnderWay = false;
    }

    private boolean allows(int access) {
        return (qp.attributes().access() & access) != 0;
    }

    // ---- sends and writes

    /** A packet of a send or a write: its syndrome. */
    int receive(SendWqe wqe, byte[] packet, int length) {
        boolean first = wqe.doneBytes == 0;
        boolean last = wqe.doneBytes + length == wqe.totalBytes;
        boolean write = wqe.opcode.isWrite();
        if (first == messageUnderWay) {
            return refuse(Syndrome.INVALID_REQUEST);
        }
        if (write && !allows(AccessFlags.REMOTE_WRITE)) {
            return refuse(Syndrome.INVALID_REQUEST);
        }
        boolean needsReceive = write ? last && wqe.opcode.hasImmediate() : first;
        if (needsReceive && !takeReceive()) {
            return Syndrome.RNR_NAK;
        }
        int resetsBefore = resets;
        int syndrome = write ? place(wqe, packet, length) : deliver(packet, length);
        if (syndrome != Syndrome.ACK) {
            return refuse(syndrome, resetsBefore);
        }
        messageUnderWay = !last;
        if (last && receiveTaken) {
            finish(wqe);
        }
        return Syndrome.ACK;
    }

    private boolean takeReceive() {
        if (qp.receives().isEmpty()) {
            return false;
        }
        receiveTaken = true;
        cursor.start(qp.receives().headSegments());
        return true;
    }

    /** Bytes of a write; the key is looked up for each packet, and the range is that of all that is left (DP-22). */
    private int place(SendWqe wqe, byte[] packet, int length) {
        if (wqe.totalBytes > MAX_MESSAGE) {
            return Syndrome.INVALID_REQUEST;
        }
        if (wqe.totalBytes == 0) {
            return Syndrome.ACK;
        }
        if (!regions.lookupRemote(qp, wqe.rkey, AccessFlags.REMOTE_WRITE, remote)) {
            return Syndrome.REMOTE_ACCESS;
        }
        long iova = wqe.remoteAddr + wqe.doneBytes + remote.addressOffset();
        Region region = remote.region();
        try {
            int error = region.checkRange(iova, wqe.totalBytes - wqe.doneBytes);
            if (error == 0) {
                error = region.write(iova, packet, 0, length);
            }
            return error == 0 ? Syndrome.ACK : Syndrome.REMOTE_ACCESS;
        } finally {
            remote.put();
        }
    }

    /** Bytes of a send (DP-26). */
    private int deliver(byte[] packet, int length) {
        int error = cursor.write(qp.pd(), AccessFlags.LOCAL_WRITE, packet, length);
        return error == 0 ? Syndrome.ACK : Syndrome.REMOTE_OPERATIONAL;
    }

    /** The message is complete: its invalidation, then its receive (DP-28, DP-31). */
    private void finish(SendWqe wqe) {
        boolean invalidates = wqe.opcode == WrOpcode.SEND_WITH_INV;
        if (invalidates && regions.invalidate(qp, wqe.rkey) != 0) {
            completeReceive(WcStatus.REM_INV_REQ_ERR);
            qp.toError();
            return;
        }
        WcOpcode opcode = wqe.opcode.isWrite() ? WcOpcode.RECV_RDMA_WITH_IMM : WcOpcode.RECV;
        int flags = WcFlags.GRH
                | (wqe.opcode.hasImmediate() ? WcFlags.WITH_IMM : 0)
                | (invalidates ? WcFlags.WITH_INVALIDATE : 0);
        completion.success(qp.receives().headWrId(), opcode, wqe.totalBytes, qp.qpNum());
        completion.with(flags, wqe.immediate, invalidates ? wqe.rkey : 0);
        popReceive();
        qp.init().recvCq().post(completion);
    }

    // ---- reads and atomics

    /** One packet of the answer to a read: its syndrome. */
    int read(SendWqe wqe, byte[] packet, int length) {
        boolean asked = wqe.doneBytes == 0 || !readUnderWay;
        if (asked && (messageUnderWay || !allows(AccessFlags.REMOTE_READ) || cannotAnswer() || tooLong(wqe))) {
            return refuse(Syndrome.INVALID_REQUEST);
        }
        if (wqe.totalBytes == 0) {
            return Syndrome.ACK;
        }
        boolean found = asked
                ? regions.lookupRemote(qp, wqe.rkey, AccessFlags.REMOTE_READ, remote)
                : regions.lookupAgain(wqe.rkey, remote);
        int resetsBefore = resets;
        if (!found || answer(wqe, packet, length, asked) != 0) {
            return refuse(Syndrome.REMOTE_ACCESS, resetsBefore);
        }
        readUnderWay = wqe.doneBytes + length != wqe.totalBytes;
        return Syndrome.ACK;
    }

    /** Bytes of a region for a read; the range of all that is asked for counts once. */
    private int answer(SendWqe wqe, byte[] packet, int length, boolean asked) {
        long iova = wqe.remoteAddr + wqe.doneBytes + remote.addressOffset();
        Region region = remote.region();
        try {
            int error = asked ? region.checkRange(iova, wqe.totalBytes - wqe.doneBytes) : 0;
            return error == 0 ? region.read(iova, packet, 0, length) : error;
        } finally {
            remote.put();
        }
    }

    private boolean cannotAnswer() {
        return qp.attributes().maxDestRdAtomic() == 0;
    }

    private static boolean tooLong(SendWqe wqe) {
        return wqe.totalBytes > MAX_MESSAGE;
    }

    /** An atomic: its syndrome. */
    int atomic(SendWqe wqe, AtomicWord old) {
        if (messageUnderWay || !allows(AccessFlags.REMOTE_ATOMIC) || cannotAnswer()) {
            return refuse(Syndrome.INVALID_REQUEST);
        }
        if (!regions.lookupRemote(qp, wqe.rkey, AccessFlags.REMOTE_ATOMIC, remote)) {
            return refuse(Syndrome.REMOTE_ACCESS);
        }
        return switch (execute(wqe, old)) {
            case Region.ATOMIC_DONE -> Syndrome.ACK;
            case Region.ATOMIC_MISALIGNED -> refuse(Syndrome.INVALID_REQUEST);
            default -> refuse(Syndrome.REMOTE_ACCESS);
        };
    }

    private int execute(SendWqe wqe, AtomicWord old) {
        long iova = wqe.remoteAddr + remote.addressOffset();
        Region region = remote.region();
        try {
            if (region.checkRange(iova, Long.BYTES) != 0) {
                return Region.ATOMIC_VIOLATION;
            }
            return wqe.opcode == WrOpcode.ATOMIC_FETCH_AND_ADD
                    ? region.fetchAdd(iova, wqe.compareAdd, old)
                    : region.compareAndSwap(iova, wqe.compareAdd, wqe.swap, old);
        } finally {
            remote.put();
        }
    }

    // ---- endings

    /** A refusal: a receive that was taken says why, the rest is flushed (DP-29). */
    private int refuse(int nak) {
        if (receiveTaken) {
            completeReceive(Syndrome.atResponder(nak));
        }
        qp.toError();
        return nak;
    }

    /** A refusal of what faulted on the bus, whose handler may have reset the queue pair. No atomic gets there. */
    private int refuse(int nak, int resetsBefore) {
        return resets == resetsBefore ? refuse(nak) : nak;
    }

    private void completeReceive(WcStatus status) {
        completion.error(qp.receives().headWrId(), status, qp.qpNum());
        popReceive();
        qp.init().recvCq().post(completion);
    }

    private void popReceive() {
        receiveTaken = false;
        qp.receives().pop();
    }

    void flushReceives() {
        while (!qp.receives().isEmpty()) {
            completeReceive(WcStatus.WR_FLUSH_ERR);
        }
    }
}
