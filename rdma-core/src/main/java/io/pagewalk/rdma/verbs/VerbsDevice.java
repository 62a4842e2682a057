package io.pagewalk.rdma.verbs;

import io.pagewalk.dma.Errno;
import io.pagewalk.dma.FailurePoint;
import io.pagewalk.dma.Machine;
import io.pagewalk.rdma.AccessFlags;
import io.pagewalk.rdma.IbDevice;
import io.pagewalk.rdma.ReregFlags;
import io.pagewalk.rdma.mm.Process;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A device as users of the verbs in the kernel see it: what the core does before and after it asks the provider. User
 * space comes through {@link UverbsFile}, which checks more and then comes here too.
 *
 * <p>Failure points: {@code ib.pd}, {@code ib.cq}, {@code ib.sig_attrs}; those of the provider and of memory besides.
 *
 * <p>Implements rdma:PD-1 to PD-6, MR-1, MR-4 to MR-7. Fast registration is {@link FastReg}. Thread-safe, as far as two
 * threads do not destroy what the other one uses; the kernel trusts its own users with that, and so does this class: an
 * object that is destroyed already is refused with an exception, which changes nothing.
 */
public final class VerbsDevice {
    private final VerbsProvider provider;
    private final Restrack restrack = new Restrack();
    private final FailurePoint pdPoint;
    private final FailurePoint sigPoint;
    private final RwRules rwRules;
    private final KernelQps kernelQps;
    private final CompletionQueues cqs;

    /**
     * Registers a device. What it holds is part of the machine's {@link Machine#held} from then on.
     *
     * @param provider its driver
     */
    public VerbsDevice(VerbsProvider provider) {
        this.provider = Objects.requireNonNull(provider, "provider");
        Machine machine = provider.ibDevice().machine();
        pdPoint = machine.failures().point("ib.pd");
        sigPoint = machine.failures().point("ib.sig_attrs");
        cqs = new CompletionQueues(this);
        rwRules = new RwRules(provider);
        kernelQps = new KernelQps(this, rwRules);
        machine.addHeldSource(new HeldVerbs(name(), restrack));
    }

    /**
     * The name.
     *
     * @return that of the device below
     */
    public String name() {
        return ibDevice().name();
    }

    /**
     * The device below.
     *
     * @return the provider's
     */
    public IbDevice ibDevice() {
        return provider.ibDevice();
    }

    /**
     * The machine.
     *
     * @return where the device is
     */
    public Machine machine() {
        return ibDevice().machine();
    }

    /**
     * The driver.
     *
     * @return as registered
     */
    public VerbsProvider provider() {
        return provider;
    }

    /**
     * What rights the device can give.
     *
     * @return its capabilities
     */
    public DeviceCaps caps() {
        return provider.caps();
    }

    /**
     * The device's limits.
     *
     * @return its attributes
     */
    public DeviceAttributes attributes() {
        return provider.attributes();
    }

    /**
     * When rdma_rw takes regions here.
     *
     * @return always the same
     */
    public RwRules rwRules() {
        return rwRules;
    }

    /**
     * The live table of objects.
     *
     * @return always the same
     */
    public Restrack restrack() {
        return restrack;
    }

    // ---- domains

    /**
     * {@code ib_alloc_pd}: a domain for part of the kernel.
     *
     * @param flags 0 or {@link Pd#UNSAFE_GLOBAL_RKEY}
     * @param kernelName who asks
     * @return the domain, or -ENOMEM or what the provider answered
     */
    public ErrPtr<Pd> allocPd(int flags, String kernelName) {
        ErrPtr<Pd> made = allocPd(Owner.kernel(kernelName));
        if (made.isErr()) {
            return made;
        }
        int error = giveKeys(made.value(), flags);
        if (error != 0) {
            deallocPd(made.value(), 0);
            return ErrPtr.err(error);
        }
        return made;
    }

    /** A domain without keys, as processes have them. */
    ErrPtr<Pd> allocPd(Owner owner) {
        if (pdPoint.fails()) {
            return ErrPtr.err(-Errno.ENOMEM);
        }
        ErrPtr<Pd> made = provider.allocPd(this, owner);
        if (!made.isErr()) {
            made.value().setTracked(restrack.add(Restrack.Kind.PD, owner, () -> 0));
        }
        return made;
    }

    /** The device's key, or a region of all memory (rdma:PD-2, PD-3). */
    private int giveKeys(Pd pd, int flags) {
        boolean global = (flags & Pd.UNSAFE_GLOBAL_RKEY) != 0;
        if (global) {
            machine().log().message("ib_alloc_pd", "enabling unsafe global rkey for " + pd.owner() + " (rdma:PD-3)");
        }
        boolean hasOwn = provider.hasLocalDmaLkey();
        if (hasOwn) {
            pd.setLocalDmaLkey(provider.attributes().localDmaLkey());
        }
        int access = (hasOwn ? 0 : AccessFlags.LOCAL_WRITE)
                | (global ? AccessFlags.REMOTE_READ | AccessFlags.REMOTE_WRITE : 0);
        if (access == 0) {
            return 0;
        }
        ErrPtr<Mr> mr = provider.getDmaMr(pd, access);
        if (!mr.isErr()) {
            pd.setInternalMr(mr.value(), !hasOwn, global);
        }
        return mr.error();
    }

    /**
     * {@code ib_dealloc_pd}: looks at no use count (rdma:PD-6).
     *
     * @param pd the domain
     * @param cpu who calls
     * @return 0, or what the provider answered, with the domain alive and the kernel warned
     * @throws IllegalArgumentException when it is another device's; nothing changes then
     * @throws IllegalStateException when it was destroyed already; nothing changes then
     */
    public int deallocPd(Pd pd, int cpu) {
        requireUsable(pd);
        ibDevice().dma(cpu);
        warnOfUsers(pd);
        Restrack.Entry entry = pd.tracked();
        untrack(entry);
        Mr internal = pd.internalMr();
        if (internal != null) {
            dropInternal(pd, internal, cpu);
        }
        int error = provider.deallocPd(pd);
        if (error != 0) {
            if (entry != null) {
                restrack.restore(entry);
            }
            machine().log().warn("ib_dealloc_pd", pd + " cannot be freed: " + Errno.name(-error) + " (rdma:PD-6)");
            return error;
        }
        pd.markDestroyed();
        return 0;
    }

    /** A 5.x kernel warns of users, and goes on. */
    private void warnOfUsers(Pd pd) {
        if (machine().kernelModel().hasTheFirstRxe() && pd.useCount() != 0) {
            machine().log().warn("ib_dealloc_pd", pd + " has " + pd.useCount() + " users (rdma:PD-6)");
        }
    }

    private void dropInternal(Pd pd, Mr internal, int cpu) {
        int error = provider.deregMr(internal, cpu);
        if (error != 0) {
            machine().log().warn("ib_dealloc_pd", internal + ": " + Errno.name(-error) + " (rdma:PD-6)");
            return;
        }
        internal.markDestroyed();
        pd.clearInternalMr();
    }

    // ---- regions

    /**
     * {@code ib_reg_user_mr}: registers memory of a process for part of the kernel. Rights and offsets in the page are
     * not checked (rdma:MR-1).
     *
     * @param pd the domain
     * @param cpu on which the process runs
     * @param process whose memory it is
     * @param userAddr its first byte
     * @param lengthBytes length, unsigned
     * @param virtAddr the address that it gets for the peer
     * @param access rights, of {@link AccessFlags}
     * @return the region; -EINVAL for ON_DEMAND on a device without it; or what the provider answered
     */
    public ErrPtr<Mr> regUserMr(
            Pd pd, int cpu, Process process, long userAddr, long lengthBytes, long virtAddr, int access) {
        requireUsable(pd);
        if ((access & AccessFlags.ON_DEMAND) != 0 && !caps().onDemandPaging()) {
            return ErrPtr.err(-Errno.EINVAL);
        }
        return regChecked(pd, cpu, process, userAddr, lengthBytes, virtAddr, access);
    }

    /** Behind the checks of either entry. */
    ErrPtr<Mr> regChecked(Pd pd, int cpu, Process process, long userAddr, long lengthBytes, long virtAddr, int access) {
        if (!provider.ops().contains(ProviderOp.REG_USER_MR)) {
            return ErrPtr.err(-Errno.EOPNOTSUPP);
        }
        ErrPtr<Mr> made = provider.regUserMr(pd, cpu, process, userAddr, lengthBytes, virtAddr, access);
        if (!made.isErr()) {
            Mr mr = made.value();
            mr.setRange(virtAddr, lengthBytes);
            track(mr);
        }
        return made;
    }

    /** Behind the checks of user space; the provider sets address and length (rdma:UV-7). */
    ErrPtr<Mr> regDmabufChecked(Pd pd, int fd, long offset, long lengthBytes, long iova, int access) {
        ErrPtr<Mr> made = provider.regDmabufMr(pd, fd, offset, lengthBytes, iova, access);
        if (!made.isErr()) {
            track(made.value());
        }
        return made;
    }

    void track(Mr mr) {
        mr.pd().use();
        mr.setTracked(restrack.add(mr));
    }

    /**
     * {@code ib_dereg_mr}. Outstanding work and {@link Mr#needsInvalidation} are not looked at (rdma:MR-5).
     *
     * @param mr the region
     * @param cpu who calls
     * @return 0, or what the provider answered: the region lives then, but is no longer in the table (rdma:MR-4)
     * @throws IllegalArgumentException when it is another device's, or the region of all memory that goes with its
     *     domain (rdma:PD-4); nothing changes then
     * @throws IllegalStateException when it was destroyed already, or waits in a pool (rdma:POOL-5); nothing changes
     *     then
     */
    public int deregMr(Mr mr, int cpu) {
        Pd pd = mr.pd();
        requireMine(pd.device(), mr);
        requireAlive(mr.isDestroyed(), mr);
        requireFree(mr);
        ibDevice().dma(cpu);
        untrack(mr.tracked());
        mr.setTracked(null);
        int error = provider.deregMr(mr, cpu);
        if (error == 0) {
            mr.markDestroyed();
            mr.setSigAttrs(null);
            pd.unuse();
        }
        return error;
    }

    /** Of this device, and not the region of all memory of a domain. */
    void requirePoolable(Mr mr) {
        requireMine(mr.pd().device(), mr);
        requireNotInternal(mr);
    }

    private static void requireNotInternal(Mr mr) {
        if (mr.pd().internalMr() == mr) {
            throw new IllegalArgumentException(mr + " goes with its " + mr.pd() + " (rdma:PD-4)");
        }
    }

    /** Not one that somebody else will end. */
    private static void requireFree(Mr mr) {
        requireNotInternal(mr);
        if (mr.isPooled()) {
            throw new IllegalStateException(mr + " waits in a pool, which ends it (rdma:POOL-5)");
        }
    }

    /** The provider changed a region: the core follows (rdma:UV-3). */
    void changed(Mr mr, int flags, Pd oldPd, long hcaVa, long lengthBytes) {
        if ((flags & ReregFlags.PD) != 0) {
            oldPd.unuse();
            mr.pd().use();
        }
        if ((flags & ReregFlags.TRANS) != 0) {
            mr.setRange(hcaVa, lengthBytes);
        }
    }

    /** The provider made another region in the place of one (rdma:UV-3). */
    void replaced(Mr old, Mr made, int cpu) {
        track(made);
        deregMr(old, cpu);
    }

    /**
     * {@code ib_advise_mr}.
     *
     * @param pd the domain
     * @param advice what to do
     * @param flags how
     * @param numSge for how many segments
     * @return 0, -EOPNOTSUPP, or what the provider answered (rdma:MR-6)
     * @throws IllegalArgumentException when the domain is another device's; nothing changes then
     * @throws IllegalStateException when it was destroyed already; nothing changes then
     */
    public int adviseMr(Pd pd, int advice, int flags, int numSge) {
        requireUsable(pd);
        if (!provider.ops().contains(ProviderOp.ADVISE_MR)) {
            return -Errno.EOPNOTSUPP;
        }
        return numSge == 0 ? 0 : provider.adviseMr(pd, advice, flags, numSge);
    }

    // ---- windows

    /**
     * Makes a window.
     *
     * @param pd the domain
     * @param type {@link Mw#TYPE_1} or {@link Mw#TYPE_2}
     * @return the window; -EOPNOTSUPP of a provider without such; -EINVAL for another type; or what the provider
     *     answered (rdma:UV-8)
     */
    public ErrPtr<Mw> allocMw(Pd pd, int type) {
        requireUsable(pd);
        if (!provider.ops().contains(ProviderOp.ALLOC_MW)) {
            return ErrPtr.err(-Errno.EOPNOTSUPP);
        }
        if (type != Mw.TYPE_1 && type != Mw.TYPE_2) {
            return ErrPtr.err(-Errno.EINVAL);
        }
        ErrPtr<Mw> made = provider.allocMw(pd, type);
        if (!made.isErr()) {
            pd.use();
            made.value().setTracked(restrack.add(made.value()));
        }
        return made;
    }

    /**
     * Destroys a window.
     *
     * @param mw the window
     * @return 0, or what the provider answered
     * @throws IllegalArgumentException when it is another device's; nothing changes then
     * @throws IllegalStateException when it was destroyed already; nothing changes then
     */
    public int deallocMw(Mw mw) {
        requireMine(mw.pd().device(), mw);
        requireAlive(mw.isDestroyed(), mw);
        int error = provider.deallocMw(mw);
        if (error == 0) {
            mw.markDestroyed();
            untrack(mw.tracked());
            mw.pd().unuse();
        }
        return error;
    }

    // ---- queues

    /**
     * Makes a completion queue.
     *
     * @param owner who asks
     * @param cqe how many completions it holds
     * @return the queue; -EINVAL for a number that it cannot be, or more queues than may be; -ENOMEM
     */
    public ErrPtr<Cq> createCq(Owner owner, int cqe) {
        return cqs.create(owner, cqe);
    }

    /**
     * Destroys a completion queue.
     *
     * @param cq the queue
     * @return 0, or -EBUSY while a queue pair uses it (rdma:PD-7)
     * @throws IllegalArgumentException when it is another device's; nothing changes then
     * @throws IllegalStateException when it was destroyed already; nothing changes then
     */
    public int destroyCq(Cq cq) {
        requireUsable(cq);
        return cqs.destroy(cq);
    }

    /**
     * Makes a queue pair; one of the kernel's for contexts of rdma_rw gets room and regions for them (rdma:RW-1).
     *
     * @param pd the domain
     * @param init how it shall be
     * @return the queue pair, or what the provider answered; what stopped its regions. When it asks for more than the
     *     device has, the machine's log says of what at {@code ib_create_qp}
     * @throws IllegalArgumentException when a completion queue is another device's, or a process asks for contexts of
     *     rdma_rw; nothing changes then
     */
    public ErrPtr<Qp> createQp(Pd pd, QpInit init) {
        requireUsable(pd);
        requireUsable(init.sendCq());
        requireUsable(init.recvCq());
        return kernelQps.create(pd, init);
    }

    /**
     * Destroys a queue pair; what is posted on it is gone, and so are the regions of its pools. Those that are out are
     * leaked, with one warning for ever (rdma:POOL-6).
     *
     * @param qp the queue pair
     * @return 0; -EBUSY while something uses it; or what the provider answered
     * @throws IllegalArgumentException when it is another device's; nothing changes then
     * @throws IllegalStateException when it was destroyed already; nothing changes then
     */
    public int destroyQp(Qp qp) {
        requireMine(qp.pd().device(), qp);
        requireAlive(qp.isDestroyed(), qp);
        return kernelQps.destroy(qp);
    }

    // ---- helpers

    void untrack(Restrack.@Nullable Entry entry) {
        if (entry != null) {
            restrack.remove(entry);
        }
    }

    FailurePoint sigPoint() {
        return sigPoint;
    }

    void requireUsable(Pd pd) {
        requireMine(pd.device(), pd);
        requireAlive(pd.isDestroyed(), pd);
    }

    private void requireUsable(Cq cq) {
        requireMine(cq.device(), cq);
        requireAlive(cq.isDestroyed(), cq);
    }

    private void requireMine(VerbsDevice device, Object object) {
        if (device != this) {
            throw new IllegalArgumentException(object + " is not of " + name());
        }
    }

    static void requireAlive(boolean destroyed, Object object) {
        if (destroyed) {
            throw new IllegalStateException(object + " was destroyed already");
        }
    }

    @Override
    public String toString() {
        return name();
    }
}
