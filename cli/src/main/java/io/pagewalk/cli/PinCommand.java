package io.pagewalk.cli;

import io.pagewalk.rdma.umem.MemlockBudget;
import io.pagewalk.rdma.umem.Preflight;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.PrintWriter;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code pagewalk pin}: whether buffers can be registered, and what would have to be raised. */
@Command(
        name = "pin",
        mixinStandardHelpOptions = true,
        versionProvider = Version.class,
        header = "Say before a program runs whether its RDMA buffers can be registered, and what to raise if not.",
        description = {
            "",
            "Registering memory pins every page that a buffer touches, and Linux charges whole pages against RLIMIT_MEMLOCK: a buffer of 4096 bytes "
                    + "that does not begin a page is charged two, and the same page registered twice is charged twice. Beyond the limit the "
                    + "whole registration fails with ENOMEM (EPERM when the limit is 0), unless the process has CAP_IPC_LOCK in the "
                    + "initial user namespace, which root in a container usually has not.",
            "",
            "Buffers are registered in the order given, as the kernel would: one that is refused is charged nothing, and those "
                    + "after it are judged all the same. Whether their pages are mapped and writable is not asked."
        },
        optionListHeading = "%nOptions:%n",
        parameterListHeading = "%n",
        footerHeading = "%nColumns of the table:%n",
        footer = {
            "  pages    pages that one buffer pins",
            "  aligned  pages that it would pin if it began a page",
            "  fit      how many of the buffers can be registered",
            "  pinned   pages pinned after that, of which the limit allows as many as the heading says",
            "  outcome  ok, or what the next registration gets",
            "%nExamples:",
            "  pagewalk pin --memlock 64K 4096x9              nine small buffers from malloc, a container's old limit",
            "  pagewalk pin --memlock 8M --pinned 4M 0x7f0000001000+2M",
            "  pagewalk pin --memlock 64K @buffers.txt        one buffer to a line"
        },
        exitCodeListHeading = "%nExit status:%n",
        exitCodeList = {
            " 0:every buffer can be registered",
            " 1:one cannot",
            " 2:wrong usage",
            "66:a file of buffers cannot be read",
            "70:a fault of ours; --debug shows where"
        })
final class PinCommand implements Callable<Integer> {
    private static final long PAGE_BYTES = 4096;

    @Spec
    @SuppressWarnings("NullAway.Init") // picocli sets it before anything runs
    private CommandSpec spec;

    @Parameters(
            paramLabel = "BUFFER",
            arity = "1..*",
            description =
                    "[ADDRESS+]SIZE[xCOUNT]: bytes, decimal or 0x, with K, M, G or T for powers of 1,024. Without an address the buffer lies at "
                            + "the worst offset in its page that --align allows. @FILE reads one buffer to a line; lines that begin with # are skipped.")
    private List<String> buffers = List.of();

    @Option(
            names = "--memlock",
            paramLabel = "SIZE",
            defaultValue = "8M",
            description =
                    "RLIMIT_MEMLOCK: bytes, or unlimited (${DEFAULT-VALUE}, as systemd gives it). ulimit -l shows it in KiB.")
    private String memlock = "8M";

    @Option(
            names = "--pinned",
            paramLabel = "SIZE",
            defaultValue = "0",
            description =
                    "What the process has registered already, in bytes (${DEFAULT-VALUE}). VmPin in /proc/PID/status.")
    private String pinned = "0";

    @Option(names = "--cap-ipc-lock", description = "The process has CAP_IPC_LOCK in the initial user namespace.")
    private boolean capIpcLock;

    @Option(
            names = "--align",
            paramLabel = "SIZE",
            defaultValue = "16",
            description =
                    "Alignment of buffers without an address, a power of two up to 4096 (${DEFAULT-VALUE}, malloc's).")
    private String align = "16";

    @Option(names = "--json", description = "Print everything as JSON instead of a table.")
    private boolean json;

    /** For picocli. */
    PinCommand() {}

    @Override
    public Integer call() throws IOException {
        MemlockBudget budget = new MemlockBudget(limit(), capIpcLock, pinnedPages());
        long alignBytes = alignBytes();
        requireFilesRead();
        List<PinBuffer> parsed = buffers.stream()
                .map(text -> checked("BUFFER", () -> PinBuffer.parse(text, alignBytes)))
                .toList();
        Preflight preflight =
                Preflight.of(budget, parsed.stream().map(PinBuffer::request).toList());
        PrintWriter out = spec.commandLine().getOut();
        if (json) {
            PinJson.print(parsed, preflight, out);
        } else {
            new PinReport(parsed, preflight).print(out);
        }
        return preflight.fits() ? ExitStatus.OK : ExitStatus.MISMATCH;
    }

    /** What still begins with @ is a file that was not found. */
    private void requireFilesRead() throws IOException {
        for (String text : buffers) {
            if (text.startsWith("@")) {
                throw new FileNotFoundException(text.substring(1) + ": no such file");
            }
        }
    }

    private long limit() {
        return memlock.equals("unlimited")
                ? MemlockBudget.UNLIMITED
                : checked("--memlock", () -> ByteSize.parse(memlock));
    }

    private long pinnedPages() {
        long pinnedBytes = checked("--pinned", () -> ByteSize.parse(pinned));
        if (pinnedBytes % PAGE_BYTES != 0) {
            throw wrong("--pinned: " + pinnedBytes + " bytes are not whole pages of " + PAGE_BYTES);
        }
        return Long.divideUnsigned(pinnedBytes, PAGE_BYTES);
    }

    private long alignBytes() {
        long alignBytes = checked("--align", () -> ByteSize.parse(align));
        if (Long.bitCount(alignBytes) != 1 || Long.compareUnsigned(alignBytes, PAGE_BYTES) > 0) {
            throw wrong("--align: " + Long.toUnsignedString(alignBytes) + " is no power of two up to " + PAGE_BYTES);
        }
        return alignBytes;
    }

    /** Something that reads a text of the command line. */
    private interface Reading<T> {
        T read();
    }

    private <T> T checked(String what, Reading<T> reading) {
        try {
            return reading.read();
        } catch (NumberFormatException unreadable) {
            throw wrong(what + ": " + unreadable.getMessage());
        }
    }

    private ParameterException wrong(String message) {
        return new ParameterException(spec.commandLine(), message);
    }
}
