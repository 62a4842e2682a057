package io.pagewalk.rdma.rxe;

import static io.pagewalk.rdma.RxeWorld.ALL;
import static io.pagewalk.rdma.RxeWorld.LW;
import static io.pagewalk.rdma.RxeWorld.PAGE;
import static io.pagewalk.rdma.RxeWorld.RR;
import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.Errno;
import io.pagewalk.dma.KernelModel;
import io.pagewalk.dma.memory.Zone;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.rdma.RxeWorld;
import io.pagewalk.rdma.qp.AtomicWord;
import io.pagewalk.rdma.qp.Region;
import io.pagewalk.rdma.verbs.FastReg;
import java.util.Arrays;
import java.util.Objects;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Ranges, bytes and atomics of a region (rdma:RXE-29 to RXE-39). */
class RxeMrTest {
    private static final int LENGTH = 0x1000;

    private RxeWorld world = RxeWorld.start();
    private long memory = world.buffer(3);
    private final AtomicWord old = new AtomicWord();

    @AfterEach
    void close() {
        world.close();
    }

    private byte[] read(RxeMr mr, long iova, int length) {
        byte[] bytes = new byte[length];
        assertThat(mr.read(iova, bytes, 0, length)).isZero();
        return bytes;
    }

    private RxeMr at(long iova) {
        return (RxeMr) world.device
                .regUserMr(world.pd, 0, world.process, memory + 0x200, LENGTH, iova, ALL)
                .value();
    }

    @Test
    @DisplayName("RXE-29, RXE-30, EX-5: a range is inside or not, to the byte, without wrapping")
    void aRangeIsInsideOrNot() {
        RxeMr mr = at(0x20200);
        assertThat(mr.checkRange(0x20200, LENGTH)).isZero();
        assertThat(mr.checkRange(0x20201, LENGTH)).isEqualTo(-Errno.EINVAL);
        assertThat(mr.checkRange(0x201ff, 1)).isEqualTo(-Errno.EINVAL);
        assertThat(mr.checkRange(0x20200, LENGTH + 1)).isEqualTo(-Errno.EINVAL);
        assertThat(mr.checkRange(0x21200, 0)).isZero();
        assertThat(mr.checkRange(0x21200, 1)).isEqualTo(-Errno.EINVAL);
        assertThat(mr.checkRange(0x21201, 0)).isEqualTo(-Errno.EINVAL);
        assertThat(mr.checkRange(-8, 8)).isEqualTo(-Errno.EINVAL);
        assertThat(mr.checkRange(0x20200, -1)).isEqualTo(-Errno.EINVAL);
        assertThat(at(-LENGTH + 0x200).checkRange(-16, 16))
                .as("up to the end of 64 bits")
                .isZero();
    }

    @Test
    @DisplayName("RXE-31, RXE-32, H5: an address of the region is the byte as far from the start of its memory")
    void anAddressLeadsToItsByte() {
        RxeMr mr = at(0x20200);
        byte[] bytes = world.bytes(memory, 3 * PAGE);
        assertThat(read(mr, 0x20200, LENGTH)).isEqualTo(Arrays.copyOfRange(bytes, 0x200, 0x1200));
        assertThat(read(mr, 0x20ff0, 32)).isEqualTo(Arrays.copyOfRange(bytes, 0xff0, 0x1010));
        byte[] written = {1, 2, 3, 4, 5, 6};
        assertThat(mr.write(0x20fff, written, 1, 4)).isZero();
        assertThat(world.bytes(memory + 0xffe, 6)).containsExactly(bytes[0xffe], 2, 3, 4, 5, bytes[0x1003]);
        assertThat(mr.read(0x1, written, 0, 1)).isEqualTo(-Errno.EINVAL);
        assertThat(mr.read(0x1, written, 0, 0))
                .as("nothing is checked of nothing")
                .isZero();
        assertThat(mr.write(0x211ff, written, 0, 2)).isEqualTo(-Errno.EINVAL);
    }

    @Test
    @DisplayName(
            "RXE-31: another offset in the page than the memory's, as only the kernel may ask for, shifts the bytes")
    void anotherOffsetInThePageShiftsTheBytes() {
        RxeMr mr = at(0x20300);
        assertThat(read(mr, 0x20300, 8)).isEqualTo(world.bytes(memory + 0x300, 8));
    }

    @Test
    @DisplayName("RXE-14, RXE-32: the region of all memory reaches what the direct map does")
    void theRegionOfAllMemory() {
        RxeMr mr = (RxeMr) Objects.requireNonNull(world.pd.internalMr());
        long phys = world.process.pfnOf(memory) << 12;
        long virt = world.machine.layout().physToVirt(phys);
        assertThat(mr.checkRange(5, -1)).isZero();
        assertThat(read(mr, virt + 10, 20)).isEqualTo(world.bytes(memory + 10, 20));
        byte[] bytes = new byte[16];
        assertThat(mr.read(0x1000, bytes, 0, 16)).as("no kernel address").isEqualTo(-Errno.EFAULT);
        assertThat(mr.read(world.machine.layout().physToVirt(1L << 40), bytes, 0, 16))
                .as("no RAM")
                .isEqualTo(-Errno.EFAULT);
        world.process.putLong(memory, 4);
        assertThat(mr.fetchAdd(virt, 3, old)).isEqualTo(Region.ATOMIC_DONE);
        assertThat(old.value()).isEqualTo(4);
        assertThat(world.process.getLong(memory)).isEqualTo(7);
        assertThat(mr.fetchAdd(0x1000, 3, old)).isEqualTo(Region.ATOMIC_VIOLATION);
        assertThat(mr.flushPersistent(virt, 8)).isEqualTo(-Errno.EFAULT);
    }

    @Test
    @DisplayName("RXE-32, RXE-36: where there is no RAM is a hole, and what lies before it is copied")
    void aHoleEndsACopy() {
        RxeMr mr = world.fast(4);
        long phys = world.machine.pages().allocPages(Zone.NORMAL, 0);
        world.machine.cpuMemory().fill(phys, PAGE, (byte) 9);
        SgTable sg = new SgTable(2).add(phys, PAGE).add(1L << 40, PAGE);
        world.device.ibDevice().dma().mapSgTable(sg, io.pagewalk.dma.DmaDirection.BIDIRECTIONAL, 0);
        assertThat(FastReg.mapMrSg(mr, sg, 2, 0, PAGE)).isEqualTo(2);
        world.rxe.regions().registerFast(world.qp(), mr, mr.lkey(), ALL);
        byte[] bytes = new byte[16];
        assertThat(mr.read(mr.iova() + PAGE - 8, bytes, 0, 16)).isEqualTo(-Errno.EFAULT);
        assertThat(bytes).startsWith(9, 9, 9, 9, 9, 9, 9, 9).endsWith(0, 0, 0, 0, 0, 0, 0, 0);
        assertThat(mr.fetchAdd(mr.iova() + PAGE, 1, old)).isEqualTo(Region.ATOMIC_VIOLATION);
        assertThat(mr.flushPersistent(mr.iova(), PAGE)).isZero();
        assertThat(mr.flushPersistent(mr.iova(), PAGE + 1)).isEqualTo(-Errno.EFAULT);
    }

    @Test
    @DisplayName("RXE-31: an address behind the page list is a warning and a hole")
    void anAddressBehindThePageListWarns() {
        RxeMr mr = world.fast(1);
        SgTable sg = new SgTable(1).add(world.process.pfnOf(memory) << 12, PAGE);
        world.device.ibDevice().dma().mapSgTable(sg, io.pagewalk.dma.DmaDirection.BIDIRECTIONAL, 0);
        assertThat(FastReg.mapMrSgZbva(mr, sg, 1, 0x800, PAGE)).isEqualTo(1);
        world.rxe.regions().registerFast(world.qp(), mr, mr.lkey(), ALL);
        assertThat(mr.lengthBytes()).isEqualTo(0x800);
        byte[] bytes = new byte[4];
        assertThat(mr.read(0, bytes, 0, 4)).isZero();
        assertThat(bytes).as("FR-5: the offset in the page is lost").isEqualTo(world.bytes(memory, 4));
        RxeMr empty = world.fast(1);
        assertThat(empty.read(0, bytes, 0, 1)).isEqualTo(-Errno.EINVAL);
        assertThat(world.machine.log().count("rxe_mr_copy")).isZero();
        RxeMr wide = at(0x20e00);
        assertThat(wide.read(0x21dff, bytes, 0, 1)).isZero();
        assertThat(world.machine.log().count("rxe_mr_copy")).isZero();
    }

    @Test
    @DisplayName("RXE-36, RXE-38: state, range and page come before alignment")
    void atomicsAreCheckedInOrder() {
        RxeMr mr = world.reg(memory, LENGTH, ALL);
        world.process.putLong(memory + 8, 10);
        assertThat(mr.fetchAdd(memory + 8, -1, old)).isEqualTo(Region.ATOMIC_DONE);
        assertThat(old.value()).isEqualTo(10);
        assertThat(mr.compareAndSwap(memory + 8, 9, 77, old)).isEqualTo(Region.ATOMIC_DONE);
        assertThat(old.value()).isEqualTo(9);
        assertThat(mr.compareAndSwap(memory + 8, 9, 78, old)).isEqualTo(Region.ATOMIC_DONE);
        assertThat(old.value()).isEqualTo(77);
        assertThat(mr.atomicWrite(memory + 16, 5)).isEqualTo(Region.ATOMIC_DONE);
        assertThat(world.process.getLong(memory + 16)).isEqualTo(5);
        assertThat(mr.fetchAdd(memory + 4, 1, old)).isEqualTo(Region.ATOMIC_MISALIGNED);
        assertThat(mr.compareAndSwap(memory + 1, 1, 1, old)).isEqualTo(Region.ATOMIC_MISALIGNED);
        assertThat(mr.atomicWrite(memory + 2, 1)).isEqualTo(Region.ATOMIC_MISALIGNED);
        assertThat(mr.fetchAdd(memory + LENGTH - 4, 1, old)).as("range first").isEqualTo(Region.ATOMIC_VIOLATION);
        assertThat(mr.compareAndSwap(memory - 8, 1, 1, old)).isEqualTo(Region.ATOMIC_VIOLATION);
        assertThat(mr.atomicWrite(memory - 8, 1)).isEqualTo(Region.ATOMIC_VIOLATION);
        assertThat(world.device.deregMr(mr, 0)).isZero();
        assertThat(mr.fetchAdd(memory + 8, 1, old)).as("not VALID").isEqualTo(Region.ATOMIC_VIOLATION);
    }

    @Test
    @DisplayName("RXE-37: for small region pages the alignment is that of the place in the 4 KiB page")
    void alignmentIsThatOfThePlace() {
        RxeMr mr = world.fast(2);
        long phys = world.process.pfnOf(memory) << 12;
        SgTable sg = new SgTable(1).add(phys + 4, 512);
        world.device.ibDevice().dma().mapSgTable(sg, io.pagewalk.dma.DmaDirection.BIDIRECTIONAL, 0);
        assertThat(FastReg.mapMrSg(mr, sg, 1, 0, 512)).isEqualTo(1);
        world.rxe.regions().registerFast(world.qp(), mr, mr.lkey(), ALL);
        assertThat(mr.fetchAdd(mr.iova(), 1, old)).isEqualTo(Region.ATOMIC_MISALIGNED);
        assertThat(mr.fetchAdd(mr.iova() + 4, 1, old)).isEqualTo(Region.ATOMIC_DONE);
    }

    @Test
    @DisplayName("RXE-39: a flush of nothing succeeds, one outside does not")
    void flushes() {
        RxeMr mr = world.reg(memory, 2 * PAGE, LW | RR);
        assertThat(mr.flushPersistent(0, 0)).isZero();
        assertThat(mr.flushPersistent(memory, 2 * PAGE)).isZero();
        assertThat(mr.flushPersistent(memory + 1, 2 * PAGE)).isEqualTo(-Errno.EINVAL);
        RxeMr last = (RxeMr) world.device
                .regUserMr(world.pd, 0, world.process, memory, 2 * PAGE, -2L * PAGE, LW | RR)
                .value();
        assertThat(last.flushPersistent(-2L * PAGE, 2 * PAGE))
                .as("to the end of all addresses")
                .isZero();
        assertThat(last.flushPersistent(-1, 1)).isZero();
        assertThat(last.flushPersistent(-1, 2)).isEqualTo(-Errno.EINVAL);
    }

    @Test
    @DisplayName("RXE-29, RXE-33: 5.2 compares sums that wrap, and its memory begins where it was registered")
    void rangesOfTheFirstRxe() {
        world.close();
        world = RxeWorld.start(KernelModel.LINUX_5);
        memory = world.buffer(3);
        RxeMr mr = at(0x20200);
        assertThat(mr.checkRange(0x20200, LENGTH)).isZero();
        assertThat(mr.checkRange(0x20201, LENGTH)).isEqualTo(-Errno.EFAULT);
        assertThat(mr.checkRange(0x201ff, 1)).isEqualTo(-Errno.EFAULT);
        assertThat(mr.checkRange(0x20200, LENGTH + 1)).isEqualTo(-Errno.EFAULT);
        assertThat(at(-0x800).checkRange(-1, 2)).as("the sum wraps").isEqualTo(-Errno.EFAULT);
        assertThat(read(mr, 0x20ff0, 32)).isEqualTo(world.bytes(memory + 0xff0, 32));
        assertThat(read(at(0x20000), 0x20000, 32)).as("whatever the offset").isEqualTo(world.bytes(memory + 0x200, 32));
    }
}
