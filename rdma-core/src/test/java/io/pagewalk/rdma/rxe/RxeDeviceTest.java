package io.pagewalk.rdma.rxe;

import static io.pagewalk.rdma.AccessFlags.FLUSH_GLOBAL;
import static io.pagewalk.rdma.AccessFlags.FLUSH_PERSISTENT;
import static io.pagewalk.rdma.AccessFlags.HUGETLB;
import static io.pagewalk.rdma.AccessFlags.LOCAL_WRITE;
import static io.pagewalk.rdma.AccessFlags.MW_BIND;
import static io.pagewalk.rdma.AccessFlags.RELAXED_ORDERING;
import static io.pagewalk.rdma.AccessFlags.REMOTE_READ;
import static io.pagewalk.rdma.AccessFlags.ZERO_BASED;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.Errno;
import io.pagewalk.dma.KernelModel;
import io.pagewalk.rdma.RxeWorld;
import io.pagewalk.rdma.mm.FileKind;
import io.pagewalk.rdma.mm.Mmap;
import io.pagewalk.rdma.mm.UserFile;
import io.pagewalk.rdma.mm.UserMemory;
import io.pagewalk.rdma.umem.UmemFailureReason;
import io.pagewalk.rdma.verbs.DeviceCaps;
import io.pagewalk.rdma.verbs.ErrPtr;
import io.pagewalk.rdma.verbs.FastReg;
import io.pagewalk.rdma.verbs.Mr;
import io.pagewalk.rdma.verbs.MrType;
import io.pagewalk.rdma.verbs.Mw;
import io.pagewalk.rdma.verbs.Restrack;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** How rxe makes regions and windows and gives them back (rdma:RXE-1 to RXE-22, RXE-45, RXE-52, ACC-5). */
class RxeDeviceTest {
    private static final int PAGE = RxeWorld.PAGE;
    private static final int RW = Mmap.PROT_READ | Mmap.PROT_WRITE;

    private RxeWorld world = RxeWorld.start();

    @AfterEach
    void close() {
        world.close();
    }

    private void restart(KernelModel model) {
        world.close();
        world = RxeWorld.start(model);
    }

    private ErrPtr<Mr> reg(long addr, long length, int access) {
        return world.device.regUserMr(world.pd, 0, world.process, addr, length, addr, access);
    }

    private int error(long addr, long length, int access) {
        return reg(addr, length, access).error();
    }

    private int index(long addr, long length, int access) {
        return ((RxeMr) reg(addr, length, access).value()).index();
    }

    private void assertNothingHeld() {
        assertThat(world.process.addressSpace().pinnedVm()).isZero();
        assertThat(world.pinsHeld()).isZero();
        assertThat(world.rxe.mrCount()).as("that of the domain").isEqualTo(1);
        assertThat(world.pd.useCount()).isZero();
        assertThat(world.device.restrack().count(Restrack.Kind.MR)).isZero();
    }

    @Test
    @DisplayName("rdma:RXE-2, RXE-7, RXE-15, MR-1: memory is pinned, charged and named by a key until it is given back")
    void memoryIsPinnedUntilItIsGivenBack() {
        long addr = world.process.mmap(3 * PAGE);
        RxeMr mr = world.reg(addr + 5, 2 * PAGE, LOCAL_WRITE | REMOTE_READ);

        assertThat(mr.index()).as("the first is the domain's own").isEqualTo(2);
        assertThat(mr.lkey() >>> 8).isEqualTo(2);
        assertThat(mr.rkey()).isEqualTo(mr.lkey());
        assertThat(mr.privateLkey()).isEqualTo(mr.lkey());
        assertThat(mr.privateRkey()).isEqualTo(mr.lkey());
        assertThat(mr.access()).isEqualTo(LOCAL_WRITE | REMOTE_READ);
        assertThat(mr.iova()).isEqualTo(addr + 5);
        assertThat(mr.lengthBytes()).isEqualTo(2 * PAGE);
        assertThat(mr.pageBytes()).isEqualTo(PAGE);
        assertThat(mr.type()).isEqualTo(MrType.USER);
        assertThat(mr.isValid()).isTrue();
        assertThat(mr.pinnedPages()).isEqualTo(3);
        assertThat(Objects.requireNonNull(mr.umem()).numPages()).isEqualTo(3);
        assertThat(world.process.addressSpace().pinnedVm()).isEqualTo(3);
        assertThat(world.pd.useCount()).isEqualTo(1);
        assertThat(mr)
                .hasToString("USER region 0x%x+0x2000 with lkey 0x%x and rkey 0x%x"
                        .formatted(addr + 5, mr.lkey(), mr.rkey()));

        assertThat(world.device.deregMr(mr, 0)).isZero();
        assertThat(mr.isDestroyed()).isTrue();
        assertThat(mr.isValid()).isFalse();
        assertThat(mr.pinnedPages()).isZero();
        assertNothingHeld();
        assertThatThrownBy(() -> world.device.deregMr(mr, 0))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("was destroyed already");
        assertThat(index(addr, PAGE, LOCAL_WRITE)).as("numbers go round").isEqualTo(3);
    }

    @Test
    @DisplayName("rdma:RXE-13: rights that rxe does not know are refused before a number is taken")
    void foreignRightsAreRefusedBeforeANumberIsTaken() {
        long addr = world.process.mmap(PAGE);
        for (int access : new int[] {ZERO_BASED, HUGETLB, 0x400, 1 << 31}) {
            assertThat(error(addr, PAGE, LOCAL_WRITE | access))
                    .as("0x%x", access)
                    .isEqualTo(-Errno.EOPNOTSUPP);
        }
        assertThat(index(addr, PAGE, LOCAL_WRITE | MW_BIND | FLUSH_GLOBAL | RELAXED_ORDERING | 1 << 29))
                .isEqualTo(2);
    }

    @Test
    @DisplayName("rdma:RXE-2: what fails behind the pool has used up a number")
    void whatFailsBehindThePoolHasUsedUpANumber() {
        long addr = world.process.mmap(PAGE);
        assertThat(world.rxe.lastFailure()).isNull();
        assertThat(error(addr, 2 * PAGE, LOCAL_WRITE)).isEqualTo(-Errno.EFAULT);
        assertThat(Objects.requireNonNull(world.rxe.lastFailure()).reason()).isEqualTo(UmemFailureReason.CANNOT_PIN);
        world.process.setMemlockLimit(0);
        assertThat(error(addr, PAGE, LOCAL_WRITE)).isEqualTo(-Errno.EPERM);
        assertNothingHeld();
        world.process.setMemlockLimit(PAGE);
        assertThat(index(addr, PAGE, LOCAL_WRITE)).isEqualTo(4);
        assertThat(error(addr, PAGE, LOCAL_WRITE)).isEqualTo(-Errno.ENOMEM);
        world.process.setMemlockLimit(2 * PAGE);
        assertThat(index(addr, PAGE, LOCAL_WRITE)).isEqualTo(6);
    }

    @Test
    @DisplayName("rdma:MR-1: on demand is refused by the core for the kernel, by ib_umem_get for user space")
    void onDemandIsRefused() {
        assertThat(error(world.process.mmap(PAGE), PAGE, io.pagewalk.rdma.AccessFlags.ON_DEMAND))
                .isEqualTo(-Errno.EINVAL);
        assertThat(world.rxe.lastFailure()).isNull();
    }

    @Test
    @DisplayName("rdma:RXE-15: flushes to persistence need memory that persists, which is seen after pinning")
    void flushesToPersistenceNeedMemoryThatPersists() {
        long anon = world.process.mmap(2 * PAGE);
        assertThat(error(anon, 2 * PAGE, LOCAL_WRITE | FLUSH_PERSISTENT)).isEqualTo(-Errno.EINVAL);
        assertThat(world.pins.acquired()).isEqualTo(2);
        assertNothingHeld();

        long pmem = map(FileKind.DEVICE_DAX, 2);
        assertThat(index(pmem, 2 * PAGE, LOCAL_WRITE | FLUSH_PERSISTENT)).isEqualTo(3);
        assertThat(pmem + 2 * PAGE).as("places are taken downwards").isEqualTo(anon);
        assertThat(error(pmem, 3 * PAGE, LOCAL_WRITE | FLUSH_PERSISTENT))
                .as("the third page does not persist")
                .isEqualTo(-Errno.EINVAL);
        assertThat(index(pmem, 3 * PAGE, LOCAL_WRITE)).isEqualTo(5);
    }

    @Test
    @DisplayName("rdma:RXE-15: files in persistent memory, and no other memory, keep their bytes")
    void filesInPersistentMemoryPersist() {
        UserMemory memory = UserMemory.of(world.machine);
        for (FileKind kind : new FileKind[] {FileKind.SHMEM, FileKind.REGULAR, FileKind.FSDAX, FileKind.DEVICE_DAX}) {
            long addr = map(kind, 1);
            world.process.putLong(addr, 1);
            assertThat(memory.isPersistent(world.process.pfnOf(addr)))
                    .as(kind.name())
                    .isEqualTo(kind == FileKind.FSDAX || kind == FileKind.DEVICE_DAX);
        }
        assertThat(memory.isPersistent(memory.zeroPfn())).isFalse();
    }

    private long map(FileKind kind, int pages) {
        try (UserFile file = UserFile.create(world.machine, kind, "file", (long) pages * PAGE)) {
            long addr = world.process.mmap(0, (long) pages * PAGE, RW, Mmap.MAP_SHARED, file.forWriting(), 0);
            assertThat(addr).isPositive();
            return addr;
        }
    }

    @Test
    @DisplayName("rdma:CONV-6, RXE-15: whichever allocation fails, nothing is held and no number stays taken")
    void nothingIsHeldWhicheverAllocationFails() {
        long addr = world.process.mmap(PAGE);
        world.process.putLong(addr, 1);
        world.machine.failures().failNth(1);
        assertThat(error(addr, PAGE, LOCAL_WRITE)).isEqualTo(-Errno.ENOMEM);
        assertThat(world.machine.failures().failedAt()).isEqualTo("rxe.mr");
        int step = 1;
        while (world.machine.failures().failedAt() != null) {
            assertNothingHeld();
            world.machine.failures().failNth(++step);
            ErrPtr<Mr> made = reg(addr, PAGE, LOCAL_WRITE);
            if (world.machine.failures().failedAt() == null) {
                assertThat(((RxeMr) made.value()).index())
                        .as("numbers: only the first failure took none")
                        .isEqualTo(step);
            } else {
                assertThat(made.error()).isEqualTo(-Errno.ENOMEM);
            }
        }
        assertThat(step).isGreaterThan(3);
    }

    @Test
    @DisplayName("rdma:RXE-17: a fast region is FREE, has all remote rights and a key; other kinds are refused")
    void aFastRegionIsFree() {
        RxeMr mr = world.fast(3);
        assertThat(mr.isFree()).isTrue();
        assertThat(mr.isValid()).isFalse();
        assertThat(mr.access()).isEqualTo(RxeWorld.RR | RxeWorld.RW | RxeWorld.RA);
        assertThat(mr.rkey()).isEqualTo(mr.lkey());
        assertThat(mr.type()).isEqualTo(MrType.MEM_REG);
        assertThat(mr.needsInvalidation()).isFalse();
        assertThat(world.pd.useCount()).isEqualTo(1);
        assertThat(FastReg.allocMr(world.pd, MrType.SG_GAPS, 3).error()).isEqualTo(-Errno.EINVAL);
        assertThat(FastReg.allocMr(world.pd, MrType.INTEGRITY, 3).error()).isEqualTo(-Errno.EINVAL);
        assertThat(world.machine.log().count("ib_alloc_mr")).isEqualTo(1);
        assertThat(FastReg.allocMrIntegrity(world.pd, 1, 1).error()).isEqualTo(-Errno.EOPNOTSUPP);
        assertThat(world.device.deregMr(mr, 0)).isZero();
        assertNothingHeld();
    }

    @Test
    @DisplayName("rdma:RXE-45, UV-8: a window of type 1 is valid, one of type 2 free; other types are refused")
    void windowsAreMade() {
        RxeMw one = world.window(Mw.TYPE_1);
        RxeMw two = world.window(Mw.TYPE_2);
        assertThat(one.isValid()).isTrue();
        assertThat(two.isValid()).isFalse();
        assertThat(one.rkey() >>> 8).isEqualTo(0x80001);
        assertThat(two.rkey() >>> 8).isEqualTo(0x80002);
        assertThat(one.mr()).isNull();
        assertThat(world.device.allocMw(world.pd, 0).error()).isEqualTo(-Errno.EINVAL);
        assertThat(world.device.allocMw(world.pd, 3).error()).isEqualTo(-Errno.EINVAL);
        assertThat(world.pd.useCount()).isEqualTo(2);
        assertThat(world.rxe.mwCount()).isEqualTo(2);
        assertThat(world.device.deallocMw(one)).isZero();
        assertThat(world.device.deallocMw(two)).isZero();
        assertThat(world.pd.useCount()).isZero();
        assertThat(world.rxe.mwCount()).isZero();
        assertThat(world.device.restrack().count(Restrack.Kind.MW)).isZero();
        assertThat(one).hasToString("type 1 window with rkey 0x%x".formatted(one.rkey()));
    }

    @Test
    @DisplayName("rdma:DMA-1, ACC-5, section 10.1: rxe is software, flushes, does nothing on demand, and has limits")
    void whatRxeIs() {
        assertThat(world.rxe.caps()).isEqualTo(new DeviceCaps(false, true, true));
        assertThat(world.rxe.hasLocalDmaLkey()).isFalse();
        assertThat(world.rxe.attributes())
                .hasToString("DeviceAttributes[maxMrSize=-1, pageSizeCap=-4096, deviceCapFlags=1924164369526, "
                        + "maxMr=524287, maxMw=524287, maxPd=1048576, maxQp=1048560, maxQpWr=1048576, maxSge=32, "
                        + "maxSgeRd=32, maxSglRd=0, maxFastRegPageListLen=512, maxPiFastRegPageListLen=0, maxInlineData=512, "
                        + "maxMessageBytes=-2147483648, maxCq=1048576, maxCqe=32767, maxQpRdAtom=128, "
                        + "maxQpInitRdAtom=128, localDmaLkey=0]");
        assertThat(world.rxe).hasToString("rxe device rxe0");
        assertThat(world.qp().qpNum()).isEqualTo(16);
    }

    // ---- the first rxe

    @Test
    @DisplayName("section 10.1, RXE-16: the limits of 5.2, without windows and re-registration")
    void whatTheFirstRxeIs() {
        restart(KernelModel.LINUX_5);
        assertThat(world.rxe.caps()).isEqualTo(new DeviceCaps(false, false, false));
        assertThat(world.rxe.attributes().maxMr()).isEqualTo(0x40000);
        assertThat(world.rxe.attributes().maxMw()).isZero();
        assertThat(world.rxe.attributes().maxPd()).isEqualTo(0x7ffc);
        assertThat(world.rxe.attributes().maxQp()).isEqualTo(0x10000);
        assertThat(world.rxe.attributes().maxQpWr()).isEqualTo(0x4000);
        assertThat(world.rxe.attributes().maxInlineData()).isEqualTo(400);
        assertThat(world.rxe.attributes().maxMessageBytes()).isEqualTo(0x800000);
        assertThat(world.rxe.attributes().maxCq()).isEqualTo(16384);
        assertThat(world.device.allocMw(world.pd, 1).error()).isEqualTo(-Errno.EOPNOTSUPP);
    }

    @Test
    @DisplayName("rdma:RXE-8, RXE-9, EX-4: key bytes come from a shift register, and private regions have no rkey")
    void keysOfTheFirstRxe() {
        restart(KernelModel.LINUX_5);
        assertThat(world.pd.localDmaLkey())
                .as("the domain's region is the first")
                .isEqualTo(0x102);
        long addr = world.process.mmap(PAGE);
        RxeMr local = world.reg(addr, PAGE, LOCAL_WRITE);
        assertThat(local.lkey()).isEqualTo(0x204);
        assertThat(local.rkey()).isZero();
        RxeMr remote = world.reg(addr, PAGE, LOCAL_WRITE | REMOTE_READ);
        assertThat(remote.lkey()).isEqualTo(0x308);
        assertThat(remote.rkey()).isEqualTo(0x308);
        RxeMr fast = world.fast(1);
        assertThat(fast.lkey()).isEqualTo(0x411);
        assertThat(fast.rkey()).as("shown").isEqualTo(0x411);
        assertThat(fast.privateRkey()).as("RXE-19: known").isZero();
    }

    @Test
    @DisplayName("rdma:RXE-8: the shift register repeats after 15 keys")
    void theShiftRegisterRepeats() {
        KeyBytes bytes = new KeyBytes(true, 1);
        List<Integer> drawn = new ArrayList<>();
        for (int i = 0; i < 16; i++) {
            drawn.add(bytes.next());
        }
        assertThat(drawn)
                .containsExactly(
                        0x02, 0x04, 0x08, 0x11, 0x22, 0x45, 0x8b, 0x16, 0x2c, 0x58, 0xb0, 0x60, 0xc0, 0x80, 0x01, 0x02);
    }

    @Test
    @DisplayName("rdma:RXE-4, RXE-21, RXE-22: numbers come back at once, and whatever fails is an invalid argument")
    void numbersAndErrorsOfTheFirstRxe() {
        restart(KernelModel.LINUX_5);
        long addr = world.process.mmap(PAGE);
        assertThat(error(addr, 2 * PAGE, LOCAL_WRITE)).isEqualTo(-Errno.EINVAL);
        RxeMr mr = world.reg(addr, PAGE, LOCAL_WRITE);
        assertThat(mr.index()).isEqualTo(2);
        assertThat(world.device.deregMr(mr, 0)).isZero();
        assertThat(index(addr, PAGE, ZERO_BASED)).as("rights are not looked at").isEqualTo(2);
    }

    @Test
    @DisplayName("rdma:RXE-7: key bytes of 6.12 are drawn anew for each key, by the seed")
    void keyBytesAreDrawn() {
        KeyBytes one = new KeyBytes(false, 7);
        KeyBytes same = new KeyBytes(false, 7);
        List<Integer> drawn = new ArrayList<>();
        for (int i = 0; i < 1000; i++) {
            int next = one.next();
            assertThat(next).isBetween(0, 255).isEqualTo(same.next());
            drawn.add(next);
        }
        assertThat(drawn.stream().distinct().count()).isGreaterThan(200);
    }

    @Test
    @DisplayName("rdma:RXE-2: one region more than there may be is refused, and the log says how many there are")
    void tooManyRegionsAreRefusedWithTheirNumber() {
        world.close();
        world = RxeWorld.start(RxeConfig.kernel().withLimits(3, 0));
        long addr = world.process.mmap(PAGE);
        RxeMr first = world.reg(addr, PAGE, 0);
        world.reg(addr, PAGE, 0);
        assertThat(error(addr, PAGE, 0)).isEqualTo(-Errno.EINVAL);
        assertThat(FastReg.allocMr(world.pd, MrType.MEM_REG, 1).error()).isEqualTo(-Errno.EINVAL);
        assertThat(world.machine.log().entries())
                .filteredOn(e -> e.site().equals("rxe_add_to_pool"))
                .extracting(e -> e.text())
                .containsOnly("rxe0: 3 of 3 regions are in use (rdma:RXE-2)");
        assertThat(world.device.deregMr(first, 0)).isZero();
        assertThat(index(addr, PAGE, 0)).isEqualTo(4);
    }
}
