package io.pagewalk.rdma.rw;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.KernelBugException;
import io.pagewalk.dma.KernelModel;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.events.MappingLedger;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.rdma.IbDevice;
import io.pagewalk.rdma.rw.PlainProvider.PlainQp;
import io.pagewalk.rdma.verbs.Mr;
import io.pagewalk.rdma.verbs.Owner;
import io.pagewalk.rdma.verbs.Pd;
import io.pagewalk.rdma.verbs.QpInit;
import io.pagewalk.rdma.verbs.RwInit;
import io.pagewalk.rdma.verbs.SendWr;
import io.pagewalk.rdma.verbs.SigDomains;
import io.pagewalk.rdma.verbs.SigType;
import io.pagewalk.rdma.verbs.VerbsDevice;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** What rdma_rw posts, and what it gives back. */
class RwContextTest {
    private static final DmaDirection READ = DmaDirection.FROM_DEVICE;
    private static final DmaDirection WRITE = DmaDirection.TO_DEVICE;
    private static final long REMOTE = 0x9000_0000L;
    private static final int RKEY = 55;
    private static final SigDomains BOTH = new SigDomains(SigType.T10_DIF, SigType.T10_DIF);

    private RwWorld world = new RwWorld();
    private RwContext context = new RwContext(world.device);

    private void use(RwWorld other) {
        world = other;
        context = new RwContext(world.device);
    }

    private int init(PlainQp qp, SgTable sg, long offset, DmaDirection direction) {
        return context.init(qp, 0, 1, sg, offset, REMOTE, RKEY, direction);
    }

    private PlainQp iwarp(int contexts) {
        world.provider.iwarp = true;
        return world.qp(RwInit.of(contexts));
    }

    // ---- segments

    @Test
    @DisplayName("rdma:RW-14 single: one request of one segment by the key of all memory")
    void oneEntryIsOneRequest() {
        PlainQp qp = world.qp(RwInit.of(1));
        assertThat(init(qp, RwWorld.list(0x900), 0x100, WRITE)).isEqualTo(1);
        assertThat(context.operations()).isEqualTo(1);
        assertThat(context.post(qp, 9, null)).isZero();
        assertThat(qp.posted).containsExactly("RDMA_WRITE 9 flags 2 to 90000000 key 55 [100100+800 7700]");
    }

    @Test
    @DisplayName("rdma:RW-11 whole entries are skipped; what is left of one is a single again")
    void wholeEntriesAreSkipped() {
        PlainQp qp = world.qp(RwInit.of(1));
        assertThat(init(qp, RwWorld.list(0x100, 0x200, 0x300), 0x300, READ)).isEqualTo(1);
        context.post(qp, 1, null);
        assertThat(qp.posted).containsExactly("RDMA_READ 1 flags 2 to 90000000 key 55 [104000+300 7700]");
    }

    @Test
    @DisplayName("rdma:RW-11 an offset that leaves nothing is warned of and is -EIO, with the list unmapped")
    void anOffsetBeyondTheListIsRefused() {
        PlainQp qp = world.qp(RwInit.of(1));
        SgTable sg = RwWorld.list(0x100, 0x200);
        assertThat(init(qp, sg, 0x300, READ)).isEqualTo(-Errno.EIO);
        assertThat(world.log())
                .containsExactly("rdma_rw_ctx_init: offset 0x300 leaves nothing of 2 segments (rdma:RW-11)");
        assertThat(context.operations()).isZero();
        assertThat(init(qp, sg, 0x2ff, READ)).isEqualTo(1);
    }

    @Test
    @DisplayName("rdma:RW-11 the errors of mapping come as they are")
    void theErrorsOfMappingComeAsTheyAre() {
        PlainQp qp = world.qp(RwInit.of(1));
        assertThat(init(qp, new SgTable(1), 0, READ)).isEqualTo(-Errno.EIO);
        assertThatIllegalStateException().isThrownBy(() -> context.post(qp, 1, null));
    }

    @Test
    @DisplayName("rdma:RW-15 multi: chained requests of as many segments as the direction allows")
    void manyEntriesAreChained() {
        PlainQp qp = (PlainQp) world.create(RwInit.of(1), 2).value();
        assertThat(init(qp, RwWorld.list(0x1000, 0x800, 0x400, 0x200, 0x100), 0x10, WRITE))
                .isEqualTo(3);
        context.post(qp, 7, null);
        assertThat(qp.posted)
                .containsExactly(
                        "RDMA_WRITE 0 to 90000000 key 55 [100010+ff0 7700] [102000+800 7700]",
                        "RDMA_WRITE 0 to 900017f0 key 55 [104000+400 7700] [106000+200 7700]",
                        "RDMA_WRITE 7 flags 2 to 90001df0 key 55 [108000+100 7700]");
    }

    @Test
    @DisplayName("rdma:RW-15 reads have the device's number of segments")
    void readsHaveTheirOwnNumberOfSegments() {
        PlainQp qp = (PlainQp) world.create(RwInit.of(1), 6).value();
        assertThat(init(qp, RwWorld.pages(7), 0, READ)).isEqualTo(2);
        context.post(qp, 7, null);
        assertThat(qp.segments.get(0)).hasSize(1 + 2 * 4);
        assertThat(qp.segments.get(1)).hasSize(1 + 2 * 3);
        context.destroy(qp, 0, RwWorld.pages(7), READ);
        assertThat(init(qp, RwWorld.pages(7), 0, DmaDirection.BIDIRECTIONAL))
                .as("anything but a write reads")
                .isEqualTo(2);
    }

    @Test
    @DisplayName("rdma:RW-EX2 70 entries by 32 segments")
    void theExampleOfSeventyEntries() {
        PlainQp qp = (PlainQp) world.create(RwInit.of(1), 32).value();
        assertThat(init(qp, RwWorld.pages(70), 0, WRITE)).isEqualTo(3);
        context.post(qp, 1, null);
        assertThat(qp.segments.stream().map(s -> (s.size() - 1) / 2)).containsExactly(32, 32, 6);
        assertThat(qp.segments.stream().map(s -> s.get(0) - REMOTE)).containsExactly(0L, 0x20000L, 0x40000L);
    }

    @Test
    @DisplayName("rdma:RW-15 the bytes behind each request are counted in 32 bits")
    void bytesOfEarlierRequestsAreCountedIn32Bits() {
        PlainQp qp = (PlainQp) world.create(RwInit.of(1), 1).value();
        SgTable sg = new SgTable(3).add(0, 0x8000_0000L).add(0, 0x8000_0000L).add(0, 0x1000);
        assertThat(init(qp, sg, 0, WRITE)).isEqualTo(3);
        context.post(qp, 1, null);
        assertThat(qp.segments.stream().map(s -> s.get(0) - REMOTE)).containsExactly(0L, 0x8000_0000L, 0L);
    }

    @Test
    void aDeviceThatReadsNoSegmentsIsADivisionByZero() {
        world.provider.maxSgeRd = 0;
        PlainQp qp = world.qp(RwInit.of(1));
        assertThatThrownBy(() -> init(qp, RwWorld.pages(2), 0, READ))
                .isInstanceOf(KernelBugException.class)
                .hasMessageContaining("rdma:RW-15");
        assertThat(init(qp, RwWorld.pages(2), 0, WRITE)).isEqualTo(1);
    }

    @Test
    void everyAllocationOfSegmentsMayFail() {
        PlainQp qp = (PlainQp) world.create(RwInit.of(1), 1).value();
        for (String point : new String[] {"rdma_rw.wrs", "rdma_rw.sges"}) {
            world.machine.failures().failNth(point, 1);
            assertThat(init(qp, RwWorld.pages(2), 0, READ)).isEqualTo(-Errno.ENOMEM);
            assertThat(context.operations()).isZero();
        }
        assertThat(init(qp, RwWorld.pages(2), 0, READ)).isEqualTo(2);
    }

    // ---- regions

    @Test
    @DisplayName("rdma:RW-16, RW-17 iWARP reads into regions that the peer writes, and invalidates them itself")
    void readsOverIwarpTakeRegions() {
        PlainQp qp = iwarp(2);
        SgTable sg = RwWorld.pages(3);
        assertThat(init(qp, sg, 0x80, READ)).isEqualTo(2);
        assertThat(qp.mrsUsed()).isEqualTo(1);
        context.post(qp, 4, null);
        assertThat(qp.posted)
                .containsExactly(
                        "REG_MR 0 key 101 access 3",
                        "RDMA_READ_WITH_INV 4 flags 2 to 90000000 key 55 inv 100 [100080+2f80 101]");
        context.destroy(qp, 0, sg, READ);
        assertThat(qp.mrsUsed()).isZero();

        qp.posted.clear();
        assertThat(init(qp, sg, 0, READ)).as("the wire invalidated it").isEqualTo(2);
    }

    @Test
    void writesOverIwarpTakeNone() {
        PlainQp qp = iwarp(1);
        assertThat(init(qp, RwWorld.pages(3), 0, WRITE)).isEqualTo(1);
        assertThat(qp.mrsUsed()).isZero();
    }

    @Test
    @DisplayName("rdma:RW-EX1 300 entries over iWARP")
    void theExampleOfThreeHundredEntries() {
        PlainQp qp = iwarp(2);
        assertThat(init(qp, RwWorld.pages(300), 0, READ)).isEqualTo(4);
        context.post(qp, 1, null);
        assertThat(qp.posted)
                .containsExactly(
                        "REG_MR 0 key 101 access 3",
                        "RDMA_READ_WITH_INV 0 to 90000000 key 55 inv 100 [100000+100000 101]",
                        "REG_MR 0 key 201 access 3",
                        "RDMA_READ_WITH_INV 1 flags 2 to 90100000 key 55 inv 200 [300000+2c000 201]");
    }

    @Test
    @DisplayName(
            "rdma:RW-7, RW-17, RW-18 a device that likes regions: invalidated by hand the next time, by the key of before")
    void regionsOfLongReadsAreInvalidatedBeforeTheyAreUsedAgain() {
        world.provider.maxSglRd = 2;
        PlainQp qp = world.qp(RwInit.of(1));
        SgTable sg = RwWorld.pages(3);
        assertThat(init(qp, sg, 0, READ)).isEqualTo(2);
        assertThat(context.post(qp, 1, null)).isZero();
        context.destroy(qp, 0, sg, READ);
        assertThat(init(qp, sg, 0, READ)).isEqualTo(3);
        context.post(qp, 2, null);
        assertThat(qp.posted)
                .containsExactly(
                        "REG_MR 0 key 101 access 1",
                        "RDMA_READ 1 flags 2 to 90000000 key 55 [100000+3000 101]",
                        "LOCAL_INV 0 key 101",
                        "REG_MR 0 key 102 access 1",
                        "RDMA_READ 2 flags 2 to 90000000 key 55 [100000+3000 102]");
    }

    @Test
    @DisplayName(
            "rdma:RW-18 keys change when the transfer is posted, not before; RW-21: and again when it is posted again")
    void keysChangeAtEachPost() {
        world.provider.maxSglRd = 2;
        PlainQp qp = world.qp(RwInit.of(1));
        Mr mr = Objects.requireNonNull(qp.rdmaMrs().get());
        mr.setNeedsInvalidation(true);
        qp.rdmaMrs().put(mr);
        assertThat(init(qp, RwWorld.pages(3), 0, READ)).isEqualTo(3);
        assertThat(mr.lkey()).isEqualTo(0x100);
        context.post(qp, 1, null);
        context.post(qp, 2, null);
        assertThat(mr.lkey()).isEqualTo(0x102);
        assertThat(qp.posted)
                .containsExactly(
                        "LOCAL_INV 0 key 100",
                        "REG_MR 0 key 101 access 1",
                        "RDMA_READ 1 flags 2 to 90000000 key 55 [100000+3000 101]",
                        "LOCAL_INV 0 key 100",
                        "REG_MR 0 key 102 access 1",
                        "RDMA_READ 2 flags 2 to 90000000 key 55 [100000+3000 102]");
    }

    @Test
    @DisplayName("rdma:RW-18 a region is marked at the post: by hand, unless the wire invalidates")
    void theMarkIsSetAtThePost() {
        PlainQp qp = iwarp(1);
        SgTable sg = RwWorld.pages(1);
        init(qp, sg, 0, READ);
        context.post(qp, 1, null);
        context.destroy(qp, 0, sg, READ);
        Mr mr = Objects.requireNonNull(qp.rdmaMrs().get());
        assertThat(mr.needsInvalidation()).isFalse();
        mr.setNeedsInvalidation(true);
        qp.rdmaMrs().put(mr);
        assertThat(init(qp, sg, 0, READ)).isEqualTo(3);
        assertThat(mr.needsInvalidation()).isTrue();
        context.wrs(2, null);
        assertThat(mr.needsInvalidation()).isFalse();
    }

    @Test
    @DisplayName("rdma:RW-7 force_mr: regions in any direction, of one entry too")
    void forcedRegionsServeWritesToo() {
        use(RwWorld.forced());
        PlainQp qp = world.qp(RwInit.of(2));
        assertThat(qp.rdmaMrs().size()).isEqualTo(2);
        assertThat(init(qp, RwWorld.list(0x123), 3, WRITE)).isEqualTo(2);
        context.post(qp, 1, null);
        assertThat(qp.posted)
                .containsExactly(
                        "REG_MR 0 key 101 access 1", "RDMA_WRITE 1 flags 2 to 90000000 key 55 [100003+120 101]");
    }

    @Test
    @DisplayName("rdma:RW-12 without a free region long reads go by segments, on a 6.12 kernel")
    void exhaustionFallsBackToSegments() {
        world.provider.maxSglRd = 2;
        PlainQp qp = world.qp(RwInit.of(1));
        assertThat(init(qp, RwWorld.pages(3), 0, READ)).isEqualTo(2);
        RwContext second = new RwContext(world.device);
        assertThat(second.init(qp, 0, 1, RwWorld.pages(5), 0, REMOTE, RKEY, READ))
                .isEqualTo(2);
        second.post(qp, 3, null);
        assertThat(qp.posted).hasSize(2).allMatch(wr -> wr.startsWith("RDMA_READ ") && wr.contains(" 7700]"));
        assertThat(qp.mrsUsed()).isEqualTo(1);
    }

    @Test
    @DisplayName("rdma:RW-12 a 5.x kernel gives up with -EAGAIN")
    void exhaustionIsFinalOnLinux5() {
        use(new RwWorld(Machine.builder().kernelModel(KernelModel.LINUX_5)));
        world.provider.maxSglRd = 2;
        PlainQp qp = world.qp(RwInit.of(1));
        assertThat(init(qp, RwWorld.pages(3), 0, READ)).isEqualTo(2);
        assertThat(init2(qp, 3)).isEqualTo(-Errno.EAGAIN);
    }

    private int init2(PlainQp qp, int pages) {
        return new RwContext(world.device).init(qp, 0, 1, RwWorld.pages(pages), 0, REMOTE, RKEY, READ);
    }

    @Test
    @DisplayName("rdma:RW-12 with iWARP or force_mr exhaustion is -EAGAIN, and the regions taken so far go back")
    void exhaustionIsFinalWhereRegionsAreAMust() {
        PlainQp qp = iwarp(2);
        assertThat(init(qp, RwWorld.pages(600), 0, READ)).isEqualTo(-Errno.EAGAIN);
        assertThat(qp.mrsUsed()).isZero();
        assertThat(qp.rdmaMrs().size()).isEqualTo(2);
        assertThat(context.operations()).isZero();
        use(RwWorld.forced());
        PlainQp forced = world.qp(RwInit.of(1));
        assertThat(init(forced, RwWorld.pages(257), 0, WRITE)).isEqualTo(-Errno.EAGAIN);
        assertThat(forced.mrsUsed()).isZero();
    }

    @Test
    @DisplayName("rdma:RW-16 a region that covers less than its part is -EINVAL, and all go back")
    void aRegionThatCoversTooLittleIsRefused() {
        PlainQp qp = iwarp(2);
        world.provider.mapsTooFew = 1;
        assertThat(init(qp, RwWorld.pages(3), 0, READ)).isEqualTo(-Errno.EINVAL);
        assertThat(qp.mrsUsed()).isZero();
        world.provider.mapsTooFew = 0;
        SgTable gap = RwWorld.list(0x800, 0x1000);
        assertThat(init(qp, gap, 0, READ)).as("a gap inside a page").isEqualTo(-Errno.EINVAL);
        assertThat(qp.rdmaMrs().size()).isEqualTo(2);
    }

    private static List<Integer> order(PlainQp qp) {
        List<Mr> out = new ArrayList<>();
        for (Mr mr = qp.rdmaMrs().get(); mr != null; mr = qp.rdmaMrs().get()) {
            out.add(mr);
        }
        for (int i = out.size() - 1; i >= 0; i--) {
            qp.rdmaMrs().put(out.get(i));
        }
        return out.stream().map(Mr::lkey).toList();
    }

    @Test
    @DisplayName("rdma:RW-16 what fails leaves the pool in its order, whichever step it was")
    void aTransferThatFailsLeavesThePoolInItsOrder() {
        PlainQp qp = iwarp(3);
        List<Integer> before = order(qp);
        assertThat(before).containsExactly(0x100, 0x200, 0x300);
        assertThat(init(qp, RwWorld.pages(4 * 256), 0, READ)).isEqualTo(-Errno.EAGAIN);
        assertThat(order(qp)).isEqualTo(before);
        SgTable gapInTheThird = RwWorld.pages(2 * 256 + 2);
        gapInTheThird.resize(2 * 256, 0, 0x800);
        assertThat(init(qp, gapInTheThird, 0, READ)).isEqualTo(-Errno.EINVAL);
        assertThat(order(qp)).isEqualTo(before);
        assertThat(qp.mrsUsed()).isZero();
    }

    @Test
    void aDriverThatThrowsLeavesNothingHeldAndTheContextUsable() {
        PlainQp qp = iwarp(3);
        List<Integer> before = order(qp);
        world.provider.mapThrowsAt = 2;
        assertThatIllegalStateException()
                .isThrownBy(() -> init(qp, RwWorld.pages(600), 0, READ))
                .withMessage("a driver's bug");
        assertThat(qp.mrsUsed()).isZero();
        assertThat(order(qp)).isEqualTo(before);
        assertThat(context.operations()).isZero();
        assertThat(init(qp, RwWorld.pages(3), 0, READ))
                .as("one operation of two requests")
                .isEqualTo(2);

        use(new RwWorld());
        PlainQp signing = signing();
        world.provider.mapThrowsAt = 1;
        assertThatIllegalStateException()
                .isThrownBy(() -> initSignature(signing, RwWorld.pages(1), new SgTable(1), BOTH));
        assertThat(signing.mrsUsed()).isZero();
        assertThat(initSignature(signing, RwWorld.pages(1), new SgTable(1), BOTH))
                .isEqualTo(2);
    }

    @Test
    void theAllocationOfRegionsMayFail() {
        PlainQp qp = iwarp(1);
        world.machine.failures().failNth("rdma_rw.regs", 1);
        assertThat(init(qp, RwWorld.pages(3), 0, READ)).isEqualTo(-Errno.ENOMEM);
        assertThat(qp.mrsUsed()).isZero();
        assertThat(qp.rdmaMrs().size()).isEqualTo(1);
    }

    @Test
    void regionsOfNoPagesAreADivisionByZero() {
        world.provider.pages = 0;
        PlainQp qp = iwarp(1);
        assertThatThrownBy(() -> init(qp, RwWorld.pages(1), 0, READ))
                .isInstanceOf(KernelBugException.class)
                .hasMessageContaining("rdma:RW-16");
    }

    // ---- posting and ending

    @Test
    @DisplayName("rdma:RW-19 requests of the caller's follow the last one, which then completes nothing")
    void theCallersRequestsFollow() {
        PlainQp qp = world.qp(RwInit.of(1));
        init(qp, RwWorld.list(0x10), 0, WRITE);
        SendWr chain = new SendWr().send(77).signaled();
        qp.postError = -Errno.ENOMEM;
        assertThat(context.post(qp, 1, chain)).isEqualTo(-Errno.ENOMEM);
        assertThat(qp.posted)
                .containsExactly("RDMA_WRITE 0 to 90000000 key 55 [100000+10 7700]", "SEND 77 flags 2 to 0 key 0");
        qp.posted.clear();
        context.post(qp, 5, null);
        assertThat(qp.posted).containsExactly("RDMA_WRITE 5 flags 2 to 90000000 key 55 [100000+10 7700]");
    }

    @Test
    void aContextIsUsedAgainAfterItWasDestroyedAndNotBefore() {
        PlainQp qp = world.qp(RwInit.of(1));
        SgTable sg = RwWorld.pages(2);
        assertThatIllegalStateException().isThrownBy(() -> context.destroy(qp, 0, sg, READ));
        init(qp, sg, 0, READ);
        assertThatIllegalStateException()
                .isThrownBy(() -> init(qp, sg, 0, READ))
                .withMessageContaining("1 operations");
        context.destroy(qp, 0, sg, READ);
        assertThatIllegalStateException().isThrownBy(() -> context.destroy(qp, 0, sg, READ));
        assertThat(init(qp, sg, 0, WRITE)).isEqualTo(1);
    }

    @Test
    void argumentsOfOthersAreRefused() {
        PlainQp qp = world.qp(RwInit.of(1));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> init(qp, RwWorld.pages(1), 1L << 32, READ))
                .withMessageContaining("0x100000000");
        RwWorld other = new RwWorld();
        assertThatIllegalArgumentException()
                .isThrownBy(() -> init(other.qp(RwInit.of(1)), RwWorld.pages(1), 0, READ))
                .withMessageContaining("plain0");
    }

    // ---- signatures

    private PlainQp signing() {
        return world.qp(RwInit.of(1).withIntegrity());
    }

    private int initSignature(PlainQp qp, SgTable data, @Nullable SgTable prot, SigDomains domains) {
        return context.initSignature(qp, 0, 1, data, prot, domains, REMOTE, RKEY, WRITE);
    }

    @Test
    @DisplayName("rdma:RW-22 signatures: one region for data and signatures, registered with them")
    void signaturesGoThroughOneRegion() {
        PlainQp qp = signing();
        SgTable data = RwWorld.pages(4);
        SgTable prot = RwWorld.list(0x20);
        assertThat(initSignature(qp, data, prot, BOTH)).isEqualTo(2);
        assertThat(qp.mrsUsed()).isEqualTo(1);
        context.post(qp, 3, null);
        assertThat(qp.posted)
                .containsExactly(
                        "REG_MR_INTEGRITY 0 key 201 access 1",
                        "RDMA_WRITE 3 flags 2 to 90000000 key 55 [100000+4020 201]");
        context.destroySignature(qp, 0, data, prot, WRITE);
        assertThat(qp.mrsUsed()).isZero();
        assertThat(initSignature(qp, data, prot, BOTH))
                .as("now with an invalidation")
                .isEqualTo(3);
        Mr mr = Objects.requireNonNull(context.wrs(1, null).next()).mr();
        assertThat(Objects.requireNonNull(mr).sigDomains()).isEqualTo(BOTH);
    }

    @Test
    @DisplayName("rdma:RW-22 without signatures on the wire the transfer is shorter by them")
    void withoutSignaturesOnTheWireTheTransferIsShorter() {
        PlainQp qp = signing();
        initSignature(qp, RwWorld.pages(4), RwWorld.list(0x20), new SigDomains(SigType.NONE, SigType.T10_DIF));
        context.post(qp, 3, null);
        assertThat(qp.posted.get(1)).endsWith("[100000+4000 201]");
    }

    @Test
    @DisplayName("rdma:RW-22 every way that signatures fail gives all back")
    void everyFailureOfSignaturesUnwinds() {
        PlainQp qp = signing();
        SgTable many = RwWorld.pages(101);
        SgTable one = RwWorld.pages(1);
        assertThat(initSignature(qp, many, one, BOTH)).isEqualTo(-Errno.EINVAL);
        assertThat(initSignature(qp, one, many, BOTH)).isEqualTo(-Errno.EINVAL);
        assertThat(world.log().get(1))
                .isEqualTo("rdma_rw_ctx_signature_init: SG count too large: 1 and 101 of 100 (rdma:RW-22)");
        assertThat(initSignature(qp, new SgTable(1), one, BOTH)).isEqualTo(-Errno.EIO);
        world.machine.failures().failNth("rdma_rw.signature", 1);
        assertThat(initSignature(qp, one, RwWorld.pages(1), BOTH)).isEqualTo(-Errno.ENOMEM);
        world.provider.mapPiError = -Errno.EINVAL;
        assertThat(initSignature(qp, one, RwWorld.pages(1), BOTH)).isEqualTo(-Errno.EINVAL);
        world.provider.mapPiError = 0;
        assertThat(qp.mrsUsed()).isZero();
        Mr mr = qp.sigMrs().get();
        assertThat(initSignature(qp, one, new SgTable(1), BOTH)).isEqualTo(-Errno.EAGAIN);
        qp.sigMrs().put(Objects.requireNonNull(mr));
        assertThat(initSignature(qp, one, new SgTable(1), BOTH))
                .as("no signatures of their own")
                .isEqualTo(2);
    }

    @Test
    @DisplayName("rdma:RW-20, RW-22 the wrong end: a BUG for one, a warning for the other")
    void theWrongEndIsABugOrAWarning() {
        PlainQp qp = signing();
        SgTable sg = RwWorld.pages(1);
        context.destroySignature(qp, 0, sg, null, WRITE);
        assertThat(world.log())
                .containsExactly("rdma_rw_ctx_destroy_signature: a context without signatures (rdma:RW-22)");
        initSignature(qp, sg, new SgTable(1), BOTH);
        assertThatThrownBy(() -> context.destroy(qp, 0, sg, WRITE)).isInstanceOf(KernelBugException.class);
        assertThat(qp.mrsUsed()).isEqualTo(1);
        context.destroySignature(qp, 0, sg, new SgTable(1), WRITE);
        assertThat(qp.mrsUsed()).isZero();
        assertThat(context.operations()).isZero();
    }

    @Test
    @DisplayName("rdma:RW-22, CONV-6 whichever step of signatures fails, lists, region and context are as before")
    void whicheverStepOfSignaturesFailsAllIsAsBefore() {
        use(new RwWorld(Machine.builder().ledger()));
        PlainQp qp = signing();
        MappingLedger ledger = Objects.requireNonNull(world.machine.ledger());
        SgTable data = RwWorld.pages(2);
        SgTable prot = RwWorld.list(0x20);
        int region = Objects.requireNonNull(qp.sigMrs().get()).lkey();
        qp.sigMrs().put(world.provider.regions.get(world.provider.regions.size() - 1));
        int before = ledger.liveCount();
        int n = 1;
        world.machine.failures().failNth(n);
        int answer = initSignature(qp, data, prot, BOTH);
        while (world.machine.failures().failedAt() != null) {
            assertThat(answer).isEqualTo(-Errno.ENOMEM);
            assertThat(ledger.liveCount()).isEqualTo(before);
            assertThat(qp.mrsUsed()).isZero();
            assertThat(qp.sigMrs().size()).isOne();
            assertThat(context.operations()).isZero();
            world.machine.failures().failNth(++n);
            answer = initSignature(qp, data, prot, BOTH);
        }
        assertThat(n).as("steps that can fail, and one more").isGreaterThan(1);
        assertThat(answer).isEqualTo(2);
        assertThat(Objects.requireNonNull(context.wrs(1, null).mr()).lkey() >>> 8)
                .isEqualTo(region >>> 8);
        assertThat(ledger.liveCount()).isEqualTo(before + 3);
        context.destroySignature(qp, 0, data, prot, WRITE);
        assertThat(ledger.liveCount()).isEqualTo(before);
    }

    @Test
    @DisplayName("rdma:RW-22 a region that is missing and a driver that refuses leave nothing mapped")
    void whatIsRefusedLeavesNothingMapped() {
        use(new RwWorld(Machine.builder().ledger()));
        PlainQp qp = signing();
        MappingLedger ledger = Objects.requireNonNull(world.machine.ledger());
        int before = ledger.liveCount();
        SgTable data = RwWorld.pages(2);
        world.provider.mapPiError = -Errno.EINVAL;
        assertThat(initSignature(qp, data, RwWorld.list(8), BOTH)).isEqualTo(-Errno.EINVAL);
        assertThat(ledger.liveCount()).isEqualTo(before);
        world.provider.mapPiError = 3;
        assertThat(initSignature(qp, data, RwWorld.list(8), BOTH))
                .as("what is not 0 is an error")
                .isEqualTo(-Errno.EINVAL);
        assertThat(ledger.liveCount()).isEqualTo(before);
        world.provider.mapPiError = 0;
        Mr mr = Objects.requireNonNull(qp.sigMrs().get());
        assertThat(initSignature(qp, data, RwWorld.list(8), BOTH)).isEqualTo(-Errno.EAGAIN);
        assertThat(ledger.liveCount()).isEqualTo(before);
        qp.sigMrs().put(mr);
    }

    @Test
    @DisplayName("rdma:RW-22 as many entries as a region holds, of either kind, and not one more")
    void asManyEntriesAsARegionHolds() {
        PlainQp qp = signing();
        SgTable most = RwWorld.pages(100);
        assertThat(initSignature(qp, most, RwWorld.pages(100), BOTH)).isEqualTo(2);
        context.destroySignature(qp, 0, most, null, WRITE);
        assertThat(initSignature(qp, RwWorld.pages(101), null, BOTH)).isEqualTo(-Errno.EINVAL);
    }

    @Test
    @DisplayName("rdma:RW-20 a context with signatures is not prepared again before its end, and loses nothing")
    void aContextWithSignaturesIsNotPreparedAgain() {
        PlainQp qp = world.qp(RwInit.of(2).withIntegrity());
        SgTable data = RwWorld.pages(1);
        assertThat(initSignature(qp, data, null, BOTH)).isEqualTo(2);
        assertThatIllegalStateException().isThrownBy(() -> initSignature(qp, RwWorld.pages(1), null, BOTH));
        assertThat(qp.mrsUsed()).isOne();
        assertThat(context.operations()).isOne();
        context.destroySignature(qp, 0, data, null, WRITE);
        assertThat(qp.mrsUsed()).isZero();
    }

    @Test
    @DisplayName("rdma:RW-22 signatures that cannot be mapped take the data's mapping along")
    void signaturesThatCannotBeMappedUnmapTheData() {
        use(new RwWorld(Machine.builder().ledger()));
        MappingLedger ledger = Objects.requireNonNull(world.machine.ledger());
        VerbsDevice narrow = new VerbsDevice(new PlainProvider(IbDevice.withDmaDevice(
                "plain1", world.machine.addDevice(DeviceConfig.named("narrow").withMask(0xffff_ffffL)))));
        Pd pd = narrow.allocPd(0, "target").value();
        var cq = narrow.createCq(Owner.kernel("target"), 16).value();
        PlainQp qp = (PlainQp) narrow.createQp(
                        pd,
                        QpInit.of(cq, cq)
                                .withSizes(RwWorld.SEND_WR, 1, 4)
                                .with(RwInit.of(1).withIntegrity()))
                .value();
        context = new RwContext(narrow);
        int before = ledger.liveCount();
        SgTable high = new SgTable(1).add(1L << 40, 0x20);
        assertThat(initSignature(qp, RwWorld.pages(2), high, BOTH)).isEqualTo(-Errno.EIO);
        assertThat(ledger.liveCount()).isEqualTo(before);
        assertThat(qp.mrsUsed()).isZero();
        assertThat(initSignature(qp, high, RwWorld.pages(2), BOTH)).isEqualTo(-Errno.EIO);
        assertThat(ledger.liveCount()).isEqualTo(before);
        assertThat(initSignature(qp, RwWorld.pages(2), RwWorld.list(8), BOTH)).isEqualTo(2);
        assertThat(ledger.liveCount()).isEqualTo(before + 3);
    }
}
