package io.pagewalk.rdma.mm;

import io.pagewalk.dma.Errno;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.Addresses;
import org.jspecify.annotations.Nullable;

/**
 * {@code pin_user_pages_fast}: the whole call. Implements rdma:GUP-1 to GUP-3, GUP-6 and GUP-16, of which the WARN has
 * no place here: a slow phase that gets nothing always knows why.
 */
final class Pinning {
    private final UserMemory memory;
    private final FastPin fast;
    private final SlowPin slow;
    private final PinProbe probe;

    Pinning(UserMemory memory, Machine machine, FaultHandler faults) {
        this.memory = memory;
        fast = new FastPin(memory, machine);
        slow = new SlowPin(memory, fast, faults);
        probe = new PinProbe(memory, fast);
    }

    int pin(Process process, long userAddr, int nrPages, int gupFlags, long[] pfns) {
        if (nrPages < 0 || nrPages > pfns.length) {
            throw new IllegalArgumentException(
                    "cannot pin " + nrPages + " pages into an array of " + pfns.length + " frames");
        }
        AddressSpace space = process.addressSpace();
        space.setHasPinned();
        if (areContradictory(gupFlags)) {
            memory.machine().log().warn("mm.gup", "gup flags " + Addresses.hex(gupFlags) + " contradict each other");
            return -Errno.EINVAL;
        }
        long start = userAddr & Addresses.PAGE_MASK;
        long end = start + ((long) nrPages << Addresses.PAGE_SHIFT);
        if (Addresses.lessThan(end, start)) {
            return -Errno.EOVERFLOW;
        }
        if (Addresses.lessThan(Mapper.TASK_SIZE, end)) {
            return -Errno.EFAULT;
        }
        return inTwoPhases(process, start >>> Addresses.PAGE_SHIFT, nrPages, gupFlags, pfns);
    }

    @Nullable PinRefusal refusal(Process process, long userAddr, long nrPages, int gupFlags) {
        if (nrPages < 0) {
            throw new IllegalArgumentException("cannot pin " + nrPages + " pages");
        }
        if (areContradictory(gupFlags) || (gupFlags & GupFlags.NOFAULT) != 0) {
            throw new IllegalArgumentException(
                    "nothing can be foreseen of gup flags " + Addresses.hex(gupFlags) + ": contradictory, or NOFAULT");
        }
        return probe.probe(process, userAddr, nrPages, gupFlags);
    }

    private static boolean areContradictory(int gupFlags) {
        int longPeer = GupFlags.LONGTERM | GupFlags.PCI_P2PDMA;
        return (gupFlags & longPeer) == longPeer || (gupFlags & GupFlags.GET) != 0;
    }

    private int inTwoPhases(Process process, long firstVpn, int nrPages, int gupFlags, long[] pfns) {
        int done = fast.pin(process.addressSpace(), firstVpn, nrPages, gupFlags, process.protectionKeys(), pfns);
        if (done == nrPages) {
            return done;
        }
        int more = slow.pin(process, firstVpn + done, nrPages - done, gupFlags, pfns, done);
        if (more < 0) {
            return done > 0 ? done : more;
        }
        return done + more;
    }
}
