package io.pagewalk.conformance.adapter;

import io.pagewalk.conformance.format.Answers;
import io.pagewalk.conformance.format.BadVectorException;
import io.pagewalk.conformance.format.Question;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.KernelModel;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.PhysRange;
import io.pagewalk.dma.memory.RamMap;
import io.pagewalk.rdma.IbDevice;
import io.pagewalk.rdma.mm.Credentials;
import io.pagewalk.rdma.mm.Pins;
import io.pagewalk.rdma.mm.UserMemory;
import io.pagewalk.rdma.rxe.RxeMrs;
import io.pagewalk.rdma.umem.UmemResult;
import io.pagewalk.rdma.verbs.RegMrChecks;
import java.util.Set;

/**
 * The memory half of {@code rdma-rxe}: registering and giving back, with the limits and the pins of the processes that
 * do it. The words of a line say what no member says: where a scenario with a process of its own begins, when the
 * process forks, which of two contexts is meant.
 */
final class RxeAdapter implements Adapter {
    private static final int CPU = 0;
    private static final int CHUNK_BYTES = 1 << 16;
    /** Who dropped a capability from the effective set, and kept it permitted. */
    private static final String NOT_EFFECTIVE = "not effective";

    private static final String MAPPED_FIRST = "maps";

    /** The first lines of scenarios; whatever process there was is gone. */
    private static final Set<String> OPENING = Set.of(
            "accumulate: 8 pages",
            "overlap: 8 pages",
            "sub-page: 16 registrations of 1 byte in the same page, no. 1",
            "16 pages, limit 16",
            "fork: parent registers 16 of 16",
            "lower: 16 pages",
            "two devices/contexts: 10 pages by context 1",
            "CLONE_NEWUSER (all capabilities in the new namespace)",
            "root beyond the limit: 32 pages with limit 16",
            "uid 1000 with CAP_IPC_LOCK only",
            "uid 1000, CAP_IPC_LOCK permitted but not effective");

    private final Machine machine;
    private final RxeMrs mrs;
    private final RecordedRegistrations registrations;
    private final Pins pins;
    private final UmemResult result = new UmemResult();
    private RecordedProcess process;
    private RecordedProcess parent;
    private String group = "";
    private long pinnedKibBefore;
    private long acquiredBefore;
    private long releasedBefore;

    RxeAdapter(Question first) {
        machine = Machine.builder()
                .backend("virt")
                .ram(RamMap.of(PhysRange.ofSize(0, 2L << 30), PhysRange.ofSize(4L << 30, 3L << 30)))
                .chunkBytes(CHUNK_BYTES)
                .kernelModel(KernelModel.LINUX_6_12)
                .build();
        mrs = new RxeMrs(IbDevice.withoutDmaDevice(first.text("dev"), machine));
        registrations = new RecordedRegistrations(mrs);
        pins = UserMemory.of(machine).pins();
        process = RecordedProcess.start(machine);
        parent = process;
    }

    @Override
    public Answers boot() {
        throw new IllegalStateException("verbs have no boot lines");
    }

    @Override
    public Answers answer(String kind, Question question) {
        String words = question.text("case");
        enter(question, words);
        if (!question.has("vmpin_kb_before")) {
            return afterExit();
        }
        registrations.releaseDownTo(process, question.number("vmpin_kb_before"));
        pinnedKibBefore = process.pinnedKib();
        if (!words.startsWith("process exits")) {
            countFromHere();
        }
        return switch (kind) {
            case "reg_mr" -> regMr(question.object("in"), words);
            case "dereg_mr" -> deregMr(question.object("in"));
            case "mlock" -> mlock(question.object("in").integer("pages"), words);
            default -> observed(kind, words);
        };
    }

    private void countFromHere() {
        acquiredBefore = pins.acquired();
        releasedBefore = pins.released();
    }

    // ---- who makes the call

    private void enter(Question question, String words) {
        if (!question.text("group").equals(group) || OPENING.contains(words)) {
            startAfresh();
        }
        if (words.equals("fork: in the child")) {
            process = parent.fork();
        } else if (words.equals("fork: parent after the child")) {
            process.exit();
            process = parent;
        }
        process.become(question.integer("uid"), memlock(question));
        if (!question.text("group").equals(group)) {
            group = question.text("group");
            if (group.equals(MAPPED_FIRST)) {
                process.lockAhead();
            }
        }
    }

    private void startAfresh() {
        registrations.releaseAll();
        if (process != parent) {
            process.exit();
        }
        parent.exit();
        process = RecordedProcess.start(machine);
        parent = process;
    }

    private static long memlock(Question question) {
        return question.isNumber("memlock") ? question.number("memlock") : Credentials.RLIM_INFINITY;
    }

    private static int context(String words) {
        return words.contains("context 2") ? 2 : 1;
    }

    // ---- calls

    private Answers regMr(Question in, String words) {
        long userAddr = Long.parseUnsignedLong(in.text("addr").substring(2), 16);
        long length = in.number("len");
        long base = userAddr - (in.has("off") ? in.number("off") : 0);
        map(in.text("map"), base, in.number("map_len"), words);
        int access = Integer.parseUnsignedInt(in.text("access").substring(2), 16);
        long iova = in.has("iova") ? Long.parseUnsignedLong(in.text("iova").substring(2), 16) : userAddr;
        int done = RegMrChecks.check(RxeMrs.CAPS, machine.kernelModel(), userAddr, iova, access);
        if (done == 0) {
            done = mrs.regUserMr(CPU, process.process(), userAddr, length, access, result);
        }
        if (done < 0) {
            return answers(-1, -done, 1, -done);
        }
        registrations.add(done, context(words));
        String key = "0x" + Long.toHexString((long) done << 8);
        return answers(0, 0, 1, 0).text("lkey", key).text("rkey", key);
    }

    private void map(String name, long base, long length, String words) {
        process.map(name, base, length);
        if (words.contains("last unmapped")) {
            process.unmapLast(base, length);
        }
    }

    private Answers deregMr(Question in) {
        registrations.release(Integer.parseUnsignedInt(in.text("lkey").substring(2), 16));
        return answers(0, 0, 1, 0);
    }

    private Answers mlock(int pages, String words) {
        if (words.contains("after munlock")) {
            process.munlock();
        }
        int error = process.mlock(pages);
        return answers(error == 0 ? 0 : -1, -error, 0, 0);
    }

    private Answers observed(String kind, String words) {
        switch (kind) {
            case "capset" -> process.setCapability(!words.contains(NOT_EFFECTIVE));
            case "unshare" -> process.unshareUserNamespace();
            case "close_device" -> registrations.close(context(words));
            case "setrlimit", "status" -> {
                // The limit stands in every line, and who looks changes nothing.
            }
            default -> throw new BadVectorException("unknown op " + kind);
        }
        return answers(0, 0, 0, 0);
    }

    /** A line that says nothing of the process speaks of the system, from before the process began. */
    private Answers afterExit() {
        process.exit();
        registrations.releaseAll();
        return pinned(new Answers().signed("rc", 0));
    }

    // ---- answers

    private Answers answers(int rc, int errno, int kernelCalls, int kernelErrno) {
        return pinned(new Answers()
                .signed("rc", rc)
                .signed("errno", errno)
                .text("err", name(errno))
                .signed("kernel_calls", kernelCalls)
                .text("kernel_err", name(kernelErrno))
                .signed("vmpin_kb_before", pinnedKibBefore)
                .signed("vmpin_kb", process.pinnedKib())
                .signed("vmlck_kb", process.lockedKib()));
    }

    private Answers pinned(Answers answers) {
        return answers.unsigned("pages_pinned", pins.acquired() - acquiredBefore)
                .unsigned("pages_unpinned", pins.released() - releasedBefore);
    }

    private static String name(int errno) {
        return errno == 0 ? "OK" : Errno.name(errno);
    }

    @Override
    public void close() {
        machine.close();
    }
}
