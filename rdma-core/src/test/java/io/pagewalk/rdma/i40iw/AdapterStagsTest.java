package io.pagewalk.rdma.i40iw;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.Zone;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.rdma.AccessFlags;
import io.pagewalk.rdma.mm.Process;
import io.pagewalk.rdma.qp.AtomicWord;
import io.pagewalk.rdma.qp.Link;
import io.pagewalk.rdma.qp.RcQp;
import io.pagewalk.rdma.qp.Region;
import io.pagewalk.rdma.qp.RemoteRef;
import io.pagewalk.rdma.rxe.RxeDevice;
import io.pagewalk.rdma.verbs.Cq;
import io.pagewalk.rdma.verbs.ErrPtr;
import io.pagewalk.rdma.verbs.FastReg;
import io.pagewalk.rdma.verbs.Mr;
import io.pagewalk.rdma.verbs.MrType;
import io.pagewalk.rdma.verbs.Mw;
import io.pagewalk.rdma.verbs.Owner;
import io.pagewalk.rdma.verbs.Pd;
import io.pagewalk.rdma.verbs.QpAttributes;
import io.pagewalk.rdma.verbs.QpInit;
import io.pagewalk.rdma.verbs.SendWr;
import io.pagewalk.rdma.verbs.VerbsDevice;
import io.pagewalk.rdma.verbs.WorkCompletion;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The adapter's table of stags: what commands put in and take out, and how an address in it leads to bytes. */
class AdapterStagsTest {
    private static final int PAGE = 4096;
    private static final int LW = AccessFlags.LOCAL_WRITE;
    private static final int RR = AccessFlags.REMOTE_READ;
    private static final int RW = AccessFlags.REMOTE_WRITE;
    private static final long BASE = 0x4000_0000L;
    private static final int EINVAL = -Errno.EINVAL;

    private final Machine machine = Machine.builder()
            .ramBytes(64L << 20)
            .chunkBytes(1 << 16)
            .backend("direct")
            .build();
    private final Device nic = machine.addDevice(DeviceConfig.named("nic").withMask(-1L));
    private final I40iwConfig config = I40iwConfig.e810().withMaxMr(48).withPbles(BASE, 1 << 14);
    private final VerbsDevice device = I40iwDevice.add("rdma0", nic, config).value();
    private final I40iwDevice driver = (I40iwDevice) device.provider();
    private final Process process = Process.create(machine);
    private final Pd pd = device.allocPd(0, "test").value();
    private final Cq cq = device.createCq(Owner.kernel("test"), 16).value();
    private final RcQp left = qp();
    private final RcQp right = qp();
    private final Link link = Link.establish(left, right, QpAttributes.usual());
    private final RcQp bystander = qp();
    private final SendWr wr = new SendWr();
    private final WorkCompletion completion = new WorkCompletion();

    @AfterEach
    void close() {
        driver.close();
        machine.close();
    }

    private RcQp qp() {
        return (RcQp) device.createQp(pd, QpInit.of(cq, cq).withSizes(8, 1, 3)).value();
    }

    private String post(SendWr request) {
        assertThat(left.postSend(request.signaled())).isZero();
        return completed();
    }

    private String completed() {
        assertThat(cq.poll(completion)).isOne();
        return completion.status().name();
    }

    private Mr reg(long addr, long length, long iova, int access) {
        return device.regUserMr(pd, 0, process, addr, length, iova, access).value();
    }

    private SgTable list(int pages) {
        SgTable sg = new SgTable(pages);
        for (int i = 0; i < pages; i++) {
            sg.add(machine.pages().allocPages(Zone.NORMAL, 1), PAGE);
        }
        assertThat(device.ibDevice().dma().mapSgTable(sg, DmaDirection.BIDIRECTIONAL, 0))
                .isZero();
        return sg;
    }

    // ---- an adapter by itself

    /** A table of the adapter's without a driver that fills it. */
    private final class Table {
        private final HmcMemory memory = new HmcMemory(nic.dma());
        private final StagTable stags = new StagTable(48, () -> 0x0500);
        private final PbleManager pbles;
        private final I40iwConfig own;
        private final AdapterStags adapter;

        Table(I40iwConfig own) {
            this.own = own;
            pbles = new PbleManager(memory, BASE, 1 << 14, own.generation(), machine.failures());
            assertThat(pbles.open()).isZero();
            adapter = new AdapterStags(own, nic, stags, pbles, new CommandQueue(2, machine.failures()));
        }

        /** A table of an adapter that has fewer PBLEs than were given out. */
        AdapterStags withPbles(long count) {
            return new AdapterStags(
                    own.withPbles(BASE, count), nic, stags, pbles, new CommandQueue(2, machine.failures()));
        }

        I40iwMr mr(MrType type) {
            return new I40iwMr(pd, type, stags.create(), pbles, 8);
        }
    }

    @ParameterizedTest
    @EnumSource
    @DisplayName("IRD-7, IRD-9: pages have 4 KiB, 2 MiB or 1 GiB; i40iw calls every refusal a lack of memory")
    void pagesHaveOneOfThreeSizes(Generation generation) {
        Table table = new Table(I40iwConfig.x722(generation));
        int refused = generation == Generation.I40IW ? -Errno.ENOMEM : EINVAL;
        var umem = Objects.requireNonNull(
                reg(Scattered.memory(process, 1), PAGE, 0, 0).umem());
        for (long size : new long[] {1L << 12, 1L << 21, 1L << 30}) {
            I40iwMr mr = table.mr(MrType.USER);
            mr.hold(umem, size, 0);
            assertThat(table.adapter.register(mr, pd, 0, 8)).isZero();
            assertThat(table.adapter.lookupLocal(pd, mr.stag(), 0)).isNotNull();
            for (long other : new long[] {size >> 1, size << 1}) {
                I40iwMr odd = table.mr(MrType.USER);
                odd.hold(umem, other, 0);
                assertThat(table.adapter.register(odd, pd, 0, 8))
                        .as("0x%x", other)
                        .isEqualTo(refused);
                assertThat(table.adapter.lookupLocal(pd, odd.stag(), 0)).isNull();
            }
        }
        I40iwMr empty = table.mr(MrType.USER);
        assertThat(table.adapter.register(empty, pd, 0, 0)).isEqualTo(generation == Generation.I40IW ? 0 : EINVAL);
        table.memory.close();
    }

    @Test
    @DisplayName("IRD-7: a list begins below the number of PBLEs that the adapter has")
    void aListBeginsBelowTheNumberOfPbles() {
        Table table = new Table(config);
        assertThat(table.pbles.get(8, PbleManager.LEVEL_1_OR_2, new PbleAllocation()))
                .isZero();
        I40iwMr mr = table.mr(MrType.USER);
        assertThat(table.pbles.get(8, PbleManager.LEVEL_1_OR_2, mr.list())).isZero();
        int index = mr.list().index();
        assertThat(index).isPositive();
        assertThat(table.withPbles(index).register(mr, pd, 0, 8)).isEqualTo(EINVAL);
        assertThat(table.withPbles(index + 1).register(mr, pd, 0, 8)).isZero();
        I40iwMr direct = table.mr(MrType.USER);
        assertThat(table.withPbles(0).register(direct, pd, 0, 8))
                .as("no list, no index")
                .isZero();
        table.memory.close();
    }

    @Test
    @DisplayName("IRD-8, IRD-9: all memory is registered with its rights alone, and not when the command fails")
    void allMemoryHasItsRights() {
        Table table = new Table(config);
        RemoteRef ref = new RemoteRef();
        I40iwMr mr = table.mr(MrType.DMA);
        machine.failures().failNth("i40iw.cqp_command", 1);
        assertThat(table.adapter.registerAll(pd, mr.stag(), RR)).isEqualTo(-Errno.EIO);
        assertThat(table.adapter.lookupRemote(left, mr.stag(), RR, ref)).isFalse();
        assertThat(table.adapter.registerAll(pd, mr.stag(), RR)).isZero();
        assertThat(table.adapter.lookupRemote(left, mr.stag(), RR, ref)).isTrue();
        assertThat(ref.region().checkRange(-8, 8)).as("all memory").isZero();
        ref.put();
        assertThat(table.adapter.lookupRemote(left, mr.stag(), RW, ref)).isFalse();
        assertThat(table.adapter.lookupLocal(pd, mr.stag(), LW)).isNull();
        table.memory.close();
    }

    @Test
    @DisplayName("IRD-8: a stag that an access holds is warned of and goes; who looks again finds nothing")
    void aStagThatIsHeldGoesNevertheless() {
        Mr mr = reg(Scattered.memory(process, 1), PAGE, 0x7000_0000L, LW | RR);
        Table table = new Table(config);
        I40iwMr own = table.mr(MrType.USER);
        own.hold(Objects.requireNonNull(mr.umem()), PAGE, 0);
        assertThat(table.adapter.register(own, pd, 0, 8)).isZero();
        RemoteRef ref = new RemoteRef();
        assertThat(table.adapter.lookupAgain(own.stag(), ref)).isTrue();
        assertThat(table.adapter.deallocStag(own.stag())).isZero();
        assertThat(machine.log().entries())
                .extracting(e -> e.site() + ": " + e.text())
                .containsExactly("dealloc_stag: stag 0x" + Integer.toHexString(own.stag())
                        + " is still held, and goes nevertheless");
        ref.put();
        assertThat(table.adapter.lookupAgain(own.stag(), ref)).isFalse();
        assertThat(table.adapter.lookupLocal(pd, own.stag(), 0)).isNull();
        assertThat(table.adapter.deallocStag(own.stag())).as("nothing is left").isZero();
        assertThat(machine.log().warnCount()).isOne();
        table.memory.close();
    }

    @Test
    @DisplayName("STAG-1, DP-21: a key behind the last stag is no key")
    void aKeyBehindTheLastStagIsNoKey() {
        Table table = new Table(config.withMaxMr(40));
        RemoteRef ref = new RemoteRef();
        for (int index : new int[] {39, 40, 47}) {
            assertThat(table.adapter.lookupRemote(left, index << 8, RR, ref)).isFalse();
            assertThat(table.adapter.invalidate(left, index << 8)).isEqualTo(EINVAL);
        }
        table.memory.close();
    }

    @Test
    @DisplayName("RXE-5: an entry is held by all who took it, and by nobody after its end")
    void anEntryIsHeldByAllWhoTookIt() {
        StagEntry entry = StagEntry.region(nic.bus(), driver.pbles(), pd, 0x100);
        assertThat(entry.tryGet()).isTrue();
        assertThat(entry.tryGet()).isTrue();
        entry.put();
        entry.put();
        assertThat(entry.tryGet()).as("still there").isTrue();
        entry.put();
        assertThat(entry.drain()).isTrue();
        assertThat(entry.tryGet()).isFalse();
        assertThat(entry.isValid()).isFalse();
    }

    @Test
    @DisplayName("DP-21: there are no atomics, in no region at all")
    void thereAreNoAtomics() {
        StagEntry all = StagEntry.region(nic.bus(), driver.pbles(), pd, 0x100);
        all.coverAll(-1);
        AtomicWord old = new AtomicWord();
        long page = machine.pages().allocPages(Zone.NORMAL, 0);
        machine.cpuMemory().putLong(page, 5);
        assertThat(all.fetchAdd(page, 1, old)).isEqualTo(Region.ATOMIC_VIOLATION);
        assertThat(all.compareAndSwap(page, 5, 1, old)).isEqualTo(Region.ATOMIC_VIOLATION);
        assertThat(machine.cpuMemory().getLong(page)).isEqualTo(5);
        assertThat(all.allows(AccessFlags.REMOTE_ATOMIC)).isFalse();
    }

    // ---- ranges and pages

    @Test
    @DisplayName("IRD-7: bytes of a region that begins within a page, on either side of each page's end")
    void bytesOnEitherSideOfAPagesEnd() {
        long addr = Scattered.memory(process, 4);
        int offset = 0x123;
        long iova = 0x7000_0000L + offset;
        Mr mr = reg(addr + offset, 3 * PAGE, iova, LW | RW | RR);
        long nearAddr = Scattered.memory(process, 1);
        Mr local = reg(nearAddr, PAGE, nearAddr, LW);
        for (int page = 1; page <= 3; page++) {
            long value = 0x1122_3344_5566_7788L * page;
            long end = 0x7000_0000L + (long) page * PAGE;
            process.putLong(nearAddr, value);
            assertThat(post(wr.write(1, end - 4, mr.rkey()).sge(nearAddr, 8, local.lkey())))
                    .isEqualTo("SUCCESS");
            assertThat(process.getLong(addr + (long) page * PAGE - 4)).isEqualTo(value);
            process.putLong(nearAddr, 0);
            assertThat(post(wr.read(2, end - 4, mr.rkey()).sge(nearAddr, 8, local.lkey())))
                    .isEqualTo("SUCCESS");
            assertThat(process.getLong(nearAddr)).isEqualTo(value);
        }
        process.putLong(nearAddr, 77);
        assertThat(post(wr.write(3, iova + 3 * PAGE - 8, mr.rkey()).sge(nearAddr, 8, local.lkey())))
                .isEqualTo("SUCCESS");
        assertThat(process.getLong(addr + offset + 3 * PAGE - 8)).isEqualTo(77);
        assertThat(post(wr.write(4, iova + 3 * PAGE - 7, mr.rkey()).sge(nearAddr, 8, local.lkey())))
                .isEqualTo("REM_ACCESS_ERR");
    }

    @Test
    @DisplayName("IRD-4, IRD-7: a list of two levels leads to every leaf's first and last page")
    void aListOfTwoLevelsLeadsToEveryLeaf() {
        List<Mr> leaves = new ArrayList<>();
        for (int i = 0; i < 32; i++) {
            ErrPtr<Mr> made = FastReg.allocMr(pd, MrType.MEM_REG, 512);
            if (!made.isErr()) {
                leaves.add(made.value());
            }
        }
        for (int i = 0; i < leaves.size(); i += 2) {
            device.deregMr(leaves.get(i), 0);
        }
        int pages = 1040;
        long addr = Scattered.memory(process, pages);
        I40iwMr mr = (I40iwMr) reg(addr, (long) pages * PAGE, 0x7000_0000L, LW | RW | RR);
        assertThat(mr.list().level()).isEqualTo(2);
        long nearAddr = Scattered.memory(process, 1);
        Mr local = reg(nearAddr, PAGE, nearAddr, LW);
        for (int page : new int[] {0, 1, 511, 512, 513, 1023, 1024, 1039}) {
            assertThat(post(wr.read(1, 0x7000_0000L + (long) page * PAGE, mr.rkey())
                            .sge(nearAddr, 8, local.lkey())))
                    .isEqualTo("SUCCESS");
            assertThat(process.getLong(nearAddr)).isEqualTo(page);
        }
        process.putLong(nearAddr, -3);
        assertThat(post(wr.write(2, 0x7000_0000L + 512L * PAGE - 3, mr.rkey()).sge(nearAddr, 8, local.lkey())))
                .isEqualTo("SUCCESS");
        assertThat(process.getLong(addr + 512L * PAGE - 3)).isEqualTo(-3);
    }

    @Test
    @DisplayName("IRD-5: a region of one page has its address in the request, one of two has its list")
    void aRegionOfOnePageHasItsAddressInTheRequest() {
        long nearAddr = Scattered.memory(process, 1);
        Mr local = reg(nearAddr, PAGE, nearAddr, LW);
        for (int pages = 1; pages <= 2; pages++) {
            SgTable before = list(pages);
            SgTable after = list(pages);
            Mr fast = FastReg.allocMr(pd, MrType.MEM_REG, pages).value();
            assertThat(FastReg.mapMrSg(fast, before, pages, 0, PAGE)).isEqualTo(pages);
            assertThat(post(wr.regMr(1, fast, fast.lkey(), LW | RR))).isEqualTo("SUCCESS");
            long iova = fast.iova();
            machine.cpuMemory().putLong(before.physAddr(0), 11);
            machine.cpuMemory().putLong(after.physAddr(0), 22);
            assertThat(FastReg.mapMrSg(fast, after, pages, 0, PAGE)).isEqualTo(pages);
            assertThat(post(wr.read(2, iova, fast.rkey()).sge(nearAddr, 8, local.lkey())))
                    .isEqualTo("SUCCESS");
            assertThat(process.getLong(nearAddr)).isEqualTo(pages == 1 ? 11 : 22);
        }
    }

    @Test
    @DisplayName("IRD-5: a fast region of a 1 GiB page counts from its beginning")
    void aFastRegionOfAGigabytePage() {
        SgTable sg = list(1);
        Mr fast = FastReg.allocMr(pd, MrType.MEM_REG, 1).value();
        assertThat(FastReg.mapMrSg(fast, sg, 1, 0, 1 << 30)).isOne();
        assertThat(post(wr.regMr(1, fast, fast.lkey(), LW | RR))).isEqualTo("SUCCESS");
        machine.cpuMemory().putLong(sg.physAddr(0) + 16, 33);
        long nearAddr = Scattered.memory(process, 1);
        Mr local = reg(nearAddr, PAGE, nearAddr, LW);
        assertThat(post(wr.read(2, fast.iova() + 16, fast.rkey()).sge(nearAddr, 8, local.lkey())))
                .isEqualTo("SUCCESS");
        assertThat(process.getLong(nearAddr)).isEqualTo(33);
    }

    // ---- between packets

    private Mr fastReadable() {
        SgTable sg = list(1);
        for (int i = 0; i < PAGE; i += 8) {
            machine.cpuMemory().putLong(sg.physAddr(0) + i, i + 1);
        }
        Mr fast = FastReg.allocMr(pd, MrType.MEM_REG, 1).value();
        assertThat(FastReg.mapMrSg(fast, sg, 1, 0, PAGE)).isOne();
        assertThat(post(wr.regMr(1, fast, fast.lkey(), LW | RR))).isEqualTo("SUCCESS");
        return fast;
    }

    private long beginRead(Mr from) {
        long addr = Scattered.memory(process, 1);
        Mr local = reg(addr, PAGE, addr, LW);
        link.setStepped(true);
        assertThat(left.postSend(new SendWr()
                        .read(9, from.iova(), from.rkey())
                        .sge(addr, 3072, local.lkey())
                        .signaled()))
                .isZero();
        assertThat(link.step()).isTrue();
        return addr;
    }

    private void local(SendWr request) {
        assertThat(bystander.postSend(request.signaled())).isZero();
        assertThat(completed()).isEqualTo("SUCCESS");
    }

    @Test
    @DisplayName("DP-25: a read of many packets goes on though rights were taken")
    void aReadGoesOnThoughRightsWereTaken() {
        Link.establish(bystander, qp(), QpAttributes.usual());
        Mr fast = fastReadable();
        long addr = beginRead(fast);
        local(new SendWr().localInv(2, fast.rkey()));
        local(new SendWr().regMr(3, fast, fast.rkey(), LW));
        link.run();
        assertThat(completed()).isEqualTo("SUCCESS");
        assertThat(process.getLong(addr + 3064)).isEqualTo(3065);
    }

    @Test
    @DisplayName("DP-25: an invalidated stag stops a read midway, and nobody holds it")
    void anInvalidatedStagStopsARead() {
        Link.establish(bystander, qp(), QpAttributes.usual());
        Mr fast = fastReadable();
        long addr = beginRead(fast);
        local(new SendWr().localInv(2, fast.rkey()));
        link.run();
        assertThat(completed()).isEqualTo("REM_ACCESS_ERR");
        assertThat(process.getLong(addr + 1016)).isEqualTo(1017);
        assertThat(process.getLong(addr + 1024)).isZero();
        assertThat(device.deregMr(fast, 0)).isZero();
        assertThat(machine.log().warnCount()).isZero();
    }

    @Test
    @DisplayName("DP-25: a stag that is gone stops a read midway")
    void aStagThatIsGoneStopsARead() {
        Mr fast = fastReadable();
        long addr = beginRead(fast);
        assertThat(device.deregMr(fast, 0)).isZero();
        link.run();
        assertThat(completed()).isEqualTo("REM_ACCESS_ERR");
        assertThat(process.getLong(addr + 1016)).isEqualTo(1017);
        assertThat(process.getLong(addr + 1024)).isZero();
    }

    @Test
    @DisplayName("IRD-5: what is no region of the adapter's is not registered")
    void whatIsNoRegionOfTheAdaptersIsNotRegistered() {
        Table table = new Table(config);
        VerbsDevice rxe = RxeDevice.add("rxe0", machine);
        Mr foreign =
                FastReg.allocMr(rxe.allocPd(0, "x").value(), MrType.MEM_REG, 1).value();
        assertThat(table.adapter.registerFast(left, foreign, foreign.lkey(), LW))
                .isEqualTo(EINVAL);
        Mr gone = FastReg.allocMr(pd, MrType.MEM_REG, 1).value();
        device.deregMr(gone, 0);
        assertThat(table.adapter.registerFast(left, gone, gone.lkey(), LW)).isEqualTo(EINVAL);
        table.memory.close();
    }

    // ---- windows and queue pairs

    @Test
    @DisplayName("UV-8, STAG-4: a window takes a stag, and gives it back whatever fails")
    void aWindowTakesAStag() {
        int before = driver.stags().inUse();
        for (String point : new String[] {"i40iw.mw", "i40iw.cqp_request", "i40iw.cqp_command"}) {
            machine.failures().failNth(point, 1);
            assertThat(device.allocMw(pd, Mw.TYPE_1).error())
                    .isEqualTo(point.equals("i40iw.cqp_command") ? -Errno.EIO : -Errno.ENOMEM);
            assertThat(driver.stags().inUse()).isEqualTo(before);
            assertThat(driver.commands().taken()).isZero();
        }
        Mw window = device.allocMw(pd, Mw.TYPE_1).value();
        assertThat(driver.stags().inUse()).isEqualTo(before + 1);
        machine.failures().failNth("i40iw.cqp_command", 1);
        assertThat(device.deallocMw(window)).isEqualTo(-Errno.EIO);
        assertThat(driver.stags().inUse()).isEqualTo(before + 1);
        assertThat(device.deallocMw(window)).isZero();
        assertThat(driver.stags().inUse()).isEqualTo(before);
    }

    @Test
    @DisplayName("DP-14: queue pairs have numbers from 2 on, a freed one is next, and what is destroyed waits no more")
    void numbersOfQueuePairs() {
        assertThat(new int[] {left.qpNum(), right.qpNum(), bystander.qpNum()}).containsExactly(2, 3, 4);
        RcQp next = qp();
        assertThat(next.qpNum()).isEqualTo(5);
        assertThat(left.postSend(wr.write(1, 0, 0))).isZero();
        assertThat(device.destroyQp(right)).isZero();
        assertThat(left.postSend(wr.send(1))).isZero();
        assertThat(machine.clock().armedTimers()).isOne();
        assertThat(device.destroyQp(left)).isZero();
        assertThat(machine.clock().armedTimers()).isZero();
        assertThat(qp().qpNum()).isEqualTo(2);
        assertThat(qp().qpNum()).isEqualTo(3);
        assertThat(qp().qpNum()).isEqualTo(6);
        machine.failures().failNth("i40iw.qp", 1);
        assertThat(device.createQp(pd, QpInit.of(cq, cq)).error()).isEqualTo(-Errno.ENOMEM);
        assertThat(qp().qpNum()).as("no number was lost").isEqualTo(7);
    }

    // ---- what it is

    @Test
    @DisplayName("IRD-6, IRD-9, STAG-2, PBLE-1: an adapter is what its configuration says")
    void anAdapterIsWhatItsConfigurationSays() {
        assertThat(driver).hasToString("IRDMA device rdma0");
        assertThat(device.attributes().pageSizeCap() & 1 << 30).isEqualTo(1 << 30);
        assertThat(device.attributes().maxMw()).isEqualTo(48);
        assertThat(device.attributes().maxFastRegPageListLen()).isEqualTo(1 << 18);
        I40iwMr mr = (I40iwMr) FastReg.allocMr(pd, MrType.MEM_REG, 8).value();
        assertThat(mr.list().fpmAddr(1)).isEqualTo(BASE + 8L * (mr.list().index() + 1));
        VerbsDevice old = I40iwDevice.add(
                        "rdma1",
                        machine.addDevice(DeviceConfig.named("x722").withMask(-1L)),
                        I40iwConfig.x722(Generation.I40IW))
                .value();
        assertThat(old.attributes().pageSizeCap() & 1 << 30).isZero();
        assertThat(old.attributes().maxMw()).isZero();
        assertThat(old.attributes().maxFastRegPageListLen()).isEqualTo(512);
        assertThat(I40iwConfig.x722(Generation.IRDMA).gigabytePages()).isFalse();
        assertThat(config.gigabytePages()).isTrue();
        assertThat(config.idealStatuses()).isFalse();
        assertThat(config.withIdealStatuses().idealStatuses()).isTrue();
        assertThat(config.seed()).isOne();
        assertThat(config.withSeed(7).seed()).isEqualTo(7);
        assertThat(post(wr.write(1, 0, 0).sge(0, 8, 0xdead))).as("DP-10").isEqualTo("WR_FLUSH_ERR");
    }

    @Test
    @DisplayName("CONV-6, PBLE-5: an adapter whose first page buffers fail is not there and holds nothing")
    void anAdapterThatCannotBeOpenedHoldsNothing() {
        Device second = machine.addDevice(DeviceConfig.named("second").withMask(-1L));
        long before = machine.pages().allocatedPages();
        machine.failures().failNth("i40iw.pble_chunk", 1);
        assertThat(I40iwDevice.add("rdma1", second, config).error()).isEqualTo(-Errno.ENOMEM);
        assertThat(machine.pages().allocatedPages()).isEqualTo(before);
    }
}
