package io.pagewalk.rdma.i40iw;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.FailurePoint;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.rdma.IbDevice;
import io.pagewalk.rdma.mm.Process;
import io.pagewalk.rdma.qp.RcQp;
import io.pagewalk.rdma.umem.UmemFailure;
import io.pagewalk.rdma.verbs.DeviceAttributes;
import io.pagewalk.rdma.verbs.DeviceCaps;
import io.pagewalk.rdma.verbs.ErrPtr;
import io.pagewalk.rdma.verbs.Mr;
import io.pagewalk.rdma.verbs.MrType;
import io.pagewalk.rdma.verbs.Mw;
import io.pagewalk.rdma.verbs.Owner;
import io.pagewalk.rdma.verbs.Pd;
import io.pagewalk.rdma.verbs.ProviderOp;
import io.pagewalk.rdma.verbs.Qp;
import io.pagewalk.rdma.verbs.QpInit;
import io.pagewalk.rdma.verbs.VerbsDevice;
import io.pagewalk.rdma.verbs.VerbsProvider;
import java.util.BitSet;
import java.util.EnumSet;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The driver of an adapter on a bus, i40iw or its successor irdma, with the adapter under it: stags, page buffer lists
 * in host memory, and a data path that reaches lists and bytes over the device's bus on any backend.
 *
 * <p>Failure points: {@code i40iw.mr}, {@code i40iw.mw}, {@code i40iw.qp}, those of {@link CommandQueue} and
 * {@link PbleManager}. Implements rdma:STAG-4, STAG-5, IRD-1 to IRD-9, ACC-5. Thread-safe.
 *
 * <p>Differs from Linux: requests run on a link in this process, by the rules of the data path that rxe has (rdma:DP-4
 * to DP-34); what the driver would write into a fast registration when it is posted is read when it runs.
 */
public final class I40iwDevice implements VerbsProvider, AutoCloseable {
    private static final long MAX_MR_SIZE = 1L << 45;
    private static final int MAX_QPS = 1 << 16;
    private static final int MAX_QP_WR = 2048;
    private static final int MAX_INLINE = 48;
    private static final int MAX_CQE = 1 << 20;
    private static final int MAX_RD_ATOM = 127;
    private static final int FIRST_QP = 2;
    private static final int PAGE_SIZES = 0x20_1000;

    private final IbDevice ibDevice;
    private final I40iwConfig config;
    private final boolean first;
    private final DeviceAttributes attributes;
    private final Set<ProviderOp> ops;
    private final HmcMemory memory;
    private final PbleManager pbles;
    private final StagTable stags;
    private final CommandQueue commands;
    private final AdapterStags adapter;
    private final I40iwRegions regions;
    private final FailurePoint mwPoint;
    private final FailurePoint qpPoint;
    private final BitSet qpNums = new BitSet();

    private I40iwDevice(IbDevice ibDevice, Device dmaDevice, I40iwConfig config) {
        this.ibDevice = ibDevice;
        this.config = config;
        first = config.generation() == Generation.I40IW;
        Set<ProviderOp> both = EnumSet.of(ProviderOp.REG_USER_MR, ProviderOp.ALLOC_MR, ProviderOp.MAP_MR_SG);
        if (!first) {
            both.add(ProviderOp.REREG_USER_MR);
            both.add(ProviderOp.ALLOC_MW);
        }
        ops = Set.copyOf(both);
        attributes = attributesOf(config);
        var failures = ibDevice.machine().failures();
        memory = new HmcMemory(dmaDevice.dma());
        pbles = new PbleManager(memory, config.fpmBase(), config.maxPbles(), config.generation(), failures);
        Random random = new Random(config.seed());
        stags = new StagTable(config.maxMr(), random::nextInt);
        commands = new CommandQueue(config.commandSlots(), failures);
        adapter = new AdapterStags(config, dmaDevice, stags, pbles, commands);
        regions = new I40iwRegions(config, ibDevice, stags, pbles, adapter);
        mwPoint = failures.point("i40iw.mw");
        qpPoint = failures.point("i40iw.qp");
    }

    private static DeviceAttributes attributesOf(I40iwConfig config) {
        return new DeviceAttributes(
                MAX_MR_SIZE,
                PAGE_SIZES | (config.gigabytePages() ? 1 << 30 : 0),
                0,
                config.maxMr(),
                config.generation() == Generation.I40IW ? 0 : config.maxMr(),
                MAX_QPS,
                MAX_QPS,
                MAX_QP_WR,
                config.maxSge(),
                config.maxSgeRd(),
                config.maxSglRd(),
                config.maxFastRegPages(),
                0,
                MAX_INLINE,
                1 << 31,
                MAX_QPS,
                MAX_CQE,
                MAX_RD_ATOM,
                MAX_RD_ATOM,
                0);
    }

    /**
     * Puts an adapter on a device of a machine and opens it.
     *
     * @param name its name as an RDMA device
     * @param dmaDevice what does its DMA
     * @param config what it has
     * @return the device, as users of the verbs see it; -ENOMEM when there is no memory for its first page buffers
     */
    public static ErrPtr<VerbsDevice> add(String name, Device dmaDevice, I40iwConfig config) {
        Objects.requireNonNull(config, "config");
        I40iwDevice driver = new I40iwDevice(IbDevice.withDmaDevice(name, dmaDevice), dmaDevice, config);
        int error = driver.pbles.open();
        if (error != 0) {
            driver.close();
            return ErrPtr.err(error);
        }
        return ErrPtr.of(new VerbsDevice(driver));
    }

    /**
     * Frees the host memory of its page buffers. Regions that are left lead nowhere then, and cannot be mapped or put
     * to use; new ones with page buffers are refused with -ENOMEM.
     */
    @Override
    public void close() {
        pbles.close();
        memory.close();
    }

    // ---- what it is

    @Override
    public IbDevice ibDevice() {
        return ibDevice;
    }

    @Override
    public Set<ProviderOp> ops() {
        return ops;
    }

    @Override
    public DeviceCaps caps() {
        return new DeviceCaps(false, false, false);
    }

    @Override
    public boolean hasLocalDmaLkey() {
        return true;
    }

    @Override
    public DeviceAttributes attributes() {
        return attributes;
    }

    @Override
    public boolean isIwarp(int port) {
        return config.iwarp();
    }

    /**
     * Its stags.
     *
     * @return the driver's table
     */
    public StagTable stags() {
        return stags;
    }

    /**
     * Its page buffer list entries.
     *
     * @return their manager
     */
    public PbleManager pbles() {
        return pbles;
    }

    /**
     * Its commands.
     *
     * @return their requests
     */
    public CommandQueue commands() {
        return commands;
    }

    /**
     * Why memory could not be pinned for the latest registration that failed so.
     *
     * @return the cause, or null when none failed so
     */
    public @Nullable UmemFailure lastFailure() {
        return regions.lastFailure();
    }

    // ---- domains

    @Override
    public ErrPtr<Pd> allocPd(VerbsDevice device, Owner owner) {
        return ErrPtr.of(new I40iwPd(device, owner));
    }

    @Override
    public int deallocPd(Pd pd) {
        return 0;
    }

    // ---- regions

    @Override
    public ErrPtr<Mr> getDmaMr(Pd pd, int access) {
        return regions.getDmaMr(pd, access);
    }

    @Override
    public ErrPtr<Mr> regUserMr(
            Pd pd, int cpu, Process process, long userAddr, long lengthBytes, long virtAddr, int access) {
        return regions.regUserMr(pd, cpu, process, userAddr, lengthBytes, virtAddr, access);
    }

    @Override
    public ErrPtr<Mr> reregUserMr(
            Mr mr,
            int flags,
            int cpu,
            Process process,
            long userAddr,
            long lengthBytes,
            long virtAddr,
            int access,
            @Nullable Pd newPd) {
        return regions.reregUserMr((I40iwMr) mr, flags, cpu, process, userAddr, lengthBytes, virtAddr, access, newPd);
    }

    @Override
    public int deregMr(Mr mr, int cpu) {
        return regions.deregMr((I40iwMr) mr, cpu);
    }

    @Override
    public ErrPtr<Mr> allocMr(Pd pd, MrType type, int maxNumSg) {
        return regions.allocMr(pd, type, maxNumSg);
    }

    @Override
    public int mapMrSg(Mr mr, SgTable sg, int firstSegment, int nents, int sgOffset) {
        return ((I40iwMr) mr).map(sg, firstSegment, nents, sgOffset);
    }

    // ---- windows

    @Override
    public ErrPtr<Mw> allocMw(Pd pd, int type) {
        int stag = mwPoint.fails() ? 0 : stags.create();
        if (stag == 0) {
            return ErrPtr.err(-Errno.ENOMEM);
        }
        int error = adapter.allocWindow(pd, stag);
        if (error != 0) {
            stags.free(stag);
            return ErrPtr.err(error);
        }
        return ErrPtr.of(new I40iwMw(pd, type, stag));
    }

    @Override
    public int deallocMw(Mw mw) {
        int error = adapter.deallocStag(mw.rkey());
        if (error == 0) {
            stags.free(mw.rkey());
        }
        return error;
    }

    // ---- queue pairs

    @Override
    public ErrPtr<Qp> createQp(Pd pd, QpInit init) {
        if (init.excessOver(attributes) != null) {
            return ErrPtr.err(-Errno.EINVAL);
        }
        int number = qpPoint.fails() ? -1 : takeQpNum();
        if (number < 0) {
            return ErrPtr.err(-Errno.ENOMEM);
        }
        return ErrPtr.of(
                new RcQp(pd, init, number, adapter, RcQp.statuses(ibDevice.machine(), config.idealStatuses())));
    }

    private int takeQpNum() {
        synchronized (qpNums) {
            int number = qpNums.nextClearBit(FIRST_QP);
            if (number >= MAX_QPS) {
                return -1;
            }
            qpNums.set(number);
            return number;
        }
    }

    @Override
    public int destroyQp(Qp qp) {
        ((RcQp) qp).shutDown();
        synchronized (qpNums) {
            qpNums.clear(qp.qpNum());
        }
        return 0;
    }

    @Override
    public String toString() {
        return config.generation() + " device " + ibDevice;
    }
}
