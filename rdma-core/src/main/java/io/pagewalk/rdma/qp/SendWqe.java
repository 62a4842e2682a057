package io.pagewalk.rdma.qp;

import io.pagewalk.rdma.verbs.Mr;
import io.pagewalk.rdma.verbs.SendFlags;
import io.pagewalk.rdma.verbs.SendWr;
import io.pagewalk.rdma.verbs.SgeList;
import io.pagewalk.rdma.verbs.WrOpcode;
import org.jspecify.annotations.Nullable;

/** A place in the send queue: a copy of a work request, and how far it is. Made once, filled again and again. */
final class SendWqe {
    final SgeList segments;
    final byte[] inline;
    WrOpcode opcode = WrOpcode.SEND;
    long wrId;
    int flags;
    long remoteAddr;
    int rkey;
    int immediate;
    long compareAdd;
    long swap;

    @Nullable Mr mr;

    int access;
    int mwRkey;
    int mrLkey;
    long mwAddr;
    long mwLengthBytes;
    long totalBytes;
    /** Taken from user space as it was, with more segments than there may be (rdma:QRK-14). */
    boolean broken;

    /** A step works on it, so that it must not be filled again, though the request may be gone. */
    boolean running;

    boolean started;
    long doneBytes;
    int rnrLeft;
    int retriesLeft;

    SendWqe(int maxSge, int maxInline) {
        segments = new SgeList(maxSge);
        inline = new byte[maxInline];
    }

    void fill(SendWr wr, boolean brokenOne) {
        opcode = wr.opcode();
        wrId = wr.wrId();
        flags = wr.flags();
        remoteAddr = wr.remoteAddr();
        rkey = wr.rkey();
        immediate = wr.immediate();
        compareAdd = wr.compareAdd();
        swap = wr.swap();
        mr = wr.mr();
        access = wr.access();
        mwRkey = wr.mwRkey();
        mrLkey = wr.mrLkey();
        mwAddr = wr.mwAddr();
        mwLengthBytes = wr.mwLengthBytes();
        broken = brokenOne;
        started = false;
        doneBytes = 0;
        fillBytes(wr);
    }

    private void fillBytes(SendWr wr) {
        if (isInline()) {
            segments.clear();
            wr.copyInline(inline);
            totalBytes = wr.inlineBytes();
        } else if (broken) {
            segments.clear();
            totalBytes = 0;
        } else {
            segments.copyFrom(wr.segments());
            totalBytes = segments.totalBytes();
        }
    }

    boolean isInline() {
        return (flags & SendFlags.INLINE) != 0;
    }

    boolean isSignaled() {
        return (flags & SendFlags.SIGNALED) != 0;
    }
}
