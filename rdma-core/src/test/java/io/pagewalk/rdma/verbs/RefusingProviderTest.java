package io.pagewalk.rdma.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.Errno;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.rdma.AccessFlags;
import io.pagewalk.rdma.IbDevice;
import io.pagewalk.rdma.ReregFlags;
import io.pagewalk.rdma.mm.Process;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** What the core does with the answers of a driver that no driver here gives. */
class RefusingProviderTest {
    private static final int PAGE = 0x1000;
    private static final int NO_SUCH = 0x7fff_ffff;
    private static final int LW = AccessFlags.LOCAL_WRITE;

    /** A driver that has nothing but what it must have. */
    private static class BareProvider implements VerbsProvider {
        private final IbDevice ibDevice;
        final Set<ProviderOp> ops = EnumSet.noneOf(ProviderOp.class);
        int deallocPdError;
        int deregError;
        final List<Mr> deregistered = new ArrayList<>();

        BareProvider(IbDevice ibDevice) {
            this.ibDevice = ibDevice;
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
            return false;
        }

        @Override
        public DeviceAttributes attributes() {
            return new DeviceAttributes(-1L, PAGE, 0, 100, 0, 10, 10, 16, 4, 4, 0, 16, 0, 0, 1 << 31, 10, 100, 1, 1, 0);
        }

        @Override
        public ErrPtr<Pd> allocPd(VerbsDevice device, Owner owner) {
            return ErrPtr.of(new Pd(device, owner));
        }

        @Override
        public int deallocPd(Pd pd) {
            return deallocPdError;
        }

        @Override
        public int deregMr(Mr mr, int cpu) {
            if (deregError == 0) {
                deregistered.add(mr);
            }
            return deregError;
        }
    }

    private static final class AnyMr extends Mr {
        AnyMr(Pd pd, MrType type, int key) {
            super(pd, type);
            setKeys(key, key);
        }

        void moveTo(Pd newPd) {
            setPd(newPd);
        }
    }

    /** A driver with regions, which re-registers by making another one or by keeping the one that is. */
    private static final class RegionProvider extends BareProvider {
        private final List<String> asked = new ArrayList<>();
        private int nextKey = 1;
        private MrType type = MrType.USER;
        private boolean makesAnother;
        private int reregError;
        private int adviseAnswer;

        RegionProvider(IbDevice ibDevice) {
            super(ibDevice);
            ops.addAll(EnumSet.of(ProviderOp.REG_USER_MR, ProviderOp.REREG_USER_MR));
        }

        @Override
        public ErrPtr<Mr> getDmaMr(Pd pd, int access) {
            return ErrPtr.of(new AnyMr(pd, MrType.DMA, nextKey++ << 8));
        }

        @Override
        public ErrPtr<Mr> regUserMr(
                Pd pd, int cpu, Process process, long userAddr, long lengthBytes, long virtAddr, int access) {
            return ErrPtr.of(new AnyMr(pd, type, nextKey++ << 8));
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
            asked.add("flags " + flags + (newPd == null ? "" : " with a domain"));
            if (reregError != 0) {
                return ErrPtr.err(reregError);
            }
            Pd pd = newPd == null ? mr.pd() : newPd;
            if (makesAnother) {
                return ErrPtr.of(new AnyMr(pd, MrType.USER, nextKey++ << 8));
            }
            ((AnyMr) mr).moveTo(pd);
            return ErrPtr.of(mr);
        }

        @Override
        public int adviseMr(Pd pd, int advice, int flags, int numSge) {
            asked.add("advice " + advice + " flags " + flags + " of " + numSge);
            return adviseAnswer;
        }
    }

    private final Machine machine = Machine.builder()
            .ramBytes(16L << 20)
            .chunkBytes(1 << 16)
            .backend("direct")
            .build();
    private final RegionProvider provider = new RegionProvider(IbDevice.withoutDmaDevice("odd0", machine));
    private final VerbsDevice device = new VerbsDevice(provider);
    private final Process process = Process.create(machine);
    private final UverbsFile file = UverbsFile.open(device, process);
    private final int first = file.allocPd();
    private final int second = file.allocPd();
    private final long memory = process.mmap(4 * PAGE);

    @AfterEach
    void close() {
        machine.close();
    }

    private int reg() {
        return file.regMr(0, process, first, memory, PAGE, memory, LW);
    }

    private int rereg(int mr, int flags, long userAddr, long hcaVa, int domain, int access) {
        return file.reregMr(0, process, mr, flags, userAddr, 2 * PAGE, hcaVa, domain, access);
    }

    private Pd pd(int handle) {
        return Objects.requireNonNull(file.pd(handle));
    }

    private Mr mr(int handle) {
        return Objects.requireNonNull(file.mr(handle));
    }

    private int count(Restrack.Kind kind) {
        return device.restrack().count(kind);
    }

    private List<String> log() {
        return machine.log().entries().stream()
                .map(e -> e.kind() + " " + e.site() + ": " + e.text())
                .toList();
    }

    // ---- domains

    @Test
    @DisplayName("PD-6: a domain that the driver keeps is back in the table, and the kernel is warned")
    void aDomainThatTheDriverKeepsIsBackInTheTable() {
        Pd pd = device.allocPd(0, "target").value();
        var before = device.restrack().entries(Restrack.Kind.PD);
        Mr internal = Objects.requireNonNull(pd.internalMr());
        provider.deallocPdError = -Errno.EBUSY;

        assertThat(device.deallocPd(pd, 0)).isEqualTo(-Errno.EBUSY);
        assertThat(pd.isDestroyed()).isFalse();
        assertThat(device.restrack().entries(Restrack.Kind.PD))
                .isEqualTo(before)
                .hasSize(3);
        assertThat(log()).containsExactly("WARN ib_dealloc_pd: " + pd + " cannot be freed: EBUSY (rdma:PD-6)");
        assertThat(internal.isDestroyed())
                .as("went before the driver was asked")
                .isTrue();
        assertThat(pd.internalMr()).isNull();

        provider.deallocPdError = 0;
        assertThat(device.deallocPd(pd, 0)).as("again").isZero();
        assertThat(pd.isDestroyed()).isTrue();
        assertThat(count(Restrack.Kind.PD)).isEqualTo(2);
        assertThat(provider.deregistered).as("once").containsExactly(internal);
        assertThat(machine.log().warnCount()).isOne();
    }

    @Test
    @DisplayName("PD-6: the region of a domain that the driver keeps is warned of, and the domain goes all the same")
    void aRegionOfADomainThatTheDriverKeepsIsWarnedOf() {
        Pd pd = device.allocPd(0, "target").value();
        Mr internal = Objects.requireNonNull(pd.internalMr());
        provider.deregError = -Errno.EIO;
        assertThat(device.deallocPd(pd, 0)).isZero();
        assertThat(log()).containsExactly("WARN ib_dealloc_pd: " + internal + ": EIO (rdma:PD-6)");
        assertThat(internal.isDestroyed()).isFalse();
        assertThat(pd.internalMr()).isSameAs(internal);
        assertThat(pd.isDestroyed()).isTrue();
        assertThat(count(Restrack.Kind.PD)).isEqualTo(2);
    }

    @Test
    @DisplayName("PD-6, PD-7: a process hears why its domain stays, and keeps the handle")
    void aProcessKeepsTheHandleOfADomainThatStays() {
        provider.deallocPdError = -Errno.EIO;
        assertThat(file.deallocPd(second)).isEqualTo(-Errno.EIO);
        assertThat(file.objects()).isEqualTo(2);
        assertThat(count(Restrack.Kind.PD)).isEqualTo(2);
        provider.deallocPdError = 0;
        assertThat(file.deallocPd(second)).isZero();
        assertThat(file.objects()).isOne();
        assertThat(count(Restrack.Kind.PD)).isOne();
    }

    @Test
    @DisplayName("UV-10, MR-4: what the driver keeps outlives its context, and so does the domain that it is in")
    void whatTheDriverKeepsOutlivesItsContext() {
        int kept = reg();
        Mr mr = mr(kept);
        provider.deregError = -Errno.EIO;
        file.close(process);
        assertThat(file.objects()).as("the region and its domain").isEqualTo(2);
        assertThat(mr.isDestroyed()).isFalse();
        assertThat(mr.pd().useCount()).isOne();
        assertThat(count(Restrack.Kind.PD)).isOne();
    }

    // ---- re-registration

    @Test
    @DisplayName("UV-3: a region that the driver made anew takes the handle of the old one, which is destroyed")
    void aRegionMadeAnewTakesTheHandle() {
        int handle = reg();
        Mr old = mr(handle);
        provider.makesAnother = true;
        assertThat(rereg(handle, ReregFlags.PD, 0, 0, second, 0)).isZero();
        Mr made = mr(handle);
        assertThat(made).isNotSameAs(old);
        assertThat(made.lkey()).isEqualTo(0x200);
        assertThat(old.isDestroyed()).isTrue();
        assertThat(provider.deregistered).containsExactly(old);
        assertThat(made.isDestroyed()).isFalse();
        assertThat(pd(first).useCount()).isZero();
        assertThat(pd(second).useCount()).isOne();
        assertThat(device.restrack().entries(Restrack.Kind.MR))
                .extracting(Restrack.Entry::id)
                .as("the new one's number")
                .containsExactly(1);
        assertThat(file.deregMr(0, handle)).isZero();
        assertThat(pd(second).useCount()).isZero();
        assertThat(count(Restrack.Kind.MR)).isZero();
    }

    @Test
    @DisplayName("UV-3: a region that the driver kept moves its use with PD, and its range with TRANS alone")
    void aRegionThatWasKeptFollowsItsFlags() {
        int handle = reg();
        Mr mr = mr(handle);
        assertThat(rereg(handle, ReregFlags.ACCESS, memory + PAGE, memory + PAGE, first, LW))
                .isZero();
        assertThat(mr.iova()).isEqualTo(memory);
        assertThat(mr.lengthBytes()).isEqualTo(PAGE);
        assertThat(pd(first).useCount()).isOne();
        assertThat(rereg(handle, ReregFlags.TRANS, memory + PAGE, 0x7000_0000, first, LW))
                .isZero();
        assertThat(mr.iova()).isEqualTo(0x7000_0000);
        assertThat(mr.lengthBytes()).isEqualTo(2 * PAGE);
        assertThat(pd(first).useCount()).isOne();
        assertThat(rereg(handle, ReregFlags.PD, memory, memory, second, LW)).isZero();
        assertThat(mr.iova()).isEqualTo(0x7000_0000);
        assertThat(pd(first).useCount()).isZero();
        assertThat(pd(second).useCount()).isOne();
        assertThat(mr(handle)).isSameAs(mr);
        assertThat(provider.deregistered).isEmpty();
        assertThat(count(Restrack.Kind.MR)).isOne();
    }

    @Test
    @DisplayName("UV-2: what no flag asks for is not looked at")
    void whatNoFlagAsksForIsNotLookedAt() {
        int handle = reg();
        int unknown = 1 << 29;
        assertThat(rereg(handle, ReregFlags.ACCESS, 1, 0, NO_SUCH, LW))
                .as("offsets and domain")
                .isZero();
        assertThat(rereg(handle, ReregFlags.PD, 1, 0, second, AccessFlags.REMOTE_WRITE | unknown))
                .as("offsets and rights")
                .isZero();
        assertThat(rereg(handle, ReregFlags.TRANS, 1, PAGE + 1, NO_SUCH, unknown))
                .as("domain and rights")
                .isZero();
        assertThat(provider.asked).containsExactly("flags 4", "flags 2 with a domain", "flags 1");
    }

    @Test
    @DisplayName(
            "UV-4: the flag of a domain that the region is in already is dropped, and the driver asked for nothing")
    void theSameDomainIsNoChange() {
        int handle = reg();
        assertThat(rereg(handle, ReregFlags.PD, 0, 0, first, 0)).isZero();
        assertThat(rereg(handle, ReregFlags.PD | ReregFlags.TRANS, memory, memory, first, 0))
                .isZero();
        assertThat(provider.asked).containsExactly("flags 0", "flags 1");
        assertThat(pd(first).useCount()).isOne();
    }

    @Test
    @DisplayName("UV-3: when the driver refuses the core changes nothing")
    void whatTheDriverRefusesChangesNothing() {
        int handle = reg();
        Mr mr = mr(handle);
        provider.reregError = -Errno.ENOMEM;
        provider.makesAnother = true;
        int all = ReregFlags.TRANS | ReregFlags.PD | ReregFlags.ACCESS;
        assertThat(rereg(handle, all, memory + PAGE, 0, second, LW)).isEqualTo(-Errno.ENOMEM);
        assertThat(mr(handle)).isSameAs(mr);
        assertThat(mr.iova()).isEqualTo(memory);
        assertThat(mr.lengthBytes()).isEqualTo(PAGE);
        assertThat(pd(first).useCount()).isOne();
        assertThat(pd(second).useCount()).isZero();
        assertThat(count(Restrack.Kind.MR)).isOne();
    }

    @Test
    @DisplayName("UV-2: memory of the device itself is not registered anew")
    void memoryOfTheDeviceIsNotRegisteredAnew() {
        provider.type = MrType.DM;
        int handle = reg();
        assertThat(rereg(handle, ReregFlags.ACCESS, 0, 0, first, LW)).isEqualTo(-Errno.EINVAL);
        assertThat(provider.asked).isEmpty();
    }

    // ---- advice, and what is not there

    @Test
    @DisplayName("MR-6: advice needs the call, then segments; the rest is the driver's answer")
    void adviceIsTheDriversMatter() {
        assertThat(file.adviseMr(first, 1, 2, 0)).as("not even for none").isEqualTo(-Errno.EOPNOTSUPP);
        provider.ops.add(ProviderOp.ADVISE_MR);
        provider.adviseAnswer = -Errno.EFAULT;
        assertThat(file.adviseMr(first, 1, 2, 0)).isZero();
        assertThat(provider.asked).isEmpty();
        assertThat(file.adviseMr(first, 1, 2, 3)).isEqualTo(-Errno.EFAULT);
        provider.adviseAnswer = 0;
        assertThat(file.adviseMr(first, 1, 0, 1)).isZero();
        assertThat(provider.asked).containsExactly("advice 1 flags 2 of 3", "advice 1 flags 0 of 1");
    }

    @Test
    @DisplayName("MR-2, UV-7, UV-8, FR-1, FR-4 to FR-7: what a driver does not have is not supported")
    void whatADriverDoesNotHaveIsNotSupported() {
        BareProvider bare = new BareProvider(IbDevice.withoutDmaDevice("bare0", machine));
        VerbsDevice poor = new VerbsDevice(bare);
        Owner owner = Owner.kernel("poor");
        Pd pd = poor.allocPd(owner).value();
        Mr mr = new AnyMr(pd, MrType.INTEGRITY, 0x100);
        Cq cq = poor.createCq(owner, 1).value();
        int unsupported = -Errno.EOPNOTSUPP;
        assertThat(poor.allocPd(0, "needs a region").error()).isEqualTo(unsupported);
        assertThat(poor.createQp(pd, QpInit.of(cq, cq)).error()).isEqualTo(unsupported);
        for (boolean claims : new boolean[] {false, true}) {
            if (claims) {
                bare.ops.addAll(EnumSet.allOf(ProviderOp.class));
            }
            assertThat(poor.regUserMr(pd, 0, process, memory, PAGE, memory, LW).error())
                    .isEqualTo(unsupported);
            assertThat(FastReg.allocMr(pd, MrType.MEM_REG, 1).error()).isEqualTo(unsupported);
            assertThat(FastReg.allocMrIntegrity(pd, 1, 1).error()).isEqualTo(unsupported);
            assertThat(FastReg.mapMrSg(mr, new SgTable(1), 0, 0, PAGE)).isEqualTo(unsupported);
            assertThat(FastReg.mapMrSgPi(mr, null, 0, null, 0, PAGE)).isEqualTo(unsupported);
            assertThat(FastReg.checkMrStatus(mr, 1)).isEqualTo(unsupported);
            assertThat(poor.allocMw(pd, Mw.TYPE_1).error()).isEqualTo(unsupported);
            assertThat(poor.adviseMr(pd, 0, 0, 1)).isEqualTo(unsupported);
        }
        assertThat(bare.deallocMw(new Mw(pd, Mw.TYPE_1) {})).isEqualTo(unsupported);
        assertThat(bare.reregUserMr(mr, 0, 0, process, 0, 0, 0, 0, null).error())
                .isEqualTo(unsupported);
        assertThat(bare.regDmabufMr(pd, 0, 0, 0, 0, 0).error()).isEqualTo(unsupported);
        assertThat(bare.isIwarp(1)).isFalse();
        assertThat(pd.useCount()).isZero();
        assertThat(poor.restrack().count(Restrack.Kind.MR)).isZero();
        assertThat(poor.restrack().count(Restrack.Kind.MW)).isZero();
        assertThat(poor.restrack().count(Restrack.Kind.QP)).isZero();
    }

    @Test
    @DisplayName("FR-6: only a region with signatures is mapped with them; another one keeps its page size")
    void onlyARegionWithSignaturesIsMappedWithThem() {
        provider.ops.add(ProviderOp.MAP_MR_SG_PI);
        Mr mr = mr(reg());
        int before = mr.pageBytes();
        assertThat(FastReg.mapMrSgPi(mr, null, 0, null, 0, 2 * PAGE)).isEqualTo(-Errno.EOPNOTSUPP);
        assertThat(log()).containsExactly("WARN ib_map_mr_sg_pi: " + mr + " is no integrity region (rdma:FR-6)");
        assertThat(mr.pageBytes()).isEqualTo(before);
    }
}
