package io.pagewalk.rdma.umem;

import static io.pagewalk.rdma.umem.UmemWorld.PAGE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.FailureReason;
import io.pagewalk.dma.KernelConfig;
import io.pagewalk.rdma.AccessFlags;
import io.pagewalk.rdma.IbDevice;
import io.pagewalk.rdma.mm.Credentials;
import io.pagewalk.rdma.mm.Process;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/**
 * The checks of a registration, one by one and in their order: each is made to fail together with as many later ones as
 * can be, and leaves nothing charged, pinned or held.
 */
class UmemChecksTest {
    private static final long LAST_PAGE = -0x1000L;

    private UmemWorld world = UmemWorld.software();

    @AfterEach
    void nothingIsLeft() {
        world.machine.failures().disarm();
        assertThat(world.pinnedVm()).isZero();
        assertThat(world.pinsHeld()).isZero();
        assertThat(world.machine.scatterlists().liveChunks()).isEmpty();
        assertThat(world.process.addressSpace().structureReferences()).isEqualTo(1);
    }

    private void assertRefused(int result, int errno, UmemFailureReason reason, Long... numbers) {
        assertThat(result).isEqualTo(-errno);
        UmemFailure failure = world.result.failure();
        assertThat(failure.errno()).isEqualTo(errno);
        assertThat(failure.reason()).isEqualTo(reason);
        assertThat(failure.numbers()).containsExactly(numbers);
        assertThatThrownBy(() -> world.result.umem())
                .isInstanceOf(IllegalStateException.class)
                .hasMessage("nothing was registered: " + failure);
    }

    // ---- in their order

    @Test
    @DisplayName("rdma:UMEM-29: a kernel without user memory supports no registration, whatever is asked")
    void first_userMemoryIsSupported() {
        world = UmemWorld.software(UmemWorld.builder("direct")
                .kernelConfig(KernelConfig.distribution().withInfinibandUserMem(false)));
        world.process.setMemlockLimit(0);

        assertRefused(
                world.get(LAST_PAGE, PAGE, AccessFlags.ON_DEMAND), Errno.EOPNOTSUPP, UmemFailureReason.NO_USER_MEMORY);
    }

    @Test
    @DisplayName("rdma:UMEM-3: a range that wraps is -EINVAL, of a process that may lock nothing too")
    void second_theRangeDoesNotWrap() {
        world.process.setMemlockLimit(0);

        assertRefused(
                world.get(0x2000, -0x1000L, AccessFlags.ON_DEMAND),
                Errno.EINVAL,
                UmemFailureReason.RANGE_WRAPS,
                0x2000L,
                -0x1000L);
    }

    @Test
    @DisplayName(
            "rdma:UMEM-4, UMEM-8: a process that may lock nothing is -EPERM, before rights and length are looked at")
    void third_theProcessMayLockMemory() {
        world.process.setMemlockLimit(0);

        assertRefused(world.get(0x5000, 0, AccessFlags.ON_DEMAND), Errno.EPERM, UmemFailureReason.MAY_NOT_LOCK, 0L);
        assertRefused(world.get(0x5fff, 2, 0), Errno.EPERM, UmemFailureReason.MAY_NOT_LOCK, 0x2000L);
        world.process.setCapIpcLock(true);
        assertRefused(world.get(0x5000, 0, 0), Errno.EINVAL, UmemFailureReason.PAGE_COUNT, 0L);
    }

    @Test
    @DisplayName("rdma:UMEM-5: pages on demand are -EOPNOTSUPP, before anything is allocated")
    void fourth_pagesAreNotOnDemand() {
        world.machine.failures().failNth(1);

        assertRefused(world.get(0x5000, 0, AccessFlags.ON_DEMAND), Errno.EOPNOTSUPP, UmemFailureReason.ON_DEMAND);
        assertThat(world.machine.failures().passed()).isZero();
    }

    @Test
    @DisplayName("rdma:UMEM-6: no memory for the structure is -ENOMEM, before pages are counted")
    void fifth_thereIsMemoryForTheStructure() {
        world.machine.failures().failNth(1);

        assertRefused(world.get(0x5000, 0, 0), Errno.ENOMEM, UmemFailureReason.NO_KERNEL_MEMORY);
        assertThat(world.machine.failures().failedAt()).isEqualTo("umem.struct");
    }

    @Test
    @DisplayName("rdma:UMEM-7: no memory for the list of pages is -ENOMEM, before pages are counted")
    void sixth_thereIsMemoryForTheListOfPages() {
        world.machine.failures().failNth(2);

        assertRefused(world.get(0x5000, 0, 0), Errno.ENOMEM, UmemFailureReason.NO_KERNEL_MEMORY);
        assertThat(world.machine.failures().failedAt()).isEqualTo("umem.page_list");
    }

    @Test
    @DisplayName(
            "rdma:UMEM-8, UMEM-9: no pages, or more than 32 bits count, are -EINVAL, before the limit is looked at")
    void seventh_thePagesCanBeCounted() {
        world.process.setMemlockLimit(1);

        assertRefused(world.get(0x5000, 0, 0), Errno.EINVAL, UmemFailureReason.PAGE_COUNT, 0L);
        assertRefused(world.get(0, 1L << 44, 0), Errno.EINVAL, UmemFailureReason.PAGE_COUNT, 1L << 32);
        assertThat(world.get(0, (1L << 44) - 0x1000, 0)).isEqualTo(-Errno.ENOMEM);
        assertThat(world.result.failure().numbers().get(0)).isEqualTo((1L << 32) - 1);
    }

    @Test
    @DisplayName("rdma:UMEM-10: what exceeds the limit is -ENOMEM, before any page is looked at")
    void eighth_theLimitHolds() {
        world.process.setMemlockLimit(3 * PAGE);

        assertRefused(
                world.get(0x5000, 4 * PAGE, 0), Errno.ENOMEM, UmemFailureReason.MEMLOCK_LIMIT, 4L, 0L, 3L, 0x4000L);
        assertThat(world.process.addressSpace().hasPinned()).isFalse();
    }

    @Test
    @DisplayName("rdma:UMEM-15: what cannot be pinned is the errno of pinning, with what was pinned before it undone")
    void ninth_thePagesCanBePinned() {
        long addr = world.anon(4);
        world.process.munmap(addr + 2 * PAGE, 2 * PAGE);

        assertRefused(
                world.get(addr, 4 * PAGE, AccessFlags.LOCAL_WRITE),
                Errno.EFAULT,
                UmemFailureReason.CANNOT_PIN,
                addr + 2 * PAGE,
                2L,
                4L);
        assertThat(world.pins.acquired()).isEqualTo(2);
        assertThat(world.process.addressSpace().hasPinned()).isTrue();
    }

    @Test
    @DisplayName(
            "rdma:UMEM-16: a list that cannot hold a page is -EINVAL, and the pages just pinned are unpinned clean")
    void tenth_thePagesCanBeListed() {
        world = UmemWorld.onBus(DeviceConfig.named("nic").withMask(0xffff).withSegments(0x800, 0));
        long addr = world.anon(1);

        assertRefused(
                world.get(addr, PAGE, AccessFlags.LOCAL_WRITE),
                Errno.EINVAL,
                UmemFailureReason.CANNOT_LIST,
                0x800L,
                1L);
        assertThat(world.pins.acquired()).isEqualTo(1);
        assertThat(world.machine.log().warnCount()).isEqualTo(1);
    }

    @Test
    @DisplayName("rdma:UMEM-17, UMEM-18: what cannot be mapped is the errno of mapping, with its cause")
    void eleventh_thePagesCanBeMapped() {
        world = UmemWorld.onBus(DeviceConfig.named("nic").withMask(0xffff));
        long addr = world.anon(1);

        assertRefused(world.get(addr, PAGE, 0), Errno.EIO, UmemFailureReason.CANNOT_MAP, 1L);
        assertThat(Objects.requireNonNull(world.result.failure().dmaFailure()).reason())
                .isEqualTo(FailureReason.MASK_TOO_SMALL);
        assertThat(world.result.failure().toString())
                .startsWith(
                        "CANNOT_MAP: entries 1 (EIO; see why the device cannot map them: MASK_TOO_SMALL: address 0x")
                .endsWith("))");
        assertThat(world.get(0x5000, 0, 0)).isEqualTo(-Errno.EINVAL);
        assertThat(world.result.failure().dmaFailure()).isNull();
    }

    // ---- the worked examples

    @Test
    @DisplayName("rdma:EX-1, QRK-22: the limit counts pages, equality fits, and each registration is charged")
    void theLimitCountsPages() {
        world.process.setMemlockLimit(65536);
        long addr = world.anon(18);

        assertThat(world.get(addr + 1, 0x10000, 0)).isEqualTo(-Errno.ENOMEM);
        assertThat(world.get(addr, 0x10000, 0)).isZero();
        Umem kept = world.result.umem();
        assertThat(world.pinnedVm()).isEqualTo(16);
        assertRefused(world.get(addr, 1, 0), Errno.ENOMEM, UmemFailureReason.MEMLOCK_LIMIT, 1L, 16L, 16L, 17L * PAGE);
        assertThat(world.pinnedVm()).isEqualTo(16);
        world.process.setCapIpcLock(true);
        assertThat(world.get(addr, 1, 0)).isZero();
        assertThat(world.pinnedVm()).isEqualTo(17);
        world.umems.release(world.result.umem());
        world.umems.release(kept);
    }

    @Test
    @DisplayName("rdma:EX-2, MM-3: a limit below a page lets nothing in, and one of 0 is another error")
    void aLimitBelowAPageLetsNothingIn() {
        long addr = world.anon(1);
        world.process.setMemlockLimit(4095);

        assertRefused(world.get(addr, 1, 0), Errno.ENOMEM, UmemFailureReason.MEMLOCK_LIMIT, 1L, 0L, 0L, (long) PAGE);
        world.process.setMemlockLimit(0);
        assertThat(world.get(addr, 1, 0)).isEqualTo(-Errno.EPERM);
        world.process.setMemlockLimit(4096);
        assertThat(world.get(addr, 1, 0)).isZero();
        world.umems.release(world.result.umem());
    }

    @Test
    @DisplayName("rdma:EX-3: a sum of 0 wraps, and so does a last page that ends there")
    void rangesAtTheEndOfAddresses() {
        world.process.setMemlockLimit(Credentials.RLIM_INFINITY);

        assertRefused(world.get(LAST_PAGE, 0x1000, 0), Errno.EINVAL, UmemFailureReason.RANGE_WRAPS, LAST_PAGE, 0x1000L);
        assertRefused(world.get(-0x1fffL, 0xfff, 0), Errno.EFAULT, UmemFailureReason.CANNOT_PIN, -0x2000L, 0L, 1L);
        assertThat(world.get(-0x1fffL, 0x1000, 0)).isEqualTo(-Errno.EINVAL);
    }

    // ---- how the causes are told

    @Test
    void theConvenienceThrowsWithTheNumbersAndWhatToTurn() {
        world.process.setMemlockLimit(65536);
        long addr = world.anon(32);

        assertThatThrownBy(() -> world.umems.pin(world.device, world.process, addr, 32L * PAGE, 0))
                .isInstanceOfSatisfying(UmemException.class, e -> {
                    assertThat(e.errno()).isEqualTo(Errno.ENOMEM);
                    assertThat(e.failure().reason()).isEqualTo(UmemFailureReason.MEMLOCK_LIMIT);
                })
                .hasMessage("rxe0 cannot register 0x" + Long.toHexString(addr) + "+0x20000 of " + world.process
                        + ": MEMLOCK_LIMIT: pages to pin 32, pages pinned so far 0, pages allowed 16,"
                        + " bytes needed 131072 (ENOMEM; raise RLIMIT_MEMLOCK to at least the bytes needed,"
                        + " or give CAP_IPC_LOCK)");
        try (Umem umem = world.umems.pin(world.device, world.process, addr, 16L * PAGE, 0)) {
            assertThat(umem.isReleased()).isFalse();
            assertThat(world.pinnedVm()).isEqualTo(16);
        }
    }

    @Test
    void addressesAreToldInHex() {
        world.get(0x5000, 1, 0);

        assertThat(world.result.failure())
                .hasToString("CANNOT_PIN: address 0x5000, pages pinned before it 0, pages to pin 1"
                        + " (EFAULT; see what is mapped at the address)");
    }

    @Test
    void everyReasonHasAKnobAndAtMostFourNumbers() {
        for (UmemFailureReason reason : UmemFailureReason.values()) {
            assertThat(reason.knob()).isNotBlank();
            assertThat(reason.labels()).hasSizeLessThanOrEqualTo(4).doesNotContain("");
        }
        assertThat(UmemFailureReason.RANGE_WRAPS.labels()).isEqualTo(List.of("address", "bytes"));
        assertThat(UmemFailureReason.ON_DEMAND.labels()).isEmpty();
    }

    @Test
    void aResultOfNoCallHasNeitherAUmemNorAFailure() {
        UmemResult none = new UmemResult();

        assertThatThrownBy(none::umem).isInstanceOf(IllegalStateException.class).hasMessage("nothing was registered");
        assertThatThrownBy(none::failure)
                .isInstanceOf(IllegalStateException.class)
                .hasMessage("nothing failed");
    }

    @Test
    void aSuccessWipesTheFailureBeforeIt() {
        world.get(0x5000, 0, 0);
        assertThat(world.get(world.anon(1), 1, 0)).isZero();

        assertThatThrownBy(world.result::failure).hasMessage("nothing failed");
        world.result.umem().close();
    }

    @Test
    void strangersAndTheDeadAreRefused() {
        UmemWorld other = UmemWorld.software();
        IbDevice foreign = other.device;
        long addr = world.anon(1);

        assertThatThrownBy(() -> world.umems.get(foreign, 0, world.process, addr, 1, 0, world.result))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("device rxe0 and " + world.process + " must both be of the machine that registers");
        assertThatThrownBy(() -> world.umems.get(world.device, 0, other.process, addr, 1, 0, world.result))
                .isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> world.umems.get(world.device, 2, world.process, addr, 1, 0, world.result))
                .isInstanceOf(IndexOutOfBoundsException.class);
        Process dead = Process.create(world.machine);
        dead.exit();
        assertThatThrownBy(() -> world.umems.get(world.device, 0, dead, addr, 1, 0, world.result))
                .isInstanceOf(IllegalStateException.class)
                .hasMessage(dead + " registers nothing any more");
        assertThat(dead.addressSpace().pinnedVm()).isZero();
    }
}
