package io.pagewalk.cases;

import static io.pagewalk.cases.Situation.GIB;
import static io.pagewalk.cases.Situation.MASK_32;
import static io.pagewalk.cases.Situation.PAGE_OVERFLOW;
import static io.pagewalk.cases.Situation.POOL_OVERFLOW;
import static io.pagewalk.cases.Situation.SG_OVERFLOW;
import static io.pagewalk.dma.Dma.DMA_MAPPING_ERROR;
import static io.pagewalk.dma.DmaDirection.BIDIRECTIONAL;
import static io.pagewalk.dma.DmaDirection.FROM_DEVICE;
import static io.pagewalk.dma.DmaDirection.TO_DEVICE;
import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.ArchConfig;
import io.pagewalk.dma.CacheMaintenance;
import io.pagewalk.dma.CoherentBuffer;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.Dma;
import io.pagewalk.dma.DmaAttrs;
import io.pagewalk.dma.DmaRange;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.FailureReason;
import io.pagewalk.dma.Gfp;
import io.pagewalk.dma.KernelConfig;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.PhysRange;
import io.pagewalk.dma.memory.RamMap;
import io.pagewalk.dma.pool.DmaPool;
import io.pagewalk.dma.pool.PoolBlock;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.dma.spi.BackendOptions;
import io.pagewalk.dma.spi.Metric;
import io.pagewalk.kit.MachineValidator;
import io.pagewalk.kit.TestMachines;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Situations B: dma-direct, masks, dma-ranges. */
@ExtendWith(MachineValidator.class)
class DirectCasesTest {
    private static final BackendOptions NO_OPTIONS = BackendOptions.NONE;

    @Test
    @DisplayName("B1")
    void aBusOffsetPutsAllRamAndThePoolAboveTheMask(TestMachines machines) {
        Situation board = Situation.on(
                machines,
                RamMap.of(PhysRange.ofSize(0, 4 * GIB)),
                "direct",
                "swiotlb=512,1,force",
                NO_OPTIONS.with("swiotlb.poolBase", 0x1ad4_4000L));
        DeviceConfig config = DeviceConfig.named("usb")
                .withRanges(new DmaRange(0, 0x4_0000_0000L, 4 * GIB))
                .withBusLimit(0x4_ffff_ffffL);
        Device usb = board.machine.addDevice(config.withMask(MASK_32));
        assertThat(usb.dma().mapPage(0x50dc_4000L, 16384, TO_DEVICE, 0)).isEqualTo(DMA_MAPPING_ERROR);
        assertThat(board.logged(POOL_OVERFLOW))
                .singleElement()
                .asString()
                .contains("0x000000041ad44000+16384", "mask 0xffffffff", "bus limit 0x4ffffffff");
        assertThat(board.usedSlots()).as("slots released").isZero();
        assertThat(usb.dma().lastFailure().reason()).isEqualTo(FailureReason.POOL_OUT_OF_REACH);
    }

    /**
     * The pool is full, and a transient one is as far out of reach: its memory is below the mask, its bus address not.
     */
    @Test
    @DisplayName("B1: with dynamic pools")
    void aTransientPoolAboveTheMaskIsTakenAwayAgain(TestMachines machines) {
        Situation board = Situation.dynamic(
                machines,
                RamMap.of(PhysRange.ofSize(0, 4 * GIB)),
                "swiotlb=512,1,force",
                NO_OPTIONS.with("swiotlb.poolBase", 0x1ad4_4000L));
        Dma wide = board.machine.addDevice(DeviceConfig.named("wide")).dma();
        for (int set = 0; set < 4; set++) {
            assertThat(wide.mapPage(0x50dc_4000L, 262144, TO_DEVICE, 0)).isNotEqualTo(DMA_MAPPING_ERROR);
        }
        Device usb = board.machine.addDevice(DeviceConfig.named("usb")
                .withRanges(new DmaRange(0, 0x4_0000_0000L, 4 * GIB))
                .withBusLimit(0x4_ffff_ffffL)
                .withMask(MASK_32));
        long pages = board.machine.pages().allocatedPages();
        assertThat(usb.dma().mapPage(0x50dc_4000L, 16384, TO_DEVICE, 0)).isEqualTo(DMA_MAPPING_ERROR);
        assertThat(board.logged(POOL_OVERFLOW))
                .singleElement()
                .asString()
                .contains("+16384", "mask 0xffffffff", "bus limit 0x4ffffffff");
        assertThat(usb.dma().lastFailure().reason()).isEqualTo(FailureReason.POOL_OUT_OF_REACH);
        assertThat(board.usedSlots()).as("slots of the other device").isEqualTo(512);
        assertThat(board.metric(Metric.POOL_TRANSIENT_SLOTS)).isZero();
        board.machine.quiesce();
        assertThat(board.machine.pages().allocatedPages()).isEqualTo(pages);
    }

    @Test
    @DisplayName("B1: a mask of 35 bits and more")
    void aMaskThatCoversTheOffsetNeedsNoBounce(TestMachines machines) {
        Situation board = Situation.on(
                machines, RamMap.of(PhysRange.ofSize(0, 4 * GIB)), "direct", "swiotlb=noforce", NO_OPTIONS);
        for (int bits = 35; bits <= 64; bits++) {
            Device usb = board.machine.addDevice(DeviceConfig.named("usb" + bits)
                    .withRanges(new DmaRange(0, 0x4_0000_0000L, 4 * GIB))
                    .withBusLimit(0x4_ffff_ffffL)
                    .withMask(-1L >>> (64 - bits)));
            assertThat(usb.dma().mapPage(0x50dc_4000L, 16384, TO_DEVICE, 0)).isEqualTo(0x4_50dc_4000L);
        }
        assertThat(board.machine.log().warnCount()).isZero();
    }

    @Test
    @DisplayName("B2")
    void ramStartsAboveFourGibAndTheMaskHasThirtyTwoBits(TestMachines machines) {
        long base = 1L << 35;
        Situation board = Situation.on(
                machines,
                RamMap.of(PhysRange.ofSize(base, GIB)),
                "direct",
                "swiotlb=512,1,force",
                NO_OPTIONS.with("swiotlb.poolBase", base + 0x100_0000));
        assertThat(board.metric(Metric.POOL_SLOTS)).isEqualTo(512);
        Device device = board.narrow();
        SgTable onePage = new SgTable(1).add(base + 0x4000, 4096);
        assertThat(device.dma().mapSg(onePage, 1, TO_DEVICE, 0)).isZero();
        assertThat(device.dma().mapSgTable(onePage, TO_DEVICE, 0)).isEqualTo(-Errno.EIO);
        assertThat(onePage.dmaAddr(0)).as("residue of the failed entry").isEqualTo(DMA_MAPPING_ERROR);
        assertThat(board.logged(POOL_OVERFLOW)).as("logged once").hasSize(1);
        assertThat(board.machine.log().count(POOL_OVERFLOW))
                .as("happened twice")
                .isEqualTo(2);
        assertThat(board.usedSlots()).isZero();
        board.requireIdle();
    }

    @Test
    @DisplayName("B2: no pool there either")
    void ramAboveTheMaskWithoutAPoolOverflowsOnce(TestMachines machines) {
        long base = 1L << 35;
        Situation board =
                Situation.on(machines, RamMap.of(PhysRange.ofSize(base, GIB)), "direct", "swiotlb=noforce", NO_OPTIONS);
        Device device = board.narrow();
        SgTable onePage = new SgTable(1).add(base + 0x4000, 4096);
        assertThat(device.dma().mapSg(onePage, 1, TO_DEVICE, 0)).isZero();
        assertThat(device.dma().mapSgTable(onePage, TO_DEVICE, 0)).isEqualTo(-Errno.EIO);
        assertThat(board.logged(SG_OVERFLOW))
                .singleElement()
                .asString()
                .contains("0x0000000800004000+4096", "mask 0xffffffff", "bus limit 0x0");
    }

    @Test
    @DisplayName("B3")
    void withoutSwiotlbTheFirstOverflowIsLoggedAndTheSecondIsSilent(TestMachines machines) {
        Situation pc = Situation.pc(machines, "direct", "swiotlb=noforce");
        Device device =
                pc.machine.addDevice(DeviceConfig.named("nic").withMask(MASK_32).withBusLimit(MASK_32));
        for (int i = 0; i < 2; i++) {
            assertThat(device.dma().mapPage(0x1_a729_6000L, 708608, TO_DEVICE, 0))
                    .isEqualTo(DMA_MAPPING_ERROR);
            assertThat(pc.logged(PAGE_OVERFLOW))
                    .singleElement()
                    .asString()
                    .contains("0x00000001a7296000+708608", "mask 0xffffffff", "bus limit 0xffffffff");
        }
        assertThat(pc.machine.log().entries()).hasSize(1);
    }

    @Test
    @DisplayName("B4")
    void aResourceIsNotTranslatedByRangesThatCoverOnlyRam(TestMachines machines) {
        Situation board = Situation.on(
                machines, RamMap.of(PhysRange.ofSize(0, 0x3f00_0000)), "direct", "swiotlb=noforce", NO_OPTIONS);
        DeviceConfig config = DeviceConfig.named("mmc").withRanges(new DmaRange(0, 0xc000_0000L, 0x3f00_0000L));
        Device mmc = board.machine.addDevice(config.withMask(MASK_32));
        assertThat(mmc.dma().mapResource(0x3f20_2040L, 4, TO_DEVICE, 0)).isEqualTo(0x3f20_2040L);
        assertThat(mmc.dma().mapPage(0x1000, 4, TO_DEVICE, 0))
                .as("RAM is translated")
                .isEqualTo(0xc000_1000L);
        Device narrow = board.machine.addDevice(DeviceConfig.named("narrow")
                .withRanges(new DmaRange(0, 0xc000_0000L, 0x3f00_0000L))
                .withMask(0x3fff_ffffL >> 1));
        assertThat(narrow.dma().mapResource(0x3f20_2040L, 4, TO_DEVICE, 0)).isEqualTo(DMA_MAPPING_ERROR);
        assertThat(narrow.dma().lastFailure().reason()).isEqualTo(FailureReason.MASK_TOO_SMALL);
    }

    @Test
    @DisplayName("B7")
    void theMaskWasSetOnTheParentAndTheChildHasNone(TestMachines machines) {
        Situation pc = Situation.pc(machines, "direct", "");
        pc.machine.addDevice(DeviceConfig.named("parent").withMask(MASK_32));
        Device child = pc.machine.addDevice(DeviceConfig.named("child").withStreamingMask(null));
        assertThat(child.dma().mapPage(0x1000, 4096, FROM_DEVICE, 0)).isEqualTo(DMA_MAPPING_ERROR);
        assertThat(child.dma().lastFailure().reason()).isEqualTo(FailureReason.NO_MASK);
        SgTable list = new SgTable(1).add(0x1000, 4096);
        assertThat(child.dma().mapSg(list, 1, BIDIRECTIONAL, 0)).isZero();
        child.dma().mapPage(0x1000, 4096, FROM_DEVICE, 0);
        assertThat(pc.logged("dma_map_page"))
                .as("logged once")
                .containsExactly("child has no DMA mask (dma-core:FE-1)");
        assertThat(pc.logged("dma_map_sg")).containsExactly("child has no DMA mask (dma-core:FE-1)");
        pc.requireIdle();
    }

    /** Three pools stand in for each other (dma-core:ATM-3); nobody lets time pass, so none of them grows. */
    @Test
    @DisplayName("B8")
    void thePoolsOfAtomicMemoryRunOutWhenEachLoadLeaksABuffer(TestMachines machines) {
        CacheMaintenance noCaches = CacheMaintenance.arm64(new CacheMaintenance.Lines() {
            @Override
            public void clean(long physAddr, long sizeBytes) {}

            @Override
            public void invalidate(long physAddr, long sizeBytes) {}
        });
        ArchConfig arch = ArchConfig.x86().withRemap(true).withCacheMaintenance(noCaches);
        Machine board = machines.start(Machine.builder()
                .ramBytes(6 * GIB)
                .chunkBytes(1 << 16)
                .commandLine("coherent_pool=2M")
                .kernelConfig(KernelConfig.distribution().withArch(arch)));
        Device dsp = board.addDevice(DeviceConfig.named("dsp").withCoherent(false));
        int pages = 3 * 512;
        int loads = 0;
        while (loadsFirmware(dsp)) {
            loads++;
        }
        assertThat(loads)
                .as("loads before the one that finds fewer than 5 pages")
                .isEqualTo(pages - 4);
    }

    /** Five buffers, of which the last is forgotten; false when there are not five. */
    private static boolean loadsFirmware(Device device) {
        List<CoherentBuffer> buffers = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            CoherentBuffer buffer = device.dma().memory().allocAttrs(4096, Gfp.ATOMIC, DmaAttrs.NO_WARN);
            if (buffer == null) {
                return false;
            }
            buffers.add(buffer);
        }
        buffers.subList(0, 4).forEach(CoherentBuffer::close);
        return true;
    }

    @Test
    @DisplayName("B9")
    void aPoolOfPacketsReusesWhatWasFreed(TestMachines machines) {
        Situation pc = Situation.pc(machines, "direct", "");
        Dma dma = pc.machine.addDevice(DeviceConfig.named("nic")).dma();
        DmaPool pool = Objects.requireNonNull(DmaPool.create("rx", dma, 1408, 1, 0));
        PoolBlock[] ring = new PoolBlock[64];
        for (int i = 0; i < ring.length; i++) {
            ring[i] = new PoolBlock();
            assertThat(pool.alloc(0, Gfp.KERNEL, ring[i])).isTrue();
        }
        for (int cycle = 0; cycle < 1_000_000; cycle++) {
            PoolBlock block = ring[cycle % ring.length];
            pool.free(block);
            if (!pool.alloc(0, Gfp.KERNEL, block)) {
                throw new AssertionError("no block in cycle " + cycle);
            }
        }
        assertThat(pool.activeBlocks()).isEqualTo(64);
        assertThat(pool.pageCount()).as("two packets in a page").isEqualTo(32);
        for (PoolBlock block : ring) {
            pool.free(block);
        }
        assertThat(pool.activeBlocks()).isZero();
        DmaPool.destroy(pool);
        pc.requireIdle();
    }
}
