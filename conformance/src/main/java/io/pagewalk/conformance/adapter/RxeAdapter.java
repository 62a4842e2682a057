package io.pagewalk.conformance.adapter;

import io.pagewalk.conformance.format.Answers;
import io.pagewalk.conformance.format.BadVectorException;
import io.pagewalk.conformance.format.Question;
import io.pagewalk.dma.KernelModel;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.PhysRange;
import io.pagewalk.dma.memory.RamMap;
import io.pagewalk.rdma.mm.Credentials;
import io.pagewalk.rdma.mm.Pins;
import io.pagewalk.rdma.mm.UserMemory;
import io.pagewalk.rdma.rxe.RxeDevice;
import io.pagewalk.rdma.verbs.Mr;
import io.pagewalk.rdma.verbs.VerbsDevice;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;

/**
 * {@code rdma-rxe}: who makes each call, and the calls that register memory and give it back. The words of a line say
 * what no member says: where a scenario with a process of its own begins, when the process forks, which of two contexts
 * is meant. Other commands are {@link RecordedCommands}, work requests {@link RecordedTransfers}.
 */
final class RxeAdapter implements Adapter {
    private static final int CPU = 0;
    private static final int CHUNK_BYTES = 1 << 16;
    private static final int KIB_PER_PAGE = 4;
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

    /** Groups in which some regions have no line but the one that gives them back; none has more pages than this. */
    private static final Set<String> WITH_HIDDEN_REGIONS = Set.of("pd", "raw");

    private static final long MOST_HIDDEN_PAGES = 4;

    private final Machine machine;
    private final VerbsDevice device;
    private final Pins pins;
    private final Map<Integer, RecordedContext> contexts = new HashMap<>();
    private RecordedProcess process;
    private RecordedProcess parent;
    private RecordedKeys keys;
    private RecordedCommands commands;
    private RecordedTransfers transfers;
    private String group = "";
    private int distance;
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
        device = RxeDevice.add(first.text("dev"), machine);
        device.allocPd(0, "in-kernel user").value();
        pins = UserMemory.of(machine).pins();
        process = RecordedProcess.start(machine);
        parent = process;
        keys = new RecordedKeys(context(1), process);
        commands = new RecordedCommands(context(1), process, keys);
        transfers = new RecordedTransfers(context(1), process, keys);
    }

    @Override
    public Answers boot() {
        throw new IllegalStateException("verbs have no boot lines");
    }

    @Override
    public Answers answer(String kind, Question question) {
        String words = question.text("case");
        enter(question, words);
        if (RxeFamily.isTransfer(kind)) {
            return transfers.answer(kind, question, words);
        }
        if (words.startsWith("after the exit of a child")) {
            return afterExit(question);
        }
        if (question.has("vmpin_kb_before")) {
            bringAbout(question.number("vmpin_kb_before"));
        }
        if (!words.startsWith("process exits")) {
            countFromHere();
        }
        return switch (kind) {
            case "reg_mr" -> registered(question, words);
            case "dereg_mr" -> deregMr(question, words);
            case "mlock" -> mlock(question, words);
            case "capset", "unshare", "close_device", "setrlimit", "status" -> observed(kind, question, words);
            default -> pinned(commands.answer(kind, question, words), question).done();
        };
    }

    /** What happened without a line: the latest registrations were given back, or memory was registered. */
    private void bringAbout(long pinnedKib) {
        for (int number : new int[] {2, 1}) {
            RecordedContext context = contexts.get(number);
            while (context != null && process.pinnedKib() > pinnedKib) {
                context = context.releaseLatestOf(process.space()) ? context : null;
            }
        }
        long hiddenPages = (pinnedKib - process.pinnedKib()) / KIB_PER_PAGE;
        if (WITH_HIDDEN_REGIONS.contains(group) && hiddenPages > 0 && hiddenPages <= MOST_HIDDEN_PAGES) {
            commands.registerHidden(hiddenPages);
        }
        pinnedKibBefore = process.pinnedKib();
    }

    private void countFromHere() {
        acquiredBefore = pins.acquired();
        releasedBefore = pins.released();
    }

    // ---- who makes the call

    private void enter(Question question, String words) {
        boolean newGroup = !question.text("group").equals(group);
        if (newGroup || OPENING.contains(words)) {
            startAfresh();
        }
        if (words.equals("fork: in the child")) {
            process = parent.fork();
            context(1).file().share(process.process());
        } else if (words.equals("fork: parent after the child")) {
            process.exit();
            process = parent;
        }
        process.become(question.integer("uid"), memlock(question));
        if (newGroup) {
            group = question.text("group");
            if (group.equals(MAPPED_FIRST)) {
                process.lockAhead();
            }
        }
    }

    /** A process that ends takes its contexts with it. */
    private void startAfresh() {
        if (process != parent) {
            process.exit();
        }
        parent.exit();
        contexts.clear();
        process = RecordedProcess.start(machine);
        parent = process;
        openFirst();
    }

    private void openFirst() {
        keys = new RecordedKeys(context(1), process);
        commands = new RecordedCommands(context(1), process, keys);
        transfers = new RecordedTransfers(context(1), process, keys);
    }

    private RecordedContext context(int number) {
        return contexts.computeIfAbsent(number, n -> new RecordedContext(device, parent.process()));
    }

    private static long memlock(Question question) {
        return question.isNumber("memlock") ? question.number("memlock") : Credentials.RLIM_INFINITY;
    }

    private RecordedContext context(String words) {
        return context(words.contains("context 2") ? 2 : 1);
    }

    // ---- regions

    private Answers registered(Question question, String words) {
        Question in = question.object("in");
        if (in.has("how")) {
            return pinned(commands.regMrRaw(question, words), question).done();
        }
        if (in.has("max_mr")) {
            return pinned(commands.registerAll(question), question).done();
        }
        if (words.equals("after dereg of the last one")) {
            return commands.registerAgain(question).done();
        }
        return regMr(in, question, words);
    }

    private Answers regMr(Question in, Question question, String words) {
        long userAddr = hex(in, "addr");
        long base = userAddr - (in.has("off") ? in.number("off") : 0);
        map(in.text("map"), base, in.number("map_len"), words);
        int access = (int) hex(in, "access");
        long iova = in.has("iova") ? hex(in, "iova") : userAddr;
        RecordedContext context = context(words);
        int handle =
                context.file().regMr(CPU, process.process(), context.pd(), userAddr, in.number("len"), iova, access);
        RxeAnswers answers = new RxeAnswers(question);
        if (handle < 0) {
            return pinned(answers.result(-1, -handle), question).done();
        }
        Mr mr = context.add(handle, process.space());
        answers.result(0, 0).key("lkey", mr.lkey()).key("rkey", mr.rkey());
        return pinned(answers, question).done();
    }

    static long hex(Question in, String name) {
        return Long.parseUnsignedLong(in.text(name).substring(2), 16);
    }

    private void map(String name, long base, long length, String words) {
        process.map(name, base, length);
        if (words.contains("last unmapped")) {
            process.unmapLast(base, length);
        }
    }

    private Answers deregMr(Question question, String words) {
        Question in = question.object("in");
        int error;
        if (in.has("how")) {
            error = commands.deregRaw(words);
            return pinned(new RxeAnswers(question).result(error == 0 ? 0 : -1, -error), question)
                    .done();
        }
        int key = (int) hex(in, "lkey");
        if (keys.knows(key)) {
            error = context(1).file().deregMr(CPU, keys.handle(key));
        } else {
            distance = context(1).distance(key, distance);
            error = context(1).release(key, distance);
        }
        return pinned(new RxeAnswers(question).result(-error, -error), question).done();
    }

    // ---- states

    private Answers mlock(Question question, String words) {
        if (words.contains("after munlock")) {
            process.munlock();
        }
        int error = process.mlock(question.object("in").integer("pages"));
        return pinned(withoutKernel(question, error == 0 ? 0 : -1, -error), question)
                .done();
    }

    private Answers observed(String kind, Question question, String words) {
        switch (kind) {
            case "capset" -> process.setCapability(!words.contains(NOT_EFFECTIVE));
            case "unshare" -> process.unshareUserNamespace();
            case "close_device" -> close(words.contains("context 2") ? 2 : 1);
            case "setrlimit", "status" -> {
                // The limit stands in every line, and who looks changes nothing.
            }
            default -> throw new BadVectorException("unknown op " + kind);
        }
        return pinned(withoutKernel(question, 0, 0), question).done();
    }

    private void close(int number) {
        context(number).file().close(parent.process());
        contexts.remove(number);
        if (number == 1) {
            openFirst();
        }
    }

    /** A line that says nothing of the process speaks of the system, from before the process began. */
    private Answers afterExit(Question question) {
        process.exit();
        return pinned(new RxeAnswers(question).number("rc", 0), question).done();
    }

    private static RxeAnswers withoutKernel(Question question, int rc, int errno) {
        return new RxeAnswers(question)
                .number("rc", rc)
                .number("errno", errno)
                .text("err", RxeAnswers.name(errno))
                .number("kernel_calls", 0)
                .text("kernel_err", "OK");
    }

    private RxeAnswers pinned(RxeAnswers answers, Question question) {
        if (question.has("vmpin_kb_before")) {
            answers.asked("vmpin_kb_before", pinnedKibBefore);
        }
        return answers.number("vmpin_kb", process.pinnedKib())
                .number("vmlck_kb", process.lockedKib())
                .number("pages_pinned", pins.acquired() - acquiredBefore)
                .number("pages_unpinned", pins.released() - releasedBefore);
    }

    @Override
    public void close() {
        machine.close();
    }
}
