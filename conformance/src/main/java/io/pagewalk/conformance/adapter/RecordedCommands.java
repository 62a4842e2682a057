package io.pagewalk.conformance.adapter;

import io.pagewalk.conformance.format.Answers;
import io.pagewalk.conformance.format.BadVectorException;
import io.pagewalk.conformance.format.Question;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.rdma.AccessFlags;
import io.pagewalk.rdma.verbs.DeviceAttributes;
import io.pagewalk.rdma.verbs.Mr;
import io.pagewalk.rdma.verbs.Mw;
import io.pagewalk.rdma.verbs.UverbsFile;
import java.util.Locale;
import java.util.Objects;

/**
 * The commands of a process of the recording that move no data, but for plain registrations. What a command is given
 * stands in words only, where it came from a raw command.
 */
final class RecordedCommands {
    private static final int CPU = 0;
    private static final int NONE = -1;
    private static final int NO_SUCH_HANDLE = 0x7fffffff;
    private static final int CQE = 16;
    /** The region that group data registers anew. */
    private static final int REREGISTERED = 0x2f234;

    private static final long U32 = 0xffff_ffffL;

    private final RecordedContext context;
    private final UverbsFile file;
    private final RecordedProcess process;
    private final RecordedKeys keys;
    private int secondPd = NONE;
    private int cq = NONE;
    private int qp = NONE;
    private int hidden = NONE;

    RecordedCommands(RecordedContext context, RecordedProcess process, RecordedKeys keys) {
        this.context = context;
        this.keys = keys;
        this.process = process;
        file = context.file();
    }

    RxeAnswers answer(String kind, Question question, String words) {
        return switch (kind) {
            case "query_device_ex" -> queryDevice(question);
            case "query_port" -> queryPort(question);
            case "rereg_mr" -> reregMr(question, words);
            case "dealloc_pd" -> positive(question, deallocPd(words));
            case "alloc_mw" -> allocMw(question, words);
            case "dealloc_mw" -> positive(question, file.deallocMw(keys.latestWindowHandle()));
            case "destroy_cq" -> positive(question, file.destroyCq(cq));
            case "advise_mr" -> positive(question, file.adviseMr(context.pd(), 0, 0, 1));
            case "reg_dmabuf_mr" -> regDmabufMr(question);
            default -> throw new BadVectorException("unknown op " + kind);
        };
    }

    /** Calls of the library that answer with the error number itself. */
    private static RxeAnswers positive(Question question, int error) {
        return new RxeAnswers(question).result(-error, -error);
    }

    private static RxeAnswers minusOne(Question question, int error) {
        return new RxeAnswers(question).result(error == 0 ? 0 : -1, -error);
    }

    // ---- limits

    private RxeAnswers queryDevice(Question question) {
        DeviceAttributes limits = file.device().attributes();
        Answers out = new Answers()
                .text("max_mr_size", hex(limits.maxMrSize()))
                .text("page_size_cap", hex(limits.pageSizeCap() & U32))
                .text("device_cap_flags", hex(limits.deviceCapFlags() & U32))
                .text("device_cap_flags_ex", hex(limits.deviceCapFlags()))
                .signed("max_mr", limits.maxMr())
                .signed("max_mw", limits.maxMw())
                .signed("max_pd", limits.maxPd())
                .signed("max_qp", limits.maxQp())
                .signed("max_qp_wr", limits.maxQpWr())
                .signed("max_sge", limits.maxSge())
                .signed("max_sge_rd", limits.maxSgeRd())
                .signed("max_cq", limits.maxCq())
                .signed("max_cqe", limits.maxCqe())
                .signed("max_qp_rd_atom", limits.maxQpRdAtom())
                .signed("max_qp_init_rd_atom", limits.maxQpInitRdAtom());
        return new RxeAnswers(question).result(0, 0).object("out", out);
    }

    private RxeAnswers queryPort(Question question) {
        long longest = file.device().attributes().maxMessageBytes() & U32;
        return new RxeAnswers(question).result(0, 0).object("out", new Answers().signed("max_msg_sz", longest));
    }

    private static String hex(long value) {
        return "0x" + Long.toHexString(value);
    }

    // ---- domains

    private int deallocPd(String words) {
        if (words.equals("live QP")) {
            cq = RecordedContext.requireHandle(file.createCq(CQE));
            qp = RecordedContext.requireHandle(file.createQp(context.pd(), cq, cq, 1, 1));
        } else if (words.equals("nothing left")) {
            file.destroyQp(qp);
            file.destroyCq(cq);
        } else if (words.contains("old PD")) {
            int error = context.deallocPd();
            context.setPd(secondPd);
            return error;
        }
        return context.deallocPd();
    }

    // ---- registering anew

    private RxeAnswers reregMr(Question question, String words) {
        Question in = question.object("in");
        boolean ofData = words.startsWith("data:");
        int handle = ofData ? keys.handle(REREGISTERED) : context.latest();
        int flags = in.integer("flags");
        int newPd = context.pd();
        if (words.endsWith("pd2")) {
            secondPd = RecordedContext.requireHandle(file.allocPd());
            newPd = secondPd;
        } else if (words.endsWith("PC")) {
            newPd = keys.otherPd();
        } else if (words.contains("unknown pd handle")) {
            newPd = NO_SUCH_HANDLE;
        }
        int access = (int) RxeAdapter.hex(in, "access");
        long addr = RxeAdapter.hex(in, "addr");
        int error = file.reregMr(CPU, process.process(), handle, flags, addr, in.number("len"), addr, newPd, access);
        return reregistered(question, error, Objects.requireNonNull(file.mr(handle)));
    }

    /** The keys are those of the region, changed or not. */
    static RxeAnswers reregistered(Question question, int error, Mr mr) {
        return minusOne(question, error).key("lkey", mr.lkey()).key("rkey", mr.rkey());
    }

    // ---- windows

    private RxeAnswers allocMw(Question question, String words) {
        Question in = question.object("in");
        int type = in.has("type")
                ? in.integer("type")
                : Integer.parseInt(words.toLowerCase(Locale.ROOT).replace("type ", ""));
        int handle = file.allocMw(context.pd(), type);
        if (handle < 0) {
            return minusOne(question, handle);
        }
        RxeAnswers answers = minusOne(question, 0);
        Mw made = keys.noteWindow(handle);
        return in.has("type") ? answers.key("rkey", made.rkey()) : answers;
    }

    // ---- dma-buf

    private RxeAnswers regDmabufMr(Question question) {
        Question in = question.object("in");
        boolean raw = in.has("how");
        long offset = raw ? 0 : in.number("offset");
        long length = raw ? Addresses.PAGE_SIZE : in.number("len");
        long iova = raw ? 0 : RxeAdapter.hex(in, "iova");
        int access = raw ? AccessFlags.LOCAL_WRITE : (int) RxeAdapter.hex(in, "access");
        return minusOne(question, file.regDmabufMr(context.pd(), in.integer("fd"), offset, length, iova, access));
    }

    // ---- raw commands

    /** Registers memory that no line tells of. */
    void registerHidden(long pages) {
        long addr = fresh(pages);
        hidden = register(context.pd(), addr, pages * Addresses.PAGE_SIZE, addr, AccessFlags.LOCAL_WRITE);
        context.add(RecordedContext.requireHandle(hidden), process.space());
    }

    private long fresh(long pages) {
        long addr = process.process().mmap(pages * Addresses.PAGE_SIZE);
        for (long i = 0; i < pages; i++) {
            process.process().putLong(addr + i * Addresses.PAGE_SIZE, 1);
        }
        return addr;
    }

    private int register(int pd, long addr, long length, long hcaVa, int access) {
        return file.regMr(CPU, process.process(), pd, addr, length, hcaVa, access);
    }

    int deregRaw(String words) {
        if (words.equals("by handle")) {
            return context.releaseLatest();
        }
        if (words.equals("the same handle again")) {
            return file.deregMr(CPU, hidden);
        }
        return file.deregMr(CPU, words.equals("handle of a PD") ? context.pd() : NO_SUCH_HANDLE);
    }

    RxeAnswers regMrRaw(Question question, String words) {
        boolean badPd = words.contains("bad pd") || words.contains("unknown pd");
        int pd = badPd ? NO_SUCH_HANDLE : context.pd();
        if (words.startsWith("handle of an MR")) {
            pd = hidden;
        }
        int access = words.contains("bad access") ? AccessFlags.REMOTE_WRITE : AccessFlags.LOCAL_WRITE;
        long addr = words.contains("unmapped") ? Addresses.PAGE_SIZE : fresh(1);
        long hcaVa = words.contains("offset differs") ? addr + 1 : addr;
        int handle = register(pd, addr, 1, hcaVa, access);
        if (handle >= 0) {
            context.add(handle, process.space());
        }
        return minusOne(question, Math.min(handle, 0));
    }

    // ---- as many as there may be

    RxeAnswers registerAll(Question question) {
        process.process().setMemlockLimit(-1L);
        long addr = fresh(1);
        int first = NONE;
        int last = NONE;
        int registered = 0;
        int handle = register(context.pd(), addr, 1, addr, 0);
        while (handle >= 0) {
            last = handle;
            first = first == NONE ? handle : first;
            registered++;
            handle = register(context.pd(), addr, 1, addr, 0);
        }
        hidden = last;
        return new RxeAnswers(question)
                .result(-1, -handle)
                .number("registered", registered)
                .key("lkey_first", Objects.requireNonNull(file.mr(first)).lkey())
                .key("lkey_last", Objects.requireNonNull(file.mr(last)).lkey());
    }

    RxeAnswers registerAgain(Question question) {
        file.deregMr(CPU, hidden);
        long addr = fresh(1);
        int handle = RecordedContext.requireHandle(register(context.pd(), addr, 1, addr, 0));
        return minusOne(question, 0)
                .key("lkey", Objects.requireNonNull(file.mr(handle)).lkey());
    }
}
