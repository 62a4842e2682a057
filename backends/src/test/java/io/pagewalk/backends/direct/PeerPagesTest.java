package io.pagewalk.backends.direct;

import static io.pagewalk.backends.direct.DirectWorld.MASK_32;
import static io.pagewalk.backends.direct.DirectWorld.POOL_BASE;
import static io.pagewalk.dma.Dma.DMA_MAPPING_ERROR;
import static io.pagewalk.dma.DmaDirection.BIDIRECTIONAL;
import static io.pagewalk.dma.DmaDirection.FROM_DEVICE;
import static io.pagewalk.dma.DmaDirection.TO_DEVICE;
import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.backends.RecordingCache;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.FailureReason;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.PeerToPeer;
import io.pagewalk.dma.PeerToPeer.Route;
import io.pagewalk.dma.memory.DevicePageMap;
import io.pagewalk.dma.memory.PhysRange;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.dma.spi.BackendOptions;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Memory of peers (dma-core:DIR-10, DIR-22, DIR-30 to DIR-35). */
class PeerPagesTest {
    private static final long BAR = 0xd000_0000L;
    private static final long SECOND_BAR = 0xd100_0000L;
    private static final long BUS_OFFSET = -0x4000_0000L;
    private static final long HIGH_BAR = 0x10_0000_0000L;
    private static final long HIGH = DirectWorld.HIGH;

    private final List<String> judged = new ArrayList<>();
    private Route route = Route.BUS_ADDR;

    private Route judge(Device client, Device provider) {
        judged.add(client + ">" + provider);
        return route;
    }

    private Machine machine(String backend, @Nullable PeerToPeer judge, RecordingCache cache) {
        Machine machine = Machine.builder()
                .ramBytes(6L << 30)
                .chunkBytes(1 << 16)
                .backend(backend)
                .commandLine("swiotlb=256,1")
                .backendOptions(BackendOptions.NONE.with("swiotlb.poolBase", POOL_BASE))
                .kernelConfig(cache.kernel())
                .peerToPeer(judge)
                .build();
        machine.addDevice(DeviceConfig.named("nvme"));
        machine.devicePages().add(PhysRange.ofSize(BAR, 0x10_0000), peer("bar0", "nvme", BUS_OFFSET));
        machine.devicePages().add(PhysRange.ofSize(SECOND_BAR, 0x10_0000), peer("bar1", "nvme", 0x1000));
        machine.devicePages().add(PhysRange.ofSize(HIGH_BAR, 0x10_0000), peer("bar2", "nvme", 0));
        return machine;
    }

    private Machine machine(String backend) {
        return machine(backend, this::judge, new RecordingCache());
    }

    private static DevicePageMap peer(String name, String provider, long busOffset) {
        return DevicePageMap.pciP2pDma(name, provider, busOffset);
    }

    private static Device nic(Machine machine) {
        return machine.addDevice(DeviceConfig.named("nic").withMask(MASK_32));
    }

    private static void assertIdle(Machine machine) {
        List<String> wrong = new ArrayList<>();
        machine.checkStructure(wrong::add);
        machine.checkIdle(wrong::add);
        assertThat(wrong).isEmpty();
    }

    @Test
    @DisplayName("DIR-30, DIR-33: below one switch an entry is its bus address, and nothing is mapped for it")
    void peerBelowTheSwitchIsABusAddress() {
        Machine machine = machine("direct");
        Device nic = nic(machine);
        SgTable sg = new SgTable(4)
                .add(BAR + 0x10, 0x300)
                .add(0x5000, 0x200)
                .add(BAR + 0x2000, 0x100)
                .add(SECOND_BAR, 0x80);
        assertThat(nic.dma().mapSg(sg, 4, TO_DEVICE, 0)).isEqualTo(4);
        assertThat(sg.dmaAddr(0)).isEqualTo(0x9000_0010L);
        assertThat(sg.dmaLengthBytes(0)).isEqualTo(0x300);
        assertThat(sg.dmaAddr(1)).isEqualTo(0x5000);
        assertThat(sg.dmaAddr(2)).isEqualTo(0x9000_2000L);
        assertThat(sg.dmaAddr(3)).isEqualTo(0xd100_1000L);
        assertThat(List.of(sg.isBusAddress(0), sg.isBusAddress(1), sg.isBusAddress(2), sg.isBusAddress(3)))
                .containsExactly(true, false, true, true);
        assertThat(judged).as("once as long as the map stays the same").containsExactly("nic>nvme", "nic>nvme");
        nic.dma().unmapSg(sg, 4, TO_DEVICE, 0);
        assertThat(sg.isBusAddress(0)).isFalse();
        assertThat(sg.isBusAddress(3)).isFalse();
        assertThat(sg.dmaAddr(0)).as("DIR-32: only the flag goes").isEqualTo(0x9000_0010L);
        assertIdle(machine);
    }

    @Test
    @DisplayName("DIR-33: the answer is kept for a call, not for ever")
    void everyCallAsksAgain() {
        Machine machine = machine("direct");
        Device nic = nic(machine);
        SgTable sg = new SgTable(2).add(BAR, 0x100).add(BAR + 0x1000, 0x100);
        nic.dma().mapSg(sg, 2, TO_DEVICE, 0);
        nic.dma().unmapSg(sg, 2, TO_DEVICE, 0);
        nic.dma().mapSg(sg, 2, TO_DEVICE, 0);
        assertThat(judged).hasSize(2);
    }

    @Test
    @DisplayName("DIR-30: through the host bridge a peer's page is mapped like memory")
    void peerBehindTheHostBridgeIsMappedByItsPhysicalAddress() {
        route = Route.THRU_HOST_BRIDGE;
        Machine machine = machine("direct");
        Device nic = nic(machine);
        SgTable sg = new SgTable(1).add(BAR + 0x10, 0x300);
        assertThat(nic.dma().mapSgTable(sg, BIDIRECTIONAL, 0)).isZero();
        assertThat(sg.dmaAddr(0)).isEqualTo(BAR + 0x10);
        assertThat(sg.isBusAddress(0)).isFalse();
        assertThat(judged).containsExactly("nic>nvme");
    }

    @Test
    @DisplayName("DIR-30, DIR-31: out of reach fails with EREMOTEIO, undoes what was mapped and clears its flags")
    void unreachablePeerFailsTheListAndLeavesItsTraces() {
        Machine machine = machine("direct");
        Device nic = nic(machine);
        SgTable sg = new SgTable(3).add(BAR, 0x100).add(HIGH, 0x800).add(SECOND_BAR, 0x80);
        sg.setDma(2, 0x77, 0x7);
        PeerToPeer secondIsFar = (client, provider) -> judged.size() == 1 ? judge(client, provider) : far();
        judged.add("first");
        Machine mixed = machine("direct", secondIsFar, new RecordingCache());
        Device mixedNic = nic(mixed);
        mixed.cpuMemory().fill(HIGH, 0x800, (byte) 0x11);
        assertThat(mixedNic.dma().mapSgTable(sg, FROM_DEVICE, 0)).isEqualTo(-Errno.EREMOTEIO);
        assertThat(sg.isBusAddress(0)).as("the flag of an earlier entry").isFalse();
        assertThat(sg.dmaAddr(0)).as("stale").isEqualTo(0x9000_0000L);
        assertThat(sg.dmaAddr(1)).as("stale").isEqualTo(POOL_BASE);
        assertThat(sg.dmaLengthBytes(1)).isEqualTo(0x800);
        assertThat(sg.dmaAddr(2)).as("not touched").isEqualTo(0x77);
        assertThat(sg.dmaLengthBytes(2)).isEqualTo(7);
        assertThat(mixedNic.dma().lastFailure().reason()).isEqualTo(FailureReason.PEER_UNREACHABLE);
        assertThat(mixedNic.dma().lastFailure().errno()).isEqualTo(Errno.EREMOTEIO);
        assertThat(mixedNic.dma().lastFailure().numbers()).containsExactly(SECOND_BAR, 0x80L);
        assertIdle(mixed);
        route = Route.NOT_SUPPORTED;
        assertThat(nic.dma().mapSg(sg, 3, FROM_DEVICE, 0)).isZero();
        assertIdle(machine);
    }

    private Route far() {
        return Route.NOT_SUPPORTED;
    }

    @Test
    @DisplayName("DIR-33: not PCI, provider gone, or no PCI_P2PDMA at all: not supported, and nobody is asked")
    void withoutTwoPciDevicesThereIsNoRoute() {
        Machine machine = machine("direct");
        Device platform = machine.addDevice(DeviceConfig.platform("soc"));
        SgTable sg = new SgTable(1).add(BAR, 0x100);
        assertThat(platform.dma().mapSgTable(sg, TO_DEVICE, 0)).isEqualTo(-Errno.EREMOTEIO);
        machine.devicePages().add(PhysRange.ofSize(0xe000_0000L, 0x1000), peer("gone", "unplugged", 0));
        SgTable orphan = new SgTable(1).add(0xe000_0000L, 0x100);
        assertThat(nic(machine).dma().mapSgTable(orphan, TO_DEVICE, 0)).isEqualTo(-Errno.EREMOTEIO);
        assertThat(judged).isEmpty();
        Machine without = machine("direct", null, new RecordingCache());
        assertThat(nic(without).dma().mapSgTable(sg, TO_DEVICE, 0)).isEqualTo(-Errno.EREMOTEIO);
    }

    @Test
    @DisplayName("SGA-4: device memory that is no peer's is mapped like any other")
    void genericDeviceMemoryIsNoPeer() {
        Machine machine = machine("direct");
        machine.devicePages().add(PhysRange.ofSize(0xe000_0000L, 0x1000), DevicePageMap.generic("pmem"));
        SgTable sg = new SgTable(1).add(0xe000_0000L, 0x100);
        assertThat(nic(machine).dma().mapSg(sg, 1, TO_DEVICE, 0)).isEqualTo(1);
        assertThat(sg.dmaAddr(0)).isEqualTo(0xe000_0000L);
        assertThat(judged).isEmpty();
    }

    @Test
    @DisplayName("DIR-34: a device that bounces everything has bus addresses too, and EIO through the host bridge")
    void forcedDeviceReachesPeersByBusAddressOnly() {
        Machine machine = machine("swiotlb");
        Device nic = nic(machine);
        SgTable sg = new SgTable(2).add(BAR, 0x100).add(0x5000, 0x100);
        assertThat(nic.dma().mapSgTable(sg, TO_DEVICE, 0)).isZero();
        assertThat(sg.dmaAddr(0)).isEqualTo(0x9000_0000L);
        assertThat(sg.dmaAddr(1)).isEqualTo(POOL_BASE);
        nic.dma().unmapSgTable(sg, TO_DEVICE, 0);
        assertIdle(machine);
        route = Route.THRU_HOST_BRIDGE;
        assertThat(nic.dma().mapSgTable(sg, TO_DEVICE, 0)).isEqualTo(-Errno.EIO);
        assertThat(sg.dmaAddr(0)).isEqualTo(DMA_MAPPING_ERROR);
        assertThat(nic.dma().lastFailure().reason()).isEqualTo(FailureReason.PEER_UNREACHABLE);
        assertThat(machine.log().warnCount()).isZero();
        assertIdle(machine);
    }

    @Test
    @DisplayName("DIR-10, DIR-35: a single page of a peer is mapped if in reach, else refused without a word")
    void singlePageOfAPeerIsNeverBounced() {
        Machine machine = machine("direct");
        Device nic = nic(machine);
        assertThat(nic.dma().mapPage(BAR, 0x100, TO_DEVICE, 0)).isEqualTo(BAR);
        assertThat(judged).isEmpty();
        assertThat(nic.dma().mapPage(HIGH_BAR, 0x100, TO_DEVICE, 0)).isEqualTo(DMA_MAPPING_ERROR);
        assertThat(nic.dma().lastFailure().reason()).isEqualTo(FailureReason.PEER_UNREACHABLE);
        assertThat(nic.dma().lastFailure().numbers()).containsExactly(HIGH_BAR, 0x100L);
        Machine forced = machine("swiotlb");
        assertThat(nic(forced).dma().mapPage(BAR, 0x100, TO_DEVICE, 0)).isEqualTo(DMA_MAPPING_ERROR);
        assertThat(machine.log().warnCount() + forced.log().warnCount()).isZero();
        assertThat(forced.log().count("swiotlb_tbl_map_single: full")).isZero();
    }

    @Test
    @DisplayName("DIR-22: sync does not skip bus addresses")
    void syncGoesToBusAddressesToo() {
        RecordingCache cache = new RecordingCache();
        Machine machine = machine("direct", this::judge, cache);
        Device nic = machine.addDevice(DeviceConfig.named("nic").withCoherent(false));
        SgTable sg = new SgTable(1).add(BAR, 0x100);
        nic.dma().mapSg(sg, 1, TO_DEVICE, 0);
        assertThat(cache.told()).as("no cache work at map").isEmpty();
        nic.dma().syncSgForDevice(sg, 1, TO_DEVICE);
        assertThat(cache.told()).containsExactly("for_device 0x90000000+0x100 TO_DEVICE");
        nic.dma().syncSgForCpu(sg, 1, TO_DEVICE);
        assertThat(cache.told()).containsExactly("for_cpu 0x90000000+0x100 TO_DEVICE", "for_cpu_all");
        nic.dma().unmapSg(sg, 1, TO_DEVICE, 0);
        assertThat(cache.told()).as("nor at unmap").isEmpty();
    }
}
