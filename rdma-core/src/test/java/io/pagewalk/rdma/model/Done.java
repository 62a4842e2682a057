package io.pagewalk.rdma.model;

import io.pagewalk.rdma.verbs.WcOpcode;
import io.pagewalk.rdma.verbs.WcStatus;
import io.pagewalk.rdma.verbs.WorkCompletion;
import org.jspecify.annotations.Nullable;

/** A completion, as far as its fields are valid (rdma:DP-32). */
record Done(
        long wrId,
        WcStatus status,
        @Nullable WcOpcode opcode,
        long byteLen,
        int flags,
        int immediate,
        int invalidatedRkey,
        int vendorErr) {

    static Done success(long wrId, WcOpcode opcode, long byteLen, int flags) {
        return new Done(wrId, WcStatus.SUCCESS, opcode, byteLen, flags, 0, 0, 0);
    }

    static Done error(long wrId, WcStatus status) {
        return new Done(wrId, status, null, 0, 0, 0, 0, 0);
    }

    static Done of(WorkCompletion wc, boolean received) {
        if (wc.status() != WcStatus.SUCCESS) {
            return error(wc.wrId(), wc.status());
        }
        int immediate = received ? wc.immediate() : 0;
        int invalidated = received ? wc.invalidatedRkey() : 0;
        return new Done(
                wc.wrId(), wc.status(), wc.opcode(), wc.byteLen(), wc.flags(), immediate, invalidated, wc.vendorErr());
    }

    Done with(int newFlags, int newImmediate, int newInvalidated) {
        return new Done(wrId, status, opcode, byteLen, newFlags, newImmediate, newInvalidated, vendorErr);
    }
}
