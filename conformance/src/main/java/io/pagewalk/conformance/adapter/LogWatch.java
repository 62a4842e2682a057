package io.pagewalk.conformance.adapter;

import io.pagewalk.conformance.format.Answers;
import io.pagewalk.dma.KernelLog;
import java.util.List;

/** Looks at what a machine's kernel logs, call by call. */
final class LogWatch {
    private final KernelLog log;
    private long seen;

    LogWatch(KernelLog log) {
        this.log = log;
        latest();
    }

    /** What was logged since the last look. */
    List<Answers.LogEntry> latest() {
        List<KernelLog.Entry> fresh =
                log.entries().stream().filter(e -> e.sequence() >= seen).toList();
        if (!fresh.isEmpty()) {
            seen = fresh.get(fresh.size() - 1).sequence() + 1;
        }
        return fresh.stream()
                .filter(LogWatch::isPrinted)
                .map(e -> new Answers.LogEntry(e.site(), e.kind() == KernelLog.Kind.WARN, e.text()))
                .toList();
    }

    /** The library also keeps what a kernel would not have said. */
    private static boolean isPrinted(KernelLog.Entry entry) {
        return entry.kind() == KernelLog.Kind.WARN || entry.kind() == KernelLog.Kind.MESSAGE;
    }
}
