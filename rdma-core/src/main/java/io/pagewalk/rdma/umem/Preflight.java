package io.pagewalk.rdma.umem;

import io.pagewalk.dma.Errno;
import io.pagewalk.dma.memory.Addresses;
import java.util.ArrayList;
import java.util.List;

/**
 * What would become of registrations one after the other, before any is made: how many pages each pins, which the limit
 * refuses, and what limit all of them need. Those that are refused are charged nothing, as in the kernel.
 *
 * <p>Immutable; asking changes nothing.
 *
 * @param before the budget that the first is judged by
 * @param after the budget once those that fit are made
 * @param outcomes one for each request, in order
 */
public record Preflight(MemlockBudget before, MemlockBudget after, List<Outcome> outcomes) {
    /**
     * Buffers of one size that are registered one by one.
     *
     * @param userAddr first byte of the only or first one; the others lie at the same offset in a page
     * @param sizeBytes length of each, unsigned
     * @param count how many, at least 1
     */
    public record Request(long userAddr, long sizeBytes, long count) {
        /** Checks the count. */
        public Request {
            if (count < 1) {
                throw new IllegalArgumentException("there is no use in asking for " + count + " buffers");
            }
        }
    }

    /**
     * What becomes of a request.
     *
     * @param request the request
     * @param pagesEach pages that one buffer pins
     * @param alignedPagesEach pages that it would pin if it began a page
     * @param fitting how many of the buffers can be registered
     * @param errno the negated errno that the next one gets, 0 when all fit
     * @param pinnedAfter pages pinned once those that fit are registered
     */
    public record Outcome(
            Request request, long pagesEach, long alignedPagesEach, long fitting, int errno, long pinnedAfter) {
        /**
         * Says whether every buffer of the request can be registered.
         *
         * @return true when all fit
         */
        public boolean fits() {
            return errno == 0;
        }

        /**
         * Says whether no limit would let it in: the range leaves 64 bits, has no page, or has more than 2^32-1. With a
         * limit of 0 the errno does not tell, since that is looked at first (rdma:UMEM-4, UMEM-8).
         *
         * @return true when a limit cannot help
         */
        public boolean isWrongInItself() {
            return new MemlockBudget(0, true, 0).judge(request.userAddr, request.sizeBytes) != 0;
        }
    }

    /** Copies the list. */
    public Preflight {
        outcomes = List.copyOf(outcomes);
    }

    /**
     * Judges requests in order.
     *
     * @param budget what there is to begin with
     * @param requests what is to be registered
     * @return the outcomes
     */
    public static Preflight of(MemlockBudget budget, List<Request> requests) {
        List<Outcome> outcomes = new ArrayList<>();
        MemlockBudget left = budget;
        for (Request request : requests) {
            Outcome outcome = judge(left, request);
            outcomes.add(outcome);
            left = left.charged(outcome.pinnedAfter - left.pinnedPages());
        }
        return new Preflight(budget, left, outcomes);
    }

    private static Outcome judge(MemlockBudget budget, Request request) {
        long pages = MemlockBudget.pages(request.userAddr, request.sizeBytes);
        long aligned = MemlockBudget.pages(0, request.sizeBytes);
        int first = budget.judge(request.userAddr, request.sizeBytes);
        if (first != 0) {
            return new Outcome(request, pages, aligned, 0, first, budget.pinnedPages());
        }
        long fitting = Addresses.min(request.count, roomFor(budget, pages));
        long pinned = budget.pinnedPages() + fitting * pages;
        return new Outcome(request, pages, aligned, fitting, fitting == request.count ? 0 : -Errno.ENOMEM, pinned);
    }

    /** How many buffers of so many pages fit. */
    private static long roomFor(MemlockBudget budget, long pages) {
        long most = budget.capIpcLock() ? Long.MAX_VALUE : budget.limitPages();
        // Less than none pinned is room as well; the sum stays below 2^64.
        return Long.divideUnsigned(most - budget.pinnedPages(), pages);
    }

    /**
     * Says whether everything can be registered.
     *
     * @return true when every request fits
     */
    public boolean fits() {
        return outcomes.stream().allMatch(Outcome::fits);
    }

    /**
     * The smallest RLIMIT_MEMLOCK with which everything could be registered that a limit can refuse: requests that are
     * wrong in themselves are left out.
     *
     * @return bytes, unsigned; all ones when no number is large enough
     */
    public long neededLimitBytes() {
        return neededBytes(false);
    }

    /**
     * As {@link #neededLimitBytes()}, if every buffer began a page.
     *
     * @return bytes, unsigned
     */
    public long neededLimitBytesAligned() {
        return neededBytes(true);
    }

    private long neededBytes(boolean aligned) {
        long pages = before.pinnedPages();
        for (Outcome outcome : outcomes) {
            if (!outcome.isWrongInItself()) {
                long each = aligned ? Math.max(1, outcome.alignedPagesEach) : outcome.pagesEach;
                long high = Math.multiplyHigh(each, outcome.request.count);
                long sum = pages + each * outcome.request.count;
                if (high != 0 || sum < pages) {
                    return MemlockBudget.UNLIMITED;
                }
                pages = sum;
            }
        }
        return pages > -1L >>> Addresses.PAGE_SHIFT
                ? MemlockBudget.UNLIMITED
                : Math.max(0, pages) << Addresses.PAGE_SHIFT;
    }
}
