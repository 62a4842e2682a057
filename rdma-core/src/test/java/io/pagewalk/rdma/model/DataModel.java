package io.pagewalk.rdma.model;

import io.pagewalk.rdma.AccessFlags;
import io.pagewalk.rdma.model.ModelKeys.Found;
import io.pagewalk.rdma.model.ModelQp.Receive;
import io.pagewalk.rdma.model.ModelQp.Transfer;
import io.pagewalk.rdma.verbs.QpAttributes;
import io.pagewalk.rdma.verbs.RecvWr;
import io.pagewalk.rdma.verbs.SendFlags;
import io.pagewalk.rdma.verbs.SendWr;
import io.pagewalk.rdma.verbs.WcFlags;
import io.pagewalk.rdma.verbs.WcOpcode;
import io.pagewalk.rdma.verbs.WcStatus;
import io.pagewalk.rdma.verbs.WrOpcode;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The data path of two connected queue pairs over byte arrays, from section 13 of the specification alone. Nothing is
 * lost between them, and each packet is answered before the next one leaves.
 */
final class DataModel {
    final ModelKeys keys;
    final ModelQp[] qps;

    DataModel(ModelKeys keys, ModelQp left, ModelQp right) {
        this.keys = keys;
        qps = new ModelQp[] {left, right};
    }

    /** What the other side says to a packet. */
    private enum Answer {
        ACK(WcStatus.SUCCESS),
        INVALID_REQUEST(WcStatus.REM_INV_REQ_ERR),
        ACCESS_ERROR(WcStatus.REM_ACCESS_ERR),
        OPERATION_ERROR(WcStatus.REM_OP_ERR),
        NOT_READY(WcStatus.RNR_RETRY_EXC_ERR),
        SILENCE(WcStatus.RETRY_EXC_ERR);

        /** What the requester completes with (rdma:DP-14). */
        private final WcStatus status;

        Answer(WcStatus status) {
            this.status = status;
        }
    }

    // ---- posting

    /** Posts a list of requests: the error of the first one that is refused, or 0. */
    int postSend(int side, SendWr first) {
        ModelQp qp = qps[side];
        int error = 0;
        for (SendWr wr = first; wr != null && error == 0; wr = wr.next()) {
            error = qp.check(wr);
            if (error == 0) {
                qp.sends.add(wr);
            }
        }
        settle();
        return error;
    }

    int postRecv(int side, RecvWr wr) {
        int error = qps[side].postRecv(wr);
        settle();
        return error;
    }

    /** Both ends break, and are connected anew. */
    void reconnect() {
        for (ModelQp qp : qps) {
            qp.fail();
        }
        for (ModelQp qp : qps) {
            qp.error = false;
        }
    }

    /** Runs whatever can run. */
    void settle() {
        boolean moved = true;
        while (moved) {
            boolean left = step(0);
            moved = step(1) || left;
        }
    }

    // ---- the requester

    private boolean step(int side) {
        ModelQp qp = qps[side];
        SendWr wr = qp.sends.peek();
        if (wr == null) {
            return false;
        }
        if (qp.error) {
            qp.flush();
            return true;
        }
        return wr.opcode().isLocal() ? runLocal(qp, wr) : run(qp, qps[1 - side], wr);
    }

    private boolean run(ModelQp qp, ModelQp peer, SendWr wr) {
        if (wr.opcode() == WrOpcode.RDMA_READ_WITH_INV) {
            return failed(qp, keys.rules.noWireOpcode());
        }
        if (wr.opcode() == WrOpcode.RDMA_READ) {
            return read(qp, peer, wr);
        }
        return wr.opcode().isAtomic() ? atomic(qp, peer, wr) : message(qp, peer, wr);
    }

    /** rdma:DP-8, DP-9. */
    private boolean runLocal(ModelQp qp, SendWr wr) {
        int error = switch (wr.opcode()) {
            case LOCAL_INV -> keys.invalidate(wr.rkey());
            case BIND_MW -> keys.bind(qp, wr);
            default -> keys.of(Objects.requireNonNull(wr.mr())).fastRegister(keys.rules, qp.pd, wr.rkey(), wr.access());
        };
        return error == 0 ? succeeded(qp, wr) : failed(qp, keys.rules.localFailure(wr.opcode(), error));
    }

    private static boolean failed(ModelQp qp, WcStatus status) {
        qp.failHead(status);
        return true;
    }

    /** rdma:DP-15, DP-32. */
    private static boolean succeeded(ModelQp qp, SendWr wr) {
        qp.sends.remove();
        qp.transfer = null;
        if (qp.init.signalAll() || (wr.flags() & SendFlags.SIGNALED) != 0) {
            int flags = wr.opcode().hasImmediate() ? WcFlags.WITH_IMM : 0;
            qp.sent.add(Done.success(wr.wrId(), opcodeOf(wr), bytesOf(wr), flags));
        }
        return true;
    }

    private static WcOpcode opcodeOf(SendWr wr) {
        return switch (wr.opcode()) {
            case SEND, SEND_WITH_IMM, SEND_WITH_INV -> WcOpcode.SEND;
            case RDMA_WRITE, RDMA_WRITE_WITH_IMM -> WcOpcode.RDMA_WRITE;
            case RDMA_READ, RDMA_READ_WITH_INV -> WcOpcode.RDMA_READ;
            case ATOMIC_CMP_AND_SWP -> WcOpcode.COMP_SWAP;
            case ATOMIC_FETCH_AND_ADD -> WcOpcode.FETCH_ADD;
            case BIND_MW -> WcOpcode.BIND_MW;
            case LOCAL_INV -> WcOpcode.LOCAL_INV;
            case REG_MR, REG_MR_INTEGRITY -> WcOpcode.REG_MR;
        };
    }

    private static boolean isInline(SendWr wr) {
        return (wr.flags() & SendFlags.INLINE) != 0;
    }

    private static long bytesOf(SendWr wr) {
        return isInline(wr) ? wr.inlineBytes() : wr.segments().totalBytes();
    }

    /** Sends and writes go out in packets, each filled when its turn comes (rdma:DP-9). */
    private boolean message(ModelQp qp, ModelQp peer, SendWr wr) {
        long total = bytesOf(wr);
        int mtu = qp.attributes.pathMtu();
        int packets = (int) Math.max(1, (total + mtu - 1) / mtu);
        Transfer transfer = qp.transfer == null ? new Transfer(wr) : qp.transfer;
        qp.transfer = transfer;
        while (transfer.packet < packets) {
            long before = (long) transfer.packet * mtu;
            byte[] payload = new byte[(int) Math.min(mtu, total - before)];
            transfer.walk.mark();
            int error = fill(qp, wr, transfer, (int) before, payload);
            if (error != 0) {
                return failed(qp, keys.rules.localFailure(wr.opcode(), error));
            }
            boolean last = transfer.packet == packets - 1;
            Answer answer = receive(peer, wr, before, total, payload, last);
            if (answer == Answer.NOT_READY && qp.attributes.rnrRetry() == QpAttributes.RNR_FOR_EVER) {
                transfer.walk.goBack();
                return false;
            }
            if (answer != Answer.ACK) {
                return failed(qp, answer.status);
            }
            transfer.packet++;
        }
        return succeeded(qp, wr);
    }

    private int fill(ModelQp qp, SendWr wr, Transfer transfer, int before, byte[] payload) {
        if (!isInline(wr)) {
            return transfer.walk.gather(keys, qp.pd, payload);
        }
        byte[] all = new byte[wr.inlineBytes()];
        wr.copyInline(all);
        System.arraycopy(all, before, payload, 0, payload.length);
        return 0;
    }

    /** rdma:DP-13, DP-16 to DP-18, DP-20 to DP-22, DP-25. */
    private boolean read(ModelQp qp, ModelQp peer, SendWr wr) {
        if (peer.error) {
            return failed(qp, Answer.SILENCE.status);
        }
        long total = wr.segments().totalBytes();
        Found found = null;
        if (!peer.allows(AccessFlags.REMOTE_READ) || peer.attributes.maxDestRdAtomic() == 0 || total > 1L << 31) {
            return refused(qp, peer, Answer.INVALID_REQUEST);
        }
        if (total > 0) {
            found = keys.remote(peer, wr.rkey(), AccessFlags.REMOTE_READ);
            if (found == null || !found.region().holds(wr.remoteAddr() + found.offset(), total)) {
                return refused(qp, peer, Answer.ACCESS_ERROR);
            }
        }
        SgeWalk sink = new SgeWalk(wr.segments());
        int mtu = qp.attributes.pathMtu();
        for (long before = 0; before < total; before += mtu) {
            byte[] packet = new byte[(int) Math.min(mtu, total - before)];
            long addr = wr.remoteAddr() + Objects.requireNonNull(found).offset() + before;
            found.region().read(keys.rules, addr, packet, 0, packet.length);
            if (sink.scatter(keys, qp.pd, packet) != 0) {
                return failed(qp, WcStatus.LOC_PROT_ERR);
            }
        }
        return succeeded(qp, wr);
    }

    private static boolean refused(ModelQp qp, ModelQp peer, Answer answer) {
        peer.fail();
        return failed(qp, answer.status);
    }

    /** rdma:DP-13, DP-21, DP-24, RXE-36. */
    private boolean atomic(ModelQp qp, ModelQp peer, SendWr wr) {
        if (peer.error) {
            return failed(qp, Answer.SILENCE.status);
        }
        if (!peer.allows(AccessFlags.REMOTE_ATOMIC) || peer.attributes.maxDestRdAtomic() == 0) {
            return refused(qp, peer, Answer.INVALID_REQUEST);
        }
        Found found = keys.remote(peer, wr.rkey(), AccessFlags.REMOTE_ATOMIC);
        if (found == null || !found.region().valid) {
            return refused(qp, peer, Answer.ACCESS_ERROR);
        }
        long addr = wr.remoteAddr() + found.offset();
        if (!found.region().holds(addr, Long.BYTES)) {
            return refused(qp, peer, Answer.ACCESS_ERROR);
        }
        if ((addr & 7) != 0) {
            return refused(qp, peer, Answer.INVALID_REQUEST);
        }
        byte[] old = exchange(found.region(), addr, wr);
        if (new SgeWalk(wr.segments()).scatter(keys, qp.pd, old) != 0) {
            return failed(qp, WcStatus.LOC_PROT_ERR);
        }
        return succeeded(qp, wr);
    }

    /** Does the atomic, and gives the eight bytes that were there. */
    private static byte[] exchange(ModelRegion region, long addr, SendWr wr) {
        int at = region.at(addr);
        ByteBuffer words = ByteBuffer.wrap(region.bytes).order(ByteOrder.LITTLE_ENDIAN);
        long old = words.getLong(at);
        if (wr.opcode() == WrOpcode.ATOMIC_FETCH_AND_ADD) {
            words.putLong(at, old + wr.compareAdd());
        } else if (old == wr.compareAdd()) {
            words.putLong(at, wr.swap());
        }
        return ByteBuffer.allocate(Long.BYTES)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putLong(old)
                .array();
    }

    // ---- the responder

    private Answer receive(ModelQp qp, SendWr wr, long before, long total, byte[] payload, boolean last) {
        if (qp.error) {
            return Answer.SILENCE;
        }
        Answer answer = wr.opcode().isSend()
                ? receiveSend(qp, wr, before, total, payload, last)
                : receiveWrite(qp, wr, before, total, payload, last);
        switch (answer) {
            case INVALID_REQUEST -> qp.failCurrent(WcStatus.REM_INV_REQ_ERR);
            case ACCESS_ERROR -> qp.failCurrent(WcStatus.REM_ACCESS_ERR);
            case OPERATION_ERROR -> qp.failCurrent(WcStatus.LOC_QP_OP_ERR);
            default -> {}
        }
        return answer;
    }

    /** rdma:DP-18, DP-26, DP-28, DP-31. */
    private Answer receiveSend(ModelQp qp, SendWr wr, long before, long total, byte[] payload, boolean last) {
        if (before == 0 && !take(qp)) {
            return Answer.NOT_READY;
        }
        Receive into = Objects.requireNonNull(qp.current);
        if (into.walk.scatter(keys, qp.pd, payload) != 0) {
            return Answer.OPERATION_ERROR;
        }
        if (!last) {
            return Answer.ACK;
        }
        if (wr.opcode() == WrOpcode.SEND_WITH_INV && keys.invalidate(wr.rkey()) != 0) {
            qp.failCurrent(WcStatus.REM_INV_REQ_ERR);
            return Answer.ACK;
        }
        return placed(qp, wr, WcOpcode.RECV, total);
    }

    /** rdma:DP-16, DP-17, DP-18, DP-20 to DP-22, DP-31. */
    private Answer receiveWrite(ModelQp qp, SendWr wr, long before, long total, byte[] payload, boolean last) {
        if (!qp.allows(AccessFlags.REMOTE_WRITE)) {
            return Answer.INVALID_REQUEST;
        }
        boolean completes = last && wr.opcode() == WrOpcode.RDMA_WRITE_WITH_IMM;
        if (completes && !take(qp)) {
            return Answer.NOT_READY;
        }
        if (total > 0) {
            Found found = keys.remote(qp, wr.rkey(), AccessFlags.REMOTE_WRITE);
            if (found == null) {
                return Answer.ACCESS_ERROR;
            }
            long addr = wr.remoteAddr() + found.offset() + before;
            if (!found.region().holds(addr, total - before)) {
                return Answer.ACCESS_ERROR;
            }
            found.region().write(keys.rules, addr, payload, 0, payload.length);
        }
        return completes ? placed(qp, wr, WcOpcode.RECV_RDMA_WITH_IMM, total) : Answer.ACK;
    }

    private static boolean take(ModelQp qp) {
        @Nullable Receive next = qp.receives.peek();
        qp.current = next;
        return next != null;
    }

    private static Answer placed(ModelQp qp, SendWr wr, WcOpcode opcode, long bytes) {
        int flags = WcFlags.GRH;
        int invalidated = 0;
        if (wr.opcode().hasImmediate()) {
            flags |= WcFlags.WITH_IMM;
        }
        if (wr.opcode() == WrOpcode.SEND_WITH_INV) {
            flags |= WcFlags.WITH_INVALIDATE;
            invalidated = wr.rkey();
        }
        qp.received.add(
                Done.success(qp.receives.remove().wrId, opcode, bytes, 0).with(flags, wr.immediate(), invalidated));
        qp.current = null;
        return Answer.ACK;
    }
}
