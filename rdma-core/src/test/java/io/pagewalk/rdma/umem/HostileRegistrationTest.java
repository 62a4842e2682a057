package io.pagewalk.rdma.umem;

import static io.pagewalk.rdma.umem.UmemWorld.PAGE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assertions.assertTimeout;

import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.memory.DevicePageMap;
import io.pagewalk.dma.memory.PhysRange;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.rdma.AccessFlags;
import io.pagewalk.rdma.SgToPages;
import io.pagewalk.rdma.mm.FileKind;
import io.pagewalk.rdma.mm.GupFlags;
import io.pagewalk.rdma.mm.Mmap;
import io.pagewalk.rdma.mm.PinRefusal;
import io.pagewalk.rdma.mm.Process;
import io.pagewalk.rdma.mm.UserFile;
import io.pagewalk.rdma.mm.UserMemory;
import io.pagewalk.rdma.rxe.RxeDevice;
import io.pagewalk.rdma.verbs.Mr;
import io.pagewalk.rdma.verbs.Pd;
import io.pagewalk.rdma.verbs.VerbsDevice;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** One test for each way that hostile numbers or orders of calls once got through. */
class HostileRegistrationTest {
    private static final int RW = Mmap.PROT_READ | Mmap.PROT_WRITE;
    private static final int ANON = Mmap.MAP_PRIVATE | Mmap.MAP_ANONYMOUS;
    private static final long TIB = 1L << 40;

    private final UmemWorld world = UmemWorld.software();

    private void assertNothingIsHeld(Process process) {
        assertThat(process.addressSpace().pinnedVm()).isZero();
        assertThat(world.pinsHeld()).isZero();
        assertThat(world.machine.scatterlists().liveChunks()).isEmpty();
    }

    // ---- objects of elsewhere

    @Test
    void aFileOfAnotherMachineCannotBeMapped() {
        UserFile foreign = UserFile.create(UmemWorld.software().machine, FileKind.SHMEM, "foreign", PAGE);
        assertThatThrownBy(() -> world.process.mmap(0, PAGE, RW, Mmap.MAP_SHARED, foreign.forWriting(), 0))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("foreign of another machine");
    }

    @ParameterizedTest
    @ValueSource(longs = {-1, Long.MIN_VALUE, 1L << 40, Long.MAX_VALUE})
    void framesThatThereCannotBeAreRefusedByName(long pfn) {
        UserMemory memory = UserMemory.of(world.machine);
        String name = "no page frame 0x" + Long.toHexString(pfn);
        assertThatThrownBy(() -> memory.isPersistent(pfn)).hasMessageContaining(name);
        assertThatThrownBy(() -> memory.markIsolated(pfn)).hasMessageContaining(name);
        assertThatThrownBy(() -> world.pins.maybeDmaPinned(pfn)).hasMessageContaining(name);
        assertThatThrownBy(() -> world.pins.unpinUserPageRangeDirtyLock(pfn, 1, true))
                .hasMessageContaining(name);
        assertThatThrownBy(() -> world.pins.unpinUserPagesDirtyLock(new long[] {pfn}, 1, true))
                .hasMessageContaining(name);
        assertThat(world.process.mmapDevice(0, pfn, PAGE, RW)).isEqualTo(-Errno.EINVAL);
    }

    @Test
    void framesThatNobodyHasCannotBeMarked() {
        UserMemory memory = UserMemory.of(world.machine);
        assertThatThrownBy(() -> memory.markDeviceCoherent(memory.zeroPfn()))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("no process and no file has page frame");
    }

    @Test
    void onlyPagesOfDevicesAreMappedAsSuch() {
        assertThat(world.process.mmapDevicePages(0, 0x100, PAGE, RW)).isEqualTo(-Errno.EINVAL);
    }

    // ---- unpinning

    @Test
    @DisplayName("rdma:GUP-18: what has no pin is not even marked dirty")
    void unpinningWhatIsNotPinnedChangesNothing() {
        long addr = world.anon(1);
        world.process.putLong(addr, 1);
        long pfn = world.process.pfnOf(addr);
        world.machine.frames().clearDirty(pfn);
        assertThatThrownBy(() -> world.pins.unpinUserPageRangeDirtyLock(pfn, 1, true))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("has no pin: its 1 references");
        assertThat(world.isDirty(pfn)).isFalse();
        assertThat(world.pins.released()).isZero();
        assertThatThrownBy(() -> world.pins.unpinUserPageRangeDirtyLock(pfn, -1, true))
                .hasMessageContaining("cannot unpin -1 pages");
        assertThatThrownBy(() -> world.pins.unpinUserPagesDirtyLock(new long[] {pfn}, 2, true))
                .isInstanceOf(IndexOutOfBoundsException.class);
    }

    @Test
    @DisplayName("rdma:MM-15: a page takes as many pins as its count has room for, and then none")
    void aPageWithAllPinsThatFitCannotBePinnedAgain() {
        long addr = world.anon(1);
        world.process.putLong(addr, 1);
        long[] pfns = new long[1];
        int pins = 0;
        while (world.process.pinUserPagesFast(addr, 1, GupFlags.WRITE, pfns) == 1) {
            pins++;
        }
        assertThat(pins).isEqualTo((1 << 21) - 1);
        assertThat(world.get(addr, PAGE, AccessFlags.LOCAL_WRITE)).isEqualTo(-Errno.ENOMEM);
        assertThat(world.pinnedVm()).isZero();
        assertThat(world.pinsHeld()).isEqualTo(pins);
    }

    // ---- large ranges

    @Test
    void aWindowOfATerabyteCostsNothingUntilItIsTouched() {
        long addr = world.process.mmapDevice(0, 0x1000_0000L, TIB, RW);
        assertThat(world.process.pfnOf(addr + TIB - PAGE)).isEqualTo(-1);
        assertThat(world.process.getLong(addr + TIB - 8)).isEqualTo(-1);
        assertThat(world.process.pfnOf(addr + TIB - PAGE)).isEqualTo(0x1fff_ffffL);
        assertThat(world.process.munmap(addr, PAGE)).isZero();
        world.process.getLong(addr + PAGE);
        assertThat(world.process.pfnOf(addr + PAGE)).as("behind a cut").isEqualTo(0x1000_0001L);
        Process child = Objects.requireNonNull(world.process.fork());
        assertThat(child.getLong(addr + PAGE)).isEqualTo(-1);
        assertThat(child.pfnOf(addr + PAGE)).isEqualTo(0x1000_0001L);
    }

    @Test
    void pageTablesCannotOutgrowRam() {
        world.process.setCapIpcLock(true);
        long addr = world.process.mmap(0, 1L << 46, Mmap.PROT_READ, ANON, null, 0);
        assertThat(world.process.mlock(addr, 1L << 46)).isEqualTo(-Errno.EAGAIN);
        world.process.exit();
        assertThat(world.machine.pages().allocatedPages()).isZero();
    }

    @Test
    void aSparseTableIsWalkedByWhatItHolds() {
        long addr = world.process.mmap(1L << 46);
        world.process.putLong(addr, 1);
        world.process.putLong(addr + (1L << 46) - 8, 2);
        assertTimeout(Duration.ofSeconds(20), () -> {
            for (int i = 0; i < 500; i++) {
                Process child = Objects.requireNonNull(world.process.fork());
                assertThat(child.getLong(addr + (1L << 46) - 8)).isEqualTo(2);
                child.exit();
            }
        });
    }

    @Test
    void whatIsReadBeyondAMappingFaultsBeforeItTakesMemory() {
        long addr = world.anon(1);
        assertThatThrownBy(() -> world.process.readBytes(addr, Integer.MAX_VALUE))
                .isInstanceOf(io.pagewalk.rdma.mm.MemoryFaultException.class);
        assertThatThrownBy(() -> world.process.readBytes(addr, -1)).hasMessageContaining("-1 bytes");
        long large = world.anon(600);
        world.process.putLong(large + 599L * PAGE, 9);
        assertThat(world.process.readBytes(large, 600 * PAGE))
                .hasSize(600 * PAGE)
                .endsWith(new byte[PAGE - 8]);
        byte[] none = new byte[4];
        assertThatThrownBy(() -> world.process.read(addr, none, 2, 3)).isInstanceOf(IndexOutOfBoundsException.class);
        assertThatThrownBy(() -> world.process.write(addr, none, 2, 3)).isInstanceOf(IndexOutOfBoundsException.class);
        assertThat(world.process.pfnOf(addr)).as("not even touched").isEqualTo(world.process.pfnOf(addr + 1));
    }

    // ---- mapping

    @Test
    void aFixedMappingWithoutRoomLeavesWhatItWouldReplace() {
        long addr = world.anon(2);
        world.process.putLong(addr, 7);
        world.machine.failures().failNth("mm.vma", 1);
        assertThat(world.process.mmap(addr, 2 * PAGE, RW, ANON | Mmap.MAP_FIXED, null, 0))
                .isEqualTo(-Errno.ENOMEM);
        assertThat(world.process.getLong(addr)).isEqualTo(7);
    }

    @Test
    void hugePagesOfAFileBeginWhereHugePagesDo() {
        UserFile file = UserFile.create(world.machine, FileKind.HUGETLB, "huge", 4L << 20);
        assertThat(world.process.mmap(0, 2 << 20, RW, Mmap.MAP_SHARED, file.forWriting(), PAGE))
                .isEqualTo(-Errno.EINVAL);
        assertThat(world.process.mmap(0, 2 << 20, RW, Mmap.MAP_SHARED, file.forWriting(), 2 << 20))
                .isPositive();
    }

    @Test
    @SuppressWarnings("NullAway") // null is what is tested
    void filesEndBelowTwoToThe63() {
        assertThatThrownBy(() -> UserFile.create(world.machine, FileKind.SHMEM, "f", -1))
                .hasMessageContaining("cannot end at -1");
        UserFile file = UserFile.create(world.machine, FileKind.SHMEM, "f", PAGE);
        assertThatThrownBy(() -> file.truncate(-4096)).hasMessageContaining("-4096");
        assertThatThrownBy(() -> file.poison(-1)).hasMessageContaining("not -1");
        assertThat(file.sizeBytes()).isEqualTo(PAGE);
        assertThatThrownBy(() -> new UserFile.Opened(null, true)).isInstanceOf(NullPointerException.class);
    }

    // ---- references of the address space

    @Test
    void whatNobodyGrabbedCannotBeDropped() {
        assertThatThrownBy(() -> world.process.addressSpace().drop())
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("nobody grabbed");
        world.process.addressSpace().putUser();
        assertThatThrownBy(() -> world.process.mmap(PAGE)).hasMessageContaining("has no memory any more");
        world.process.exit();
        assertThat(world.process.hasExited()).isTrue();
        assertThat(world.process.addressSpace().structureReferences()).isZero();
    }

    // ---- registrations

    @Test
    @SuppressWarnings("NullAway") // null is what is tested
    void aRegistrationWithoutAResultHoldsNothing() {
        long addr = world.anon(1);
        assertThatThrownBy(() -> world.umems.get(world.device, 0, world.process, addr, PAGE, 0, null))
                .isInstanceOf(NullPointerException.class);
        assertNothingIsHeld(world.process);
    }

    @Test
    void anExitInTheMiddleOfARegistrationLeavesNothing() throws Exception {
        for (int round = 0; round < 60; round++) {
            Process process = Process.create(world.machine);
            long addr = process.mmap(2000L * PAGE);
            Thread exit = new Thread(process::exit);
            exit.start();
            try {
                if (world.umems.get(world.device, 0, process, addr, 2000L * PAGE, 1, world.result) == 0) {
                    world.result.umem().close();
                }
            } catch (IllegalStateException exited) {
                assertThat(exited.getMessage()).containsAnyOf("exited", "is gone");
            }
            exit.join();
            assertNothingIsHeld(process);
            assertThat(process.addressSpace().structureReferences()).isZero();
        }
        world.process.exit();
        assertThat(world.machine.pages().allocatedPages()).isZero();
    }

    @Test
    void aNumberIsNotLostToACallThatThrows() {
        VerbsDevice rxe = RxeDevice.add("rxe1", world.machine);
        Pd pd = rxe.allocPd(0, "test").value();
        Process gone = Process.create(world.machine);
        gone.exit();
        assertThatThrownBy(() -> rxe.regUserMr(pd, 0, gone, 0x10000, PAGE, 0x10000, 0))
                .isInstanceOf(IllegalStateException.class);
        assertThat(((RxeDevice) rxe.provider()).mrCount()).isEqualTo(1);
        assertThat(pd.useCount()).isZero();
    }

    @Test
    void aCpuThatDoesNotExistGivesNothingBack() {
        VerbsDevice rxe = RxeDevice.add("rxe1", world.machine);
        Pd pd = rxe.allocPd(0, "test").value();
        long addr = world.anon(1);
        Mr mr = rxe.regUserMr(pd, 0, world.process, addr, PAGE, addr, 0).value();
        assertThatThrownBy(() -> rxe.deregMr(mr, 99)).isInstanceOf(IndexOutOfBoundsException.class);
        assertThat(Objects.requireNonNull(mr.umem()).isReleased()).isFalse();
        assertThat(world.pinnedVm()).isEqualTo(1);
        assertThat(rxe.deregMr(mr, 0)).isZero();
        assertNothingIsHeld(world.process);

        Mr second = rxe.regUserMr(pd, 0, world.process, addr, PAGE, addr, 0).value();
        Objects.requireNonNull(second.umem()).close();
        assertThatThrownBy(() -> rxe.deregMr(second, 0)).hasMessageContaining("released twice");
        assertThat(((RxeDevice) rxe.provider()).mrCount()).isEqualTo(1);
        assertNothingIsHeld(world.process);
    }

    @ParameterizedTest
    @ValueSource(strings = {"direct", "swiotlb", "iommu-strict", "iommu-lazy"})
    void whatIsRegisteredCanBeReleasedWhenTheMachineIsClosed(String backend) {
        UmemWorld bus = UmemWorld.onBus(UmemWorld.builder(backend), DeviceConfig.named("nic"));
        assertThat(bus.get(bus.anon(3), 3L * PAGE, AccessFlags.LOCAL_WRITE)).isZero();
        bus.process.setMemlockLimit(0);
        Process child = Objects.requireNonNull(bus.process.fork());
        bus.process.exit();
        bus.machine.close();
        try {
            bus.result.umem().close();
        } catch (IllegalStateException closed) {
            assertThat(backend).startsWith("iommu");
            assertThat(closed).hasMessageContaining("the machine is closed");
        }
        assertThat(bus.pinnedVm()).isZero();
        assertThat(bus.pinsHeld()).isZero();
        child.exit();
    }

    @ParameterizedTest
    @ValueSource(strings = {"direct", "swiotlb", "iommu-strict", "iommu-lazy", "virt"})
    @DisplayName("rdma:UMEM-31: after a release no address leads anywhere")
    void whatIsReleasedLeadsNowhere(String backend) {
        UmemWorld bus = UmemWorld.onBus(UmemWorld.builder(backend), DeviceConfig.named("nic"));
        long addr = bus.anon(3);
        assertThat(bus.get(addr, 3L * PAGE, AccessFlags.LOCAL_WRITE)).isZero();
        Umem umem = bus.result.umem();
        umem.close();

        assertThat(umem.physAddr(addr)).isEqualTo(UmemRegion.NOWHERE);
        assertThat(umem.dmaAddr(addr)).isEqualTo(UmemRegion.NOWHERE);
        assertThatThrownBy(() -> umem.dmaOffset(PAGE)).isInstanceOf(IndexOutOfBoundsException.class);
        assertThatThrownBy(() -> umem.findBestPgoff(-PAGE, 0xfff)).isInstanceOf(IndexOutOfBoundsException.class);
        assertThat(umem.iova()).isEqualTo(addr);
    }

    @Test
    @DisplayName("rdma:UMEM-21: a page that other hands unpinned keeps neither the charge nor the address space")
    void whatOtherHandsUnpinnedIsChargedNoLonger() {
        long addr = world.anon(4);
        assertThat(world.get(addr, 4L * PAGE, AccessFlags.LOCAL_WRITE)).isZero();
        Umem umem = world.result.umem();
        world.pins.unpinUserPageRangeDirtyLock(umem.physAddr(addr + 3 * PAGE) >>> 12, 1, false);

        assertThatThrownBy(umem::close)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("has no pin");
        assertThat(umem.isReleased()).isTrue();
        assertNothingIsHeld(world.process);
        assertThat(world.process.addressSpace().structureReferences()).isEqualTo(1);
    }

    // ---- numbers of blocks

    @ParameterizedTest
    @ValueSource(longs = {0, 3, -1, 0x1800})
    void blocksArePowersOfTwo(long pageSize) {
        UmemRegion region = new UmemRegion(new SgTable(2).add(0x5000, PAGE), 0x5000, PAGE);
        assertThatThrownBy(() -> region.numDmaBlocks(pageSize)).hasMessageContaining("no power of two");
        assertThatThrownBy(() -> region.dmaOffset(pageSize)).hasMessageContaining("no power of two");
        assertThatThrownBy(() -> new BlockIterator().start(region, pageSize))
                .isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    @DisplayName("rdma:SGP-7: a segment in the last page of 64 bits ends there")
    void pagesEndWithTheLastOf64Bits() {
        SgTable table = new SgTable(1).add(0x5000, 0x800);
        table.setDma(0, -4096, 0x800);
        table.mapped(1);
        int[] pages = {0};
        SgToPages call = new SgToPages();
        assertThat(call.map(table, 1, 0, PAGE, page -> pages[0]++ == 1 ? -Errno.ENOMEM : 0))
                .isEqualTo(1);
        assertThat(pages[0]).isEqualTo(1);
        assertThat(call.lengthBytes()).isEqualTo(0x800);
    }

    // ---- what is foreseen

    private PinForecast.Answer foreseen(long addr, long size, int access) {
        return PinForecast.of(world.process, List.of(new PinForecast.Range(addr, size, access)))
                .answers()
                .get(0);
    }

    @Test
    void aForecastNamesThePageAndTheRule() {
        world.machine
                .devicePages()
                .add(PhysRange.ofSize(0xf000_0000L, PAGE), DevicePageMap.pciP2pDma("bar", "nvme", 0));
        long peer = world.process.mmapDevicePages(0, 0xf_0000, PAGE, RW);
        assertThat(foreseen(peer, 1, 0))
                .hasToString("CANNOT_PIN: PEER_MEMORY at 0x" + Long.toHexString(peer) + " (EREMOTEIO)");
        assertThat(world.get(peer, 1, 0)).isEqualTo(-Errno.EREMOTEIO);

        long keyed = world.anon(2);
        world.process.pkeyMprotect(keyed + PAGE, PAGE, RW, 1);
        world.process.setPkru(0x4);
        assertThat(foreseen(keyed, 2 * PAGE, 0).refusal())
                .isEqualTo(new PinRefusal(keyed + PAGE, PinRefusal.Cause.PROTECTION_KEY));
        assertThat(foreseen(keyed, PAGE, 1)).hasToString("1 pages");
        assertThat(foreseen(-PAGE, PAGE, 1)).hasToString("RANGE_WRAPS (EINVAL)");
        assertThatThrownBy(() -> world.process.pinRefusal(keyed, -1, 0)).hasMessageContaining("-1 pages");
        assertThatThrownBy(() -> world.process.pinRefusal(keyed, 1, GupFlags.NOFAULT))
                .hasMessageContaining("0x20");
    }

    @Test
    @DisplayName("rdma:GUP-3: a batch that ends above the address space fails as a whole")
    void aRangeOverTheEndOfTheAddressSpaceFailsWithItsBatch() {
        long end = 0x7fff_ffff_f000L;
        long addr = end - 600L * PAGE;
        assertThat(world.process.mmap(addr, 600L * PAGE, RW, ANON | Mmap.MAP_FIXED, null, 0))
                .isEqualTo(addr);
        PinForecast.Answer answer = foreseen(addr, 601L * PAGE, 1);
        assertThat(answer.refusal()).isEqualTo(new PinRefusal(addr + 512L * PAGE, PinRefusal.Cause.ABOVE_TASK_SIZE));
        assertThat(world.get(addr, 601L * PAGE, 1)).isEqualTo(answer.errno());
        assertThat(world.result.failure().numbers().get(0)).isEqualTo(addr + 512L * PAGE);
    }

    @Test
    void aForecastChargesWhatFitsAndNothingElse() {
        world.process.setMemlockLimit(4L * PAGE);
        long addr = world.anon(4);
        PinForecast forecast = PinForecast.of(
                world.process,
                List.of(
                        new PinForecast.Range(addr, 3L * PAGE, 1),
                        new PinForecast.Range(addr, 2L * PAGE, 1),
                        new PinForecast.Range(0x10000, PAGE, 1),
                        new PinForecast.Range(addr, PAGE, 0)));
        assertThat(forecast.answers())
                .extracting(PinForecast.Answer::errno)
                .containsExactly(0, -Errno.ENOMEM, -Errno.EFAULT, 0);
        assertThat(forecast.fits()).isFalse();
        assertThat(forecast.after().pinnedPages()).isEqualTo(4);
        assertThat(world.pinnedVm()).isZero();
    }
}
