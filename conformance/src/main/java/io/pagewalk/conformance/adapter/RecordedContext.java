package io.pagewalk.conformance.adapter;

import io.pagewalk.conformance.format.BadVectorException;
import io.pagewalk.rdma.mm.AddressSpace;
import io.pagewalk.rdma.mm.Process;
import io.pagewalk.rdma.verbs.Mr;
import io.pagewalk.rdma.verbs.UverbsFile;
import io.pagewalk.rdma.verbs.VerbsDevice;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/**
 * A device that the recording's program has open: its domain, and the registrations that are alive. Most were given
 * back without a line, and keys are known only when a line names one: their index counts up like ours, from a beginning
 * that no line tells (rdma:RXE-2).
 */
final class RecordedContext {
    private static final int CPU = 0;
    private static final int KEY_BYTE_BITS = 8;
    private static final int NONE = -1;

    private record Registration(int handle, int index, AddressSpace owner) {}

    private final UverbsFile file;
    private final List<Registration> alive = new ArrayList<>();
    private int pd = NONE;

    RecordedContext(VerbsDevice device, Process process) {
        file = UverbsFile.open(device, process);
    }

    UverbsFile file() {
        return file;
    }

    /** The domain, made when it is needed first, and anew when it was given back. */
    int pd() {
        if (pd == NONE) {
            pd = requireHandle(file.allocPd());
        }
        return pd;
    }

    void setPd(int newPd) {
        pd = newPd;
    }

    int deallocPd() {
        int error = file.deallocPd(pd());
        if (error == 0) {
            pd = NONE;
        }
        return error;
    }

    static int requireHandle(int handle) {
        if (handle < 0) {
            throw new BadVectorException("nothing was made: " + handle);
        }
        return handle;
    }

    // ---- registrations

    /** Notes a registration; gives its region. */
    Mr add(int handle, AddressSpace owner) {
        Mr mr = Objects.requireNonNull(file.mr(handle));
        alive.add(new Registration(handle, mr.lkey() >>> KEY_BYTE_BITS, owner));
        return mr;
    }

    /** The latest registration's handle. */
    int latest() {
        return alive.get(alive.size() - 1).handle;
    }

    /** Gives back what a key of the recording names, by how its numbers lie to ours; 0 or a negated errno. */
    int release(int key, int distance) {
        int index = (key >>> KEY_BYTE_BITS) - distance;
        for (Registration each : alive) {
            if (each.index == index) {
                return release(each);
            }
        }
        throw new BadVectorException("no registration that is alive has the key 0x" + Integer.toHexString(key));
    }

    /** How the recording's numbers lie to ours, told by the only registration that is alive. */
    int distance(int key, int otherwise) {
        return alive.size() == 1 ? (key >>> KEY_BYTE_BITS) - alive.get(0).index : otherwise;
    }

    private int release(Registration registration) {
        int error = file.deregMr(CPU, registration.handle);
        if (error == 0) {
            alive.remove(registration);
        }
        return error;
    }

    int releaseLatest() {
        return release(alive.get(alive.size() - 1));
    }

    /** Gives back the latest registration of an address space; false when there is none. */
    boolean releaseLatestOf(AddressSpace owner) {
        for (int i = alive.size() - 1; i >= 0; i--) {
            if (alive.get(i).owner == owner) {
                return release(alive.get(i)) == 0;
            }
        }
        return false;
    }
}
