package io.pagewalk.conformance.adapter;

import io.pagewalk.conformance.format.BadVectorException;
import io.pagewalk.rdma.mm.AddressSpace;
import io.pagewalk.rdma.rxe.RxeMr;
import io.pagewalk.rdma.rxe.RxeMrs;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;

/**
 * The registrations that the recording has alive. Most were given back without a line, and keys are known only when a
 * line names one: their index counts up like ours, from a beginning that no line tells (rdma:RXE-2).
 */
final class RecordedRegistrations {
    private static final int CPU = 0;
    private static final int KEY_BYTE_BITS = 8;

    private record Registration(int index, int context, AddressSpace owner) {}

    private final RxeMrs mrs;
    private final List<Registration> alive = new ArrayList<>();
    private int distance;

    RecordedRegistrations(RxeMrs mrs) {
        this.mrs = mrs;
    }

    void add(int index, int context) {
        RxeMr mr = mrs.find(index);
        if (mr == null) {
            throw new IllegalStateException("nothing was registered under the number " + index);
        }
        alive.add(new Registration(index, context, mr.umem().owner()));
    }

    /** Gives back what a key of the recording names; the only one alive tells how its numbers lie to ours. */
    void release(int key) {
        int recorded = key >>> KEY_BYTE_BITS;
        if (alive.size() == 1) {
            distance = recorded - alive.get(0).index;
        }
        int index = recorded - distance;
        if (releaseWhere(r -> r.index == index) == 0) {
            throw new BadVectorException("no registration that is alive has the key 0x" + Integer.toHexString(key));
        }
    }

    /** Gives back the latest registrations of a process until no more is charged than a line says. */
    void releaseDownTo(RecordedProcess process, long pinnedKib) {
        for (int i = alive.size() - 1; i >= 0 && process.pinnedKib() > pinnedKib; i--) {
            Registration latest = alive.get(i);
            if (latest.owner == process.space()) {
                mrs.deregMr(CPU, latest.index);
                alive.remove(i);
            }
        }
    }

    /** Closes a context. */
    void close(int context) {
        releaseWhere(r -> r.context == context);
    }

    void releaseAll() {
        releaseWhere(r -> true);
    }

    private int releaseWhere(Predicate<Registration> chosen) {
        List<Registration> gone = alive.stream().filter(chosen).toList();
        gone.forEach(r -> mrs.deregMr(CPU, r.index));
        alive.removeAll(gone);
        return gone.size();
    }
}
