package io.pagewalk.rdma.rxe;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.KernelModel;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.rdma.RxeWorld;
import io.pagewalk.rdma.verbs.FastReg;
import io.pagewalk.rdma.verbs.MrType;
import io.pagewalk.rdma.verbs.Owner;
import io.pagewalk.rdma.verbs.Restrack;
import io.pagewalk.rdma.verbs.VerbsDevice;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** {@code ib_alloc_mr} down to {@code rxe_alloc_mr}, {@code rxe_mem_init_fast} and {@code rxe_mem_alloc}, by steps. */
class SeedAllocMrTest {
    private static final int PAGE = RxeWorld.PAGE;
    private static final int ENOMEM = -Errno.ENOMEM;

    private RxeWorld world = RxeWorld.start(KernelModel.LINUX_5);

    @AfterEach
    void close() {
        world.close();
    }

    private void restart(KernelModel model) {
        world.close();
        world = RxeWorld.start(model);
    }

    private int error(MrType type, int pages) {
        return FastReg.allocMr(world.pd, type, pages).error();
    }

    /** Pages that do not follow each other, mapped. */
    private SgTable list(int pages) {
        SgTable sg = new SgTable(pages);
        for (int i = 0; i < pages; i++) {
            sg.add(0x10_0000 + 2L * i * PAGE, PAGE);
        }
        assertThat(world.device.ibDevice().dma().mapSgTable(sg, DmaDirection.BIDIRECTIONAL, 0))
                .isZero();
        return sg;
    }

    // ---- ib_alloc_mr

    @ParameterizedTest
    @EnumSource(KernelModel.class)
    @DisplayName("rdma:FR-1, FR-2 ib_alloc_mr: what the core notes of a region, which is the kernel's own")
    void ibAllocMrCountsAndListsTheRegion(KernelModel model) {
        restart(model);
        RxeMr mr = world.fast(3);
        assertThat(mr.pd()).isSameAs(world.pd);
        assertThat(mr.pd().device()).isSameAs(world.device);
        assertThat(mr.type()).isEqualTo(MrType.MEM_REG);
        assertThat(mr.needsInvalidation()).isFalse();
        assertThat(mr.sigAttrs()).isNull();
        assertThat(mr.umem()).isNull();
        assertThat(world.pd.useCount()).isOne();
        assertThat(world.device.restrack().entries(Restrack.Kind.MR))
                .singleElement()
                .satisfies(entry -> assertThat(entry.owner()).isEqualTo(Owner.kernel("test")));
    }

    @ParameterizedTest
    @EnumSource(KernelModel.class)
    @DisplayName("rdma:FR-1, RXE-1 ib_alloc_mr checks no number of pages, nor does rxe the one that it tells of")
    void ibAllocMrChecksNoNumberOfPages(KernelModel model) {
        restart(model);
        int told = world.device.attributes().maxFastRegPageListLen();
        assertThat(told).isEqualTo(512);
        RxeMr mr = world.fast(told + 1);
        assertThat(FastReg.mapMrSg(mr, list(told + 1), told + 1, 0, PAGE)).isEqualTo(told + 1);
    }

    @ParameterizedTest
    @EnumSource(KernelModel.class)
    @DisplayName("rdma:FR-1 ib_alloc_mr of type INTEGRITY warns and asks no driver; a driver's error comes as it is")
    void ibAllocMrOfAnIntegrityRegionAsksNoDriver(KernelModel model) {
        restart(model);
        world.machine.failures().failNth("rxe.mr", 1);
        assertThat(error(MrType.INTEGRITY, 1)).isEqualTo(-Errno.EINVAL);
        assertThat(world.machine.log().count("ib_alloc_mr")).isOne();
        assertThat(error(MrType.MEM_REG, 1)).as("the driver is asked now").isEqualTo(ENOMEM);
        assertThat(world.pd.useCount()).isZero();
        assertThat(world.device.restrack().count(Restrack.Kind.MR)).isZero();
    }

    // ---- rxe_alloc_mr

    @ParameterizedTest
    @EnumSource(KernelModel.class)
    @DisplayName("rdma:RXE-17, RXE-18 rxe_alloc_mr: another kind is -EINVAL before anything is taken")
    void rxeAllocMrLooksAtTheKindFirst(KernelModel model) {
        restart(model);
        world.machine.failures().failNth("rxe.mr", 1);
        for (MrType type : new MrType[] {MrType.SG_GAPS, MrType.DM, MrType.USER, MrType.DMA}) {
            assertThat(error(type, 1)).as("%s", type).isEqualTo(-Errno.EINVAL);
        }
        assertThat(error(MrType.MEM_REG, 1)).isEqualTo(ENOMEM);
        assertThat(world.fast(1).index()).as("no number was taken").isEqualTo(2);
    }

    @Test
    @DisplayName("rdma:RXE-4, RXE-18 rxe_alloc_mr: without room in the pool it is -ENOMEM in 5.2, in 6.12 -EINVAL")
    void rxeAllocMrWithoutRoomInThePool() {
        for (KernelModel model : new KernelModel[] {KernelModel.LINUX_5, KernelModel.LINUX_6_12}) {
            restart(model);
            VerbsDevice small =
                    RxeDevice.add("rxe1", world.machine, RxeConfig.kernel().withLimits(2, 0));
            var pd = small.allocPd(0, "small").value();
            assertThat(FastReg.allocMr(pd, MrType.MEM_REG, 1).isErr()).isFalse();
            assertThat(FastReg.allocMr(pd, MrType.MEM_REG, 1).error())
                    .as("%s: the domain has one, the pool two", model)
                    .isEqualTo(model == KernelModel.LINUX_5 ? ENOMEM : -Errno.EINVAL);
            assertThat(pd.useCount()).isOne();
        }
    }

    @Test
    @DisplayName("rdma:RXE-18, RXE-4 rxe_alloc_mr: when rxe_mem_init_fast fails, number and use of the domain go back")
    void rxeAllocMrUndoesWhatItTook() {
        int before = world.rxe.mrCount();
        world.machine.failures().failNth("rxe.mr_pages", 1);
        assertThat(error(MrType.MEM_REG, 1)).isEqualTo(ENOMEM);
        assertThat(world.machine.failures().failedAt()).isEqualTo("rxe.mr_pages");
        assertThat(world.rxe.mrCount()).isEqualTo(before);
        assertThat(world.pd.useCount()).isZero();
        RxeMr mr = world.fast(1);
        assertThat(mr.index()).as("the number is free at once").isEqualTo(2);
        assertThat(mr.lkey()).as("and no key byte was drawn").isEqualTo(0x204);
    }

    // ---- rxe_mem_init_fast

    @Test
    @DisplayName("rdma:RXE-19, RXE-9, RXE-10 rxe_mem_init_fast: no right, a private rkey of 0, a public one, FREE")
    void rxeMemInitFastGivesNoRights() {
        RxeMr mr = world.fast(3);
        assertThat(mr.access()).isZero();
        assertThat(mr.privateLkey()).isEqualTo(mr.lkey());
        assertThat(mr.privateRkey()).isZero();
        assertThat(mr.rkey()).isEqualTo(mr.lkey()).isNotZero();
        assertThat(mr.isFree()).isTrue();
        assertThat(mr.isValid()).isFalse();
        assertThat(mr.pd()).isSameAs(world.pd);
        assertThat(world.rxe.regions().lookupLocal(world.pd, mr.lkey(), 0))
                .as("FREE regions are not found")
                .isNull();
    }

    @Test
    @DisplayName("rdma:RXE-17, RXE-10, RXE-12 rxe_alloc_mr of 6.12: all remote rights, one key, FREE, pages of 4096")
    void rxeAllocMrOfToday() {
        restart(KernelModel.LINUX_6_12);
        RxeMr mr = world.fast(3);
        assertThat(mr.access()).isEqualTo(RxeWorld.RR | RxeWorld.RW | RxeWorld.RA);
        assertThat(mr.privateRkey()).isEqualTo(mr.privateLkey()).isEqualTo(mr.rkey());
        assertThat(mr.isFree()).isTrue();
        assertThat(mr.pageBytes()).isEqualTo(4096);
        assertThat(world.reg(world.buffer(1), PAGE, RxeWorld.LW).isValid())
                .as("a region of a process is VALID from the beginning")
                .isTrue();
    }

    // ---- rxe_mem_alloc

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 255, 256, 257, 513})
    @DisplayName(
            "rdma:RXE-19, RXE-20, RXE-26 rxe_mem_alloc: as many buffers as asked for, not as many as its maps hold")
    void rxeMemAllocHoldsWhatWasAskedFor(int pages) {
        RxeMr mr = world.fast(pages);
        int covered = FastReg.mapMrSg(mr, list(pages + 1), pages + 1, 0, PAGE);
        assertThat(covered).isEqualTo(pages == 0 ? ENOMEM : pages);
        if (pages > 0) {
            assertThat(FastReg.mapMrSg(mr, list(pages), pages, 0, PAGE)).isEqualTo(pages);
            assertThat(mr.lengthBytes()).isEqualTo((long) pages * PAGE);
        }
    }

    @ParameterizedTest
    @EnumSource(KernelModel.class)
    @DisplayName("rdma:RXE-18 to RXE-20 the n-th failure of ib_alloc_mr, for every n, leaves nothing")
    void everyFailureOfAllocMrLeavesNothing(KernelModel model) {
        restart(model);
        int before = world.rxe.mrCount();
        int failures = 0;
        boolean made = false;
        while (!made) {
            world.machine.failures().failNth(failures + 1);
            made = error(MrType.MEM_REG, 4) == 0;
            world.machine.failures().disarm();
            failures += made ? 0 : 1;
            assertThat(world.rxe.mrCount() - before).isEqualTo(made ? 1 : 0);
            assertThat(world.pd.useCount()).isEqualTo(made ? 1 : 0);
        }
        assertThat(failures).as("structure and pages").isEqualTo(2);
    }
}
