package io.pagewalk.rdma.umem;

import io.pagewalk.dma.Errno;
import io.pagewalk.dma.Machine;
import io.pagewalk.rdma.AccessFlags;
import io.pagewalk.rdma.mm.PinRefusal;
import io.pagewalk.rdma.mm.Process;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What would become of registrations of a process that runs, one after the other, by the kernel's checks in their order
 * and down to the page that could not be pinned. Asking changes nothing: no page is pinned, faulted in or charged.
 *
 * <p>Each page is judged as it is now. Pages that have to be faulted in or moved are taken to be had, and the device to
 * be able to map them. Where no process runs yet, {@link Preflight} judges limits alone.
 *
 * <p>Immutable.
 *
 * @param before the budget that the first is judged by
 * @param after the budget once those that can be are registered
 * @param answers one for each range, in order
 */
public record PinForecast(MemlockBudget before, MemlockBudget after, List<Answer> answers) {
    /**
     * A range of the process's memory.
     *
     * @param userAddr first byte
     * @param sizeBytes length, unsigned
     * @param access rights, of {@link AccessFlags}
     */
    public record Range(long userAddr, long sizeBytes, int access) {}

    /**
     * What a registration would get.
     *
     * @param range the range
     * @param errno 0, or the negated errno of {@link Umems#get}
     * @param reason the check that fails; null when none does
     * @param refusal the page that cannot be pinned; null unless that is what fails
     * @param pages what it is charged; 0 when it fails
     */
    public record Answer(
            Range range,
            int errno,
            @Nullable UmemFailureReason reason,
            @Nullable PinRefusal refusal,
            long pages) {
        /**
         * Says whether the range can be registered.
         *
         * @return true when nothing stands against it
         */
        public boolean fits() {
            return errno == 0;
        }

        @Override
        public String toString() {
            if (reason == null) {
                return pages + " pages";
            }
            return reason + (refusal == null ? " (" + Errno.name(-errno) + ')' : ": " + refusal);
        }
    }

    /** Copies the list. */
    public PinForecast {
        answers = List.copyOf(answers);
    }

    /**
     * Judges ranges in order; those that are refused are charged nothing.
     *
     * @param process whose memory it is, and who would be charged
     * @param ranges what is to be registered
     * @return the answers
     * @throws IllegalStateException when the process has exited
     */
    public static PinForecast of(Process process, List<Range> ranges) {
        MemlockBudget before = MemlockBudget.of(process);
        MemlockBudget left = before;
        List<Answer> answers = new ArrayList<>();
        for (Range range : ranges) {
            Answer answer = judge(process, left, range);
            answers.add(answer);
            left = left.charged(answer.pages);
        }
        return new PinForecast(before, left, answers);
    }

    private static Answer judge(Process process, MemlockBudget budget, Range range) {
        Machine machine = process.machine();
        if (!machine.kernelConfig().infinibandUserMem()) {
            return refused(range, -Errno.EOPNOTSUPP, UmemFailureReason.NO_USER_MEMORY);
        }
        int error = budget.judge(range.userAddr, range.sizeBytes);
        boolean early = error == -Errno.EPERM || MemlockBudget.wraps(range.userAddr, range.sizeBytes);
        if (!early && (range.access & AccessFlags.ON_DEMAND) != 0) {
            return refused(range, -Errno.EOPNOTSUPP, UmemFailureReason.ON_DEMAND);
        }
        if (error != 0) {
            return refused(range, error, reasonOf(error, range));
        }
        long pages = MemlockBudget.pages(range.userAddr, range.sizeBytes);
        int gupFlags = Umems.gupFlags(
                AccessFlags.writable(range.access), machine.kernelModel().forcesReadOnlyRegistrations());
        PinRefusal refusal = process.pinRefusal(range.userAddr, pages, gupFlags);
        return refusal == null
                ? new Answer(range, 0, null, null, pages)
                : new Answer(range, -refusal.cause().errno(), UmemFailureReason.CANNOT_PIN, refusal, 0);
    }

    private static UmemFailureReason reasonOf(int error, Range range) {
        return switch (-error) {
            case Errno.EPERM -> UmemFailureReason.MAY_NOT_LOCK;
            case Errno.ENOMEM -> UmemFailureReason.MEMLOCK_LIMIT;
            default ->
                MemlockBudget.wraps(range.userAddr, range.sizeBytes)
                        ? UmemFailureReason.RANGE_WRAPS
                        : UmemFailureReason.PAGE_COUNT;
        };
    }

    private static Answer refused(Range range, int errno, UmemFailureReason reason) {
        return new Answer(range, errno, reason, null, 0);
    }

    /**
     * Says whether everything can be registered.
     *
     * @return true when every range fits
     */
    public boolean fits() {
        return answers.stream().allMatch(Answer::fits);
    }
}
