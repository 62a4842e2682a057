package io.pagewalk.conformance.adapter;

import io.pagewalk.conformance.format.Informative;
import io.pagewalk.conformance.format.KeyCheck;
import io.pagewalk.conformance.format.LineFormat;
import io.pagewalk.conformance.format.Rule;
import java.util.List;

/** {@code rdma-rxe}: what user space saw of verbs on rxe. The lines stand in groups, not in boots. */
final class RxeFamily {
    /** Registrations and states, of which the kernel is always asked, or nobody. */
    private static final List<String> MEMORY_CALLS = List.of(
            "reg_mr",
            "dereg_mr",
            "mlock",
            "status",
            "setrlimit",
            "close_device",
            "unshare",
            "capset",
            "rereg_mr",
            "dealloc_pd",
            "alloc_mw",
            "dealloc_mw",
            "destroy_cq");
    /** Calls that the library of user space may answer by itself. */
    private static final List<String> LIBRARY_CALLS = List.of("advise_mr", "reg_dmabuf_mr");

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
        KeyCheck keys = new KeyCheck();
        Family.Builder family = Family.named("rdma-rxe");
        MEMORY_CALLS.forEach(op -> family.answered(
                op, call(keys).exactWhereWanted("kernel_calls", "kernel_err").build()));
        LIBRARY_CALLS.forEach(op -> family.answered(op, libraryCall(keys)));
        TRANSFERS.forEach(op -> family.answered(op, transfer()));
        return family.answered("query_device_ex", query(keys, device()))
                .answered("query_port", query(keys, port()))
                .answered("bind_mw", bind(keys))
                .answered("check", check())
                .by(RxeAdapter::new);
    }

    /** Whether a kind of line is a work request, or looks at what one did. */
    static boolean isTransfer(String kind) {
        return TRANSFERS.contains(kind) || kind.equals("bind_mw") || kind.equals("check");
    }

    private static LineFormat.Builder line() {
        return LineFormat.builder().identity("dev", "group", "op", "case").input("uid", "memlock", "in");
    }

    private static LineFormat.Builder call(KeyCheck keys) {
        return line().exactWhereWanted("rc", "errno", "err")
                .exactAndAsked("vmpin_kb_before")
                .exactWhereWanted("vmpin_kb", "vmlck_kb", "pages_pinned", "pages_unpinned")
                .key("lkey", keys)
                .key("rkey", keys)
                .exactWhereWanted("registered")
                .key("lkey_first", keys)
                .key("lkey_last", keys)
                .informative(Informative.RECORDING, "seconds", "mem_available_kb");
    }

    private static LineFormat libraryCall(KeyCheck keys) {
        return call(keys)
                .ruleAndAsked("kernel_calls", Rule.KERNEL_OR_LIBRARY)
                .ruleWhereWanted("kernel_err", Rule.KERNEL_OR_LIBRARY)
                .build();
    }

    private static LineFormat query(KeyCheck keys, LineFormat out) {
        return call(keys)
                .exactWhereWanted("kernel_calls", "kernel_err")
                .object("out", out)
                .build();
    }

    /** The limits of section 10.1; what else a device says is not specified. */
    private static LineFormat device() {
        return LineFormat.builder()
                .exact("max_mr_size", "page_size_cap", "device_cap_flags", "device_cap_flags_ex")
                .exact("max_mr", "max_mw", "max_pd", "max_qp", "max_qp_wr", "max_sge", "max_sge_rd")
                .exact("max_cq", "max_cqe", "max_qp_rd_atom", "max_qp_init_rd_atom")
                .informative(
                        Informative.OTHER_LIMIT,
                        "name",
                        "node_type",
                        "transport_type",
                        "fw_ver",
                        "vendor_id",
                        "vendor_part_id",
                        "hw_ver",
                        "max_ee_rd_atom",
                        "max_res_rd_atom",
                        "atomic_cap",
                        "max_ee",
                        "max_rdd",
                        "max_raw_ipv6_qp",
                        "max_raw_ethy_qp",
                        "max_mcast_grp",
                        "max_mcast_qp_attach",
                        "max_total_mcast_qp_attach",
                        "max_ah",
                        "max_fmr",
                        "max_map_per_fmr",
                        "max_srq",
                        "max_srq_wr",
                        "max_srq_sge",
                        "max_pkeys",
                        "local_ca_ack_delay",
                        "phys_port_cnt",
                        "odp_general_caps",
                        "odp_rc_caps",
                        "completion_timestamp_mask",
                        "hca_core_clock",
                        "max_dm_size",
                        "num_comp_vectors")
                .build();
    }

    private static LineFormat port() {
        return LineFormat.builder()
                .exact("max_msg_sz")
                .informative(
                        Informative.OTHER_LIMIT,
                        "state",
                        "max_mtu",
                        "active_mtu",
                        "gid_tbl_len",
                        "port_cap_flags",
                        "pkey_tbl_len",
                        "link_layer")
                .build();
    }

    private static LineFormat bind(KeyCheck keys) {
        return line().input("kernel_calls")
                .ruleWhereWanted("rc", Rule.KERNEL_OR_LIBRARY)
                .ruleWhereWanted("err", Rule.KERNEL_OR_LIBRARY)
                .exactWhereWanted("wc", "qp")
                .key("rkey_before", keys)
                .key("rkey_after", keys)
                .build();
    }

    private static LineFormat transfer() {
        return line().exactWhereWanted("post_rc", "post_err", "requester", "responder")
                .exactWhereWanted("qp_requester", "qp_responder")
                .informative(Informative.NO_EVENTS, "async")
                .build();
    }

    private static LineFormat check() {
        return line().exactWhereWanted("state", "match", "value", "data", "cpu", "byte")
                .build();
    }
}
