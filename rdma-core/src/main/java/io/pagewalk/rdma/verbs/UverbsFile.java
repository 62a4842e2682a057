package io.pagewalk.rdma.verbs;

import io.pagewalk.dma.Errno;
import io.pagewalk.rdma.AccessFlags;
import io.pagewalk.rdma.ReregFlags;
import io.pagewalk.rdma.mm.Process;
import java.util.HashSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A device that processes have opened: the commands of uverbs, on objects that they name by handles. What a command
 * checks before the core and the provider are asked is here. A command answers a handle or 0, or a negated errno, which
 * is -EBADF once the context is gone.
 *
 * <p>The context lives until the last process that has it open closes it or exits; all that is left in it is destroyed
 * then (rdma:UV-10).
 *
 * <p>Implements rdma:PD-7, UV-1 to UV-10, ACC-2. Thread-safe: commands of one file do not overlap.
 */
public final class UverbsFile {
    private static final int ALL_REREG_FLAGS = ReregFlags.TRANS | ReregFlags.PD | ReregFlags.ACCESS;
    private static final int DMABUF_ACCESS = AccessFlags.LOCAL_WRITE
            | AccessFlags.REMOTE_READ
            | AccessFlags.REMOTE_WRITE
            | AccessFlags.REMOTE_ATOMIC
            | AccessFlags.RELAXED_ORDERING;

    private final VerbsDevice device;
    private final Owner owner;
    private final Handles handles = new Handles();
    private final Set<Process> openers = new HashSet<>();

    private UverbsFile(VerbsDevice device, Process process) {
        this.device = device;
        owner = Owner.of(process);
    }

    /**
     * Opens a device.
     *
     * @param device the device
     * @param process who opens it, and whom its objects are shown under
     * @return the context, which closes itself when the process exits
     * @throws IllegalArgumentException when the process is of another machine
     * @throws IllegalStateException when the process has exited
     */
    public static UverbsFile open(VerbsDevice device, Process process) {
        UverbsFile file = new UverbsFile(device, process);
        file.share(process);
        return file;
    }

    /**
     * Lets a process have the file open too, as a child has its parent's files.
     *
     * @param process the process; one that has it open already changes nothing
     * @throws IllegalArgumentException when the process is of another machine
     * @throws IllegalStateException when the process has exited, or the context is gone
     */
    public void share(Process process) {
        if (process.machine() != device.machine()) {
            throw new IllegalArgumentException(process + " is of another machine than " + device);
        }
        synchronized (this) {
            if (handles.isClosed()) {
                throw new IllegalStateException("the context of " + owner + " is closed");
            }
            if (openers.contains(process)) {
                return;
            }
        }
        process.onExit(() -> close(process));
        synchronized (this) {
            openers.add(process);
        }
        if (process.hasExited()) {
            close(process);
        }
    }

    /**
     * Closes the file in one process. The last one takes all objects with it, a domain after what uses it.
     *
     * @param process the process; one that does not have it open changes nothing
     */
    public synchronized void close(Process process) {
        if (openers.remove(process) && openers.isEmpty()) {
            handles.destroyAll(this::destroy);
        }
    }

    /**
     * The device.
     *
     * @return as opened
     */
    public VerbsDevice device() {
        return device;
    }

    /**
     * How many objects there are.
     *
     * @return handles in use
     */
    public synchronized int objects() {
        return handles.size();
    }

    private int destroy(Object object) {
        if (object instanceof Mr mr) {
            return device.deregMr(mr, 0);
        }
        if (object instanceof Mw mw) {
            return device.deallocMw(mw);
        }
        if (object instanceof Qp qp) {
            return device.destroyQp(qp);
        }
        if (object instanceof Cq cq) {
            return device.destroyCq(cq);
        }
        Pd pd = (Pd) object;
        return pd.useCount() == 0 ? device.deallocPd(pd, 0) : -Errno.EBUSY;
    }

    // ---- domains

    /**
     * Makes a domain.
     *
     * @return its handle, or -ENOMEM or what the provider answered
     */
    public synchronized int allocPd() {
        return handles.isClosed() ? -Errno.EBADF : handles.add(device.allocPd(owner));
    }

    /**
     * Destroys a domain.
     *
     * @param pdHandle the domain
     * @return 0; -ENOENT or -EINVAL for a handle; -EBUSY while something is in it (rdma:PD-7)
     */
    public synchronized int deallocPd(int pdHandle) {
        Pd pd = handles.find(pdHandle, Pd.class);
        if (pd == null) {
            return handles.missing(pdHandle);
        }
        if (pd.useCount() != 0) {
            return -Errno.EBUSY;
        }
        return handles.removeIf(pdHandle, device.deallocPd(pd, 0));
    }

    // ---- regions

    /**
     * Registers memory (rdma:UV-1).
     *
     * @param cpu on which the process runs
     * @param process who calls, and whose memory it is
     * @param pdHandle the domain
     * @param userAddr the first byte
     * @param lengthBytes length, unsigned
     * @param hcaVa the address that it gets for the peer
     * @param access rights, of {@link AccessFlags}
     * @return the handle, of which {@link #mr} tells the keys; or a negated errno
     */
    public synchronized int regMr(
            int cpu, Process process, int pdHandle, long userAddr, long lengthBytes, long hcaVa, int access) {
        int error = RegMrChecks.check(device.caps(), device.machine().kernelModel(), userAddr, hcaVa, access);
        if (error != 0) {
            return error;
        }
        Pd pd = handles.find(pdHandle, Pd.class);
        if (pd == null) {
            return handles.missing(pdHandle);
        }
        return handles.add(device.regChecked(pd, cpu, process, userAddr, lengthBytes, hcaVa, access));
    }

    /**
     * Registers a region anew (rdma:UV-2 to UV-4).
     *
     * @param cpu on which the process runs
     * @param process who calls
     * @param mrHandle the region
     * @param flags what changes, of {@link ReregFlags}
     * @param userAddr with TRANS, the first byte
     * @param lengthBytes with TRANS, the length
     * @param hcaVa with TRANS, the address for the peer
     * @param pdHandle with PD, the domain
     * @param access with ACCESS, the rights
     * @return 0, or a negated errno with nothing changed
     * @throws IllegalArgumentException when the process is of another machine; nothing changes then
     * @throws IllegalStateException when the process has exited; nothing changes then
     * @throws IndexOutOfBoundsException when there is no such CPU; nothing changes then
     */
    public synchronized int reregMr(
            int cpu,
            Process process,
            int mrHandle,
            int flags,
            long userAddr,
            long lengthBytes,
            long hcaVa,
            int pdHandle,
            int access) {
        int refused = refuseRereg(flags, userAddr, hcaVa);
        if (refused != 0) {
            return refused;
        }
        Mr mr = handles.find(mrHandle, Mr.class);
        if (mr == null) {
            return handles.missing(mrHandle);
        }
        if (mr.type() == MrType.DM) {
            return -Errno.EINVAL;
        }
        if ((flags & ReregFlags.ACCESS) != 0) {
            int error = RegMrChecks.checkAccess(device.caps(), device.machine().kernelModel(), access);
            if (error != 0) {
                return error;
            }
        }
        Pd newPd = null;
        if ((flags & ReregFlags.PD) != 0) {
            newPd = handles.find(pdHandle, Pd.class);
            if (newPd == null) {
                return handles.missing(pdHandle);
            }
        }
        boolean samePd = newPd == mr.pd();
        int left = samePd ? flags & ~ReregFlags.PD : flags;
        return rereg(mr, mrHandle, left, cpu, process, userAddr, lengthBytes, hcaVa, access, samePd ? null : newPd);
    }

    private static int refuseRereg(int flags, long userAddr, long hcaVa) {
        if (flags == 0) {
            return -Errno.EINVAL;
        }
        if ((flags & ~ALL_REREG_FLAGS) != 0) {
            return -Errno.EOPNOTSUPP;
        }
        return (flags & ReregFlags.TRANS) == 0 ? 0 : RegMrChecks.checkPageOffset(userAddr, hcaVa);
    }

    private int rereg(
            Mr mr,
            int mrHandle,
            int flags,
            int cpu,
            Process process,
            long userAddr,
            long lengthBytes,
            long hcaVa,
            int access,
            @Nullable Pd newPd) {
        if (!device.provider().ops().contains(ProviderOp.REREG_USER_MR)) {
            return -Errno.EOPNOTSUPP;
        }
        requireCaller(cpu, process);
        Pd oldPd = mr.pd();
        ErrPtr<Mr> answer =
                device.provider().reregUserMr(mr, flags, cpu, process, userAddr, lengthBytes, hcaVa, access, newPd);
        if (answer.isErr()) {
            return answer.error();
        }
        if (answer.value() == mr) {
            device.changed(mr, flags, oldPd, hcaVa, lengthBytes);
        } else {
            device.replaced(mr, answer.value(), cpu);
            handles.replace(mrHandle, answer.value());
        }
        return 0;
    }

    /** Before a provider gives up the old registration for a new one that cannot be. */
    private void requireCaller(int cpu, Process process) {
        device.ibDevice().dma(cpu);
        if (process.machine() != device.machine()) {
            throw new IllegalArgumentException(process + " is of another machine than " + device);
        }
        if (process.hasExited()) {
            throw new IllegalStateException(process + " registers nothing any more");
        }
    }

    /**
     * Destroys a region (rdma:UV-5).
     *
     * @param cpu who calls
     * @param mrHandle the region
     * @return 0; -ENOENT or -EINVAL for a handle; what the provider answered, with the handle alive
     */
    public synchronized int deregMr(int cpu, int mrHandle) {
        Mr mr = handles.find(mrHandle, Mr.class);
        if (mr == null) {
            return handles.missing(mrHandle);
        }
        return handles.removeIf(mrHandle, device.deregMr(mr, cpu));
    }

    /**
     * Gives advice on memory (rdma:MR-6).
     *
     * @param pdHandle the domain
     * @param advice what to do
     * @param flags how
     * @param numSge for how many segments
     * @return 0 or a negated errno
     */
    public synchronized int adviseMr(int pdHandle, int advice, int flags, int numSge) {
        Pd pd = handles.find(pdHandle, Pd.class);
        return pd == null ? handles.missing(pdHandle) : device.adviseMr(pd, advice, flags, numSge);
    }

    /**
     * Registers a buffer shared between devices (rdma:UV-7); neither rxe nor the adapters here can.
     *
     * @param pdHandle the domain
     * @param fd the buffer
     * @param offset the first byte in it
     * @param lengthBytes length, unsigned
     * @param iova the address that it gets for the peer
     * @param access rights
     * @return the handle; -EOPNOTSUPP of a provider without such; -EINVAL for other offsets in the page or rights that
     *     such a buffer cannot give; -ENOENT or -EINVAL for a handle; or what the provider answered
     */
    public synchronized int regDmabufMr(int pdHandle, int fd, long offset, long lengthBytes, long iova, int access) {
        if (!device.provider().ops().contains(ProviderOp.REG_DMABUF_MR)) {
            return -Errno.EOPNOTSUPP;
        }
        if (RegMrChecks.checkPageOffset(offset, iova) != 0 || (access & ~DMABUF_ACCESS) != 0) {
            return -Errno.EINVAL;
        }
        int error = RegMrChecks.checkAccess(device.caps(), device.machine().kernelModel(), access);
        if (error != 0) {
            return error;
        }
        Pd pd = handles.find(pdHandle, Pd.class);
        if (pd == null) {
            return handles.missing(pdHandle);
        }
        return handles.add(device.regDmabufChecked(pd, fd, offset, lengthBytes, iova, access));
    }

    // ---- windows

    /**
     * Makes a window (rdma:UV-8).
     *
     * @param pdHandle the domain
     * @param type {@link Mw#TYPE_1} or {@link Mw#TYPE_2}
     * @return the handle, of which {@link #mw} tells the key; or a negated errno
     */
    public synchronized int allocMw(int pdHandle, int type) {
        Pd pd = handles.find(pdHandle, Pd.class);
        return pd == null ? handles.missing(pdHandle) : handles.add(device.allocMw(pd, type));
    }

    /**
     * Destroys a window.
     *
     * @param mwHandle the window
     * @return 0 or a negated errno
     */
    public synchronized int deallocMw(int mwHandle) {
        Mw mw = handles.find(mwHandle, Mw.class);
        return mw == null ? handles.missing(mwHandle) : handles.removeIf(mwHandle, device.deallocMw(mw));
    }

    // ---- queues

    /**
     * Makes a completion queue.
     *
     * @param cqe how many completions it holds
     * @return the handle or a negated errno
     */
    public synchronized int createCq(int cqe) {
        return handles.isClosed() ? -Errno.EBADF : handles.add(device.createCq(owner, cqe));
    }

    /**
     * Destroys a completion queue.
     *
     * @param cqHandle the queue
     * @return 0 or a negated errno; -EBUSY while a queue pair uses it
     */
    public synchronized int destroyCq(int cqHandle) {
        Cq cq = handles.find(cqHandle, Cq.class);
        return cq == null ? handles.missing(cqHandle) : handles.removeIf(cqHandle, device.destroyCq(cq));
    }

    /**
     * Makes a queue pair that user space posts to through its library.
     *
     * @param pdHandle the domain
     * @param sendCqHandle where requests complete
     * @param recvCqHandle where receives complete
     * @param maxWr how many requests and receives it holds
     * @param maxSge how many segments each of them has
     * @return the handle or a negated errno
     */
    public synchronized int createQp(int pdHandle, int sendCqHandle, int recvCqHandle, int maxWr, int maxSge) {
        Pd pd = handles.find(pdHandle, Pd.class);
        Cq sendCq = handles.find(sendCqHandle, Cq.class);
        Cq recvCq = handles.find(recvCqHandle, Cq.class);
        if (pd == null) {
            return handles.missing(pdHandle);
        }
        if (sendCq == null || recvCq == null) {
            return handles.missing(sendCq == null ? sendCqHandle : recvCqHandle);
        }
        if (maxWr < 0 || maxSge < 0) {
            return -Errno.EINVAL;
        }
        QpInit init = QpInit.of(sendCq, recvCq).withSizes(maxWr, maxWr, maxSge).with(PostChecks.USER_LIBRARY);
        return handles.add(device.createQp(pd, init));
    }

    /**
     * Destroys a queue pair.
     *
     * @param qpHandle the queue pair
     * @return 0 or a negated errno
     */
    public synchronized int destroyQp(int qpHandle) {
        Qp qp = handles.find(qpHandle, Qp.class);
        return qp == null ? handles.missing(qpHandle) : handles.removeIf(qpHandle, device.destroyQp(qp));
    }

    // ---- objects

    /**
     * The domain under a handle.
     *
     * @param handle the handle
     * @return the domain, or null when there is none under it
     */
    public synchronized @Nullable Pd pd(int handle) {
        return handles.find(handle, Pd.class);
    }

    /**
     * The region under a handle.
     *
     * @param handle the handle
     * @return the region, or null when there is none under it
     */
    public synchronized @Nullable Mr mr(int handle) {
        return handles.find(handle, Mr.class);
    }

    /**
     * The window under a handle.
     *
     * @param handle the handle
     * @return the window, or null when there is none under it
     */
    public synchronized @Nullable Mw mw(int handle) {
        return handles.find(handle, Mw.class);
    }

    /**
     * The completion queue under a handle.
     *
     * @param handle the handle
     * @return the queue, or null when there is none under it
     */
    public synchronized @Nullable Cq cq(int handle) {
        return handles.find(handle, Cq.class);
    }

    /**
     * The queue pair under a handle.
     *
     * @param handle the handle
     * @return the queue pair, or null when there is none under it
     */
    public synchronized @Nullable Qp qp(int handle) {
        return handles.find(handle, Qp.class);
    }

    @Override
    public String toString() {
        return device + " opened by " + owner;
    }
}
