package io.pagewalk.rdma.umem;

import static io.pagewalk.rdma.umem.UmemWorld.PAGE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.KernelConfig;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.rdma.AccessFlags;
import io.pagewalk.rdma.ReregFlags;
import io.pagewalk.rdma.mm.Process;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** What a registration holds, and what its release leaves. */
class UmemTest {
    private static final long DIRECT_MAP = 0xffff_8880_0000_0000L;

    private UmemWorld world = UmemWorld.software();

    private Umem register(long addr, long size, int access) {
        assertThat(world.get(addr, size, access)).isZero();
        return world.result.umem();
    }

    // ---- what it holds

    @Test
    @DisplayName("rdma:UMEM-1, UMEM-2, UMEM-6: a umem knows range, owner, device and whether it writes")
    void aUmemKnowsWhatItIs() {
        long addr = world.anon(3);
        Umem umem = register(addr + 0x10, 2 * PAGE, AccessFlags.REMOTE_READ);

        assertThat(umem.userAddr()).isEqualTo(addr + 0x10);
        assertThat(umem.iova()).isEqualTo(addr + 0x10);
        assertThat(umem.lengthBytes()).isEqualTo(2 * PAGE);
        assertThat(umem.device()).isSameAs(world.device);
        assertThat(umem.owner()).isSameAs(world.process.addressSpace());
        assertThat(umem.isWritable()).isFalse();
        assertThat(world.process.addressSpace().structureReferences()).isEqualTo(2);
        assertThat(register(addr, 1, AccessFlags.MW_BIND).isWritable()).isTrue();
    }

    @Test
    @DisplayName("rdma:UMEM-9: no bytes inside a page register that page")
    void noBytesInsideAPageRegisterThatPage() {
        long addr = world.anon(2);
        Umem umem = register(addr + 1, 0, 0);

        assertThat(world.pinnedVm()).isEqualTo(1);
        assertThat(world.pinsHeld()).isEqualTo(1);
        assertThat(umem.table().origNents()).isEqualTo(1);
        assertThat(umem.table().lengthBytes(0)).isEqualTo(PAGE);
        umem.close();
        assertThat(world.pinsHeld()).isZero();
    }

    @Test
    @DisplayName("rdma:UMEM-15, UMEM-20, SGA-2: batches of 512 pages grow one list, of whole pages without an offset")
    void batchesGrowOneList() {
        long addr = world.anon(1300);
        world.process.putLong(addr + 700L * PAGE, 1);
        Umem umem = register(addr + 0x123, 1299L * PAGE, AccessFlags.LOCAL_WRITE);
        SgTable table = umem.table();

        assertThat(world.pinnedVm()).isEqualTo(1300);
        assertThat(umem.offset()).isEqualTo(0x123);
        long bytes = 0;
        for (int i = 0; i < table.origNents(); i++) {
            assertThat(table.offset(i)).isZero();
            assertThat(table.lengthBytes(i) % PAGE).isZero();
            bytes += table.lengthBytes(i);
        }
        assertThat(bytes).isEqualTo(1300L * PAGE);
        assertThat(table.nents()).isEqualTo(table.origNents());
        assertThat(table.isEnd(table.nents() - 1)).isTrue();
        assertThat(lengths(table)).isEqualTo(runs(addr, 1300, 1 << 20)).hasSizeBetween(3, 100);
        for (int page = 0; page < 1300; page++) {
            assertThat(UmemWorld.pfn(umem.physAddr(addr + (long) page * PAGE)))
                    .isEqualTo(world.process.pfnOf(addr + (long) page * PAGE));
        }
    }

    private static List<Long> lengths(SgTable table) {
        List<Long> lengths = new ArrayList<>();
        for (int i = 0; i < table.origNents(); i++) {
            lengths.add(table.lengthBytes(i));
        }
        return lengths;
    }

    /** How long the runs of consecutive frames behind pages of the process are, cut at a number of pages. */
    private List<Long> runs(long addr, int pages, int maxPages) {
        List<Long> runs = new ArrayList<>();
        long before = -2;
        long run = 0;
        for (int page = 0; page < pages; page++) {
            long pfn = world.process.pfnOf(addr + (long) page * PAGE);
            if (run > 0 && (pfn != before + 1 || run == maxPages)) {
                runs.add(run * PAGE);
                run = 0;
            }
            run++;
            before = pfn;
        }
        runs.add(run * PAGE);
        return runs;
    }

    @Test
    @DisplayName("rdma:UMEM-15, SGA-1: segments are as long as the device can take, by whole pages")
    void segmentsAreAsLongAsTheDeviceCanTake() {
        world = UmemWorld.onBus(DeviceConfig.named("nic").withSegments(0x3fff, 0));
        long addr = world.anon(64);
        Umem umem = register(addr, 64 * PAGE, AccessFlags.LOCAL_WRITE);

        assertThat(lengths(umem.table())).isEqualTo(runs(addr, 64, 3)).contains(0x3000L);
    }

    @Test
    @DisplayName("rdma:UMEM-15, GUP-EX1: a short count goes on with the page that was missing, which says why")
    void aShortCountGoesOn() {
        long addr = world.anon(600);
        world.process.munmap(addr + 550L * PAGE, PAGE);

        assertThat(world.get(addr, 600L * PAGE, AccessFlags.LOCAL_WRITE)).isEqualTo(-Errno.EFAULT);
        assertThat(world.result.failure().numbers()).containsExactly(addr + 550L * PAGE, 550L, 600L);
        assertThat(world.pins.acquired()).isEqualTo(550);
        assertThat(world.pinsHeld()).isZero();
        assertThat(world.pinnedVm()).isZero();
    }

    @Test
    @DisplayName("rdma:UMEM-18: an undone registration dirties nothing")
    void anUndoneRegistrationDirtiesNothing() {
        world = UmemWorld.onBus(DeviceConfig.named("nic").withMask(0xffff));
        long addr = world.anon(1);
        world.process.putLong(addr, 1);
        long pfn = world.process.pfnOf(addr);
        world.machine.frames().clearDirty(pfn);

        assertThat(world.get(addr, PAGE, AccessFlags.LOCAL_WRITE)).isEqualTo(-Errno.EIO);
        assertThat(world.isDirty(pfn)).isFalse();
        assertThat(world.pins.released()).isEqualTo(1);
    }

    @Test
    @DisplayName("rdma:UMEM-31: both maps lead from the process's address to the page and to the device's address")
    void bothMapsLeadFromTheProcess() {
        long addr = world.scattered(5);
        Umem umem = register(addr + 0x40, 4 * PAGE, 0);
        long inThird = addr + 2 * PAGE + 0x77;

        assertThat(umem.physAddr(inThird)).isEqualTo((world.process.pfnOf(inThird) << 12) + 0x77);
        assertThat(umem.dmaAddr(inThird)).isEqualTo(DIRECT_MAP + umem.physAddr(inThird));
        assertThat(umem.physAddr(addr + 5 * PAGE)).isEqualTo(UmemRegion.NOWHERE);
    }

    @Test
    @DisplayName("rdma:UMEM-17, DMA-9: a device without a mask registers, with no segments")
    void aDeviceWithoutAMaskRegistersWithNoSegments() {
        world = UmemWorld.onBus(DeviceConfig.named("nic").withStreamingMask(null));
        Umem umem = register(world.anon(2), 2 * PAGE, 0);

        assertThat(umem.table().nents()).isZero();
        assertThat(umem.table().origNents()).isPositive();
        assertThat(umem.dmaAddr(umem.userAddr())).isEqualTo(UmemRegion.NOWHERE);
    }

    @Test
    @DisplayName("rdma:UMEM-17: both directions are mapped whatever the rights, with weak ordering if it is relaxed")
    void bothDirectionsAreMapped() {
        RecordingOps ops = new RecordingOps();
        world = UmemWorld.onBus(DeviceConfig.named("nic").withDmaOps(ops));
        long addr = world.anon(1);
        register(addr, 1, AccessFlags.REMOTE_READ | AccessFlags.RELAXED_ORDERING)
                .close();
        register(addr, 1, AccessFlags.LOCAL_WRITE).close();

        assertThat(ops.calls)
                .containsExactly(
                        "map BIDIRECTIONAL 0x2 cpu 0",
                        "unmap BIDIRECTIONAL 0x0 cpu 0",
                        "map BIDIRECTIONAL 0x0 cpu 0",
                        "unmap BIDIRECTIONAL 0x0 cpu 0");
    }

    @Test
    @DisplayName("rdma:UMEM-21: a release unmaps on the CPU that registered, or on the one that asks")
    void aReleaseUnmapsOnACpu() {
        RecordingOps ops = new RecordingOps();
        world = UmemWorld.onBus(DeviceConfig.named("nic").withDmaOps(ops));
        long addr = world.anon(1);
        world.umems.get(world.device, 1, world.process, addr, 1, 0, world.result);
        world.umems.release(world.result.umem());
        world.umems.get(world.device, 1, world.process, addr, 1, 0, world.result);
        world.umems.release(world.result.umem(), 0);

        assertThat(ops.calls)
                .containsExactly(
                        "map BIDIRECTIONAL 0x0 cpu 1",
                        "unmap BIDIRECTIONAL 0x0 cpu 1",
                        "map BIDIRECTIONAL 0x0 cpu 1",
                        "unmap BIDIRECTIONAL 0x0 cpu 0");
    }

    // ---- what its release leaves

    @Test
    @DisplayName("rdma:UMEM-21, UMEM-22: a release dirties the pages of a writable registration, written or not")
    void aReleaseDirtiesPagesOfAWritableRegistration() {
        long addr = world.scattered(3);
        for (int access : new int[] {AccessFlags.REMOTE_READ, AccessFlags.LOCAL_WRITE}) {
            Umem umem = register(addr, 3 * PAGE, access);
            for (int page = 0; page < 3; page++) {
                world.machine.frames().clearDirty(world.process.pfnOf(addr + (long) page * PAGE));
            }
            umem.close();
            for (int page = 0; page < 3; page++) {
                assertThat(world.isDirty(world.process.pfnOf(addr + (long) page * PAGE)))
                        .isEqualTo(access == AccessFlags.LOCAL_WRITE);
            }
        }
        assertThat(world.pinsHeld()).isZero();
        assertThat(world.pinnedVm()).isZero();
        assertThat(world.machine.scatterlists().liveChunks()).isEmpty();
        assertThat(world.process.addressSpace().structureReferences()).isEqualTo(1);
    }

    @Test
    @DisplayName("rdma:EX-7, MM-15: a page pinned by two registrations has 2049 references, then 1025, then 1")
    void aPageOfTwoRegistrationsIsPinnedTwice() {
        long addr = world.anon(1);
        world.process.putLong(addr, 1);
        assertThat(world.refCount(addr)).isEqualTo(1);
        Umem first = register(addr, 1, AccessFlags.LOCAL_WRITE);
        Umem second = register(addr, 1, AccessFlags.LOCAL_WRITE);

        assertThat(world.pinnedVm()).isEqualTo(2);
        assertThat(world.refCount(addr)).isEqualTo(2049);
        first.close();
        assertThat(world.refCount(addr)).isEqualTo(1025);
        assertThat(world.pins.maybeDmaPinned(world.process.pfnOf(addr))).isTrue();
        second.close();
        assertThat(world.refCount(addr)).isEqualTo(1);
    }

    @Test
    @DisplayName("rdma:UMEM-6, UMEM-22: the charge goes back to who registered, even after its end")
    void theChargeGoesBackToWhoRegistered() {
        long addr = world.anon(2);
        Umem umem = register(addr, 2 * PAGE, 0);
        Process child = Objects.requireNonNull(world.process.fork());
        assertThat(child.addressSpace().pinnedVm()).as("MM-13").isZero();
        world.process.exit();

        assertThat(world.process.addressSpace().structureReferences()).isEqualTo(1);
        assertThat(world.pinnedVm()).isEqualTo(2);
        world.umems.release(umem);
        assertThat(world.pinnedVm()).isZero();
        assertThat(child.addressSpace().pinnedVm()).isZero();
        assertThat(world.process.addressSpace().structureReferences()).isZero();
        assertThat(world.pinsHeld()).isZero();
    }

    @Test
    @DisplayName("rdma:MM-12, UMEM-21: an unmapped page stays the device's until the release, and is free after it")
    void anUnmappedPageStaysTheDevices() {
        long addr = world.anon(1);
        world.process.putLong(addr, 0x5555);
        Umem umem = register(addr, PAGE, AccessFlags.LOCAL_WRITE);
        long physAddr = umem.physAddr(addr);
        long free = world.machine.pages().freeBytes();
        world.process.munmap(addr, PAGE);

        assertThat(world.machine.cpuMemory().getLong(physAddr)).isEqualTo(0x5555);
        assertThat(world.machine.pages().freeBytes()).isEqualTo(free);
        umem.close();
        assertThat(world.machine.pages().freeBytes()).isEqualTo(free + PAGE);
    }

    @Test
    @DisplayName("rdma:UMEM-23: a driver that moves iova inside its page gives back another number than was charged")
    void movingIovaInsideThePageChangesTheCharge() {
        Umem umem = register(world.anon(1), PAGE, 0);
        umem.setIova(0x7000_0800L);
        assertThat(world.pinnedVm()).isEqualTo(1);
        umem.close();

        assertThat(world.pinnedVm()).isEqualTo(-1);
        assertThat(world.pinsHeld()).isZero();
    }

    @Test
    @DisplayName("rdma:UMEM-21: releasing nothing does nothing, and releasing twice changes nothing more")
    void releasingNothingDoesNothing() {
        UmemWorld other = UmemWorld.software();
        world.umems.release(null);
        Umem umem = register(world.anon(1), 1, 0);
        assertThatThrownBy(() -> other.umems.release(umem))
                .isInstanceOf(IllegalStateException.class)
                .hasMessage("umem " + umem + " is of another machine");
        assertThat(umem.isReleased()).isFalse();
        world.umems.release(umem);
        umem.close();

        assertThatThrownBy(() -> world.umems.release(umem))
                .isInstanceOf(IllegalStateException.class)
                .hasMessage("umem " + umem + " of rxe0 is released twice");
        assertThat(umem.isReleased()).isTrue();
        assertThat(world.pinnedVm()).isZero();
    }

    // ---- what drivers ask

    @Test
    @DisplayName("rdma:UMEM-27: bytes are copied from where the region begins, inside it alone")
    void bytesAreCopiedFromInsideTheRegion() {
        long addr = world.scattered(3);
        byte[] bytes = new byte[3 * PAGE];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = (byte) (i * 7);
        }
        world.process.writeBytes(addr, bytes);
        Umem umem = register(addr + 0x300, 2 * PAGE, 0);
        byte[] copy = new byte[2 * PAGE + 2];

        assertThat(umem.copyFrom(copy, 1, 0, 2 * PAGE)).isZero();
        assertThat(Arrays.copyOfRange(copy, 1, 2 * PAGE + 1))
                .isEqualTo(Arrays.copyOfRange(bytes, 0x300, 0x300 + 2 * PAGE));
        assertThat(copy[0]).isZero();
        assertThat(umem.copyFrom(copy, 0, 2 * PAGE - 3, 3)).isZero();
        assertThat(copy[2]).isEqualTo(bytes[0x300 + 2 * PAGE - 1]);
        assertThat(umem.copyFrom(copy, 0, 2 * PAGE, 0)).isZero();
        assertThat(world.machine.log().entries()).isEmpty();
        assertThat(umem.copyFrom(copy, 0, 2 * PAGE + 1, 0)).isEqualTo(-Errno.EINVAL);
        assertThat(umem.copyFrom(copy, 0, 1, 2 * PAGE)).isEqualTo(-Errno.EINVAL);
        assertThat(umem.copyFrom(copy, 0, -1, 2)).isEqualTo(-Errno.EINVAL);
        assertThat(umem.copyFrom(copy, 0, 1, -1)).isEqualTo(-Errno.EINVAL);
        assertThat(world.machine.log().count("ib_umem_copy_from")).isEqualTo(4);
        assertThat(world.machine.log().entries().get(1).text())
                .isEqualTo("0x1+0x2000 is not in range of a umem of 0x2000 bytes (rdma:UMEM-27)");
        assertThatThrownBy(() -> umem.copyFrom(copy, 3, 0, 2 * PAGE)).isInstanceOf(IndexOutOfBoundsException.class);
        umem.close();
        assertThatThrownBy(() -> umem.copyFrom(copy, 0, 0, 1))
                .isInstanceOf(IllegalStateException.class)
                .hasMessage("umem " + umem + " of rxe0 is released");
    }

    @Test
    @DisplayName("rdma:UMEM-28: pages pinned for reading may not be given rights to write without being pinned anew")
    void readOnlyPagesMayNotBecomeWritable() {
        Umem readOnly = register(world.anon(1), 1, 0);
        Umem writable = register(world.anon(1), 1, AccessFlags.LOCAL_WRITE);
        int write = AccessFlags.LOCAL_WRITE;

        assertThat(Umems.checkRereg(readOnly, ReregFlags.ACCESS, write)).isEqualTo(-Errno.EACCES);
        assertThat(Umems.checkRereg(readOnly, ReregFlags.ACCESS | ReregFlags.PD, write))
                .isEqualTo(-Errno.EACCES);
        assertThat(Umems.checkRereg(readOnly, ReregFlags.ACCESS | ReregFlags.TRANS, write))
                .isZero();
        assertThat(Umems.checkRereg(readOnly, ReregFlags.PD, write)).isZero();
        assertThat(Umems.checkRereg(readOnly, ReregFlags.ACCESS, AccessFlags.REMOTE_READ))
                .isZero();
        assertThat(Umems.checkRereg(writable, ReregFlags.ACCESS, write)).isZero();
        assertThat(Umems.checkRereg(null, ReregFlags.ACCESS, write)).isZero();
    }

    @Test
    @DisplayName("rdma:UMEM-29: a kernel without user memory knows no page size")
    void withoutUserMemoryThereIsNoPageSize() {
        UmemRegion region = new UmemRegion(Lists.mapped(0x5_0000, 0x4000), 0x1_0000, 0x4000);
        UmemWorld without = UmemWorld.software(UmemWorld.builder("direct")
                .kernelConfig(KernelConfig.distribution().withInfinibandUserMem(false)));

        assertThat(without.umems.findBestPgsz(region, -0x1000L, 0x2_0000)).isZero();
        assertThat(region.iova()).isEqualTo(0x1_0000);
        assertThat(world.umems.findBestPgsz(region, -0x1000L, 0x2_0000)).isEqualTo(0x4000);
        assertThat(region.iova()).isEqualTo(0x2_0000);
    }

    @Test
    void eachMachineHasOnePlaceThatRegisters() {
        assertThat(Umems.of(world.machine)).isSameAs(world.umems);
        assertThat(UmemWorld.software().umems).isNotSameAs(world.umems);
    }
}
