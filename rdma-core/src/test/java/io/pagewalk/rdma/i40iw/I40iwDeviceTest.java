package io.pagewalk.rdma.i40iw;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.rdma.AccessFlags;
import io.pagewalk.rdma.ReregFlags;
import io.pagewalk.rdma.mm.Pins;
import io.pagewalk.rdma.mm.Process;
import io.pagewalk.rdma.mm.UserMemory;
import io.pagewalk.rdma.verbs.ErrPtr;
import io.pagewalk.rdma.verbs.FastReg;
import io.pagewalk.rdma.verbs.Mr;
import io.pagewalk.rdma.verbs.MrType;
import io.pagewalk.rdma.verbs.Mw;
import io.pagewalk.rdma.verbs.Pd;
import io.pagewalk.rdma.verbs.ProviderOp;
import io.pagewalk.rdma.verbs.VerbsDevice;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What i40iw and irdma take and give back, step by step. */
class I40iwDeviceTest {
    private static final int PAGE = 0x1000;
    private static final int ENOMEM = -Errno.ENOMEM;
    private static final int LW = AccessFlags.LOCAL_WRITE;

    private Machine machine = machine("direct");
    private VerbsDevice device = add(machine, I40iwConfig.e810());
    private I40iwDevice driver = (I40iwDevice) device.provider();
    private Process process = Process.create(machine);
    private Pd pd = device.allocPd(0, "test").value();

    private void open(I40iwConfig config) {
        open(config, "direct");
    }

    private void open(I40iwConfig config, String backend) {
        machine = machine(backend);
        device = add(machine, config);
        driver = (I40iwDevice) device.provider();
        process = Process.create(machine);
        pd = device.allocPd(0, "test").value();
    }

    private static Machine machine(String backend) {
        return Machine.builder()
                .ramBytes(64L << 20)
                .chunkBytes(1 << 16)
                .backend(backend)
                .build();
    }

    private static VerbsDevice add(Machine machine, I40iwConfig config) {
        return I40iwDevice.add(
                        "rdma0", machine.addDevice(DeviceConfig.named("nic").withMask(-1L)), config)
                .value();
    }

    private static I40iwConfig x722(Generation generation) {
        return I40iwConfig.x722(generation);
    }

    private String held() {
        return "stags " + driver.stags().inUse() + ", PBLEs "
                + (driver.pbles().allocatedPbles() - driver.pbles().freedPbles()) + ", commands "
                + driver.commands().taken();
    }

    private static final String NOTHING = "stags 0, PBLEs 0, commands 0";

    private ErrPtr<Mr> alloc(int pages) {
        return FastReg.allocMr(pd, MrType.MEM_REG, pages);
    }

    // ---- alloc_mr

    @Test
    @DisplayName(
            "rdma:IRD-1, STAG-5 i40iw_alloc_mr: a stag with the low byte cleared, a level 1 list, a use of the domain")
    void i40iwAllocMrClearsTheKey() {
        open(x722(Generation.I40IW));
        I40iwMr mr = (I40iwMr) alloc(20).value();
        assertThat(mr.lkey() & 0xff).isZero();
        assertThat(mr.rkey()).isEqualTo(mr.lkey()).isEqualTo(mr.stag());
        assertThat(mr.list().level()).isEqualTo(1);
        assertThat(mr.list().count()).isEqualTo(20);
        assertThat(mr.type()).isEqualTo(MrType.MEM_REG);
        assertThat(((I40iwPd) pd).driverUses()).isEqualTo(1);
        assertThat(pd.useCount()).isEqualTo(1);
        assertThat(held()).isEqualTo("stags 1, PBLEs 20, commands 0");
        assertThat(device.deregMr(mr, 0)).isZero();
        assertThat(held()).isEqualTo(NOTHING);
        assertThat(((I40iwPd) pd).driverUses()).isZero();
    }

    @Test
    @DisplayName("rdma:IRD-2, STAG-5 irdma keeps the random key, and counts no use in the driver")
    void irdmaAllocMrKeepsTheKey() {
        open(x722(Generation.IRDMA));
        int keys = 0;
        for (int i = 0; i < 4; i++) {
            keys |= alloc(1).value().lkey() & 0xff;
        }
        assertThat(keys).isNotZero();
        assertThat(((I40iwPd) pd).driverUses()).isZero();
        assertThat(pd.useCount()).isEqualTo(4);
    }

    @ParameterizedTest
    @EnumSource(Generation.class)
    @DisplayName("rdma:IRD-1, STAG-4 i40iw_alloc_mr without a stag is -EOVERFLOW, irdma's is -ENOMEM")
    void withoutAStag(Generation generation) {
        open(x722(generation).withMaxMr(3));
        alloc(1);
        alloc(1);
        assertThat(alloc(1).error()).isEqualTo(generation == Generation.I40IW ? -Errno.EOVERFLOW : ENOMEM);
        assertThat(held()).isEqualTo("stags 2, PBLEs 2, commands 0");
        assertThat(driver.getDmaMr(pd, LW).error())
                .isEqualTo(generation == Generation.I40IW ? -Errno.EOVERFLOW : ENOMEM);
        assertThat(device.regUserMr(pd, 0, process(), buffer(1), PAGE, buffer, LW)
                        .error())
                .isEqualTo(ENOMEM);
        assertThat(pinsHeld()).isZero();
    }

    @ParameterizedTest
    @EnumSource(Generation.class)
    @DisplayName("rdma:IRD-1 i40iw_alloc_mr: get_pble fails, and the stag goes back")
    void withoutPageBuffers(Generation generation) {
        open(x722(generation).withPbles(0x1000, 512));
        assertThat(alloc(513).error()).isEqualTo(ENOMEM);
        assertThat(held()).isEqualTo(NOTHING);
        assertThat(driver.pbles().allocationsFailed()).isEqualTo(1);
        assertThat(alloc(512).isErr()).isFalse();
        assertThat(alloc(-1).error()).isEqualTo(ENOMEM);
        assertThat(driver.stags().inUse()).isEqualTo(1);
    }

    @ParameterizedTest
    @EnumSource(Generation.class)
    @DisplayName("rdma:IRD-1, IRD-2, QRK-23 i40iw_alloc_mr demands level 1, irdma takes level 2")
    void aListOfLeaves(Generation generation) {
        open(x722(generation).withPbles(0x1000, 4 * 512));
        leaveHoles();
        ErrPtr<Mr> made = alloc(1040);
        if (generation == Generation.I40IW) {
            assertThat(made.error()).isEqualTo(ENOMEM);
            assertThat(held()).isEqualTo("stags 2, PBLEs 16, commands 0");
            assertThat(((I40iwPd) pd).driverUses()).isEqualTo(2);
        } else {
            assertThat(made.isErr())
                    .as("rdma:PBLE-7: 1040 is a root and 3 leaves")
                    .isFalse();
            assertThat(((I40iwMr) made.value()).list().level()).isEqualTo(2);
            assertThat(((I40iwMr) made.value()).list().leaves()).isEqualTo(3);
        }
    }

    /** Free runs of 512, 512 and 1008 PBLEs: no run for 1040, but room for a root, two full leaves and one of 16. */
    private void leaveHoles() {
        Mr first = alloc(512).value();
        alloc(8);
        Mr second = alloc(512).value();
        alloc(8);
        device.deregMr(first, 0);
        device.deregMr(second, 0);
    }

    @ParameterizedTest
    @EnumSource(Generation.class)
    @DisplayName("rdma:IRD-1, IRD-3 i40iw_alloc_mr: hw_alloc_stag fails, and buffers and stag go back")
    void hwAllocStagFails(Generation generation) {
        open(x722(generation).withCommandSlots(1));
        assertThat(driver.commands().take()).isZero();
        assertThat(alloc(5).error()).as("no request").isEqualTo(ENOMEM);
        driver.commands().give();
        assertThat(held()).isEqualTo(NOTHING);

        machine.failures().failNth("i40iw.cqp_command", 1);
        assertThat(alloc(5).error()).as("rdma:IRD-9").isEqualTo(generation == Generation.I40IW ? ENOMEM : -Errno.EIO);
        assertThat(held()).isEqualTo(NOTHING);
        assertThat(((I40iwPd) pd).driverUses()).isZero();
        assertThat(pd.useCount()).isZero();
    }

    @ParameterizedTest
    @EnumSource(Generation.class)
    @DisplayName("rdma:IRD-3, IRD-9 a list of no pages is refused by irdma's command, and not by i40iw's")
    void noPages(Generation generation) {
        open(x722(generation));
        assertThat(alloc(0).error()).isEqualTo(generation == Generation.I40IW ? 0 : -Errno.EINVAL);
        assertThat(driver.stags().inUse()).isEqualTo(generation == Generation.I40IW ? 1 : 0);
    }

    @Test
    @DisplayName("rdma:IRD-2 the kind of a fast region is not looked at; integrity is the core's to refuse")
    void theKindIsNotLookedAt() {
        open(x722(Generation.IRDMA));
        assertThat(FastReg.allocMr(pd, MrType.SG_GAPS, 4).value().type()).isEqualTo(MrType.SG_GAPS);
        assertThat(FastReg.allocMrIntegrity(pd, 4, 4).error()).isEqualTo(-Errno.EOPNOTSUPP);
    }

    @ParameterizedTest
    @EnumSource(Generation.class)
    @DisplayName("rdma:IRD-1 i40iw_alloc_mr: the n-th failure, for every n, leaves stags, PBLEs and commands as before")
    void everyFailureOfAllocMr(Generation generation) {
        open(x722(generation));
        int n = 1;
        while (true) {
            machine.failures().failNth(n);
            ErrPtr<Mr> made = alloc(3);
            if (machine.failures().failedAt() == null) {
                assertThat(made.isErr()).isFalse();
                break;
            }
            assertThat(made.isErr()).as(machine.failures().failedAt()).isTrue();
            assertThat(held()).isEqualTo(NOTHING);
            assertThat(pd.useCount()).isZero();
            n++;
        }
        assertThat(n).as("structure, request, command").isEqualTo(4);
    }

    // ---- map_mr_sg

    @Test
    @DisplayName("rdma:IRD-4 set_page: the list ends at its limit; the pages are counted anew each time")
    void setPageStopsAtTheLimit() {
        open(x722(Generation.IRDMA));
        I40iwMr mr = (I40iwMr) alloc(2).value();
        SgTable sg = new SgTable(3).add(0x10_0000, PAGE).add(0x20_0000, PAGE).add(0x30_0000, PAGE);
        device.ibDevice().dma().mapSgTable(sg, io.pagewalk.dma.DmaDirection.TO_DEVICE, 0);
        assertThat(FastReg.mapMrSg(mr, sg, 3, 0, PAGE)).isEqualTo(2);
        assertThat(mr.pages()).isEqualTo(2);
        assertThat(mr.lengthBytes()).isEqualTo(2 * PAGE);
        assertThat(mr.iova()).isEqualTo(0x10_0000);
        assertThat(driver.pbles().get(mr.list().index())).isEqualTo(0x10_0000);
        assertThat(driver.pbles().get(mr.list().index() + 1)).isEqualTo(0x20_0000);
        assertThat(FastReg.mapMrSg(mr, sg, 1, 1, 0x80, PAGE)).isEqualTo(1);
        assertThat(mr.pages()).isEqualTo(1);
        assertThat(mr.iova()).isEqualTo(0x20_0080);
        assertThat(mr.lengthBytes()).isEqualTo(PAGE - 0x80);
        assertThat(FastReg.mapMrSg(mr, sg, 1, 1, 0x1001, PAGE)).isEqualTo(-Errno.EINVAL);
        assertThat(mr.iova()).as("untouched").isEqualTo(0x20_0080);
        assertThat(mr.pages()).isZero();
    }

    @Test
    @DisplayName("rdma:IRD-4 set_page at level 2: page 512 is the first of the second leaf")
    void setPageAtLevel2() {
        open(x722(Generation.IRDMA).withPbles(0x1000, 4 * 512));
        leaveHoles();
        I40iwMr mr = (I40iwMr) alloc(1040).value();
        SgTable sg = new SgTable(1).add(0, 514L * PAGE);
        device.ibDevice().dma().mapSgTable(sg, io.pagewalk.dma.DmaDirection.TO_DEVICE, 0);
        assertThat(FastReg.mapMrSg(mr, sg, 1, 0, PAGE)).isEqualTo(1);
        assertThat(driver.pbles().get(mr.list().leafIndex(0) + 511)).isEqualTo(511L * PAGE);
        assertThat(driver.pbles().get(mr.list().leafIndex(1))).isEqualTo(512L * PAGE);
        assertThat(driver.pbles().get(mr.list().leafIndex(1) + 1)).isEqualTo(513L * PAGE);
        assertThat(driver.pbles().get(mr.list().index() + 1))
                .isEqualTo(mr.list().leafIndex(1));
    }

    // ---- memory of processes

    private long buffer;

    private Process process() {
        return process;
    }

    private long buffer(int pages) {
        buffer = process().mmap((long) pages * PAGE);
        return buffer;
    }

    /** Pages whose frames are not neighbours. */
    private long scattered(int pages) {
        long addr = buffer(pages);
        for (int start = 0; start < 3; start++) {
            for (int page = start; page < pages; page += 3) {
                process().putLong(addr + (long) page * PAGE, page);
            }
        }
        return addr;
    }

    /** Pages whose frames follow each other: touched upwards until they do, as frames of a page table lie between. */
    private long neighbours(int pages) {
        for (int go = 0; go < 20; go++) {
            long addr = buffer(pages);
            boolean together = true;
            for (int i = 0; i < pages; i++) {
                process().putLong(addr + (long) i * PAGE, i);
                together &= process().pfnOf(addr + (long) i * PAGE) == process().pfnOf(addr) + i;
            }
            if (together) {
                return addr;
            }
        }
        throw new AssertionError("no frames follow each other");
    }

    private long pinsHeld() {
        Pins pins = UserMemory.of(machine).pins();
        return pins.acquired() - pins.released();
    }

    private ErrPtr<Mr> register(long addr, long length, int access) {
        return device.regUserMr(pd, 0, process(), addr, length, addr, access);
    }

    @Test
    @DisplayName("rdma:IRD-6 reg_user_mr: one page needs no list, scattered ones do, neighbours give theirs back")
    void listsOfUserRegions() {
        open(x722(Generation.IRDMA));
        I40iwMr one = (I40iwMr) register(scattered(1) + 5, 10, LW).value();
        assertThat(one.list().level()).isZero();
        assertThat(one.firstAddr()).isEqualTo(process().pfnOf(buffer) * PAGE);

        I40iwMr many = (I40iwMr) register(scattered(9), 9 * PAGE, LW).value();
        assertThat(many.list().level()).isEqualTo(1);
        assertThat(many.list().count()).isEqualTo(9);
        for (int i = 0; i < 9; i++) {
            assertThat(driver.pbles().get(many.list().index() + i))
                    .isEqualTo(process().pfnOf(buffer + (long) i * PAGE) * PAGE);
        }
        long made = driver.pbles().allocationsMade();
        long addr = neighbours(7);
        I40iwMr neighbours = (I40iwMr) register(addr, 7 * PAGE, LW).value();
        assertThat(neighbours.list().level()).isZero();
        assertThat(driver.pbles().allocationsMade()).isEqualTo(made + 1);
        assertThat(driver.pbles().allocationsFreed()).isEqualTo(1);
        assertThat(held()).isEqualTo("stags 3, PBLEs 9, commands 0");
        for (Mr mr : new Mr[] {one, many, neighbours}) {
            assertThat(device.deregMr(mr, 0)).isZero();
        }
        assertThat(held()).isEqualTo(NOTHING);
        assertThat(pinsHeld()).isZero();
    }

    @ParameterizedTest
    @EnumSource(Generation.class)
    @DisplayName("rdma:IRD-6, IRD-9 what reg_user_mr refuses")
    void whatRegUserMrRefuses(Generation generation) {
        open(x722(generation));
        assertThat(register(buffer(1), (1L << 45) + 1, LW).error()).isEqualTo(-Errno.EINVAL);
        assertThat(register(0x1000, PAGE, LW).error()).as("no memory there").isEqualTo(-Errno.EFAULT);
        assertThat(driver.lastFailure()).isNotNull();
        int empty = register(buffer(1) + 1, 0, LW).error();
        assertThat(empty)
                .as("no page size fits; i40iw takes a page")
                .isEqualTo(generation == Generation.I40IW ? 0 : -Errno.EOPNOTSUPP);
        machine.failures().failNth("i40iw.cqp_command", 1);
        assertThat(register(buffer(1), PAGE, LW).error())
                .isEqualTo(generation == Generation.I40IW ? ENOMEM : -Errno.EIO);
    }

    @ParameterizedTest
    @EnumSource(Generation.class)
    @DisplayName(
            "rdma:IRD-6 the n-th failure of reg_user_mr, for every n, leaves pins, PBLEs, stags and commands as before")
    void everyFailureOfRegUserMr(Generation generation) {
        open(x722(generation), "iommu-strict");
        long addr = scattered(9);
        process().readBytes(addr, 9 * PAGE);
        int n = 1;
        for (; ; n++) {
            machine.failures().failNth(n);
            ErrPtr<Mr> made = register(addr, 9 * PAGE, LW);
            if (machine.failures().failedAt() == null) {
                assertThat(made.isErr()).isFalse();
                break;
            }
            machine.failures().disarm();
            assertThat(held()).as(machine.failures().failedAt()).isEqualTo(made.isErr() ? NOTHING : held());
            if (!made.isErr()) {
                device.deregMr(made.value(), 0);
            }
            assertThat(pinsHeld()).isZero();
            assertThat(process().addressSpace().pinnedVm()).isZero();
        }
        assertThat(n).isGreaterThan(5);
    }

    @Test
    @DisplayName("rdma:IRD-6 blocks of 2 MiB where memory and address allow, as irdma has them")
    void largePages() {
        open(I40iwConfig.e810());
        assertThat(device.attributes().pageSizeCap()).isEqualTo(0x4020_1000);
        I40iwMr mr = (I40iwMr) register(scattered(3), 3 * PAGE, LW).value();
        assertThat(mr.pageSize()).isEqualTo(PAGE);
    }

    // ---- rereg and dereg

    private ErrPtr<Mr> rereg(Mr mr, int flags, long addr, long length, int access, @Nullable Pd newPd) {
        return driver.reregUserMr(mr, flags, 0, process(), addr, length, addr, access, newPd);
    }

    @Test
    @DisplayName("rdma:IRD-8 rereg: the stag stays, rights, domain and memory change")
    void reregKeepsTheStag() {
        open(x722(Generation.IRDMA));
        I40iwMr mr = (I40iwMr) register(scattered(4), 4 * PAGE, LW).value();
        int stag = mr.stag();
        Pd other = device.allocPd(0, "other").value();
        assertThat(rereg(mr, ReregFlags.ACCESS | ReregFlags.PD, 0, 0, LW | AccessFlags.REMOTE_READ, other)
                        .value())
                .isSameAs(mr);
        assertThat(mr.pd()).isSameAs(other);
        assertThat(mr.access()).isEqualTo(LW | AccessFlags.REMOTE_READ);
        long next = scattered(6);
        assertThat(rereg(mr, ReregFlags.TRANS, next, 6 * PAGE, 0, null).value()).isSameAs(mr);
        assertThat(mr.stag()).isEqualTo(stag);
        assertThat(mr.list().count()).isEqualTo(6);
        assertThat(pinsHeld()).isEqualTo(6);
        assertThat(held()).isEqualTo("stags 1, PBLEs 6, commands 0");
    }

    @Test
    @DisplayName("rdma:IRD-8, UMEM-28 what rereg refuses leaves the region as it was")
    void whatReregRefuses() {
        open(x722(Generation.IRDMA));
        Mr readOnly = register(scattered(2), 2 * PAGE, 0).value();
        assertThat(rereg(readOnly, ReregFlags.TRANS, buffer, (1L << 45) + 1, 0, null)
                        .error())
                .isEqualTo(-Errno.EINVAL);
        assertThat(rereg(readOnly, 8, buffer, PAGE, 0, null).error()).isEqualTo(-Errno.EOPNOTSUPP);
        assertThat(rereg(readOnly, ReregFlags.ACCESS, buffer, PAGE, LW, null).error())
                .isEqualTo(-Errno.EACCES);
        assertThat(rereg(alloc(1).value(), ReregFlags.ACCESS, 0, 0, 0, null).error())
                .isEqualTo(-Errno.EINVAL);
        machine.failures().failNth("i40iw.cqp_request", 1);
        assertThat(rereg(readOnly, ReregFlags.ACCESS, 0, 0, 0, null).error()).isEqualTo(ENOMEM);
        assertThat(((I40iwMr) readOnly).isRegistered()).isTrue();
        assertThat(pinsHeld()).isEqualTo(2);
    }

    @Test
    @DisplayName("rdma:QRK-24 a failed re-registration leaves a region whose end asks the adapter nothing")
    void aFailedReregLeavesAnEmptyRegion() {
        open(x722(Generation.IRDMA).withCommandSlots(1));
        I40iwMr mr = (I40iwMr) register(scattered(4), 4 * PAGE, LW).value();
        assertThat(rereg(mr, ReregFlags.TRANS, 0x1000, PAGE, 0, null).error()).isEqualTo(-Errno.EFAULT);
        assertThat(mr.isRegistered()).isFalse();
        assertThat(pinsHeld()).isZero();
        assertThat(held()).isEqualTo("stags 1, PBLEs 0, commands 0");
        assertThat(rereg(mr, ReregFlags.ACCESS, 0, 0, LW, null).error())
                .as("there is no memory to which the stag could lead")
                .isEqualTo(-Errno.EINVAL);
        assertThat(mr.isRegistered()).isFalse();
        driver.commands().take();
        assertThat(device.deregMr(mr, 0)).as("needs no command").isZero();
        assertThat(driver.stags().inUse()).isZero();
    }

    @Test
    @DisplayName("rdma:QRK-24 a region that lost its memory gets other memory under its stag")
    void aRegionWithoutMemoryIsFilledAgain() {
        open(x722(Generation.IRDMA));
        I40iwMr mr = (I40iwMr) register(scattered(4), 4 * PAGE, LW).value();
        assertThat(rereg(mr, ReregFlags.TRANS, 0x1000, PAGE, 0, null).error()).isEqualTo(-Errno.EFAULT);
        assertThat(rereg(mr, ReregFlags.TRANS, scattered(3), 3 * PAGE, 0, null).value())
                .isSameAs(mr);
        assertThat(mr.isRegistered()).isTrue();
        assertThat(pinsHeld()).isEqualTo(3);
        assertThat(rereg(mr, ReregFlags.ACCESS, 0, 0, LW | AccessFlags.REMOTE_READ, null)
                        .value())
                .isSameAs(mr);
        assertThat(device.deregMr(mr, 0)).isZero();
        assertThat(held()).isEqualTo(NOTHING);
        assertThat(pinsHeld()).isZero();
    }

    @Test
    void aReregThatTheAdapterRefusesReleasesTheNewMemory() {
        open(x722(Generation.IRDMA));
        I40iwMr mr = (I40iwMr) register(scattered(4), 4 * PAGE, LW).value();
        machine.failures().failNth("i40iw.cqp_command", 2);
        assertThat(rereg(mr, ReregFlags.TRANS, scattered(5), 5 * PAGE, 0, null).error())
                .isEqualTo(-Errno.EIO);
        assertThat(pinsHeld()).isZero();
        assertThat(held()).isEqualTo("stags 1, PBLEs 0, commands 0");
        assertThat(device.deregMr(mr, 0)).isZero();
        assertThat(held()).isEqualTo(NOTHING);
    }

    @ParameterizedTest
    @EnumSource(Generation.class)
    @DisplayName("rdma:IRD-8, IRD-9 dereg: irdma keeps a region that the adapter keeps, i40iw drops it")
    void aCommandOfDeregThatFails(Generation generation) {
        open(x722(generation).withCommandSlots(1));
        Mr mr = register(scattered(4), 4 * PAGE, LW).value();
        driver.commands().take();
        assertThat(device.deregMr(mr, 0)).as("no request, either of them").isEqualTo(ENOMEM);
        assertThat(mr.isDestroyed()).isFalse();
        assertThat(pinsHeld()).isEqualTo(4);
        driver.commands().give();
        machine.failures().failNth("i40iw.cqp_command", 1);
        if (generation == Generation.I40IW) {
            assertThat(device.deregMr(mr, 0)).isZero();
        } else {
            assertThat(device.deregMr(mr, 0)).isEqualTo(-Errno.EIO);
            assertThat(pinsHeld()).isEqualTo(4);
            assertThat(device.deregMr(mr, 0)).isZero();
        }
        assertThat(held()).isEqualTo(NOTHING);
        assertThat(pinsHeld()).isZero();
    }

    // ---- all memory, windows, the rest

    @ParameterizedTest
    @EnumSource(Generation.class)
    @DisplayName("rdma:IRD-8, PD-2, PD-3, ACC-5 get_dma_mr is asked for a global key alone")
    void getDmaMr(Generation generation) {
        open(x722(generation));
        assertThat(pd.internalMr()).isNull();
        assertThat(pd.localDmaLkey()).isZero();
        Pd global = device.allocPd(Pd.UNSAFE_GLOBAL_RKEY, "test").value();
        assertThat(global.unsafeGlobalRkey()).isNotZero();
        assertThat(global.localDmaLkey()).as("still the device's own").isZero();
        assertThat(driver.stags().inUse()).isEqualTo(1);
        machine.failures().failNth("i40iw.cqp_command", 1);
        assertThat(device.allocPd(Pd.UNSAFE_GLOBAL_RKEY, "test").error())
                .isEqualTo(generation == Generation.I40IW ? ENOMEM : -Errno.EIO);
        machine.failures().failNth("i40iw.mr", 1);
        assertThat(device.allocPd(Pd.UNSAFE_GLOBAL_RKEY, "test").error()).isEqualTo(ENOMEM);
        assertThat(driver.stags().inUse()).isEqualTo(1);
        assertThat(device.deallocPd(global, 0)).isZero();
        assertThat(held()).isEqualTo(NOTHING);
    }

    @Test
    @DisplayName("rdma:STAG-4 windows of irdma have stags; i40iw has no windows")
    void windows() {
        open(x722(Generation.IRDMA).withMaxMr(2));
        Mw mw = device.allocMw(pd, Mw.TYPE_2).value();
        assertThat(mw.rkey()).isNotZero();
        assertThat(device.allocMw(pd, Mw.TYPE_1).error()).isEqualTo(ENOMEM);
        machine.failures().failNth("i40iw.cqp_command", 1);
        assertThat(device.deallocMw(mw)).isEqualTo(-Errno.EIO);
        assertThat(device.deallocMw(mw)).isZero();
        machine.failures().failNth("i40iw.cqp_command", 1);
        assertThat(device.allocMw(pd, Mw.TYPE_1).error()).isEqualTo(-Errno.EIO);
        machine.failures().failNth("i40iw.mw", 1);
        assertThat(device.allocMw(pd, Mw.TYPE_1).error()).isEqualTo(ENOMEM);
        assertThat(held()).isEqualTo(NOTHING);
        open(x722(Generation.I40IW));
        assertThat(device.allocMw(pd, Mw.TYPE_1).error()).isEqualTo(-Errno.EOPNOTSUPP);
        assertThat(driver.ops())
                .containsExactlyInAnyOrder(ProviderOp.REG_USER_MR, ProviderOp.ALLOC_MR, ProviderOp.MAP_MR_SG);
    }

    @Test
    void withoutMemoryForPageBuffersThereIsNoDevice() {
        open(x722(Generation.IRDMA));
        machine.failures().failNth("i40iw.pble_chunk", 1);
        assertThat(I40iwDevice.add("rdma1", machine.addDevice(DeviceConfig.named("n2")), I40iwConfig.e810())
                        .error())
                .isEqualTo(ENOMEM);
    }

    @Test
    void whatNoAdapterHasIsRefused() {
        assertThatIllegalArgumentException().isThrownBy(() -> I40iwConfig.e810().withCommandSlots(0));
        assertThatIllegalArgumentException().isThrownBy(() -> I40iwConfig.e810().withSegments(0, 1, 0));
        assertThatIllegalArgumentException().isThrownBy(() -> I40iwConfig.e810().withSegments(1, 0, 0));
        assertThatIllegalArgumentException().isThrownBy(() -> I40iwConfig.e810().withSegments(1, 1, -1));
        assertThatIllegalArgumentException().isThrownBy(() -> I40iwConfig.e810().withFastRegPages(0));
        open(x722(Generation.IRDMA));
        assertThatIllegalStateException().isThrownBy(() -> driver.commands().give());
        assertThat(I40iwConfig.e810().withIdealStatuses().idealStatuses()).isTrue();
    }
}
