package io.pagewalk.backends.iommu.mapping;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.backends.iommu.api.IommuProt;
import io.pagewalk.dma.Dma;
import io.pagewalk.dma.DmaAttrs;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.FailureReason;
import io.pagewalk.dma.scatterlist.SgTable;
import java.util.Arrays;
import java.util.Objects;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Single mappings, and what an untrusted device gets to see. */
class IommuDmaOpsTest {
    private static final long RAM = 0x80_0000;
    private static final long PAGE = 0x1000;

    private static int prot(World world, long dmaAddr) {
        return Objects.requireNonNull(world.table.leaves().get(dmaAddr & -PAGE)).prot();
    }

    @Test
    @DisplayName("iommu:DMAP-1: directions and attributes become permissions")
    void directionsBecomePermissions() {
        try (World world = World.strict()) {
            assertThat(protOf(world, DmaDirection.BIDIRECTIONAL, 0))
                    .isEqualTo(IommuProt.READ | IommuProt.WRITE | IommuProt.CACHE);
            assertThat(protOf(world, DmaDirection.TO_DEVICE, 0)).isEqualTo(IommuProt.READ | IommuProt.CACHE);
            assertThat(protOf(world, DmaDirection.FROM_DEVICE, DmaAttrs.PRIVILEGED))
                    .isEqualTo(IommuProt.WRITE | IommuProt.CACHE | IommuProt.PRIV);
        }
        try (World world = World.nonCoherent(new World.Caches(), true)) {
            assertThat(protOf(world, DmaDirection.TO_DEVICE, 0)).isEqualTo(IommuProt.READ);
        }
    }

    private static int protOf(World world, DmaDirection direction, int attrs) {
        return prot(world, world.ops.mapPage(world.device, 0, RAM, PAGE, direction, attrs));
    }

    @Test
    @DisplayName("iommu:DMAP-10: a resource is device memory, never snooped, and need not be RAM")
    void resourceIsMappedAsDeviceMemory() {
        try (World world = World.strict()) {
            long dmaAddr = world.ops.mapResource(world.device, 0, 0xfe00_0010L, 0x20, DmaDirection.BIDIRECTIONAL, 0);
            assertThat(dmaAddr).isEqualTo(0xfffff010L);
            assertThat(prot(world, dmaAddr)).isEqualTo(IommuProt.READ | IommuProt.WRITE | IommuProt.MMIO);
            world.ops.unmapResource(world.device, 0, dmaAddr, 0x20, DmaDirection.BIDIRECTIONAL, 0);
            world.assertNothingIsHeld();
        }
    }

    @Test
    @DisplayName("iommu:DMAP-2: an alignment beyond the granule is refused each time and logged once")
    void alignmentBeyondTheGranuleIsRefused() {
        try (World world = World.strict(config -> config.withMinAlignMask(0x3fff))) {
            assertThat(world.map(RAM, PAGE)).isEqualTo(Dma.DMA_MAPPING_ERROR);
            assertThat(world.map(RAM, PAGE)).isEqualTo(Dma.DMA_MAPPING_ERROR);
            assertThat(world.failure().reason()).isEqualTo(FailureReason.UNSUPPORTED_ALIGNMENT);
            assertThat(world.failure().numbers()).containsExactly(0x3fffL, PAGE);
            assertThat(world.machine.log().warnCount()).isEqualTo(1);
            assertThat(world.machine.log().entries().get(0).text()).isEqualTo("nic: Unsupported alignment constraint");
            world.assertNothingIsHeld();
        }
        try (World world = World.strict(config -> config.withMinAlignMask(0xfff))) {
            assertThat(world.map(RAM, PAGE)).isEqualTo(0xfffff000L);
        }
    }

    @Test
    @DisplayName("iommu:DMAP-2: when the tables cannot take a mapping its addresses are free at once")
    void addressesOfARefusedMappingAreFreeAtOnce() {
        try (World world = World.lazy()) {
            world.table.failAfter(0);
            assertThat(world.map(RAM + 0x10, 2 * PAGE)).isEqualTo(Dma.DMA_MAPPING_ERROR);
            assertThat(world.failure().reason()).isEqualTo(FailureReason.TABLE_ERROR);
            assertThat(world.failure().errno()).isEqualTo(Errno.ENOMEM);
            assertThat(world.failure().numbers()).containsExactly(0xffffc000L, 3 * PAGE, (long) Errno.ENOMEM);
            assertThat(world.map(RAM + 0x10, 2 * PAGE)).isEqualTo(0xffffc010L);
        }
    }

    @Test
    @DisplayName("iommu:DMAP-7: unmapping what is not mapped warns and changes nothing")
    void unmapOfNothingWarns() {
        try (World world = World.strict()) {
            world.unmap(0x5000, PAGE);
            assertThat(world.machine.log().warnCount()).isEqualTo(1);
            assertThat(world.machine.log().entries().get(0).text()).contains("0x5000+0x1000");
            assertThat(world.driver.calls).isEmpty();
        }
    }

    @Test
    @DisplayName("iommu:DMAP-7: a mapping of physical byte 0 can never be unmapped, one of byte 1 can")
    void mappingOfPhysicalByte0StaysForGood() {
        try (World world = World.strict()) {
            long zero = world.map(0, PAGE);
            long one = world.map(1, 0x10);
            world.unmap(zero, PAGE);
            world.unmap(one, 0x10);
            assertThat(world.table.leaves()).containsOnlyKeys(zero);
            assertThat(world.structureViolations()).isEmpty();
        }
    }

    @Test
    @DisplayName("iommu:DMAP-9: an unmap that is too small leaves the rest mapped, with a range in the wrong class")
    void unmapThatIsTooSmallIsNotNoticed() {
        try (World world = World.strict()) {
            long dmaAddr = world.map(RAM, 2 * PAGE);
            world.unmap(dmaAddr, PAGE);
            assertThat(world.machine.log().warnCount()).isZero();
            assertThat(world.table.leaves()).containsOnlyKeys(dmaAddr + PAGE);
            assertThat(world.map(RAM, PAGE)).isEqualTo(dmaAddr);
        }
    }

    @Test
    @DisplayName("iommu:DMAP-8: unmapping more or less than is there warns")
    void unmapOfAnotherSizeThanIsMappedWarns() {
        try (World world = World.strict()) {
            long dmaAddr = world.map(0x40_0000, 0x20_0000);
            world.unmap(dmaAddr, PAGE);
            assertThat(world.machine.log().warnCount()).isEqualTo(1);
            assertThat(world.machine.log().entries().get(0).text()).contains("unmapped 0x200000 bytes");
        }
    }

    @Test
    @DisplayName("dma-core:MSK-2, MSK-3, MSK-8, iommu:DALLOC-5, BNC-3: what the backend says of itself")
    void queries() {
        try (World world = World.strict()) {
            assertThat(world.ops.isMaskSupported(world.device, 0)).isTrue();
            assertThat(world.ops.requiredMask(world.device)).isEqualTo(0xffffffffL);
            assertThat(world.ops.mayNeedSync(world.device)).isFalse();
            assertThat(world.ops.mergeBoundary(world.device)).isEqualTo(0xfff);
            assertThat(world.ops.maxMappingSize(world.device)).isEqualTo(-1L);
        }
        try (World world = World.nonCoherent(new World.Caches(), false)) {
            assertThat(world.ops.mayNeedSync(world.device)).isTrue();
            assertThat(world.ops.maxMappingSize(world.device)).isEqualTo(262144 - 4096);
        }
    }

    // ---- devices that do not snoop

    @Test
    @DisplayName("iommu:DMAP-6, DMAP-7, DMAP-11: caches are told of physical addresses, unless the caller skips it")
    void cachesAreToldOfEachStep() {
        World.Caches caches = new World.Caches();
        try (World world = World.nonCoherent(caches, true)) {
            long dmaAddr = world.ops.mapPage(world.device, 0, RAM + 8, 0x10, DmaDirection.TO_DEVICE, 0);
            world.ops.syncForCpu(world.device, 0, dmaAddr + 4, 4, DmaDirection.TO_DEVICE);
            world.ops.syncForDevice(world.device, 0, dmaAddr, 8, DmaDirection.TO_DEVICE);
            world.ops.unmapPage(world.device, 0, dmaAddr, 0x10, DmaDirection.TO_DEVICE, 0);
            assertThat(caches.calls)
                    .containsExactly(
                            "device 0x800008+0x10 TO_DEVICE",
                            "cpu 0x80000c+0x4 TO_DEVICE",
                            "device 0x800008+0x8 TO_DEVICE",
                            "cpu 0x800008+0x10 TO_DEVICE");
            caches.calls.clear();
            int skip = DmaAttrs.SKIP_CPU_SYNC;
            long quiet = world.ops.mapPage(world.device, 0, RAM, 0x10, DmaDirection.TO_DEVICE, skip);
            world.ops.unmapPage(world.device, 0, quiet, 0x10, DmaDirection.TO_DEVICE, skip);
            assertThat(caches.calls).isEmpty();
        }
    }

    @Test
    @DisplayName(
            "iommu:SG-4, SG-20: a list is synced entry by entry before its lengths change, and before it is unmapped")
    void cachesAreToldOfEachEntry() {
        World.Caches caches = new World.Caches();
        try (World world = World.nonCoherent(caches, true)) {
            SgTable sg = new SgTable(2).add(RAM + 8, 0x10).add(RAM + PAGE, PAGE);
            int segments = world.ops.mapSg(world.device, 0, sg, 2, DmaDirection.FROM_DEVICE, 0);
            assertThat(segments).isEqualTo(2);
            world.ops.syncSgForCpu(world.device, 0, sg, 1, DmaDirection.FROM_DEVICE);
            world.ops.syncSgForDevice(world.device, 0, sg, 1, DmaDirection.FROM_DEVICE);
            world.ops.unmapSg(world.device, 0, sg, 2, DmaDirection.FROM_DEVICE, 0);
            assertThat(caches.calls)
                    .containsExactly(
                            "device 0x800008+0x10 FROM_DEVICE",
                            "device 0x801000+0x1000 FROM_DEVICE",
                            "cpu 0x800008+0x10 FROM_DEVICE",
                            "device 0x800008+0x10 FROM_DEVICE",
                            "cpu 0x800008+0x10 FROM_DEVICE",
                            "cpu 0x801000+0x1000 FROM_DEVICE");
            caches.calls.clear();
            int skip = DmaAttrs.SKIP_CPU_SYNC;
            world.ops.mapSg(world.device, 0, sg, 2, DmaDirection.FROM_DEVICE, skip);
            world.ops.unmapSg(world.device, 0, sg, 2, DmaDirection.FROM_DEVICE, skip);
            assertThat(caches.calls).isEmpty();
        }
    }

    @Test
    @DisplayName(
            "iommu:DMAP-6, DMAP-11: of a bounced buffer the caches see the bounce buffer, before it is copied back")
    void cachesSeeTheBounceBuffer() {
        World.Caches caches = new World.Caches();
        try (World world = World.nonCoherent(caches, false)) {
            long dmaAddr = world.ops.mapPage(world.device, 0, RAM + 8, 0x10, DmaDirection.FROM_DEVICE, 0);
            long bounce = world.table.iovaToPhys(dmaAddr);
            assertThat(bounce).isNotEqualTo(RAM + 8);
            world.ops.syncForCpu(world.device, 0, dmaAddr, 0x10, DmaDirection.FROM_DEVICE);
            world.ops.unmapPage(world.device, 0, dmaAddr, 0x10, DmaDirection.FROM_DEVICE, 0);
            String at = String.format(" 0x%x+0x10 FROM_DEVICE", bounce);
            assertThat(caches.calls).containsExactly("device" + at, "cpu" + at, "cpu" + at);
        }
    }

    // ---- untrusted devices

    private static long bouncePage(World world, long dmaAddr) {
        return world.table.iovaToPhys(dmaAddr & -PAGE);
    }

    private static void fill(World world, long physAddr, long sizeBytes, int value) {
        world.machine.cpuMemory().fill(physAddr, sizeBytes, (byte) value);
    }

    private static byte[] bytes(World world, long physAddr, int length) {
        byte[] bytes = new byte[length];
        world.machine.cpuMemory().read(physAddr, bytes, 0, length);
        return bytes;
    }

    @Test
    @DisplayName("iommu:DMAP-3, DMAP-4, BNC-1, BNC-2: part of a page is bounced, the rest of its granule reads zero")
    void partOfAPageIsBouncedToAGranuleOfItsOwn() {
        try (World world = World.untrusted(config -> config)) {
            fill(world, RAM, PAGE, 0x33);
            long dmaAddr = world.ops.mapPage(world.device, 0, RAM + 0x800, 0x100, DmaDirection.FROM_DEVICE, 0);
            assertThat(dmaAddr).isEqualTo(0xfffff000L);
            byte[] expected = new byte[(int) PAGE];
            Arrays.fill(expected, 0, 0x100, (byte) 0x33);
            assertThat(bytes(world, bouncePage(world, dmaAddr), (int) PAGE)).isEqualTo(expected);
            fill(world, bouncePage(world, dmaAddr), PAGE, 0x77);
            world.ops.unmapPage(world.device, 0, dmaAddr, 0x100, DmaDirection.FROM_DEVICE, 0);
            Arrays.fill(expected, (byte) 0x33);
            Arrays.fill(expected, 0x800, 0x900, (byte) 0x77);
            assertThat(bytes(world, RAM, (int) PAGE)).isEqualTo(expected);
            world.assertNothingIsHeld();
        }
    }

    @Test
    @DisplayName("iommu:BNC-1: min_align_mask keeps the offset, with zeros on both sides")
    void minAlignMaskKeepsTheOffset() {
        try (World world = World.untrusted(config -> config.withMinAlignMask(0xfff))) {
            fill(world, RAM, PAGE, 0x33);
            long dmaAddr = world.ops.mapPage(world.device, 0, RAM + 0x910, 0x100, DmaDirection.TO_DEVICE, 0);
            assertThat(dmaAddr).isEqualTo(0xfffff910L);
            byte[] expected = new byte[(int) PAGE];
            Arrays.fill(expected, 0x910, 0xa10, (byte) 0x33);
            assertThat(bytes(world, bouncePage(world, dmaAddr), (int) PAGE)).isEqualTo(expected);
        }
    }

    @Test
    @DisplayName("iommu:DMAP-3: whole pages of an untrusted device are not bounced")
    void wholePagesAreNotBounced() {
        try (World world = World.untrusted(config -> config)) {
            assertThat(bouncePage(world, world.map(RAM, 2 * PAGE))).isEqualTo(RAM);
        }
    }

    @Test
    @DisplayName("iommu:DMAP-6: when the bounced mapping fails the slots are free again")
    void slotsOfARefusedMappingAreFree() {
        try (World world = World.untrusted(config -> config)) {
            world.table.failAfter(0);
            assertThat(world.map(RAM + 1, 0x100)).isEqualTo(Dma.DMA_MAPPING_ERROR);
            assertThat(world.failure().reason()).isEqualTo(FailureReason.TABLE_ERROR);
            world.assertNothingIsHeld();
        }
    }

    @Test
    @DisplayName("iommu:DMAP-4: without a pool an untrusted device gets whole pages only, and a message once")
    void withoutAPoolOnlyWholePagesAreMapped() {
        try (World world = World.strict(config -> config.withTrusted(false))) {
            assertThat(world.map(RAM + 1, 0x100)).isEqualTo(Dma.DMA_MAPPING_ERROR);
            assertThat(world.map(RAM + 1, 0x100)).isEqualTo(Dma.DMA_MAPPING_ERROR);
            assertThat(world.failure().reason()).isEqualTo(FailureReason.NO_POOL);
            assertThat(world.machine.log().entries()).hasSize(1);
            assertThat(world.map(RAM, PAGE)).isEqualTo(0xfffff000L);
        }
    }

    @Test
    @DisplayName("iommu:DMAP-11: sync copies between a buffer and its bounce")
    void syncCopiesBothWays() {
        try (World world = World.untrusted(config -> config)) {
            long dmaAddr = world.map(RAM + 0x10, 0x100);
            fill(world, bouncePage(world, dmaAddr), 0x100, 0x55);
            world.ops.syncForCpu(world.device, 0, dmaAddr + 8, 8, DmaDirection.BIDIRECTIONAL);
            assertThat(world.machine.cpuMemory().getLong(RAM + 0x18)).isEqualTo(0x5555555555555555L);
            assertThat(world.machine.cpuMemory().getLong(RAM + 0x10)).isZero();
            fill(world, RAM, PAGE, 0x66);
            world.ops.syncForDevice(world.device, 0, dmaAddr, 8, DmaDirection.BIDIRECTIONAL);
            assertThat(world.machine.cpuMemory().getLong(bouncePage(world, dmaAddr)))
                    .isEqualTo(0x6666666666666666L);
        }
    }

    @Test
    @DisplayName("iommu:SG-19: a list of an untrusted device is mapped entry by entry and never merged")
    void listOfAnUntrustedDeviceIsMappedEntryByEntry() {
        try (World world = World.untrusted(config -> config)) {
            SgTable sg = new SgTable(3).add(RAM, PAGE).add(RAM + PAGE, PAGE).add(RAM + 0x5010, 0x20);
            fill(world, RAM + 0x5000, PAGE, 0x44);
            assertThat(world.ops.mapSg(world.device, 0, sg, 3, DmaDirection.BIDIRECTIONAL, 0))
                    .isEqualTo(3);
            assertThat(sg.isBounced()).isTrue();
            assertThat(sg.dmaAddr(0)).isEqualTo(0xfffff000L);
            assertThat(sg.dmaAddr(1)).isEqualTo(0xffffe000L);
            assertThat(bouncePage(world, sg.dmaAddr(1))).isEqualTo(RAM + PAGE);
            fill(world, bouncePage(world, sg.dmaAddr(2)), 0x20, 0x55);
            world.ops.syncSgForCpu(world.device, 0, sg, 3, DmaDirection.FROM_DEVICE);
            assertThat(world.machine.cpuMemory().getLong(RAM + 0x5010)).isEqualTo(0x5555555555555555L);
            fill(world, RAM + 0x5000, PAGE, 0x11);
            world.ops.syncSgForDevice(world.device, 0, sg, 3, DmaDirection.TO_DEVICE);
            assertThat(world.machine.cpuMemory().getLong(bouncePage(world, sg.dmaAddr(2))))
                    .isEqualTo(0x1111111111111111L);
            world.ops.unmapSg(world.device, 0, sg, 3, DmaDirection.BIDIRECTIONAL, 0);
            world.assertNothingIsHeld();
        }
    }

    @Test
    @DisplayName("iommu:SG-19: an entry that cannot be mapped undoes the others, and the answer is EIO")
    void entryThatCannotBeMappedUndoesTheOthers() {
        try (World world = World.untrusted(config -> config)) {
            SgTable sg = new SgTable(2).add(RAM + 0x10, 0x20).add(RAM + 0x5000, PAGE);
            world.table.failAfter(1);
            assertThat(world.ops.mapSg(world.device, 0, sg, 2, DmaDirection.FROM_DEVICE, 0))
                    .isEqualTo(-Errno.EIO);
            assertThat(world.failure().errno()).isEqualTo(Errno.EIO);
            assertThat(world.failure().reason()).isEqualTo(FailureReason.TABLE_ERROR);
            world.assertNothingIsHeld();
        }
    }
}
