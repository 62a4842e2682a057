package io.pagewalk.rdma.rw;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.Errno;
import io.pagewalk.dma.KernelBugException;
import io.pagewalk.dma.KernelLog;
import io.pagewalk.rdma.VerbsWorld;
import io.pagewalk.rdma.i40iw.I40iwDevice;
import io.pagewalk.rdma.mm.Process;
import io.pagewalk.rdma.verbs.Cq;
import io.pagewalk.rdma.verbs.ErrPtr;
import io.pagewalk.rdma.verbs.Mr;
import io.pagewalk.rdma.verbs.MrPool;
import io.pagewalk.rdma.verbs.MrType;
import io.pagewalk.rdma.verbs.Owner;
import io.pagewalk.rdma.verbs.Pd;
import io.pagewalk.rdma.verbs.Qp;
import io.pagewalk.rdma.verbs.QpInit;
import io.pagewalk.rdma.verbs.RwInit;
import io.pagewalk.rdma.verbs.VerbsDevice;
import java.util.Objects;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Pools, and what queue pairs of the kernel's do with them. */
class MrPoolTest {
    private static final int ENOMEM = -Errno.ENOMEM;

    private RwWorld world = new RwWorld();

    private static Mr take(MrPool pool) {
        return Objects.requireNonNull(pool.get());
    }

    // ---- mr_pool

    @Test
    @DisplayName("rdma:POOL-2 ib_mr_pool_init appends regions; the first goes out first")
    void initAppendsRegionsAtTheTail() {
        Qp qp = world.qp(RwInit.NONE);
        assertThat(qp.rdmaMrs().init(3, MrType.MEM_REG, 17, 5)).isZero();
        assertThat(qp.rdmaMrs().size()).isEqualTo(3);
        assertThat(world.provider.allocated).containsExactly("MEM_REG 17", "MEM_REG 17", "MEM_REG 17");
        assertThat(qp.mrsUsed()).isZero();
        assertThat(take(qp.rdmaMrs()).lkey()).isEqualTo(0x100);
        assertThat(take(qp.rdmaMrs()).lkey()).isEqualTo(0x200);
        assertThat(world.pd.useCount()).as("3 regions and the queue pair").isEqualTo(4);
    }

    @Test
    @DisplayName("rdma:POOL-2 regions with signatures have entries of both kinds")
    void initOfIntegrityRegionsAsksForDataAndMetadata() {
        Qp qp = world.qp(RwInit.NONE);
        assertThat(qp.sigMrs().init(2, MrType.INTEGRITY, 17, 5)).isZero();
        assertThat(world.provider.allocated).containsExactly("INTEGRITY 17 5", "INTEGRITY 17 5");
        assertThat(qp.sigMrs().init(1, MrType.INTEGRITY, 17, 0)).as("rdma:FR-3").isEqualTo(-Errno.EINVAL);
        assertThat(qp.sigMrs().size()).as("a failure empties the whole list").isZero();
        assertThat(world.provider.liveMrs).isZero();
    }

    @Test
    @DisplayName("rdma:POOL-2 the n-th failure destroys the whole list, for every n")
    void initThatFailsLeavesNothing() {
        Qp qp = world.qp(RwInit.NONE);
        for (int n = 1; n <= 4; n++) {
            world.machine.failures().failNth("plain.mr", n);
            assertThat(qp.rdmaMrs().init(4, MrType.MEM_REG, 1, 0)).isEqualTo(ENOMEM);
            assertThat(qp.rdmaMrs().size()).isZero();
            assertThat(world.provider.liveMrs).isZero();
            assertThat(world.pd.useCount()).isEqualTo(1);
        }
        assertThat(world.provider.allocated).hasSize(1 + 2 + 3 + 4);
    }

    @Test
    @DisplayName("rdma:POOL-3 an empty pool gives nothing and counts nothing")
    void getFromAnEmptyPoolChangesNothing() {
        Qp qp = world.qp(RwInit.NONE);
        qp.rdmaMrs().init(1, MrType.MEM_REG, 1, 0);
        take(qp.rdmaMrs());
        assertThat(qp.mrsUsed()).isEqualTo(1);
        assertThat(qp.rdmaMrs().get()).isNull();
        assertThat(qp.mrsUsed()).isEqualTo(1);
    }

    @Test
    @DisplayName("rdma:POOL-4 what came back last goes out first")
    void putIsLastInFirstOut() {
        Qp qp = world.qp(RwInit.NONE);
        qp.rdmaMrs().init(3, MrType.MEM_REG, 1, 0);
        Mr first = take(qp.rdmaMrs());
        Mr second = take(qp.rdmaMrs());
        qp.rdmaMrs().put(first);
        qp.rdmaMrs().put(second);
        assertThat(qp.mrsUsed()).isZero();
        assertThat(take(qp.rdmaMrs())).isSameAs(second);
        assertThat(take(qp.rdmaMrs())).isSameAs(first);
        assertThat(qp.mrsUsed()).isEqualTo(2);
    }

    @Test
    @DisplayName("rdma:POOL-4 whose region is put is not looked at; the two pools of a queue pair count together")
    void putTakesAnyRegion() {
        Qp qp = world.qp(RwInit.NONE);
        Qp other = world.qp(RwInit.NONE);
        other.rdmaMrs().init(1, MrType.MEM_REG, 1, 0);
        Mr foreign = take(other.rdmaMrs());
        qp.sigMrs().put(foreign);
        assertThat(qp.mrsUsed()).isEqualTo(-1);
        assertThat(other.mrsUsed()).isEqualTo(1);
        assertThat(qp.sigMrs().get()).isSameAs(foreign);
        assertThat(qp.mrsUsed()).isZero();
    }

    @Test
    void putOfARegionThatIsInAPoolOrDestroyedIsRefused() {
        Qp qp = world.qp(RwInit.NONE);
        qp.rdmaMrs().init(1, MrType.MEM_REG, 1, 0);
        Mr mr = take(qp.rdmaMrs());
        qp.rdmaMrs().put(mr);
        assertThatIllegalStateException()
                .isThrownBy(() -> qp.rdmaMrs().put(mr))
                .withMessageContaining("is in a pool already");
        assertThat(qp.mrsUsed()).isZero();
        assertThat(qp.rdmaMrs().size()).isEqualTo(1);
        take(qp.rdmaMrs());
        world.device.deregMr(mr, 0);
        assertThatIllegalStateException().isThrownBy(() -> qp.rdmaMrs().put(mr)).withMessageContaining("destroyed");
        assertThat(qp.mrsUsed()).isEqualTo(1);
    }

    @Test
    @DisplayName("rdma:POOL-5 destroy takes what waits, ignores errors, and leaves what is out")
    void destroyIgnoresErrorsAndRegionsThatAreOut() {
        Qp qp = world.qp(RwInit.NONE);
        qp.rdmaMrs().init(3, MrType.MEM_REG, 1, 0);
        Mr out = take(qp.rdmaMrs());
        qp.rdmaMrs().destroy();
        assertThat(qp.rdmaMrs().size()).isZero();
        assertThat(world.provider.liveMrs).isEqualTo(1);
        assertThat(out.isDestroyed()).isFalse();
        assertThat(qp.mrsUsed()).isEqualTo(1);

        qp.rdmaMrs().put(out);
        world.provider.deregError = -Errno.EINVAL;
        qp.rdmaMrs().destroy();
        assertThat(qp.rdmaMrs().size()).isZero();
        assertThat(out.isDestroyed()).isFalse();
        assertThat(world.provider.liveMrs).isEqualTo(1);
    }

    @Test
    @DisplayName("rdma:POOL-5 every region that the provider keeps is told of once, whoever empties the pool")
    void everyRegionThatIsLostIsToldOf() {
        for (int n = 1; n <= 3; n++) {
            world = new RwWorld();
            Qp qp = world.qp(RwInit.NONE);
            world.provider.deregError = ENOMEM;
            world.machine.failures().failNth("plain.mr", n);
            assertThat(qp.rdmaMrs().init(3, MrType.MEM_REG, 1, 0)).isEqualTo(ENOMEM);
            assertThat(world.machine.log().count("ib_mr_pool")).isEqualTo(n - 1);
            assertThat(qp.sigMrs().init(2, MrType.INTEGRITY, 1, 1)).isZero();
            assertThat(world.device.destroyQp(qp)).isZero();
            assertThat(world.machine.log().count("ib_mr_pool")).isEqualTo(n + 1);
            assertThat(world.pd.useCount()).isEqualTo(n + 1);
            assertThat(world.provider.liveMrs).isEqualTo(n + 1);
        }
        assertThat(world.log())
                .contains("ib_mr_pool: MEM_REG region 0x0+0x0 with lkey 0x100 and rkey 0x100 of domain of [target] on"
                        + " plain0 could not be deregistered: ENOMEM; it is lost and keeps its domain (rdma:POOL-5)");
        assertThat(world.machine.log().warnCount()).isZero();
    }

    @Test
    @DisplayName("rdma:POOL-5, IRD-9 without a command slot an adapter keeps what a pool gives up")
    void regionsThatAnAdapterWithoutACommandSlotKeepsAreToldOf() {
        try (VerbsWorld adapters = new VerbsWorld(VerbsWorld.Kind.I40IW_DIRECT, 1)) {
            VerbsDevice device = adapters.devices.get(0);
            var commands = ((I40iwDevice) device.provider()).commands();
            Pd pd = device.allocPd(0, "target").value();
            Cq cq = device.createCq(Owner.kernel("target"), 16).value();
            Qp qp = device.createQp(pd, QpInit.of(cq, cq).withSizes(4, 4, 1)).value();
            KernelLog log = adapters.machine.log();
            assertThat(qp.rdmaMrs().init(2, MrType.MEM_REG, 4, 0)).isZero();
            while (commands.take() == 0) {
                assertThat(log.count("ib_mr_pool")).isZero();
            }
            assertThat(qp.rdmaMrs().init(1, MrType.MEM_REG, 4, 0))
                    .as("empties the whole list")
                    .isEqualTo(ENOMEM);
            assertThat(qp.rdmaMrs().size()).isZero();
            assertThat(log.count("ib_mr_pool")).isEqualTo(2);
            assertThat(device.destroyQp(qp)).isZero();
            assertThat(log.count("ib_mr_pool")).isEqualTo(2);
            assertThat(pd.useCount()).as("as many as were lost").isEqualTo(2);

            Qp next = device.createQp(pd, QpInit.of(cq, cq).withSizes(4, 4, 1)).value();
            commands.give();
            assertThat(next.rdmaMrs().init(1, MrType.MEM_REG, 4, 0)).isZero();
            assertThat(device.destroyQp(next)).isZero();
            assertThat(log.count("ib_mr_pool")).isEqualTo(2);
            assertThat(pd.useCount()).isEqualTo(2);
        }
    }

    // ---- ib_destroy_qp

    @Test
    @DisplayName("rdma:POOL-6 ib_destroy_qp warns once for ever of regions that are out, and goes on")
    void destroyOfAQpWarnsOnceOfALeak() {
        for (int i = 0; i < 2; i++) {
            Qp qp = world.qp(RwInit.NONE);
            qp.rdmaMrs().init(2, MrType.MEM_REG, 1, 0);
            take(qp.rdmaMrs());
            assertThat(world.device.destroyQp(qp)).isZero();
            assertThat(qp.isDestroyed()).isTrue();
        }
        assertThat(world.machine.log().warnCount()).isEqualTo(1);
        assertThat(world.log())
                .containsExactly("ib_destroy_qp: queue pair 7 (RTS) is destroyed while 1 regions of its pools are out"
                        + " (rdma:POOL-6)");
        assertThat(world.machine.log().count("ib_destroy_qp")).isEqualTo(2);
        assertThat(world.provider.liveMrs).as("one leaked by each").isEqualTo(2);
        assertThat(world.provider.liveQps).isZero();
    }

    @Test
    void destroyOfAQpWithAllRegionsBackDoesNotWarn() {
        Qp qp = world.qp(RwInit.NONE);
        qp.rdmaMrs().init(2, MrType.MEM_REG, 1, 0);
        qp.rdmaMrs().put(take(qp.rdmaMrs()));
        assertThat(world.device.destroyQp(qp)).isZero();
        assertThat(world.machine.log().entries()).isEmpty();
        assertThat(world.provider.liveMrs).isZero();
        assertThat(world.pd.useCount()).isZero();
        assertThat(world.cq.useCount()).isZero();
    }

    @Test
    @DisplayName("rdma:POOL-6 a queue pair in use is -EBUSY, with its pools untouched")
    void destroyOfAQpInUseIsBusy() {
        Qp qp = world.qp(RwInit.NONE);
        qp.rdmaMrs().init(2, MrType.MEM_REG, 1, 0);
        qp.use();
        assertThat(qp.useCount()).isEqualTo(1);
        assertThat(world.device.destroyQp(qp)).isEqualTo(-Errno.EBUSY);
        assertThat(qp.rdmaMrs().size()).isEqualTo(2);
        assertThat(world.provider.liveQps).isEqualTo(1);
        qp.unuse();
        assertThat(world.device.destroyQp(qp)).isZero();
        assertThat(world.provider.liveMrs).isZero();
    }

    @Test
    void aQpThatTheDriverKeepsIsKeptWithoutItsPools() {
        Qp qp = world.qp(new RwInit(2, 1, RwInit.INTEGRITY_EN));
        world.provider.destroyError = -Errno.EBUSY;
        assertThat(world.device.destroyQp(qp)).isEqualTo(-Errno.EBUSY);
        assertThat(world.provider.liveMrs)
                .as("pools go before the driver is asked")
                .isZero();
        assertThat(qp.isDestroyed()).isFalse();
        assertThat(world.pd.useCount()).isEqualTo(1);
    }

    // ---- ib_create_qp

    @Test
    @DisplayName("rdma:RW-3, RW-4 rdma_rw_init_mrs: without need of regions the pools stay empty")
    void contextsThatNeedNoRegionsHaveEmptyPools() {
        Qp qp = world.qp(RwInit.of(5));
        assertThat(qp.init().maxSendWr()).isEqualTo(RwWorld.SEND_WR + 5);
        assertThat(qp.rdmaMrs().size()).isZero();
        assertThat(qp.sigMrs().size()).isZero();
        assertThat(world.provider.allocated).isEmpty();
    }

    @Test
    @DisplayName("rdma:RW-3 to RW-6 where regions may be needed: three places and a region of 256 pages for each")
    void contextsOnDevicesThatLikeRegionsGetThem() {
        world.provider.maxSglRd = 3;
        Qp qp = world.qp(RwInit.of(5));
        assertThat(qp.init().maxSendWr()).isEqualTo(RwWorld.SEND_WR + 15);
        assertThat(qp.rdmaMrs().size()).isEqualTo(5);
        assertThat(qp.sigMrs().size()).isZero();
        assertThat(world.provider.allocated).hasSize(5).containsOnly("MEM_REG 256");
        assertThat(qp.isIntegrityEnabled()).isFalse();
    }

    @Test
    @DisplayName("rdma:RW-4 rdma_rw_init_mrs with the integrity flag fills both pools by the list length of signatures")
    void theIntegrityFlagFillsBothPools() {
        Qp qp = world.qp(RwInit.of(2).withIntegrity());
        assertThat(qp.init().maxSendWr()).isEqualTo(RwWorld.SEND_WR + 6);
        assertThat(world.provider.allocated)
                .containsExactly("MEM_REG 100", "MEM_REG 100", "INTEGRITY 100 100", "INTEGRITY 100 100");
        assertThat(qp.rdmaMrs().size()).isEqualTo(2);
        assertThat(qp.sigMrs().size()).isEqualTo(2);
        assertThat(qp.isIntegrityEnabled()).isTrue();
    }

    @Test
    @DisplayName("rdma:RW-3 room in the send queue ends at the device's")
    void roomIsCappedAtTheDevices() {
        world.provider.maxQpWr = 20;
        world.provider.iwarp = true;
        assertThat(world.qp(RwInit.of(5)).init().maxSendWr()).isEqualTo(20);
        assertThat(world.qp(RwInit.NONE).init().maxSendWr()).isEqualTo(RwWorld.SEND_WR);
    }

    @Test
    @DisplayName("rdma:RW-1 writes have the queue pair's segments, reads as many as the device reads")
    void readsAndWritesHaveTheirOwnSegments() {
        Qp qp = world.create(RwInit.NONE, 6).value();
        assertThat(qp.maxWriteSge()).isEqualTo(6);
        assertThat(qp.maxReadSge()).isEqualTo(4);
        Qp small = world.create(RwInit.of(1), 3).value();
        assertThat(small.maxWriteSge()).isEqualTo(3);
        assertThat(small.maxReadSge()).isEqualTo(3);
    }

    @Test
    @DisplayName(
            "rdma:RW-1, RW-4 rdma_rw_init_mrs: the n-th failure, for every n, destroys the queue pair and is logged")
    void everyFailureOfTheRegionsUnwindsTheQueuePair() {
        for (int n = 1; n <= 6; n++) {
            world.machine.failures().failNth("plain.mr", n);
            ErrPtr<Qp> made = world.create(RwInit.of(3).withIntegrity());
            assertThat(made.error()).isEqualTo(ENOMEM);
            assertThat(world.provider.liveMrs).isZero();
            assertThat(world.provider.liveQps).isZero();
            assertThat(world.pd.useCount()).isZero();
            assertThat(world.cq.useCount()).isZero();
            assertThat(world.device.restrack().count(io.pagewalk.rdma.verbs.Restrack.Kind.QP))
                    .isZero();
        }
        assertThat(world.log())
                .containsExactly(
                        "rdma_rw_init_mrs: failed to allocate 3 MRs: ENOMEM",
                        "rdma_rw_init_mrs: failed to allocate 3 MRs: ENOMEM",
                        "rdma_rw_init_mrs: failed to allocate 3 MRs: ENOMEM",
                        "rdma_rw_init_mrs: failed to allocate 3 SIG MRs: ENOMEM",
                        "rdma_rw_init_mrs: failed to allocate 3 SIG MRs: ENOMEM",
                        "rdma_rw_init_mrs: failed to allocate 3 SIG MRs: ENOMEM");
        assertThat(world.machine.log().warnCount()).isZero();
    }

    @Test
    @DisplayName("rdma:RW-3 a queue pair without a port is warned of, and made")
    void aMissingPortIsWarnedOf() {
        assertThat(world.create(new RwInit(1, 0, 0)).isErr()).isFalse();
        assertThat(world.log()).containsExactly("rdma_rw_init_qp: a queue pair for 1 contexts has no port (rdma:RW-3)");
        assertThat(world.machine.log().warnCount()).isEqualTo(1);
        assertThat(world.create(new RwInit(0, 0, 0)).isErr()).isFalse();
        assertThat(world.machine.log().warnCount()).isEqualTo(1);
    }

    @Test
    void processesHaveNoContexts() {
        Process process = Process.create(world.machine);
        Pd pd = new Pd(world.device, Owner.of(process));
        assertThatIllegalArgumentException()
                .isThrownBy(() ->
                        world.device.createQp(pd, QpInit.of(world.cq, world.cq).with(RwInit.of(2))))
                .withMessageContaining("2 contexts of rdma_rw");
        assertThat(world.provider.liveQps).isZero();
    }

    @Test
    void whatNoQueuePairHasIsRefused() {
        assertThatIllegalArgumentException().isThrownBy(() -> new RwInit(-1, 1, 0));
        assertThatIllegalArgumentException().isThrownBy(() -> new RwInit(1, -1, 0));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new RwInit(1, 1, 0x41))
                .withMessageContaining("0x41");
    }

    // ---- the rules

    @Test
    @DisplayName("rdma:RW-5, RW-7 who needs a region")
    void whoNeedsARegion() {
        assertThat(needs("")).isEqualTo("can false: read false write false, long read false");
        world.provider.maxSglRd = 3;
        assertThat(needs("")).isEqualTo("can true: read false write false, long read true");
        world = new RwWorld();
        world.provider.iwarp = true;
        assertThat(needs("")).isEqualTo("can true: read true write false, long read true");
        world = RwWorld.forced();
        assertThat(needs("")).isEqualTo("can true: read true write true, long read true");
    }

    private String needs(String prefix) {
        var rules = world.device.rwRules();
        var read = io.pagewalk.dma.DmaDirection.FROM_DEVICE;
        var write = io.pagewalk.dma.DmaDirection.TO_DEVICE;
        return prefix + "can " + rules.canUseMr(1) + ": read " + rules.ioNeedsMr(1, read, 3) + " write "
                + rules.ioNeedsMr(1, write, 4) + ", long read " + rules.ioNeedsMr(1, read, 4);
    }

    @Test
    @DisplayName("rdma:RW-6, RW-8, RW-9 numbers for drivers")
    void numbersForDrivers() {
        var rules = world.device.rwRules();
        assertThat(rules.pageListLen(false)).isEqualTo(256);
        assertThat(rules.pageListLen(true)).isEqualTo(100);
        world.provider.pages = 255;
        assertThat(rules.pageListLen(false)).isEqualTo(255);
        assertThat(rules.mrFactor(1, 9)).as("by 4 segments").isEqualTo(3);
        assertThat(rules.mrFactor(1, 8)).isEqualTo(2);
        assertThat(rules.mrFactor(1, 0)).isZero();
        assertThat(rules.maxSendWr(RwInit.of(7))).isEqualTo(7);
        assertThat(rules.maxSendWr(RwInit.of(7).withIntegrity())).isEqualTo(21);
        world.provider.iwarp = true;
        assertThat(rules.mrFactor(1, 256)).as("by 255 pages").isEqualTo(2);
        assertThat(rules.mrFactor(2, 9)).as("another port").isEqualTo(3);
        assertThat(rules.maxSendWr(RwInit.of(7))).isEqualTo(21);
        assertThat(rules.maxSendWr(RwInit.of(Integer.MAX_VALUE)))
                .as("saturates")
                .isEqualTo(-1);
        assertThatIllegalArgumentException().isThrownBy(() -> rules.mrFactor(1, -1));
        world.provider.pages = 0;
        assertThatThrownBy(() -> rules.mrFactor(1, 9))
                .isInstanceOf(KernelBugException.class)
                .hasMessageContaining("divide error");
        world.provider.maxSgeRd = 0;
        assertThatThrownBy(() -> rules.mrFactor(2, 0)).hasMessageContaining("on port 2 (rdma:RW-8)");
    }

    @Test
    @DisplayName("rdma:RW-5 the module parameter, as the command line says it last")
    void theModuleParameterIsReadFromTheCommandLine() {
        assertThat(world.device.rwRules().forcesMr()).isFalse();
        assertThat(forced("ib_core.force_mr")).isTrue();
        assertThat(forced("a ib_core.force_mr=Y  b")).isTrue();
        assertThat(forced("ib_core.force_mr=on")).isTrue();
        assertThat(forced("ib_core.force_mr=0")).isFalse();
        assertThat(forced("ib_core.force_mr=1 ib_core.force_mr=n")).isFalse();
        assertThat(forced("ib_core.force_mrs=1")).isFalse();
    }

    private static boolean forced(String commandLine) {
        return new RwWorld(io.pagewalk.dma.Machine.builder().commandLine(commandLine))
                .device
                .rwRules()
                .forcesMr();
    }

    @Test
    void theLogKeepsAFailureAsAMessage() {
        world.machine.failures().failNth("plain.mr", 1);
        world.provider.iwarp = true;
        world.create(RwInit.of(3));
        assertThat(world.machine.log().entries().get(0).kind()).isEqualTo(KernelLog.Kind.MESSAGE);
    }

    @Test
    void aDeviceIsNotAskedForASecondKindAfterTheFirstFailed() {
        VerbsDevice device = world.device;
        world.machine.failures().failNth("plain.mr", 2);
        assertThat(world.create(RwInit.of(2).withIntegrity()).isErr()).isTrue();
        assertThat(world.provider.allocated).containsExactly("MEM_REG 100", "MEM_REG 100");
        assertThat(device.name()).isEqualTo("plain0");
    }
}
