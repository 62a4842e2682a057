package io.pagewalk.rdma.rxe;

import static io.pagewalk.rdma.RxeWorld.ALL;
import static io.pagewalk.rdma.RxeWorld.BIND;
import static io.pagewalk.rdma.RxeWorld.LW;
import static io.pagewalk.rdma.RxeWorld.PAGE;
import static io.pagewalk.rdma.RxeWorld.RA;
import static io.pagewalk.rdma.RxeWorld.RR;
import static io.pagewalk.rdma.RxeWorld.RW;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.Errno;
import io.pagewalk.dma.KernelBugException;
import io.pagewalk.rdma.AccessFlags;
import io.pagewalk.rdma.RxeWorld;
import io.pagewalk.rdma.qp.MemoryRegions;
import io.pagewalk.rdma.qp.RcQp;
import io.pagewalk.rdma.qp.RemoteRef;
import io.pagewalk.rdma.verbs.FastReg;
import io.pagewalk.rdma.verbs.Mw;
import io.pagewalk.rdma.verbs.PostChecks;
import io.pagewalk.rdma.verbs.QpState;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Windows: how they are bound, used, taken out of use, and what they hold on to (rdma:RXE-46 to RXE-52, RXE-22). */
class RxeMwTest {
    private static final int LENGTH = 4 * PAGE;

    private final RxeWorld world = RxeWorld.start();
    private final long memory = world.buffer(4);
    private final RxeMr mr = world.reg(memory, LENGTH, ALL | BIND);
    private final MemoryRegions keys = world.rxe.regions();
    private final RcQp qp = world.qp();
    private final RxeMw one = world.window(Mw.TYPE_1);
    private final RxeMw two = world.window(Mw.TYPE_2);
    private final RemoteRef ref = new RemoteRef();

    @AfterEach
    void close() {
        world.close();
    }

    private int bind(RxeMw mw, RxeMr region, long addr, long length, int access) {
        return keys.bindWindow(qp, mw.rkey(), mw.rkey() + 1, region.lkey(), addr, length, access);
    }

    private boolean reaches(RcQp asked, int rkey, int access) {
        boolean found = keys.lookupRemote(asked, rkey, access, ref);
        ref.put();
        return found;
    }

    @Test
    @DisplayName("RXE-48: a bind changes the low byte of the key and holds the region")
    void aBindChangesTheKeyAndHoldsTheRegion() {
        int before = one.rkey();
        assertThat(keys.bindWindow(qp, before, 0x12345699, mr.lkey(), memory + 100, 1000, RR | RW))
                .isZero();
        assertThat(one.rkey()).isEqualTo((before & ~0xff) | 0x99);
        assertThat(one.mr()).isSameAs(mr);
        assertThat(one.qp()).as("type 1 is anybody's").isNull();
        assertThat(one.addr()).isEqualTo(memory + 100);
        assertThat(one.lengthBytes()).isEqualTo(1000);
        assertThat(one.access()).isEqualTo(RR | RW);
        assertThat(mr.boundWindows()).isOne();
        assertThat(world.device.deregMr(mr, 0)).as("RXE-22").isEqualTo(-Errno.EINVAL);
        assertThat(mr.isValid()).isTrue();
        assertThat(world.process.addressSpace().pinnedVm()).isEqualTo(4);
        assertThat(bind(one, mr, memory, 64, RR)).as("again").isZero();
        assertThat(mr.boundWindows()).isOne();
        assertThat(bind(one, mr, 0, 0, 0)).as("unbound by length 0").isZero();
        assertThat(mr.boundWindows()).isZero();
        assertThat(one.mr()).isNull();
        assertThat(one.isValid()).isTrue();
        assertThat(world.device.deregMr(mr, 0)).as("a retry is legal, MR-4").isZero();
    }

    @Test
    @DisplayName("RXE-46, RXE-47: what a bind is refused for")
    void whatABindIsRefusedFor() {
        int invalid = -Errno.EINVAL;
        assertThat(keys.bindWindow(qp, one.rkey() ^ 1, 0, mr.lkey(), memory, 8, RR))
                .isEqualTo(invalid);
        assertThat(keys.bindWindow(qp, mr.lkey(), 0, mr.lkey(), memory, 8, RR)).isEqualTo(invalid);
        assertThat(keys.bindWindow(qp, one.rkey(), 0, mr.lkey() ^ 1, memory, 8, RR))
                .isEqualTo(invalid);
        assertThat(keys.bindWindow(qp, one.rkey(), 0, 0, memory, 8, RR)).isEqualTo(invalid);
        assertThat(bind(one, mr, memory, 8, 0x80)).isEqualTo(-Errno.EOPNOTSUPP);
        assertThat(bind(one, mr, memory, 8, RR | AccessFlags.ZERO_BASED)).isEqualTo(invalid);
        assertThat(bind(two, mr, memory, 0, RR)).as("type 2 without a region").isEqualTo(invalid);
        assertThat(bind(one, world.reg(memory, LENGTH, ALL), memory, 8, RR)).isEqualTo(invalid);
        RxeMr readOnly = world.reg(memory, LENGTH, RR | BIND);
        assertThat(bind(one, readOnly, memory, 8, RW)).isEqualTo(invalid);
        assertThat(bind(one, readOnly, memory, 8, RA)).isEqualTo(invalid);
        assertThat(bind(one, readOnly, memory, 8, RR)).isZero();
        assertThat(bind(one, mr, memory - 1, 8, RR)).isEqualTo(invalid);
        assertThat(bind(one, mr, memory + LENGTH - 7, 8, RR)).isEqualTo(invalid);
        assertThat(bind(one, mr, memory + LENGTH - 8, 8, RR)).isZero();
        assertThat(bind(two, mr, 0, LENGTH + 1, RR | AccessFlags.ZERO_BASED)).isEqualTo(invalid);
        assertThat(bind(one, mr, memory + 1, -1, RR)).as("sums may wrap").isZero();
        var stranger = world.otherPd();
        RxeMr foreign = world.reg(stranger, memory, LENGTH, ALL | BIND);
        assertThat(bind(one, foreign, memory, 8, RR)).isEqualTo(invalid);
        RcQp foreignQp = world.qp(stranger, PostChecks.KERNEL);
        assertThat(keys.bindWindow(foreignQp, one.rkey(), 0, mr.lkey(), memory, 8, RR))
                .isEqualTo(invalid);
        assertThat(bind(one, mr, memory, 8, AccessFlags.ON_DEMAND | LW | BIND))
                .as("odd rights")
                .isZero();
    }

    @Test
    @DisplayName("RXE-50, RXE-51: a window gives its own rights, within the region and not within itself")
    void aWindowGivesItsRights() {
        assertThat(reaches(qp, one.rkey(), RR)).as("unbound").isFalse();
        assertThat(bind(one, mr, memory + 64, 8, RR)).isZero();
        assertThat(reaches(qp, one.rkey(), RR)).isTrue();
        assertThat(reaches(qp, one.rkey(), RW)).isFalse();
        assertThat(reaches(qp, one.rkey() ^ 1, RR)).isFalse();
        assertThat(reaches(world.qp(world.otherPd(), PostChecks.KERNEL), one.rkey(), RR))
                .isFalse();
        assertThat(keys.lookupLocal(world.pd, one.rkey(), 0)).as("no lkey").isNull();
        assertThat(keys.lookupRemote(qp, one.rkey(), RR, ref)).isTrue();
        assertThat(ref.region().checkRange(memory, LENGTH)).isZero();
        assertThat(ref.region().checkRange(memory, LENGTH + 1)).isEqualTo(-Errno.EINVAL);
        ref.put();
        assertThat(keys.lookupAgain(one.rkey(), ref)).isTrue();
        ref.put();
        assertThat(keys.lookupAgain(one.rkey() ^ 1, ref)).isFalse();
    }

    @Test
    @DisplayName("RXE-48 to RXE-51: a window of type 2 is its queue pair's, may be zero-based, and is invalidated")
    void aWindowOfTypeTwo() {
        assertThat(bind(two, mr, memory + 64, 8, RR | AccessFlags.ZERO_BASED)).isZero();
        assertThat(two.qp()).isSameAs(qp);
        assertThat(reaches(world.qp(), two.rkey(), RR)).as("another queue pair").isFalse();
        assertThat(keys.lookupRemote(qp, two.rkey(), RR, ref)).isTrue();
        assertThat(ref.addressOffset()).isEqualTo(memory + 64);
        ref.put();
        assertThat(keys.lookupAgain(two.rkey(), ref)).isTrue();
        assertThat(ref.addressOffset()).isEqualTo(memory + 64);
        ref.put();
        assertThat(bind(two, mr, memory, 8, RR)).as("bound already").isEqualTo(-Errno.EINVAL);
        assertThat(keys.invalidate(qp, two.rkey() ^ 1)).isEqualTo(-Errno.EINVAL);
        assertThat(keys.invalidate(qp, one.rkey())).as("type 1").isEqualTo(-Errno.EINVAL);
        assertThat(keys.invalidate(world.qp(), two.rkey()))
                .as("by any queue pair")
                .isZero();
        assertThat(two.isValid()).isFalse();
        assertThat(two.lengthBytes()).isZero();
        assertThat(two.access()).isZero();
        assertThat(two.addr()).isZero();
        assertThat(mr.boundWindows()).isZero();
        assertThat(reaches(qp, two.rkey(), RR)).isFalse();
        assertThat(keys.lookupAgain(two.rkey(), ref)).isFalse();
        assertThat(bind(two, mr, memory, 8, RR)).isZero();
    }

    @Test
    @DisplayName("RXE-49: invalidating a window that is bound to nothing is a null dereference")
    void invalidatingAFreeWindowIsABug() {
        assertThatThrownBy(() -> keys.invalidate(qp, two.rkey()))
                .isInstanceOf(KernelBugException.class)
                .hasMessageContaining("null pointer", "RXE-49");
        RxeWorld.Pair pair = world.connect();
        assertThatThrownBy(() -> pair.left().postSend(world.wr.localInv(1, two.rkey())))
                .isInstanceOf(KernelBugException.class);
        assertThat(pair.left().state()).isEqualTo(QpState.ERR);
        assertThat(world.completions()).containsExactly("1 WR_FLUSH_ERR");
    }

    @Test
    @DisplayName("RXE-52: a window that is destroyed lets go, bound or not, whatever became of its queue pair")
    void aDestroyedWindowLetsGo() {
        assertThat(bind(two, mr, memory, 8, RR)).isZero();
        assertThat(world.device.destroyQp(qp)).isZero();
        assertThat(world.device.deallocMw(two)).isZero();
        assertThat(mr.boundWindows()).isZero();
        assertThat(two.isDestroyed()).isTrue();
        assertThatThrownBy(() -> world.device.deallocMw(two)).isInstanceOf(IllegalStateException.class);
        assertThat(world.device.deregMr(mr, 0)).isZero();
        assertThat(FastReg.incRkey(two.rkey()) >>> 8).isEqualTo(two.index());
    }

    @Test
    @DisplayName("RXE-42: a fast region with windows cannot be invalidated")
    void aRegionWithWindowsCannotBeInvalidated() {
        RxeMr fast = world.fast(1);
        assertThat(keys.registerFast(qp, fast, fast.lkey(), RR | BIND)).isZero();
        assertThat(keys.bindWindow(qp, one.rkey(), 0, fast.lkey(), fast.iova(), 0x10, RR))
                .as("a region of no bytes")
                .isEqualTo(-Errno.EINVAL);
        RxeMr mapped = mr;
        assertThat(bind(one, mapped, memory, 8, RR)).isZero();
        assertThat(keys.invalidate(qp, fast.rkey())).isZero();
    }
}
