package io.pagewalk.rdma.rxe;

import static io.pagewalk.rdma.RxeWorld.ALL;
import static io.pagewalk.rdma.RxeWorld.BIND;
import static io.pagewalk.rdma.RxeWorld.LW;
import static io.pagewalk.rdma.RxeWorld.PAGE;
import static io.pagewalk.rdma.RxeWorld.RR;
import static io.pagewalk.rdma.RxeWorld.RW;
import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.rdma.AccessFlags;
import io.pagewalk.rdma.ReregFlags;
import io.pagewalk.rdma.RxeWorld;
import io.pagewalk.rdma.mm.FileKind;
import io.pagewalk.rdma.mm.Mmap;
import io.pagewalk.rdma.mm.UserFile;
import io.pagewalk.rdma.qp.AtomicWord;
import io.pagewalk.rdma.qp.MemoryRegions;
import io.pagewalk.rdma.qp.RcQp;
import io.pagewalk.rdma.qp.Region;
import io.pagewalk.rdma.qp.RemoteRef;
import io.pagewalk.rdma.verbs.FastReg;
import io.pagewalk.rdma.verbs.Mw;
import io.pagewalk.rdma.verbs.Pd;
import io.pagewalk.rdma.verbs.SendWr;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Keys of rxe between two packets, after their end, and under the choices that a device may differ in. */
class RxeKeyRulesTest {
    private static final int PAGES = 4;
    private static final int LENGTH = PAGES * PAGE;
    private static final int MTU = 1024;

    private final List<String> events = new ArrayList<>();
    private final RxeWorld world =
            RxeWorld.start(RxeConfig.kernel().withDeregFailingOnPostedReceives().withKeyListener(new Notes()));
    private final MemoryRegions keys = world.rxe.regions();
    private final long near = world.buffer(PAGES);
    private final long far = world.buffer(PAGES);
    private final RxeMr local = world.reg(near, LENGTH, LW);
    private final RxeMr remote = world.reg(far, LENGTH, ALL | BIND);
    private final RxeWorld.Pair pair = world.connect();
    private final RcQp other = world.qp();

    private final class Notes implements KeyListener {
        @Override
        public void keyMade(int index, int key, boolean indexSeenBefore) {
            events.add("made " + Integer.toHexString(key) + " of " + index);
        }

        @Override
        public void keyRotated(int index, int oldKey, int newKey, boolean keySeenBefore) {
            events.add(
                    "rotated " + Integer.toHexString(oldKey) + " to " + Integer.toHexString(newKey) + " of " + index);
        }

        @Override
        public void keyGone(int index, int key) {
            events.add("gone " + Integer.toHexString(key) + " of " + index);
        }
    }

    @AfterEach
    void close() {
        world.close();
    }

    // ---- posted receives

    private void postRecv(long id, RxeMr... regions) {
        world.recv.reset(id);
        for (RxeMr region : regions) {
            world.recv.sge(far, 8, region.lkey());
        }
        assertThat(pair.right().postRecv(world.recv)).isZero();
    }

    private void send() {
        assertThat(pair.left().postSend(new SendWr().send(1))).isZero();
    }

    @Test
    @DisplayName(
            "case H20, MR-5: where posted receives hold a region it stays whole until the last one of them is gone")
    void aPostedReceiveHoldsItsRegion() {
        RxeMr named = world.reg(far, PAGE, LW);
        RxeMr free = world.reg(far, PAGE, LW);
        long pins = world.pinsHeld();
        postRecv(1, remote);
        postRecv(2, remote, named);
        assertThat(pair.right().receivesInto(named.lkey())).isTrue();
        assertThat(pair.left().receivesInto(named.lkey())).isFalse();
        assertThat(world.device.deregMr(free, 0)).as("nobody names it").isZero();
        assertThat(world.device.deregMr(named, 0)).isEqualTo(-Errno.EBUSY);
        assertThat(named.isValid()).isTrue();
        assertThat(named.isDestroyed()).isFalse();
        assertThat(world.pinsHeld()).isEqualTo(pins - 1);
        assertThat(keys.lookupLocal(world.pd, named.lkey(), LW)).isSameAs(named);
        named.put();
        send();
        assertThat(world.device.deregMr(named, 0)).as("the other receive waits").isEqualTo(-Errno.EBUSY);
        send();
        assertThat(pair.right().receivesInto(named.lkey())).isFalse();
        assertThat(world.device.deregMr(named, 0)).isZero();
        assertThat(world.pinsHeld()).isEqualTo(pins - 2);
    }

    @Test
    @DisplayName("case H20: receives are found wherever they are in a queue that has come round")
    void aReceiveIsFoundBehindTheEndOfTheQueue() {
        RxeMr named = world.reg(far, PAGE, LW);
        for (int used = 0; used < 40; used++) {
            for (int ahead = 0; ahead < 16; ahead += 5) {
                for (int i = 0; i < ahead; i++) {
                    postRecv(i, remote);
                }
                postRecv(99, named);
                assertThat(pair.right().receivesInto(named.lkey()))
                        .as("%d used, %d ahead", used, ahead)
                        .isTrue();
                for (int i = 0; i <= ahead; i++) {
                    send();
                }
                assertThat(pair.right().receivesInto(named.lkey()))
                        .as("%d used, %d ahead", used, ahead)
                        .isFalse();
            }
            world.completions();
        }
    }

    // ---- keys that are gone

    @Test
    @DisplayName(
            "RXE-5, RXE-42, RXE-46: a key that is gone can neither be invalidated nor bound, and who listens hears")
    void aKeyThatIsGoneLeadsNowhere() {
        RxeMr fast = world.fast(1);
        RxeMw window = world.window(Mw.TYPE_1);
        int key = fast.lkey();
        int windowKey = window.rkey();
        assertThat(events)
                .endsWith(
                        "made " + Integer.toHexString(key) + " of " + fast.index(),
                        "made " + Integer.toHexString(windowKey) + " of " + window.index());
        events.clear();
        assertThat(keys.invalidate(other, key)).isZero();
        assertThat(keys.bindWindow(other, windowKey, windowKey + 1, remote.lkey(), far, 8, RR))
                .isZero();
        int bound = window.rkey();
        assertThat(world.device.deregMr(fast, 0)).isZero();
        assertThat(world.device.deallocMw(window)).isZero();
        assertThat(events)
                .containsExactly(
                        "rotated " + Integer.toHexString(windowKey) + " to " + Integer.toHexString(bound) + " of "
                                + window.index(),
                        "gone " + Integer.toHexString(key) + " of " + fast.index(),
                        "gone " + Integer.toHexString(bound) + " of " + window.index());
        assertThat(keys.invalidate(other, key)).isEqualTo(-Errno.EINVAL);
        assertThat(keys.bindWindow(other, bound, bound + 1, remote.lkey(), far, 8, RR))
                .isEqualTo(-Errno.EINVAL);
        RxeMw second = world.window(Mw.TYPE_2);
        assertThat(world.device.deallocMw(second)).isZero();
        assertThat(keys.bindWindow(other, second.rkey(), 1, remote.lkey(), far, 8, RR))
                .as("it was free")
                .isEqualTo(-Errno.EINVAL);
        assertThat(remote.boundWindows()).isZero();
    }

    // ---- windows

    private RxeMw bound(int type, long addr, int access) {
        RxeMw window = world.window(type);
        assertThat(keys.bindWindow(pair.right(), window.rkey(), window.rkey() + 1, remote.lkey(), addr, 64, access))
                .isZero();
        return window;
    }

    @Test
    @DisplayName("RXE-51: only a window that is based at zero moves the addresses of its user")
    void onlyAZeroBasedWindowMovesAddresses() {
        RxeMw plain = bound(Mw.TYPE_2, far + 64, RR);
        RxeMw zero = bound(Mw.TYPE_2, far + 64, RR | RW | RxeWorld.RA | AccessFlags.ZERO_BASED);
        RemoteRef ref = new RemoteRef();
        for (RxeMw window : List.of(plain, zero)) {
            long offset = window == zero ? far + 64 : 0;
            assertThat(keys.lookupRemote(pair.right(), window.rkey(), RR, ref)).isTrue();
            assertThat(ref.addressOffset()).isEqualTo(offset);
            assertThat(ref.region()).isSameAs(remote);
            ref.put();
            assertThat(keys.lookupAgain(window.rkey(), ref)).isTrue();
            assertThat(ref.addressOffset()).isEqualTo(offset);
            assertThat(ref.region()).isSameAs(remote);
            ref.put();
        }
        byte[] source = world.bytes(near, 32);
        assertThat(pair.left().postSend(world.wr.write(1, 16, zero.rkey()).sge(near, 32, local.lkey())))
                .isZero();
        assertThat(world.bytes(far + 80, 32)).isEqualTo(source);
        world.process.putLong(far + 64, 40);
        assertThat(pair.left().postSend(world.wr.fetchAdd(2, 0, zero.rkey(), 2).sge(near, 8, local.lkey())))
                .isZero();
        assertThat(world.process.getLong(far + 64)).isEqualTo(42);
        assertThat(world.completions()).isEmpty();
    }

    // ---- between two packets of a read

    private void beginRead(long addr, int rkey) {
        pair.link().setStepped(true);
        world.process.writeBytes(near, new byte[LENGTH]);
        assertThat(pair.left()
                        .postSend(world.wr
                                .read(1, addr, rkey)
                                .sge(near, 3 * MTU, local.lkey())
                                .signaled()))
                .isZero();
        assertThat(pair.link().step()).isTrue();
    }

    private void assertReadWasRefusedAfter(int packets) {
        pair.link().run();
        assertThat(world.completions()).containsExactly("1 REM_ACCESS_ERR");
        assertThat(world.bytes(near, packets * MTU)).isEqualTo(world.bytes(far, packets * MTU));
        assertThat(world.bytes(near + (long) packets * MTU, MTU)).containsOnly(0);
    }

    @Test
    @DisplayName("DP-25: a read through a window goes on though the window's rights and queue pair changed")
    void aReadThroughAWindowGoesOnThoughItsRightsWereTaken() {
        RxeMw window = bound(Mw.TYPE_1, far, RR);
        beginRead(far, window.rkey());
        assertThat(keys.bindWindow(other, window.rkey(), window.rkey(), remote.lkey(), far, 8, 0))
                .isZero();
        pair.link().run();
        assertThat(world.completions()).containsExactly("1 RDMA_READ 3072");
        assertThat(world.bytes(near, 3 * MTU)).isEqualTo(world.bytes(far, 3 * MTU));
    }

    @Test
    @DisplayName("DP-25, RXE-51: every packet of a read through a zero-based window counts from the window")
    void everyPacketCountsFromAZeroBasedWindow() {
        RxeMw window = bound(Mw.TYPE_2, far + 64, RR | AccessFlags.ZERO_BASED);
        beginRead(0, window.rkey());
        pair.link().run();
        assertThat(world.completions()).containsExactly("1 RDMA_READ 3072");
        assertThat(world.bytes(near, 3 * MTU)).isEqualTo(world.bytes(far + 64, 3 * MTU));
    }

    @Test
    @DisplayName("DP-25: another key of the window stops a read midway")
    void anotherKeyOfTheWindowStopsARead() {
        RxeMw window = bound(Mw.TYPE_1, far, RR);
        beginRead(far, window.rkey());
        assertThat(keys.bindWindow(other, window.rkey(), window.rkey() + 1, remote.lkey(), far, 64, RR))
                .isZero();
        assertReadWasRefusedAfter(1);
    }

    @Test
    @DisplayName("DP-25, RXE-49: an invalidated window stops a read midway")
    void anInvalidatedWindowStopsARead() {
        RxeMw window = bound(Mw.TYPE_2, far, RR);
        beginRead(far, window.rkey());
        assertThat(pair.link().step()).isTrue();
        assertThat(keys.invalidate(pair.right(), window.rkey())).isZero();
        assertReadWasRefusedAfter(2);
    }

    @Test
    @DisplayName("DP-25, RXE-48: a window that was unbound stops a read midway, and so does one that is gone")
    void anUnboundWindowStopsARead() {
        RxeMw window = bound(Mw.TYPE_1, far, RR);
        beginRead(far, window.rkey());
        assertThat(keys.bindWindow(other, window.rkey(), window.rkey(), 0, 0, 0, 0))
                .isZero();
        assertReadWasRefusedAfter(1);
        assertThat(world.device.deallocMw(window)).isZero();
        RemoteRef ref = new RemoteRef();
        assertThat(keys.lookupAgain(window.rkey(), ref)).isFalse();
    }

    @Test
    @DisplayName("DP-25, RXE-5: a region that is gone stops a read midway")
    void aRegionThatIsGoneStopsARead() {
        beginRead(far, remote.rkey());
        assertThat(world.device.deregMr(remote, 0)).isZero();
        assertReadWasRefusedAfter(1);
    }

    @Test
    @DisplayName("DP-25: another key of the region stops a read midway, and nothing is held by who looked")
    void anotherKeyOfTheRegionStopsARead() {
        RxeMr fast = world.fast(PAGES);
        assertThat(FastReg.mapMrSg(fast, pagesAt(far, PAGES), PAGES, 0, PAGE)).isEqualTo(PAGES);
        assertThat(keys.registerFast(other, fast, fast.lkey(), ALL)).isZero();
        int old = fast.rkey();
        beginRead(fast.iova(), old);
        assertThat(keys.invalidate(other, old)).isZero();
        assertThat(keys.registerFast(other, fast, FastReg.incRkey(old), ALL)).isZero();
        assertReadWasRefusedAfter(1);
        RemoteRef ref = new RemoteRef();
        assertThat(keys.lookupAgain(old, ref)).isFalse();
        assertThat(keys.lookupAgain(fast.rkey(), ref)).isTrue();
        ref.put();
        assertThat(keys.invalidate(other, fast.rkey())).isZero();
        assertThat(keys.lookupAgain(fast.rkey(), ref)).as("state").isFalse();
        assertThat(world.device.deregMr(fast, 0)).isZero();
        assertThat(world.machine.log().count("__rxe_cleanup")).isZero();
    }

    // ---- fast registration

    private SgTable pagesAt(long addr, int pages) {
        SgTable sg = new SgTable(pages);
        for (int i = 0; i < pages; i++) {
            sg.add(world.process.pfnOf(addr + (long) i * PAGE) << 12, PAGE);
        }
        assertThat(world.device.ibDevice().dma().mapSgTable(sg, DmaDirection.BIDIRECTIONAL, 0))
                .isZero();
        return sg;
    }

    @Test
    @DisplayName("RXE-40: a region has the key of its registration, whatever the driver's fields said before")
    void aRegionHasTheKeyOfItsRegistration() {
        RxeMr fast = world.fast(1);
        int next = FastReg.incRkey(fast.lkey());
        assertThat(keys.registerFast(other, fast, next, RR)).isZero();
        assertThat(fast.lkey()).isEqualTo(next);
        assertThat(fast.rkey()).isEqualTo(next);
    }

    @Test
    @DisplayName("RXE-25: a region for flushes to persistence takes pages that persist, and no others")
    void aRegionForFlushesTakesPagesThatPersist() {
        RxeMr fast = world.fast(2);
        SgTable plain = pagesAt(far, 2);
        assertThat(FastReg.mapMrSg(fast, plain, 2, 0, PAGE)).as("not asked for").isEqualTo(2);
        assertThat(keys.registerFast(other, fast, fast.lkey(), RR | AccessFlags.FLUSH_PERSISTENT))
                .isZero();
        assertThat(keys.invalidate(other, fast.lkey())).isZero();
        assertThat(FastReg.mapMrSg(fast, plain, 2, 0, PAGE)).isEqualTo(-Errno.EINVAL);
        try (UserFile file = UserFile.create(world.machine, FileKind.DEVICE_DAX, "pmem", 2 * PAGE)) {
            long pmem = world.process.mmap(0, 2 * PAGE, 3, Mmap.MAP_SHARED, file.forWriting(), 0);
            world.process.putLong(pmem, 1);
            world.process.putLong(pmem + PAGE, 2);
            assertThat(FastReg.mapMrSg(fast, pagesAt(pmem, 2), 2, 0, PAGE)).isEqualTo(2);
            byte[] bytes = new byte[1];
            assertThat(fast.read(fast.iova() + PAGE, bytes, 0, 1)).isZero();
            assertThat(bytes).containsExactly(2);
            SgTable mixed =
                    new SgTable(2).add(world.process.pfnOf(pmem) << 12, PAGE).add(world.process.pfnOf(far) << 12, PAGE);
            assertThat(world.device.ibDevice().dma().mapSgTable(mixed, DmaDirection.BIDIRECTIONAL, 0))
                    .isZero();
            assertThat(FastReg.mapMrSg(fast, mixed, 2, 0, PAGE))
                    .as("the second page does not persist")
                    .isOne();
        }
    }

    // ---- re-registration

    @Test
    @DisplayName("RXE-16: without their flags neither rights nor domain are looked at or change")
    void withoutTheirFlagsRightsAndDomainStay() {
        Pd second = world.otherPd();
        int foreign = AccessFlags.ZERO_BASED;
        assertThat(world.rxe
                        .reregUserMr(local, ReregFlags.PD, 0, world.process, 0, 0, 0, foreign, second)
                        .value())
                .isSameAs(local);
        assertThat(local.access()).isEqualTo(LW);
        assertThat(local.pd()).isSameAs(second);
        assertThat(world.rxe
                        .reregUserMr(local, ReregFlags.ACCESS, 0, world.process, 0, 0, 0, LW | RR, world.pd)
                        .value())
                .isSameAs(local);
        assertThat(local.access()).isEqualTo(LW | RR);
        assertThat(local.pd()).isSameAs(second);
    }

    // ---- the first page of memory

    @Test
    @DisplayName("RXE-14, RXE-36: atomics reach the first bytes of memory as any others")
    void atomicsReachTheFirstBytesOfMemory() {
        RxeMr all = (RxeMr) Objects.requireNonNull(world.pd.internalMr());
        long first = world.machine.layout().physToVirt(0);
        AtomicWord old = new AtomicWord();
        assertThat(world.machine.cpuMemory().isRam(0, 8)).isTrue();
        assertThat(all.atomicWrite(first, 5)).isEqualTo(Region.ATOMIC_DONE);
        assertThat(all.fetchAdd(first, 2, old)).isEqualTo(Region.ATOMIC_DONE);
        assertThat(old.value()).isEqualTo(5);
        assertThat(all.compareAndSwap(first, 7, 9, old)).isEqualTo(Region.ATOMIC_DONE);
        assertThat(old.value()).isEqualTo(7);
        assertThat(world.machine.cpuMemory().getLong(0)).isEqualTo(9);
    }
}
