package io.pagewalk.rdma.rxe;

import static io.pagewalk.rdma.AccessFlags.FLUSH_GLOBAL;
import static io.pagewalk.rdma.AccessFlags.FLUSH_PERSISTENT;
import static io.pagewalk.rdma.AccessFlags.HUGETLB;
import static io.pagewalk.rdma.AccessFlags.LOCAL_WRITE;
import static io.pagewalk.rdma.AccessFlags.MW_BIND;
import static io.pagewalk.rdma.AccessFlags.ON_DEMAND;
import static io.pagewalk.rdma.AccessFlags.RELAXED_ORDERING;
import static io.pagewalk.rdma.AccessFlags.REMOTE_READ;
import static io.pagewalk.rdma.AccessFlags.ZERO_BASED;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.Machine;
import io.pagewalk.rdma.IbDevice;
import io.pagewalk.rdma.mm.FileKind;
import io.pagewalk.rdma.mm.Mmap;
import io.pagewalk.rdma.mm.Pins;
import io.pagewalk.rdma.mm.Process;
import io.pagewalk.rdma.mm.UserFile;
import io.pagewalk.rdma.mm.UserMemory;
import io.pagewalk.rdma.umem.UmemFailureReason;
import io.pagewalk.rdma.umem.UmemResult;
import io.pagewalk.rdma.verbs.DeviceCaps;
import java.util.Objects;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** How rxe registers memory and gives it back (rdma:RXE-2, RXE-13, RXE-15, ACC-5). */
class RxeMrsTest {
    private static final int PAGE = 4096;
    private static final int RW = Mmap.PROT_READ | Mmap.PROT_WRITE;

    private final Machine machine = Machine.builder()
            .ramBytes(32L << 20)
            .chunkBytes(1 << 16)
            .backend("virt")
            .build();
    private final RxeMrs mrs = new RxeMrs(IbDevice.withoutDmaDevice("rxe0", machine));
    private final Process process = Process.create(machine);
    private final Pins pins = UserMemory.of(machine).pins();
    private final UmemResult result = new UmemResult();

    @AfterEach
    void close() {
        machine.close();
    }

    private int reg(long addr, long length, int access) {
        return mrs.regUserMr(0, process, addr, length, access, result);
    }

    private void assertNothingHeld() {
        assertThat(process.addressSpace().pinnedVm()).isZero();
        assertThat(pins.acquired() - pins.released()).isZero();
        assertThat(mrs.size()).isZero();
    }

    @Test
    @DisplayName("rdma:RXE-15: memory is pinned, charged and found by its number until it is given back")
    void memoryIsPinnedUntilItIsGivenBack() {
        long addr = process.mmap(3 * PAGE);
        int index = reg(addr + 5, 2 * PAGE, LOCAL_WRITE | REMOTE_READ);

        assertThat(index).isEqualTo(1);
        RxeMr mr = Objects.requireNonNull(mrs.find(index));
        assertThat(mr.index()).isEqualTo(1);
        assertThat(mr.access()).isEqualTo(LOCAL_WRITE | REMOTE_READ);
        assertThat(mr.umem()).isSameAs(result.umem());
        assertThat(mr.umem().numPages()).isEqualTo(3);
        assertThat(process.addressSpace().pinnedVm()).isEqualTo(3);
        assertThat(mrs.size()).isEqualTo(1);

        mrs.deregMr(0, index);
        assertThat(mrs.find(index)).isNull();
        assertNothingHeld();
        assertThatThrownBy(() -> mrs.deregMr(0, index))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("no memory is registered under the number 1");
    }

    @Test
    @DisplayName("rdma:RXE-13: rights that rxe does not know are refused before a number is taken")
    void foreignRightsAreRefusedBeforeANumberIsTaken() {
        long addr = process.mmap(PAGE);
        for (int access : new int[] {ZERO_BASED, HUGETLB, 0x400, 1 << 31}) {
            assertThat(reg(addr, PAGE, LOCAL_WRITE | access)).as("0x%x", access).isEqualTo(-Errno.EOPNOTSUPP);
        }
        assertThat(reg(addr, PAGE, LOCAL_WRITE | MW_BIND | FLUSH_GLOBAL | RELAXED_ORDERING | 1 << 29))
                .isEqualTo(1);
    }

    @Test
    @DisplayName("rdma:RXE-2: what fails behind the pool has used up a number")
    void whatFailsBehindThePoolHasUsedUpANumber() {
        long addr = process.mmap(PAGE);
        assertThat(reg(addr, 2 * PAGE, LOCAL_WRITE)).isEqualTo(-Errno.EFAULT);
        assertThat(result.failure().reason()).isEqualTo(UmemFailureReason.CANNOT_PIN);
        assertThat(reg(addr, PAGE, ON_DEMAND)).isEqualTo(-Errno.EOPNOTSUPP);
        assertThat(result.failure().reason()).isEqualTo(UmemFailureReason.ON_DEMAND);
        process.setMemlockLimit(0);
        assertThat(reg(addr, PAGE, LOCAL_WRITE)).isEqualTo(-Errno.EPERM);
        assertNothingHeld();
        process.setMemlockLimit(PAGE);
        assertThat(reg(addr, PAGE, LOCAL_WRITE)).isEqualTo(4);
        assertThat(reg(addr, PAGE, LOCAL_WRITE)).isEqualTo(-Errno.ENOMEM);
        mrs.deregMr(0, 4);
        assertThat(reg(addr, PAGE, LOCAL_WRITE)).isEqualTo(6);
    }

    @Test
    @DisplayName("rdma:RXE-15: flushes to persistence need memory that persists, which is seen after pinning")
    void flushesToPersistenceNeedMemoryThatPersists() {
        long anon = process.mmap(2 * PAGE);
        assertThat(reg(anon, 2 * PAGE, LOCAL_WRITE | FLUSH_PERSISTENT)).isEqualTo(-Errno.EINVAL);
        assertThat(pins.acquired()).isEqualTo(2);
        assertNothingHeld();

        long pmem = map(FileKind.DEVICE_DAX, 2, 0);
        assertThat(reg(pmem, 2 * PAGE, LOCAL_WRITE | FLUSH_PERSISTENT)).isEqualTo(2);
        assertThat(mrs.find(2)).isNotNull();
        assertThat(pmem + 2 * PAGE).as("places are taken downwards").isEqualTo(anon);
        assertThat(reg(pmem, 3 * PAGE, LOCAL_WRITE | FLUSH_PERSISTENT))
                .as("the third page does not persist")
                .isEqualTo(-Errno.EINVAL);
        assertThat(reg(pmem, 3 * PAGE, LOCAL_WRITE)).isEqualTo(4);
    }

    @Test
    @DisplayName("rdma:RXE-15: files in persistent memory, and no other memory, keep their bytes")
    void filesInPersistentMemoryPersist() {
        UserMemory memory = UserMemory.of(machine);
        for (FileKind kind : new FileKind[] {FileKind.SHMEM, FileKind.REGULAR, FileKind.FSDAX, FileKind.DEVICE_DAX}) {
            long addr = map(kind, 1, 0);
            process.putLong(addr, 1);
            assertThat(memory.isPersistent(process.pfnOf(addr)))
                    .as(kind.name())
                    .isEqualTo(kind == FileKind.FSDAX || kind == FileKind.DEVICE_DAX);
        }
        assertThat(memory.isPersistent(memory.zeroPfn())).isFalse();
    }

    private long map(FileKind kind, int pages, long at) {
        try (UserFile file = UserFile.create(machine, kind, "file", (long) pages * PAGE)) {
            long addr = process.mmap(at, (long) pages * PAGE, RW, Mmap.MAP_SHARED, file.forWriting(), 0);
            assertThat(addr).isPositive();
            return addr;
        }
    }

    @Test
    @DisplayName("rdma:CONV-6, RXE-15: whichever allocation fails, nothing is held and no number stays taken")
    void nothingIsHeldWhicheverAllocationFails() {
        long addr = process.mmap(PAGE);
        process.putLong(addr, 1);
        machine.failures().failNth(1);
        assertThat(reg(addr, PAGE, LOCAL_WRITE)).isEqualTo(-Errno.ENOMEM);
        assertThat(machine.failures().failedAt()).isEqualTo("rxe.mr");
        int step = 1;
        while (machine.failures().failedAt() != null) {
            assertNothingHeld();
            machine.failures().failNth(++step);
            int index = reg(addr, PAGE, LOCAL_WRITE);
            if (machine.failures().failedAt() == null) {
                assertThat(index)
                        .as("numbers: only the first failure took none")
                        .isEqualTo(step - 1);
            } else {
                assertThat(index).isEqualTo(-Errno.ENOMEM);
            }
        }
        assertThat(step).isGreaterThan(3);
    }

    @Test
    @DisplayName("rdma:DMA-1, ACC-5, section 10.1: rxe is software, flushes, and does nothing on demand")
    void whatRxeIs() {
        assertThat(RxeMrs.CAPS).isEqualTo(new DeviceCaps(false, true, true));
        assertThat(RxeMrs.LAST_INDEX).isEqualTo(0x80000);
        assertThat(RxeMrs.MAX_MR).isEqualTo(0x7ffff);
        assertThat(mrs).hasToString("registrations of rxe0");
        IbDevice onBus = IbDevice.withDmaDevice("irdma0", machine.addDevice(DeviceConfig.named("nic")));
        assertThatThrownBy(() -> new RxeMrs(onBus))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("irdma0 has a DMA device; rxe is software (rdma:DMA-1)");
    }
}
