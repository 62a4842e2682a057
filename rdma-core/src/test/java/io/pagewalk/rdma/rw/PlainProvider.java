package io.pagewalk.rdma.rw;

import io.pagewalk.dma.Errno;
import io.pagewalk.dma.FailurePoint;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.rdma.IbDevice;
import io.pagewalk.rdma.SgToPages;
import io.pagewalk.rdma.verbs.DeviceAttributes;
import io.pagewalk.rdma.verbs.DeviceCaps;
import io.pagewalk.rdma.verbs.ErrPtr;
import io.pagewalk.rdma.verbs.Mr;
import io.pagewalk.rdma.verbs.MrType;
import io.pagewalk.rdma.verbs.Owner;
import io.pagewalk.rdma.verbs.Pd;
import io.pagewalk.rdma.verbs.ProviderOp;
import io.pagewalk.rdma.verbs.Qp;
import io.pagewalk.rdma.verbs.QpAttributes;
import io.pagewalk.rdma.verbs.QpInit;
import io.pagewalk.rdma.verbs.QpState;
import io.pagewalk.rdma.verbs.RecvWr;
import io.pagewalk.rdma.verbs.SendWr;
import io.pagewalk.rdma.verbs.VerbsDevice;
import io.pagewalk.rdma.verbs.VerbsProvider;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The least that a driver can be: regions are counted, and queue pairs remember what is posted on them. */
final class PlainProvider implements VerbsProvider {
    static final int LOCAL_DMA_LKEY = 0x7700;

    final IbDevice ibDevice;
    final FailurePoint mrPoint;
    final Set<ProviderOp> ops = EnumSet.of(
            ProviderOp.ALLOC_MR, ProviderOp.MAP_MR_SG, ProviderOp.ALLOC_MR_INTEGRITY, ProviderOp.MAP_MR_SG_PI);
    boolean iwarp;
    int maxQpWr = 1000;
    int maxSgeRd = 4;
    int maxSglRd;
    int pages = 512;
    int piPages = 100;
    int deregError;
    int destroyError;
    int mapPiError;
    int liveMrs;
    int liveQps;
    int nextKey = 1;
    /** What is taken off the number of segments that a region covers. */
    int mapsTooFew;
    /** Of which call on mapping throws; 0 for never. */
    int mapThrowsAt;
    /** What rights regions of all memory were asked for with. */
    final List<Integer> dmaMrAccess = new ArrayList<>();
    /** What was allocated, in order: the type and its sizes. */
    final List<String> allocated = new ArrayList<>();
    /** All regions that were made, in order. */
    final List<PlainMr> regions = new ArrayList<>();

    PlainProvider(IbDevice ibDevice) {
        this.ibDevice = ibDevice;
        mrPoint = ibDevice.machine().failures().point("plain.mr");
    }

    static final class PlainMr extends Mr {
        final int maxPages;
        final List<Long> mapped = new ArrayList<>();

        PlainMr(Pd pd, MrType type, int key, int maxPages) {
            super(pd, type);
            this.maxPages = maxPages;
            setKeys(key, key);
        }

        int map(SgTable sg, int first, int nents, int sgOffset) {
            mapped.clear();
            SgToPages cutter = new SgToPages();
            int covered = cutter.map(sg, first, nents, sgOffset, pageBytes(), page -> {
                mapped.add(page);
                return mapped.size() > maxPages ? -Errno.ENOMEM : 0;
            });
            setRange(cutter.iova(), cutter.lengthBytes());
            return covered;
        }

        void mapPi(long iova, long length, int meta) {
            setRange(iova, length);
            setMetaLength(meta);
        }
    }

    static final class PlainQp extends Qp {
        final List<String> posted = new ArrayList<>();
        final List<List<Long>> segments = new ArrayList<>();
        int postError;

        PlainQp(Pd pd, QpInit init) {
            super(pd, init, 7);
        }

        @Override
        public QpState state() {
            return QpState.RTS;
        }

        @Override
        public int modify(QpState next, QpAttributes attributes) {
            return 0;
        }

        @Override
        public int postSend(SendWr first) {
            for (SendWr wr = first; wr != null; wr = wr.next()) {
                posted.add(text(wr));
                List<Long> flat = new ArrayList<>();
                flat.add(wr.remoteAddr());
                for (int i = 0; i < wr.segments().count(); i++) {
                    flat.add(wr.segments().addr(i));
                    flat.add(wr.segments().lengthBytes(i));
                }
                segments.add(flat);
            }
            return postError;
        }

        static String text(SendWr wr) {
            StringBuilder text = new StringBuilder(wr.opcode() + " " + wr.wrId());
            if (wr.flags() != 0) {
                text.append(" flags ").append(wr.flags());
            }
            if (wr.opcode().isLocal()) {
                text.append(" key ").append(Integer.toHexString(wr.rkey()));
                return wr.mr() == null ? text.toString() : text + " access " + wr.access();
            }
            text.append(" to ")
                    .append(Long.toHexString(wr.remoteAddr()))
                    .append(" key ")
                    .append(wr.rkey());
            if (wr.invalidateKey() != 0) {
                text.append(" inv ").append(Integer.toHexString(wr.invalidateKey()));
            }
            for (int i = 0; i < wr.segments().count(); i++) {
                text.append(" [")
                        .append(Long.toHexString(wr.segments().addr(i)))
                        .append('+')
                        .append(Long.toHexString(wr.segments().lengthBytes(i)))
                        .append(' ')
                        .append(Integer.toHexString(wr.segments().lkey(i)))
                        .append(']');
            }
            return text.toString();
        }

        @Override
        public @Nullable SendWr badSendWr() {
            return null;
        }

        @Override
        public int postRecv(RecvWr wr) {
            return 0;
        }
    }

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
    public boolean isIwarp(int port) {
        return iwarp && port == 1;
    }

    @Override
    public DeviceAttributes attributes() {
        return new DeviceAttributes(
                -1L,
                0x1000,
                0,
                1000,
                0,
                10,
                10,
                maxQpWr,
                64,
                maxSgeRd,
                maxSglRd,
                pages,
                piPages,
                0,
                1 << 31,
                10,
                1000,
                1,
                1,
                LOCAL_DMA_LKEY);
    }

    @Override
    public ErrPtr<Pd> allocPd(VerbsDevice device, Owner owner) {
        return ErrPtr.of(new Pd(device, owner));
    }

    @Override
    public int deallocPd(Pd pd) {
        return 0;
    }

    @Override
    public int deregMr(Mr mr, int cpu) {
        if (deregError == 0) {
            liveMrs--;
        }
        return deregError;
    }

    private ErrPtr<Mr> made(Pd pd, MrType type, int maxPages, String text) {
        allocated.add(text);
        if (mrPoint.fails()) {
            return ErrPtr.err(-Errno.ENOMEM);
        }
        liveMrs++;
        PlainMr mr = new PlainMr(pd, type, nextKey++ << 8, maxPages);
        regions.add(mr);
        return ErrPtr.of(mr);
    }

    @Override
    public ErrPtr<Mr> allocMr(Pd pd, MrType type, int maxNumSg) {
        return made(pd, type, maxNumSg, type + " " + maxNumSg);
    }

    @Override
    public ErrPtr<Mr> allocMrIntegrity(Pd pd, int maxDataEntries, int maxMetaEntries) {
        return made(pd, MrType.INTEGRITY, maxDataEntries, "INTEGRITY " + maxDataEntries + " " + maxMetaEntries);
    }

    @Override
    public ErrPtr<Mr> getDmaMr(Pd pd, int access) {
        dmaMrAccess.add(access);
        return made(pd, MrType.DMA, 0, "DMA");
    }

    @Override
    public ErrPtr<Mr> regDmabufMr(Pd pd, int fd, long offset, long lengthBytes, long iova, int access) {
        ErrPtr<Mr> made = made(pd, MrType.USER, 0, "dmabuf " + fd + " " + offset);
        if (!made.isErr()) {
            ((PlainMr) made.value()).mapPi(iova, lengthBytes, 0);
        }
        return made;
    }

    private void throwIfAsked() {
        if (mapThrowsAt > 0 && --mapThrowsAt == 0) {
            throw new IllegalStateException("a driver's bug");
        }
    }

    @Override
    public int mapMrSg(Mr mr, SgTable sg, int first, int nents, int sgOffset) {
        throwIfAsked();
        return ((PlainMr) mr).map(sg, first, nents, sgOffset) - mapsTooFew;
    }

    @Override
    public int mapMrSgPi(Mr mr, @Nullable SgTable data, int dataNents, @Nullable SgTable meta, int metaNents) {
        throwIfAsked();
        long length = 0;
        for (int i = 0; data != null && i < dataNents; i++) {
            length += data.dmaLengthBytes(i);
        }
        int signatures = 0;
        for (int i = 0; meta != null && i < metaNents; i++) {
            signatures += (int) meta.dmaLengthBytes(i);
        }
        ((PlainMr) mr).mapPi(data == null ? 0 : data.dmaAddr(0), length + signatures, signatures);
        return mapPiError;
    }

    @Override
    public ErrPtr<Qp> createQp(Pd pd, QpInit init) {
        liveQps++;
        return ErrPtr.of(new PlainQp(pd, init));
    }

    @Override
    public int destroyQp(Qp qp) {
        if (destroyError == 0) {
            liveQps--;
        }
        return destroyError;
    }
}
