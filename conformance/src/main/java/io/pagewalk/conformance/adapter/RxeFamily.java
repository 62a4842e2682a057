package io.pagewalk.conformance.adapter;

import io.pagewalk.conformance.format.LineFormat;
import io.pagewalk.conformance.format.Rule;
import java.util.List;
import java.util.Set;

/** {@code rdma-rxe}: what user space saw of verbs on rxe. The lines stand in groups, not in boots. */
final class RxeFamily {
    /** Groups that ask what becomes of memory, limits and pins, and nothing else. */
    private static final Set<String> MEMORY_GROUPS = Set.of("maps", "access", "len", "partial", "rlimit", "teardown");

    private static final List<String> MEMORY_CALLS =
            List.of("reg_mr", "dereg_mr", "mlock", "status", "setrlimit", "close_device", "unshare", "capset");
    private static final List<String> CALLS = List.of(
            "query_device_ex",
            "query_port",
            "rereg_mr",
            "dealloc_pd",
            "alloc_mw",
            "dealloc_mw",
            "destroy_cq",
            "advise_mr",
            "reg_dmabuf_mr",
            "bind_mw");
    private static final List<String> TRANSFERS = List.of(
            "BIND_MW",
            "RDMA_WRITE",
            "RDMA_READ",
            "SEND",
            "LOCAL_INV",
            "RDMA_WRITE_WITH_IMM",
            "ATOMIC_FETCH_AND_ADD",
            "ATOMIC_CMP_AND_SWP",
            "SEND_WITH_INV",
            "poll");

    private RxeFamily() {}

    static Family family() {
        Family.Builder family = Family.named("rdma-rxe");
        MEMORY_CALLS.forEach(op -> family.answeredIn(MEMORY_GROUPS, op, call()));
        CALLS.forEach(op -> family.unanswered(op, call()));
        TRANSFERS.forEach(op -> family.unanswered(op, transfer()));
        return family.unanswered("check", check()).by(RxeAdapter::new);
    }

    private static LineFormat.Builder line() {
        return LineFormat.builder().identity("dev", "group", "op", "case").input("uid", "memlock", "in");
    }

    private static LineFormat call() {
        return line().exact("rc", "errno", "err", "kernel_calls", "kernel_err")
                .exactAndAsked("vmpin_kb_before")
                .exact("vmpin_kb", "vmlck_kb", "pages_pinned", "pages_unpinned")
                .rule("lkey", Rule.KEY)
                .rule("rkey", Rule.KEY)
                .exact("out", "wc", "rkey_before", "rkey_after", "qp")
                .exact("registered", "lkey_first", "lkey_last", "seconds", "mem_available_kb")
                .build();
    }

    private static LineFormat transfer() {
        return line().exact("post_rc", "post_err", "requester", "responder")
                .exact("qp_requester", "qp_responder", "async")
                .build();
    }

    private static LineFormat check() {
        return line().exact("state", "match", "value", "data", "cpu", "byte").build();
    }
}
