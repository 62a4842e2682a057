package io.pagewalk.conformance.adapter;

import io.pagewalk.conformance.format.Answers;
import io.pagewalk.conformance.format.BadVectorException;
import io.pagewalk.conformance.format.Question;
import io.pagewalk.rdma.AccessFlags;
import io.pagewalk.rdma.mm.Mmap;
import io.pagewalk.rdma.mm.Process;
import io.pagewalk.rdma.qp.Link;
import io.pagewalk.rdma.qp.RcQp;
import io.pagewalk.rdma.verbs.Cq;
import io.pagewalk.rdma.verbs.FastReg;
import io.pagewalk.rdma.verbs.Mw;
import io.pagewalk.rdma.verbs.QpAttributes;
import io.pagewalk.rdma.verbs.QpState;
import io.pagewalk.rdma.verbs.RecvWr;
import io.pagewalk.rdma.verbs.SendWr;
import io.pagewalk.rdma.verbs.UverbsFile;
import java.util.Arrays;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Groups {@code data} and {@code mw}: work requests between two queue pairs of one process, and what is seen of memory
 * afterwards. Queue pairs of a line are new, but for the one that a window of type 2 is bound to.
 */
final class RecordedTransfers {
    private static final int CQE = 16;
    private static final int MAX_WR = 4;
    private static final int PAGE = 0x1000;
    private static final int SEND_ID = 100;
    private static final int BIND_ID = 300;
    private static final int RECV_ID = 900;
    private static final int PEER_ID = 5;
    private static final long FOUR_SECONDS = 4_000_000_000L;
    private static final long ATOMIC_ADDR = RecordedKeys.R + 0x40;
    private static final int FIRST_VALUE = 41;
    private static final Pattern RETRIES = Pattern.compile("rnr_retry (\\d)");
    /** Windows of type 1 that outlive their line are one: the first of the group. */
    private static final Set<String> OF_THE_FIRST_WINDOW =
            Set.of("type 1: bind", "type 1: bind again (rkey changes)", "type 1: unbind by length 0");

    /** Windows of type 2 that outlive their line. */
    private static final Set<String> LASTING_BINDS =
            Set.of("type 2: bind", "type 2: bind another", "type 2: bind again while bound");

    private static final Map<String, Integer> RIGHTS = Map.of(
            "0", 0,
            "LOCAL_WRITE", AccessFlags.LOCAL_WRITE,
            "REMOTE_WRITE", AccessFlags.REMOTE_WRITE,
            "REMOTE_READ", AccessFlags.REMOTE_READ,
            "REMOTE_ATOMIC", AccessFlags.REMOTE_ATOMIC,
            "MW_BIND", AccessFlags.MW_BIND,
            "ZERO_BASED", AccessFlags.ZERO_BASED,
            "ON_DEMAND", AccessFlags.ON_DEMAND);

    private final RecordedContext context;
    private final UverbsFile file;
    private final RecordedProcess process;
    private final RecordedKeys keys;
    private final SendWr wr = new SendWr();
    private final RecvWr recv = new RecvWr();
    private boolean registered;
    private Pair kept = Pair.NONE;
    private Pair latest = Pair.NONE;

    /** Two connected queue pairs with a completion queue each, by their handles. */
    private record Pair(int requester, int responder, int requesterCq, int responderCq) {
        static final Pair NONE = new Pair(-1, -1, -1, -1);
    }

    RecordedTransfers(RecordedContext context, RecordedProcess process, RecordedKeys keys) {
        this.context = context;
        this.process = process;
        this.keys = keys;
        file = context.file();
    }

    Answers answer(String kind, Question question, String words) {
        if (!registered) {
            registered = true;
            registerOnce(question.text("group"));
        }
        if (!kind.equals("poll")) {
            disconnectLatest();
        }
        return switch (kind) {
            case "bind_mw" -> bindMw(question, words);
            case "check" -> check(question, words);
            case "poll" ->
                new RxeAnswers(question)
                        .completions("responder", cq(latest.responderCq))
                        .done();
            default -> transfer(kind, question, words);
        };
    }

    private void registerOnce(String group) {
        if (group.equals("mw")) {
            keys.registerForWindows();
        } else {
            keys.registerForData();
        }
    }

    // ---- queue pairs

    private Pair connect(QpAttributes ofRequester, QpAttributes ofResponder) {
        int requesterCq = RecordedContext.requireHandle(file.createCq(CQE));
        int responderCq = RecordedContext.requireHandle(file.createCq(CQE));
        int requester = makeQp(requesterCq);
        int responder = makeQp(responderCq);
        Link.connect(qp(requester), qp(responder));
        for (QpState next : new QpState[] {QpState.INIT, QpState.RTR, QpState.RTS}) {
            qp(requester).modify(next, ofRequester);
            qp(responder).modify(next, ofResponder);
        }
        return new Pair(requester, responder, requesterCq, responderCq);
    }

    private int makeQp(int cq) {
        return RecordedContext.requireHandle(file.createQp(context.pd(), cq, cq, MAX_WR, 1));
    }

    private RcQp qp(int handle) {
        return (RcQp) Objects.requireNonNull(file.qp(handle));
    }

    private Cq cq(int handle) {
        return Objects.requireNonNull(file.cq(handle));
    }

    /** A line may still look at the queue pairs of the one before it. */
    private void disconnectLatest() {
        if (!latest.equals(Pair.NONE)) {
            disconnect(latest);
            latest = Pair.NONE;
        }
    }

    private void disconnect(Pair pair) {
        file.destroyQp(pair.requester);
        file.destroyQp(pair.responder);
        file.destroyCq(pair.requesterCq);
        file.destroyCq(pair.responderCq);
    }

    /** What the words say of the responder's rights and of retries; one millisecond until the next. */
    private Pair connectFor(String words) {
        QpAttributes usual = QpAttributes.usual();
        Matcher retries = RETRIES.matcher(words);
        QpAttributes requester = usual.withRetries(3, retries.find() ? Integer.parseInt(retries.group(1)) : 0);
        int all = usual.access();
        int access = all;
        if (words.contains("QP access flags of the responder ")) {
            access = rights(words.substring(words.lastIndexOf(' ') + 1));
        } else if (words.contains("responder QP without REMOTE_ATOMIC")) {
            access = all & ~AccessFlags.REMOTE_ATOMIC;
        }
        return connect(requester, usual.withAccess(access));
    }

    private static int rights(String names) {
        int access = 0;
        for (String name : names.split("\\|", -1)) {
            Integer right = RIGHTS.get(name);
            if (right == null) {
                throw new BadVectorException("unknown right \"" + name + "\"");
            }
            access |= right;
        }
        return access;
    }

    // ---- work requests

    private Answers transfer(String kind, Question question, String words) {
        Question in = question.object("in");
        if (!in.has("raddr") && !in.has("laddr")) {
            return readThroughKept(question);
        }
        before(words);
        Pair pair = connectFor(words);
        if (in.has("recv_len")) {
            post(pair.responder, in, RECV_ID);
        } else if (words.contains("whose MR is gone")) {
            qp(pair.responder).postRecv(recv.reset(RECV_ID + 1).sge(RecordedKeys.R, 64, keys.ours(0x2f138)));
        }
        fill(kind, in);
        int error = qp(pair.requester).postSend(wr.signaled());
        process.process().machine().clock().advance(FOUR_SECONDS);
        RxeAnswers answers = new RxeAnswers(question)
                .number("post_rc", -error)
                .text("post_err", RxeAnswers.name(-error))
                .completions("requester", cq(pair.requesterCq))
                .completions("responder", cq(pair.responderCq))
                .text("qp_requester", qp(pair.requester).state().name())
                .text("qp_responder", qp(pair.responder).state().name());
        if (words.equals("type 2: bind")) {
            kept = pair;
        } else {
            latest = pair;
        }
        if (kind.equals("BIND_MW") && !LASTING_BINDS.contains(words)) {
            keys.freeWindow(keys.windowToBind((int) RxeAdapter.hex(in, "rkey")));
        }
        return answers.done();
    }

    private void post(int qp, Question in, int id) {
        recv.reset(id);
        long length = in.number("recv_len");
        if (length != 0) {
            recv.sge(RxeAdapter.hex(in, "recv_addr"), length, keys.ours((int) RxeAdapter.hex(in, "recv_lkey")));
        }
        int error = qp(qp).postRecv(recv);
        if (error != -in.integer("post_recv_rc")) {
            throw new BadVectorException("posting a receive: " + error);
        }
    }

    private void fill(String kind, Question in) {
        long raddr = in.has("raddr") ? RxeAdapter.hex(in, "raddr") : 0;
        int recorded = in.has("rkey") ? (int) RxeAdapter.hex(in, "rkey") : 0;
        int rkey = kind.equals("BIND_MW") ? recorded : keys.ours(recorded);
        switch (kind) {
            case "RDMA_WRITE" -> wr.write(SEND_ID, raddr, rkey);
            case "RDMA_WRITE_WITH_IMM" -> wr.writeWithImm(SEND_ID, raddr, rkey, 1);
            case "RDMA_READ" -> wr.read(SEND_ID, raddr, rkey);
            case "SEND" -> wr.send(SEND_ID);
            case "SEND_WITH_INV" -> wr.sendWithInv(SEND_ID, rkey);
            case "LOCAL_INV" -> wr.localInv(SEND_ID, rkey);
            case "ATOMIC_FETCH_AND_ADD" -> wr.fetchAdd(SEND_ID, raddr, rkey, in.number("compare_add"));
            case "ATOMIC_CMP_AND_SWP" ->
                wr.compareAndSwap(SEND_ID, raddr, rkey, in.number("compare_add"), in.number("swap"));
            case "BIND_MW" -> fillBind(in, recorded);
            default -> throw new BadVectorException("unknown op " + kind);
        }
        if (in.has("num_sge") && in.integer("num_sge") > 0) {
            wr.sge(RxeAdapter.hex(in, "laddr"), in.number("llen"), keys.ours((int) RxeAdapter.hex(in, "lkey")));
        }
    }

    private void fillBind(Question in, int recordedKey) {
        Mw mw = keys.windowToBind(recordedKey);
        wr.bindMw(
                SEND_ID,
                mw.rkey(),
                mw.rkey() + 1,
                keys.ours((int) RxeAdapter.hex(in, "mr_lkey")),
                RxeAdapter.hex(in, "mw_addr"),
                in.number("mw_len"),
                rights(in.text("mw_access")));
    }

    /** 64 bytes from the window of type 2, asked for by the peer of the queue pair that it is bound to. */
    private Answers readThroughKept(Question question) {
        Mw mw = keys.window(1);
        wr.read(PEER_ID, RecordedKeys.W, mw.rkey()).sge(RecordedKeys.W_LOCAL, 64, keys.ours(0x2de04));
        qp(kept.responder).postSend(wr.signaled());
        return new RxeAnswers(question)
                .completions("requester", cq(kept.responderCq))
                .done();
    }

    // ---- windows of type 1

    private Answers bindMw(Question question, String words) {
        Question in = question.object("in");
        boolean first = OF_THE_FIRST_WINDOW.contains(words);
        boolean second = in.integer("mw_type") == Mw.TYPE_2;
        Mw mw = first || second ? keys.window(second ? 1 : 0) : keys.makeWindow(Mw.TYPE_1);
        // The library knows the key of its own binds only.
        int before = second ? mw.rkey() - 1 : mw.rkey();
        Pair pair = connectFor(words);
        boolean asked = question.number("kernel_calls") != 0;
        int error = asked ? bind(in, mw, qp(pair.requester)) : 0;
        Answers answers = new RxeAnswers(question)
                .number("rc", -error)
                .text("err", RxeAnswers.name(-error))
                .completions("wc", cq(pair.requesterCq))
                .key("rkey_before", before)
                .key("rkey_after", asked ? FastReg.incRkey(before) : before)
                .text("qp", qp(pair.requester).state().name())
                .done();
        disconnect(pair);
        if (!first && !second) {
            keys.freeWindow(mw);
        }
        return answers;
    }

    private int bind(Question in, Mw mw, RcQp qp) {
        int mrLkey = keys.ours((int) RxeAdapter.hex(in, "mr_lkey"));
        wr.bindMw(
                BIND_ID,
                mw.rkey(),
                FastReg.incRkey(mw.rkey()),
                mrLkey,
                RxeAdapter.hex(in, "addr"),
                in.number("len"),
                (int) RxeAdapter.hex(in, "access"));
        return qp.postSend(wr.signaled());
    }

    // ---- memory between the lines

    private void before(String words) {
        Process user = process.process();
        switch (words) {
            case "fetch_add +1" -> user.putLong(ATOMIC_ADDR, FIRST_VALUE);
            case "read after munmap of the remote memory" -> user.munmap(0x7f7bf80b3000L, PAGE);
            case "read after MADV_DONTNEED + CPU write" -> process.fill(0x7f7bf80af000L, PAGE, 0x55);
            case "read after fork + write by the parent" -> writeAfterFork(0x7f7bf80ab000L);
            case "read-only pin: read after fork + write by the parent" -> writeAfterFork(0x7f7bf80a7000L);
            case "read-only pin of a private file mapping, then CPU write" -> process.fill(0x7f7bf809f000L, PAGE, 0x66);
            case "write into memory made PROT_READ after registration" ->
                user.mprotect(0x7f7bf809b000L, PAGE, Mmap.PROT_READ);
            default -> {
                // Most lines find memory as the one before left it.
            }
        }
    }

    private void writeAfterFork(long addr) {
        Process child = Objects.requireNonNull(process.process().fork());
        process.fill(addr, PAGE, 0x77);
        child.exit();
    }

    private Answers check(Question question, String words) {
        RxeAnswers answers = new RxeAnswers(question);
        switch (words) {
            case "first connection" -> answers.text("state", connected());
            case "write arrived" -> answers.text("match", writeArrives() ? "yes" : "no");
            case "fetch_add", "cmp_swap" -> answers.text("value", returned());
            case "read after munmap" -> answers.text("data", seen());
            case "read after new mmap" -> {
                process.map("anon rw private untouched", 0x7f7bf80b3000L, PAGE);
                process.fill(0x7f7bf80b3000L, PAGE, 0x11);
                read(0x7f7bf80b3000L, keys.ours(0x2f5fa));
                answers.text("data", seen());
            }
            case "madvise(DONTNEED) on registered memory" -> answers.text("cpu", discarded());
            case "untouched anon, RR pin: CPU wrote 0x66, device sees" -> {
                process.fill(RecordedKeys.UNTOUCHED_ADDR, PAGE, 0x66);
                read(RecordedKeys.UNTOUCHED_ADDR, keys.ours(RecordedKeys.UNTOUCHED));
                answers.text("byte", firstByte());
            }
            default -> answers.text("byte", firstByte());
        }
        return answers.done();
    }

    private String connected() {
        Pair pair = connectFor("");
        boolean both =
                qp(pair.requester).state() == QpState.RTS && qp(pair.responder).state() == QpState.RTS;
        disconnect(pair);
        return both ? "connected" : "not connected";
    }

    private boolean writeArrives() {
        process.fill(RecordedKeys.B, PAGE, 0x5a);
        Pair pair = connectFor("");
        wr.write(SEND_ID, RecordedKeys.R, keys.ours(0x2e61f)).sge(RecordedKeys.B, PAGE, keys.ours(0x2e4ff));
        qp(pair.requester).postSend(wr.signaled());
        disconnect(pair);
        return Arrays.equals(bytes(RecordedKeys.B), bytes(RecordedKeys.R));
    }

    private void read(long addr, int rkey) {
        Pair pair = connectFor("");
        wr.read(SEND_ID, addr, rkey).sge(RecordedKeys.B, PAGE, keys.ours(0x2e4ff));
        qp(pair.requester).postSend(wr.signaled());
        disconnect(pair);
    }

    private byte[] bytes(long addr) {
        return process.process().readBytes(addr, PAGE);
    }

    private String returned() {
        return "returned " + process.process().getLong(RecordedKeys.B) + ", now "
                + process.process().getLong(ATOMIC_ADDR);
    }

    private String seen() {
        byte[] old = new byte[PAGE];
        Arrays.fill(old, (byte) 0xc3);
        return Arrays.equals(old, bytes(RecordedKeys.B)) ? "old contents (0xC3)" : "other contents";
    }

    private String discarded() {
        int error = process.process().madvise(0x7f7bf80af000L, PAGE, Mmap.MADV_DONTNEED);
        return "rc=" + error + " byte now " + hexByte(bytes(0x7f7bf80af000L)[0]);
    }

    private String firstByte() {
        return hexByte(bytes(RecordedKeys.B)[0]);
    }

    private static String hexByte(byte value) {
        return "0x" + Integer.toHexString(value & 0xff);
    }
}
