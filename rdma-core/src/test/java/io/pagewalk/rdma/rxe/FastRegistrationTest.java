package io.pagewalk.rdma.rxe;

import static io.pagewalk.rdma.RxeWorld.ALL;
import static io.pagewalk.rdma.RxeWorld.LW;
import static io.pagewalk.rdma.RxeWorld.PAGE;
import static io.pagewalk.rdma.RxeWorld.RR;
import static io.pagewalk.rdma.RxeWorld.RW;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.KernelModel;
import io.pagewalk.dma.memory.Zone;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.rdma.RxeWorld;
import io.pagewalk.rdma.qp.RcQp;
import io.pagewalk.rdma.qp.RemoteRef;
import io.pagewalk.rdma.verbs.FastReg;
import io.pagewalk.rdma.verbs.QpState;
import io.pagewalk.rdma.verbs.VerbsDevice;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/**
 * Regions that lists are mapped to, and keys that come into use and out of it (rdma:FR-4 to FR-7, RXE-23 to RXE-44).
 */
class FastRegistrationTest {
    private static final int PAGES = 4;

    private final List<String> events = new ArrayList<>();
    private RxeWorld world = RxeWorld.start(RxeConfig.kernel().withKeyListener(new Notes()));
    private long memory = world.buffer(PAGES);

    private final class Notes implements KeyListener {
        @Override
        public void keyMade(int index, int key, boolean indexSeenBefore) {
            events.add("made " + index + (indexSeenBefore ? " again" : ""));
        }

        @Override
        public void keyRotated(int index, int oldKey, int newKey, boolean keySeenBefore) {
            events.add("rotated " + index + " by " + (newKey - oldKey & 0xff) + (keySeenBefore ? " again" : ""));
        }

        @Override
        public void keyGone(int index, int key) {
            events.add("gone " + index);
        }
    }

    @AfterEach
    void close() {
        world.close();
    }

    private void restart(RxeWorld fresh) {
        world.close();
        world = fresh;
        memory = world.buffer(PAGES);
    }

    /** Whole pages of the process's memory, in the given order, mapped for the device. */
    private SgTable list(int... pages) {
        SgTable sg = new SgTable(pages.length);
        for (int page : pages) {
            sg.add(world.process.pfnOf(memory + (long) page * PAGE) << 12, PAGE);
        }
        return mapped(sg);
    }

    private SgTable mapped(SgTable sg) {
        assertThat(world.device.ibDevice().dma().mapSgTable(sg, DmaDirection.BIDIRECTIONAL, 0))
                .isZero();
        return sg;
    }

    private int registerOn(RcQp qp, RxeMr mr, int key, int access) {
        return world.rxe.regions().registerFast(qp, mr, key, access);
    }

    private byte[] read(RxeMr mr, long offset, int length) {
        byte[] bytes = new byte[length];
        assertThat(mr.read(mr.iova() + offset, bytes, 0, length)).isZero();
        return bytes;
    }

    @Test
    @DisplayName("EX-6, RXE-11, RXE-40, RXE-42, RXE-44: a region goes from FREE to VALID and back, under new keys")
    void aKeyComesIntoUseAndOutOfIt() {
        RxeMr mr = world.fast(PAGES);
        RcQp qp = world.qp();
        assertThat(FastReg.mapMrSg(mr, list(2, 0, 3), 3, 0, PAGE)).isEqualTo(3);
        int old = mr.lkey();
        int next = FastReg.incRkey(old);
        FastReg.updateFastRegKey(mr, next);
        assertThat(mr.lkey()).isEqualTo(next);
        assertThat(mr.rkey()).isEqualTo(next);
        assertThat(mr.privateLkey()).as("the device does not know yet").isEqualTo(old);
        assertThat(registerOn(qp, mr, next, ALL)).isZero();
        assertThat(mr.isValid()).isTrue();
        assertThat(mr.privateLkey()).isEqualTo(next);
        assertThat(read(mr, 0, 2 * PAGE))
                .startsWith(world.bytes(memory + 2 * PAGE, PAGE))
                .endsWith(world.bytes(memory, PAGE));
        assertThat(registerOn(qp, mr, next, ALL)).as("not FREE").isEqualTo(-Errno.EINVAL);
        assertThat(world.rxe.regions().lookupLocal(world.pd, old, 0)).isNull();
        assertThat(world.rxe.regions().lookupLocal(world.pd, next, LW)).isSameAs(mr);
        mr.put();
        assertThat(world.rxe.regions().invalidate(qp, old)).as("another key").isEqualTo(-Errno.EINVAL);
        assertThat(world.rxe.regions().invalidate(qp, next)).isZero();
        assertThat(mr.isFree()).isTrue();
        assertThat(mr.lkey()).as("kept").isEqualTo(next);
        assertThat(world.rxe.regions().lookupLocal(world.pd, next, 0)).isNull();
        assertThat(world.rxe.regions().invalidate(qp, next)).as("again").isZero();
        assertThat(registerOn(qp, mr, next, RR)).isZero();
        assertThat(world.rxe.regions().lookupLocal(world.pd, next, LW))
                .as("RXE-34")
                .isNull();
        assertThat(events).containsExactly("made 1", "made 2", "rotated 2 by 1");
    }

    @Test
    @DisplayName("RXE-40: domain and number of the key must fit")
    void domainAndNumberMustFit() {
        RxeMr mr = world.fast(1);
        RcQp stranger = world.qp(world.otherPd(), io.pagewalk.rdma.verbs.PostChecks.KERNEL);
        assertThat(registerOn(stranger, mr, mr.rkey(), ALL)).isEqualTo(-Errno.EINVAL);
        assertThat(registerOn(world.qp(), mr, mr.rkey() + 0x100, ALL)).isEqualTo(-Errno.EINVAL);
        assertThat(registerOn(world.qp(), mr, mr.rkey(), -1))
                .as("rights are not looked at")
                .isZero();
        RxeMr gone = world.fast(1);
        assertThat(world.device.deregMr(gone, 0)).isZero();
        assertThat(registerOn(world.qp(), gone, gone.rkey(), 0)).isEqualTo(-Errno.EINVAL);
        try (RxeWorld other = RxeWorld.start()) {
            assertThat(registerOn(world.qp(), other.fast(1), mr.rkey(), 0)).isEqualTo(-Errno.EINVAL);
        }
    }

    @Test
    @DisplayName("RXE-42: only regions for fast registration can be invalidated, by the key that names them")
    void onlyFastRegionsCanBeInvalidated() {
        RcQp qp = world.qp();
        RxeMr user = world.reg(memory, PAGE, ALL);
        assertThat(world.rxe.regions().invalidate(qp, user.rkey())).isEqualTo(-Errno.EINVAL);
        assertThat(world.rxe.regions().invalidate(qp, world.pd.localDmaLkey())).isEqualTo(-Errno.EINVAL);
        assertThat(world.rxe.regions().invalidate(qp, 0)).isEqualTo(-Errno.EINVAL);
        RxeMr mr = world.fast(1);
        registerOn(qp, mr, mr.lkey(), 0);
        assertThat(world.rxe.regions().invalidate(qp, mr.lkey())).isZero();
    }

    @Test
    @DisplayName("FR-7: rotation comes round after 256 keys, which is shown, and the first key leads there again")
    void rotationComesRound() {
        RxeMr mr = world.fast(1);
        RcQp qp = world.qp();
        int firstKey = mr.lkey();
        int key = firstKey;
        events.clear();
        for (int i = 0; i < 256; i++) {
            key = FastReg.incRkey(key);
            assertThat(registerOn(qp, mr, key, ALL)).isZero();
            assertThat(world.rxe.regions().lookupLocal(world.pd, firstKey, 0) != null)
                    .as("rotation %d", i + 1)
                    .isEqualTo(i == 255);
            assertThat(world.rxe.regions().invalidate(qp, key)).isZero();
        }
        assertThat(key).isEqualTo(firstKey);
        assertThat(events).hasSize(256).endsWith("rotated 2 by 1", "rotated 2 by 1 again");
        assertThat(FastReg.incRkey(0x123456ff)).isEqualTo(0x12345600);
    }

    @Test
    @DisplayName("RXE-2: a number that comes round is shown")
    void aNumberThatComesRoundIsShown() {
        restart(RxeWorld.start(KernelModel.LINUX_5));
        List<Boolean> seen = new ArrayList<>();
        VerbsDevice device =
                RxeDevice.add("rxe1", world.machine, RxeConfig.kernel().withKeyListener(new KeyListener() {
                    @Override
                    public void keyMade(int index, int key, boolean indexSeenBefore) {
                        seen.add(indexSeenBefore);
                    }
                }));
        for (int i = 0; i < 2; i++) {
            device.deallocPd(device.allocPd(0, "one").value(), 0);
        }
        assertThat(seen).as("5.x gives a number at once").containsExactly(false, true);
    }

    @Test
    @DisplayName("H7: with distinct keys the rkey of a region is no lkey, and the other way round")
    void keysMayBeDistinct() {
        restart(RxeWorld.start(RxeConfig.kernel().withDistinctKeys()));
        RcQp qp = world.qp();
        RxeMr mr = world.fast(1);
        assertThat(mr.rkey()).isNotEqualTo(mr.lkey());
        FastReg.mapMrSg(mr, list(0), 1, 0, PAGE);
        FastReg.updateFastRegKey(mr, 0x77);
        assertThat(mr.rkey()).as("a key byte changes neither into the other").isNotEqualTo(mr.lkey());
        assertThat(registerOn(qp, mr, mr.rkey(), ALL)).isZero();
        RemoteRef ref = new RemoteRef();
        assertThat(world.rxe.regions().lookupRemote(qp, mr.lkey(), RR, ref)).isFalse();
        assertThat(world.rxe.regions().lookupLocal(world.pd, mr.rkey(), 0)).isNull();
        assertThat(world.rxe.regions().lookupRemote(qp, mr.rkey(), RR, ref)).isTrue();
        assertThat(ref.region()).isSameAs(mr);
        assertThat(ref.addressOffset()).isZero();
        ref.put();
        assertThatThrownBy(ref::region).isInstanceOf(IllegalStateException.class);
        assertThat(world.rxe.regions().lookupAgain(mr.rkey(), ref)).isTrue();
        ref.put();
        assertThat(world.rxe.regions().lookupAgain(mr.lkey(), ref)).isFalse();
        assertThat(world.rxe.regions().lookupLocal(world.pd, mr.lkey(), 0)).isSameAs(mr);
        mr.put();
        assertThat(world.rxe.regions().invalidate(qp, mr.lkey())).isEqualTo(-Errno.EINVAL);
        assertThat(world.rxe.regions().invalidate(qp, mr.rkey())).isZero();
    }

    // ---- mapping

    @Test
    @DisplayName("RXE-23, FR-4: page sizes divide 4 KiB or are multiples of it; the region has the size all the same")
    void pageSizesOfARegion() {
        RxeMr mr = world.fast(PAGES);
        for (int size : new int[] {0, 3, 3 * PAGE, 5000}) {
            assertThat(FastReg.mapMrSg(mr, list(0), 1, 0, size)).as("%d", size).isEqualTo(-Errno.EINVAL);
            assertThat(mr.pageBytes()).isEqualTo(size);
        }
        assertThat(FastReg.mapMrSg(mr, list(0), 0, 0, PAGE)).isEqualTo(-Errno.EINVAL);
        assertThat(FastReg.mapMrSg(mr, list(0), 1, PAGE + 1, PAGE)).isEqualTo(-Errno.EINVAL);
        assertThat(FastReg.mapMrSg(world.reg(memory, PAGE, 0), list(0), 1, 0, PAGE))
                .isEqualTo(-Errno.EINVAL);
        SgTable one = list(0);
        assertThatThrownBy(() -> FastReg.mapMrSg(mr, one, 2, 0, PAGE))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("2 segments of a list of 1");
    }

    @Test
    @DisplayName("RXE-25, RXE-31: region pages of 512 bytes are entries that know where in a page they begin")
    void smallRegionPages() {
        RxeMr mr = world.fast(16);
        long phys = world.process.pfnOf(memory) << 12;
        SgTable sg = mapped(new SgTable(2).add(phys + 512, 1024).add(phys + 2560, 512));
        assertThat(FastReg.mapMrSg(mr, sg, 2, 0, 512)).isEqualTo(2);
        assertThat(mr.lengthBytes()).isEqualTo(1536);
        assertThat(registerOn(world.qp(), mr, mr.lkey(), ALL)).isZero();
        byte[] page = world.bytes(memory, PAGE);
        assertThat(read(mr, 0, 512)).isEqualTo(Arrays.copyOfRange(page, 512, 1024));
        assertThat(read(mr, 1024, 512)).as("the third entry").isEqualTo(Arrays.copyOfRange(page, 2560, 3072));
        assertThat(read(mr, 900, 200))
                .as("RXE-32: what is copied at once goes on in the 4 KiB page")
                .isEqualTo(Arrays.copyOfRange(page, 1412, 1612));
    }

    @Test
    @DisplayName("RXE-24, RXE-25, RXE-31: region pages of 8 KiB are two entries each, and the table grows for them")
    void largeRegionPages() {
        long phys = world.machine.pages().allocPages(Zone.NORMAL, 2);
        for (int i = 0; i < 4; i++) {
            world.machine.cpuMemory().fill(phys + (long) i * PAGE, PAGE, (byte) (i + 1));
        }
        RxeMr mr = world.fast(2);
        SgTable sg = mapped(new SgTable(1).add(phys + PAGE, 3 * PAGE));
        assertThat(FastReg.mapMrSg(mr, sg, 1, 0, 2 * PAGE)).isEqualTo(1);
        assertThat(registerOn(world.qp(), mr, mr.lkey(), ALL)).isZero();
        byte[] bytes = read(mr, 0, 3 * PAGE);
        for (int i = 0; i < 3; i++) {
            assertThat(Arrays.copyOfRange(bytes, i * PAGE, (i + 1) * PAGE))
                    .as("page %d", i)
                    .containsOnly(i + 2);
        }
        RxeMr failing = world.fast(2);
        world.machine.failures().failNth("rxe.mr_pages", 1);
        assertThat(FastReg.mapMrSg(failing, sg, 1, 0, 2 * PAGE)).isEqualTo(-Errno.ENOMEM);
        world.machine.failures().disarm();
        RxeMr two = world.fast(2);
        assertThat(FastReg.mapMrSg(two, sg, 1, 0, PAGE)).as("SGP-11").isZero();
        assertThat(two.sgOffset()).isEqualTo(PAGE);
        assertThat(two.lengthBytes()).isEqualTo(PAGE);
    }

    @Test
    @DisplayName("RXE-17, RXE-25, SGP-8: a region without room takes nothing; the caller is told where to go on")
    void aRegionWithoutRoom() {
        RxeMr none = world.fast(0);
        assertThat(FastReg.mapMrSg(none, list(0), 1, 0, PAGE)).isEqualTo(-Errno.ENOMEM);
        assertThat(none.sgOffset()).isZero();
        RxeMr two = world.fast(2);
        assertThat(FastReg.mapMrSg(two, list(3, 1, 2), 3, 0, PAGE)).isEqualTo(2);
        assertThat(two.lengthBytes()).isEqualTo(2 * PAGE);
        long phys = world.machine.pages().allocPages(Zone.NORMAL, 1);
        SgTable run = mapped(new SgTable(1).add(phys, 2 * PAGE));
        RxeMr one = world.fast(1);
        assertThat(FastReg.mapMrSg(one, run, 1, 0x800, PAGE)).isEqualTo(-Errno.ENOMEM);
        assertThat(one.sgOffset()).isZero();
        assertThat(one.lengthBytes()).as("SGP-11: it wraps").isEqualTo(-0x800);
    }

    @Test
    @DisplayName("FR-5, RXE-27: zero-based mapping moves the region to 0 at once, VALID or not")
    void zeroBasedMapping() {
        RxeMr mr = world.fast(2);
        registerOn(world.qp(), mr, mr.lkey(), ALL);
        assertThat(FastReg.mapMrSgZbva(mr, list(1, 2), 2, 0, PAGE)).isEqualTo(2);
        assertThat(mr.iova()).isZero();
        assertThat(read(mr, PAGE, 8)).isEqualTo(world.bytes(memory + 2 * PAGE, 8));
        assertThat(FastReg.mapMrSgZbva(mr, list(1), 0, 0, PAGE)).isEqualTo(-Errno.EINVAL);
        assertThat(mr.iova()).isZero();
    }

    @Test
    @DisplayName("FR-6, FR-8: what rxe does not have")
    void whatRxeDoesNotHave() {
        RxeMr mr = world.fast(1);
        assertThat(FastReg.mapMrSgPi(mr, null, 0, null, 0, PAGE)).isEqualTo(-Errno.EOPNOTSUPP);
        assertThat(FastReg.checkMrStatus(mr, 1)).isEqualTo(-Errno.EOPNOTSUPP);
        assertThat(world.device.adviseMr(world.pd, 0, 0, 1)).isEqualTo(-Errno.EOPNOTSUPP);
        assertThat(mr.sigAttrs()).isNull();
        assertThat(mr.needsInvalidation()).isFalse();
        mr.setNeedsInvalidation(true);
        assertThat(mr.needsInvalidation()).isTrue();
    }

    // ---- the first rxe

    @Test
    @DisplayName("RXE-26, RXE-33, RXE-41, RXE-43: 5.2 checks nothing of a fast region, and copies by its own range")
    void fastRegionsOfTheFirstRxe() {
        restart(RxeWorld.start(KernelModel.LINUX_5));
        RcQp qp = world.qp(world.otherPd(), io.pagewalk.rdma.verbs.PostChecks.KERNEL);
        RxeMr mr = world.fast(2);
        assertThat(FastReg.mapMrSgZbva(mr, list(1, 3), 2, 0x10, PAGE)).isEqualTo(2);
        assertThat(mr.iova()).isZero();
        assertThat(registerOn(qp, mr, 0x123456, RW)).isZero();
        assertThat(registerOn(qp, mr, 0x123457, RW | RR)).as("VALID already").isZero();
        assertThat(mr.privateRkey()).isEqualTo(0x123457);
        long phys = world.process.pfnOf(memory + PAGE) << 12;
        long iova = world.machine.layout().physToVirt(phys) + 0x10;
        byte[] bytes = new byte[16];
        assertThat(mr.read(iova + PAGE - 16, bytes, 0, 16)).isZero();
        assertThat(bytes).isEqualTo(world.bytes(memory + 3 * PAGE, 16));
        assertThat(mr.read(0, bytes, 0, 16))
                .as("the public range does not count")
                .isEqualTo(-Errno.EFAULT);
        RxeMr user = world.reg(memory, PAGE, RR);
        assertThat(world.rxe.regions().invalidate(qp, user.lkey() ^ 0xff)).isZero();
        assertThat(user.isFree()).isTrue();
        assertThat(world.rxe.regions().invalidate(qp, 0x7fff00)).isEqualTo(-Errno.EINVAL);
        assertThat(FastReg.mapMrSg(world.fast(1), list(0, 2), 2, 0, PAGE)).isEqualTo(1);
    }

    @Test
    @DisplayName("RXE-34: in 5.2 any right that is asked for will do")
    void anyRightWillDoInTheFirstRxe() {
        restart(RxeWorld.start(KernelModel.LINUX_5));
        RxeMr mr = world.reg(memory, PAGE, LW | RR);
        assertThat(world.rxe.regions().lookupLocal(world.pd, mr.lkey(), RW | RR))
                .isSameAs(mr);
        assertThat(world.rxe.regions().lookupLocal(world.pd, mr.lkey(), RW)).isNull();
        assertThat(world.rxe.regions().lookupLocal(world.pd, mr.lkey(), 0)).isSameAs(mr);
        mr.put();
        mr.put();
        assertThat(world.device.deregMr(mr, 0)).isZero();
    }

    @Test
    void aQueuePairInErrorRegistersNothing() {
        RxeWorld.Pair pair = world.connect();
        pair.left().modify(QpState.ERR, pair.left().attributes());
        RxeMr mr = world.fast(1);
        assertThat(pair.left().postSend(world.wr.regMr(1, mr, mr.rkey(), ALL))).isZero();
        assertThat(world.completions()).containsExactly("1 WR_FLUSH_ERR");
        assertThat(mr.isFree()).isTrue();
    }
}
