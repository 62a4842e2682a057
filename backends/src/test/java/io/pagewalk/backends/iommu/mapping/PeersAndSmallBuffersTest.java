package io.pagewalk.backends.iommu.mapping;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.ArchConfig;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.FailureReason;
import io.pagewalk.dma.KernelConfig;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.PeerToPeer.Route;
import io.pagewalk.dma.memory.DevicePageMap;
import io.pagewalk.dma.memory.PhysRange;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.dma.spi.DmaOps;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Lists with memory of other devices, and buffers too small to share a cache line. */
class PeersAndSmallBuffersTest {
    private static final long RAM = 0x80_0000;
    private static final long PAGE = 0x1000;
    private static final long BAR = 0xe000_0000L;
    private static final long BUS_OFFSET = 0x1_0000_0000L;

    private static World peers(Route route) {
        Machine machine =
                World.builder().peerToPeer((client, provider) -> route).build();
        machine.addDevice(DeviceConfig.named("nvme"));
        machine.devicePages().add(PhysRange.ofSize(BAR, 0x10_0000), DevicePageMap.pciP2pDma("bar", "nvme", BUS_OFFSET));
        return World.of(machine, new RecordingDriver(RecordingDriver.APERTURE_48), false, config -> config);
    }

    private static List<String> segments(SgTable sg, int count) {
        List<String> all = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            String bus = sg.isBusAddress(i) ? " bus" : "";
            all.add(String.format("%x+%x%s", sg.dmaAddr(i), sg.dmaLengthBytes(i), bus));
        }
        return all;
    }

    private static int map(World world, SgTable sg) {
        return world.ops.mapSg(world.device, 0, sg, sg.origNents(), DmaDirection.BIDIRECTIONAL, 0);
    }

    private static void unmap(World world, SgTable sg) {
        world.ops.unmapSg(world.device, 0, sg, sg.origNents(), DmaDirection.BIDIRECTIONAL, 0);
    }

    @Test
    @DisplayName("iommu:SG-6, SG-15, CORE-21: a peer behind a switch keeps its bus address, in a segment of its own")
    void peerBehindASwitchKeepsItsBusAddress() {
        try (World world = peers(Route.BUS_ADDR)) {
            SgTable sg = new SgTable(4)
                    .add(RAM, PAGE)
                    .add(BAR + PAGE, 0x800)
                    .add(RAM + PAGE, PAGE)
                    .add(RAM + 0x10_0000, PAGE);
            assertThat(map(world, sg)).isEqualTo(3);
            assertThat(segments(sg, 3)).containsExactly("ffffc000+1000", "1e0001000+800 bus", "ffffd000+2000");
            assertThat(sg.lengthBytes(1)).isEqualTo(0x800);
            assertThat(world.table.leaves()).hasSize(3);
            assertThat(world.table.iovaToPhys(0xffff_d000L)).isEqualTo(RAM + PAGE);
            assertThat(world.table.iovaToPhys(0xffff_e000L)).isEqualTo(RAM + 0x10_0000);
            unmap(world, sg);
            assertThat(sg.isBusAddress(1)).isFalse();
            world.assertNothingIsHeld();
        }
    }

    @Test
    @DisplayName("iommu:SG-10: a list of bus addresses only takes no address, and unmaps nothing")
    void listOfPeersTakesNoAddress() {
        try (World world = peers(Route.BUS_ADDR)) {
            SgTable sg = new SgTable(2).add(BAR, PAGE).add(BAR + PAGE, PAGE);
            assertThat(map(world, sg)).isEqualTo(2);
            assertThat(segments(sg, 2)).containsExactly("1e0000000+1000 bus", "1e0001000+1000 bus");
            assertThat(world.table.leaves()).isEmpty();
            unmap(world, sg);
            assertThat(world.driver.calls).isEmpty();
            world.assertNothingIsHeld();
        }
    }

    @Test
    @DisplayName(
            "iommu:SG-20: the first segment that is no bus address begins the unmap, bus addresses between are skipped")
    void unmapSkipsBusAddresses() {
        try (World world = peers(Route.BUS_ADDR)) {
            SgTable sg = new SgTable(3).add(BAR, PAGE).add(RAM, 0x10).add(BAR, PAGE);
            assertThat(map(world, sg)).isEqualTo(3);
            assertThat(segments(sg, 3)).containsExactly("1e0000000+1000 bus", "fffff000+10", "1e0000000+1000 bus");
            unmap(world, sg);
            world.assertNothingIsHeld();
        }
    }

    @Test
    @DisplayName("iommu:SG-6: through the host bridge a peer is mapped like memory")
    void peerBehindTheHostBridgeIsMapped() {
        try (World world = peers(Route.THRU_HOST_BRIDGE)) {
            SgTable sg = new SgTable(2).add(BAR, PAGE).add(RAM, PAGE);
            assertThat(map(world, sg)).isEqualTo(1);
            assertThat(segments(sg, 1)).containsExactly("ffffe000+2000");
            assertThat(world.table.iovaToPhys(0xffff_e000L)).isEqualTo(BAR);
            unmap(world, sg);
            world.assertNothingIsHeld();
        }
    }

    @Test
    @DisplayName(
            "iommu:SG-6, SG-17: a peer out of reach is -EREMOTEIO, with the list as it was and no bus address left")
    void peerOutOfReachRestoresTheList() {
        Route[] answer = {Route.BUS_ADDR};
        Machine machine = World.builder()
                .peerToPeer((client, provider) -> provider.name().equals("far") ? Route.NOT_SUPPORTED : answer[0])
                .build();
        machine.addDevice(DeviceConfig.named("nvme"));
        machine.addDevice(DeviceConfig.named("far"));
        machine.devicePages().add(PhysRange.ofSize(BAR, PAGE), DevicePageMap.pciP2pDma("bar", "nvme", 0));
        machine.devicePages().add(PhysRange.ofSize(BAR + PAGE, PAGE), DevicePageMap.pciP2pDma("bar1", "far", 0));
        RecordingDriver driver = new RecordingDriver(RecordingDriver.APERTURE_48);
        try (World world = World.of(machine, driver, false, config -> config)) {
            SgTable sg = new SgTable(3).add(RAM + 8, 0x10).add(BAR, PAGE).add(BAR + PAGE, PAGE);
            assertThat(map(world, sg)).isEqualTo(-Errno.EREMOTEIO);
            assertThat(world.failure().reason()).isEqualTo(FailureReason.PEER_UNREACHABLE);
            assertThat(world.failure().numbers()).as("the first out of reach").containsExactly(BAR + PAGE, PAGE);
            assertThat(segments(sg, 3)).containsOnly("ffffffffffffffff+0");
            assertThat(sg.physAddr(0)).isEqualTo(RAM + 8);
            assertThat(sg.lengthBytes(0)).isEqualTo(0x10);
            world.assertNothingIsHeld();
        }
    }

    @Test
    @DisplayName("dma-core:DIR-13, DBG-22: swiotlb is active behind an IOMMU as well where the device has a pool")
    void swiotlbIsActiveWhereThereIsAPool() {
        try (World without = World.strict();
                World with = World.untrusted(config -> config.withMinAlignMask(0xfff))) {
            assertThat(without.ops.isSwiotlbActive(without.device)).isFalse();
            assertThat(with.ops.isSwiotlbActive(with.device)).isTrue();
        }
    }

    // ---- small buffers

    private static World small(World.Caches caches, boolean trusted) {
        ArchConfig arch = ArchConfig.x86()
                .withCacheMaintenance(caches)
                .withCacheAlignment(128, 64)
                .withBouncesUnalignedKmalloc(true);
        Machine machine = World.builder()
                .commandLine("swiotlb=1024")
                .kernelConfig(KernelConfig.distribution().withArch(arch))
                .build();
        return World.of(
                machine,
                new RecordingDriver(RecordingDriver.APERTURE_48),
                false,
                config -> config.withCoherent(false).withTrusted(trusted));
    }

    private static boolean isBounced(World world, long sizeBytes, DmaDirection direction) {
        long dmaAddr = world.ops.mapPage(world.device, 0, RAM + 8, sizeBytes, direction, 0);
        boolean bounced = world.table.iovaToPhys(dmaAddr) != RAM + 8;
        world.ops.unmapPage(world.device, 0, dmaAddr, sizeBytes, direction, 0);
        return bounced;
    }

    @Test
    @DisplayName(
            "iommu:DMAP-5: small buffers of a device that does not snoop are bounced by their size, but to the device")
    void smallBuffersAreBounced() {
        try (World world = small(new World.Caches(), true)) {
            assertThat(isBounced(world, 8, DmaDirection.FROM_DEVICE)).isTrue();
            assertThat(isBounced(world, 8, DmaDirection.BIDIRECTIONAL)).isTrue();
            assertThat(isBounced(world, 8, DmaDirection.TO_DEVICE)).isFalse();
            assertThat(isBounced(world, 64, DmaDirection.FROM_DEVICE)).isFalse();
            assertThat(isBounced(world, 65, DmaDirection.FROM_DEVICE)).as("96").isTrue();
            assertThat(isBounced(world, 256, DmaDirection.FROM_DEVICE)).isFalse();
            assertThat(world.ops.maxMappingSize(world.device)).as("BNC-3").isEqualTo(-1L);
            world.assertNothingIsHeld();
        }
    }

    @Test
    @DisplayName("iommu:DMAP-4: what is around a small buffer is not zeroed for a trusted device")
    void surroundingsOfASmallBufferStay() {
        try (World world = small(new World.Caches(), true)) {
            world.ops.unmapPage(
                    world.device,
                    0,
                    world.ops.mapPage(world.device, 0, RAM + 8, 8, DmaDirection.FROM_DEVICE, 0),
                    8,
                    DmaDirection.FROM_DEVICE,
                    0);
            long dmaAddr = world.ops.mapPage(world.device, 0, RAM + 8, 8, DmaDirection.FROM_DEVICE, 0);
            long bounce = world.table.iovaToPhys(dmaAddr);
            world.ops.unmapPage(world.device, 0, dmaAddr, 8, DmaDirection.FROM_DEVICE, 0);
            for (long page = bounce & -PAGE; page < (bounce & -PAGE) + 4 * PAGE; page += PAGE) {
                world.machine.cpuMemory().fill(page, PAGE, (byte) 0x5a);
            }
            long next =
                    world.table.iovaToPhys(world.ops.mapPage(world.device, 0, RAM + 8, 8, DmaDirection.FROM_DEVICE, 0));
            byte[] behind = new byte[1];
            world.machine.cpuMemory().read(next + 8, behind, 0, 1);
            assertThat(behind[0]).isEqualTo((byte) 0x5a);
        }
    }

    @Test
    @DisplayName("iommu:SG-3, SG-19: one small entry makes the list go entry by entry")
    void oneSmallEntryMakesTheListGoEntryByEntry() {
        try (World world = small(new World.Caches(), true)) {
            SgTable large = new SgTable(2).add(RAM, PAGE).add(RAM + PAGE, PAGE);
            assertThat(map(world, large)).isEqualTo(1);
            assertThat(large.isBounced()).isFalse();
            unmap(world, large);
            SgTable mixed = new SgTable(2).add(RAM, PAGE).add(RAM + PAGE + 8, 8);
            assertThat(map(world, mixed)).isEqualTo(2);
            assertThat(mixed.isBounced()).isTrue();
            assertThat(world.table.iovaToPhys(mixed.dmaAddr(0))).isEqualTo(RAM);
            assertThat(world.table.iovaToPhys(mixed.dmaAddr(1))).isNotEqualTo(RAM + PAGE + 8);
            unmap(world, mixed);
            world.assertNothingIsHeld();
        }
    }

    @Test
    @DisplayName("iommu:DMAP-5: without the configuration, or for a device that snoops, nothing is too small")
    void nothingIsTooSmallWithoutTheConfiguration() {
        try (World world = World.nonCoherent(new World.Caches(), true)) {
            assertThat(isBounced(world, 8, DmaDirection.FROM_DEVICE)).isFalse();
        }
        try (World world = small(new World.Caches(), true)) {
            Device snooping = world.machine.addDevice(DeviceConfig.named("snooping"));
            DmaOps ops = world.backend.attach(snooping);
            long dmaAddr = ops.mapPage(snooping, 0, RAM + 8, 8, DmaDirection.FROM_DEVICE, 0);
            assertThat(world.driver.tables.get(1).iovaToPhys(dmaAddr)).isEqualTo(RAM + 8);
        }
    }
}
