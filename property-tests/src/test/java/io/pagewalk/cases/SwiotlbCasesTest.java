package io.pagewalk.cases;

import static io.pagewalk.cases.Situation.CLIPPED;
import static io.pagewalk.cases.Situation.FULL;
import static io.pagewalk.cases.Situation.GIB;
import static io.pagewalk.cases.Situation.MIB;
import static io.pagewalk.cases.Situation.NO_POOL;
import static io.pagewalk.cases.Situation.SLOT;
import static io.pagewalk.dma.Dma.DMA_MAPPING_ERROR;
import static io.pagewalk.dma.DmaDirection.BIDIRECTIONAL;
import static io.pagewalk.dma.DmaDirection.FROM_DEVICE;
import static io.pagewalk.dma.DmaDirection.TO_DEVICE;
import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.CoherentBuffer;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.Dma;
import io.pagewalk.dma.DmaAttrs;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.FailureReason;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.RestrictedPool;
import io.pagewalk.dma.memory.PhysRange;
import io.pagewalk.dma.memory.RamMap;
import io.pagewalk.dma.spi.BackendOptions;
import io.pagewalk.dma.spi.Metric;
import io.pagewalk.kit.MachineValidator;
import io.pagewalk.kit.TestMachines;
import java.util.Arrays;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Situations A: the bounce pool. */
@ExtendWith(MachineValidator.class)
class SwiotlbCasesTest {
    private static final long HIGH = 4 * GIB + 0x1_0000;
    private static final long NVME_BUFFER = 0x1_2345_6a00L;

    private static long map(Device device, long sizeBytes) {
        return device.dma().mapPage(HIGH, sizeBytes, FROM_DEVICE, DmaAttrs.NONE);
    }

    /** Maps the same size until it fails; returns how many maps succeeded. */
    private static int mapUntilFull(Device device, long sizeBytes) {
        int maps = 0;
        while (map(device, sizeBytes) != DMA_MAPPING_ERROR) {
            maps++;
        }
        return maps;
    }

    @Test
    @DisplayName("A1")
    void aPoolIsDrainedByALeakAndABiggerOneOnlyDelays(TestMachines machines) {
        Situation small = Situation.pc(machines, "direct", "swiotlb=32768");
        assertThat(mapUntilFull(small.narrow(), 4000)).isEqualTo(16384);
        small.requireLastFullLine(4000, 32768, 32768);
        Situation large = Situation.pc(machines, "direct", "swiotlb=65536");
        assertThat(mapUntilFull(large.narrow(), 4000)).isEqualTo(32768);
        large.requireLastFullLine(4000, 65536, 65536);
    }

    @Test
    @DisplayName("A2")
    void thePoolIsFullAlthoughSlotsAreFreeBecauseOfAlignmentHoles(TestMachines machines) {
        Situation pc = Situation.pc(machines, "direct", "");
        Device device = pc.narrow();
        assertThat(mapUntilFull(device, 9100)).isEqualTo(5376);
        pc.requireLastFullLine(9100, 32768, 26880);
        assertThat(device.dma().lastFailure().reason()).isEqualTo(FailureReason.POOL_FRAGMENTED);
        assertThat(map(device, 2048)).as("a small map in a hole").isNotEqualTo(DMA_MAPPING_ERROR);
        assertThat(pc.usedSlots()).isEqualTo(26881);
    }

    /** A pool of the default size is added each time, 4 MiB at most, until there is no memory for one. */
    @Test
    @DisplayName("A1: with dynamic pools")
    void growthOnlyDelaysTheDrainOfThePool(TestMachines machines) {
        RamMap ram = RamMap.of(PhysRange.ofSize(0, 12 * MIB), PhysRange.ofSize(4 * GIB, MIB));
        Situation pc = Situation.dynamic(machines, ram, "swiotlb=512,1", BackendOptions.NONE);
        Device device = pc.narrow();
        int maps = 0;
        while (map(device, 4000) != DMA_MAPPING_ERROR) {
            pc.machine.clock().advance(0);
            maps++;
        }
        long slots = pc.metric(Metric.POOL_SLOTS);
        assertThat(slots).isGreaterThan(512);
        assertThat(pc.usedSlots()).isEqualTo(2L * maps);
        assertThat(pc.metric(Metric.POOL_TRANSIENT_SLOTS)).isEqualTo(2L * maps - slots);
        pc.requireLastFullLine(4000, slots, 2L * maps);
        assertThat(pc.logged("swiotlb: growth")).isNotEmpty();
        assertThat(device.dma().lastFailure().reason()).isEqualTo(FailureReason.POOL_FULL);
    }

    @Test
    @DisplayName("A3")
    void aRequestAboveTwoHundredFiftySixKibCanNeverSucceed(TestMachines machines) {
        for (int slots : new int[] {32768, 524288}) {
            Situation pc = Situation.pc(machines, "direct", "swiotlb=" + slots);
            Device device = pc.narrow();
            for (long size : new long[] {2 * MIB, 524288, MIB, 262145}) {
                assertThat(map(device, size)).isEqualTo(DMA_MAPPING_ERROR);
                pc.requireLastFullLine(size, slots, 0);
                assertThat(device.dma().lastFailure().reason()).isEqualTo(FailureReason.EXCEEDS_MAX_MAPPING);
                assertThat(device.dma().lastFailure().numbers()).containsExactly(size, 262144L);
            }
            assertThat(map(device, 262144)).isNotEqualTo(DMA_MAPPING_ERROR);
        }
    }

    @Test
    @DisplayName("A3: with dynamic pools")
    void aRequestAboveTwoHundredFiftySixKibDoesNotGrowThePool(TestMachines machines) {
        RamMap ram = RamMap.sizedWithHole(8 * GIB);
        Situation pc = Situation.dynamic(machines, ram, "swiotlb=512,1", BackendOptions.NONE);
        Device device = pc.narrow();
        for (long size : new long[] {2 * MIB, 524288, MIB, 262145}) {
            assertThat(map(device, size)).isEqualTo(DMA_MAPPING_ERROR);
            pc.requireLastFullLine(size, 512, 0);
            assertThat(device.dma().lastFailure().reason()).isEqualTo(FailureReason.EXCEEDS_MAX_MAPPING);
        }
        pc.machine.clock().advance(0);
        assertThat(pc.metric(Metric.POOL_SLOTS)).isEqualTo(512);
        assertThat(pc.metric(Metric.POOL_TRANSIENT_SLOTS)).isZero();
        assertThat(device.dma().maxMappingSize()).isEqualTo(262144);
    }

    @Test
    @DisplayName("A3: what the driver is told")
    void theLargestMappingIsTwoHundredFiftySixKibWhereBouncesAreDue(TestMachines machines) {
        Situation pc = Situation.pc(machines, "direct", "");
        assertThat(pc.narrow().dma().maxMappingSize()).as("addressing limited").isEqualTo(262144);
        Device wide = pc.machine.addDevice(DeviceConfig.named("wide"));
        assertThat(wide.dma().maxMappingSize()).as("reaches all").isEqualTo(-1L);
        Situation forced = Situation.pc(machines, "direct", "swiotlb=force");
        Device bounced = forced.machine.addDevice(DeviceConfig.named("wide"));
        assertThat(bounced.dma().maxMappingSize()).as("force bounce").isEqualTo(262144);
    }

    @Test
    @DisplayName("A4")
    void thePoolIsAlmostFreeOfSpaceAndTheLargestRequestFails(TestMachines machines) {
        Situation pc = Situation.pc(machines, "direct", "swiotlb=524288,1,force");
        Dma dma = pc.machine.addDevice(DeviceConfig.named("nic")).dma();
        long[] firsts = fillButForHoles(pc, dma);
        assertThat(dma.mapPage(HIGH, 262144, TO_DEVICE, 0)).isEqualTo(DMA_MAPPING_ERROR);
        pc.requireLastFullLine(262144, 524288, 523564);
        assertThat(dma.lastFailure().numbers()).containsExactly(128L, 724L, 1L, 524288L);
        dma.unmapPage(firsts[2000], 262144, TO_DEVICE, 0);
        assertThat(dma.mapPage(HIGH, 262144, TO_DEVICE, 0)).isEqualTo(firsts[2000]);
    }

    @Test
    @DisplayName("A4: with dynamic pools")
    void aTransientPoolServesTheLargestRequestAndGoesWithIt(TestMachines machines) {
        RamMap ram = RamMap.sizedWithHole(8 * GIB);
        Situation pc = Situation.dynamic(machines, ram, "swiotlb=524288,1,force", BackendOptions.NONE);
        Dma dma = pc.machine
                .addDevice(DeviceConfig.named("nic").withMask(Situation.MASK_32))
                .dma();
        fillButForHoles(pc, dma);
        long pages = pc.machine.pages().allocatedPages();
        long dmaAddr = dma.mapPage(HIGH, 262144, TO_DEVICE, 0);
        assertThat(dmaAddr).isNotEqualTo(DMA_MAPPING_ERROR);
        assertThat(pc.logged(FULL)).isEmpty();
        assertThat(pc.metric(Metric.POOL_TRANSIENT_SLOTS)).isEqualTo(128);
        assertThat(pc.metric(Metric.POOL_SLOTS)).isEqualTo(524288);
        assertThat(pc.usedSlots()).isEqualTo(523564 + 128);
        dma.unmapPage(dmaAddr, 262144, TO_DEVICE, 0);
        assertThat(pc.metric(Metric.POOL_TRANSIENT_SLOTS))
                .as("gone with the unmap")
                .isZero();
        assertThat(pc.usedSlots()).isEqualTo(523564);
        pc.machine.clock().advance(1_000_000_000L);
        assertThat(pc.metric(Metric.POOL_SLOTS)).as("4 MiB from the background").isEqualTo(524288 + 2048);
        assertThat(pc.machine.pages().allocatedPages()).isEqualTo(pages + 1024);
        assertThat(dma.mapPage(HIGH, 262144, TO_DEVICE, 0)).isNotEqualTo(DMA_MAPPING_ERROR);
        assertThat(pc.metric(Metric.POOL_TRANSIENT_SLOTS))
                .as("the new pool serves")
                .isZero();
    }

    /** 724 sets have their last slot free, all others are full. Returns where the sets begin. */
    private static long[] fillButForHoles(Situation pc, Dma dma) {
        int sets = 4096;
        int holes = 724;
        long[] firsts = new long[sets];
        long[] lasts = new long[holes];
        for (int set = 0; set < sets; set++) {
            boolean hasHole = set < holes;
            firsts[set] = dma.mapPage(HIGH, (hasHole ? 127L : 128L) * SLOT, TO_DEVICE, 0);
            if (hasHole) {
                lasts[set] = dma.mapPage(HIGH, SLOT, TO_DEVICE, 0);
            }
        }
        assertThat(pc.usedSlots()).isEqualTo(524288);
        Arrays.stream(lasts).forEach(a -> dma.unmapPage(a, SLOT, TO_DEVICE, 0));
        return firsts;
    }

    @Test
    @DisplayName("A6")
    void coherentMemoryOfARestrictedPoolKeepsItsNaturalAlignment(TestMachines machines) {
        long start = 0x97ff_0000L;
        Machine board = machines.start(Machine.builder()
                .chunkBytes(1 << 16)
                .restrictedPools(RestrictedPool.of("rmem", PhysRange.ofSize(start, 7168L * SLOT))));
        Device device = board.addDevice(DeviceConfig.named("virtio").withRestrictedPool("rmem"));
        Dma dma = device.dma();
        for (int slots = 0; slots < 1536; slots += 128) {
            assertThat(dma.mapPage(0x10_0000, 128 * SLOT, TO_DEVICE, 0)).isEqualTo(start + (long) slots * SLOT);
        }
        dma.mapPage(0x10_0000, 109 * SLOT, TO_DEVICE, 0);
        for (long expected : new long[] {0x9832_8000L, 0x9832_a000L, 0x9832_c000L}) {
            CoherentBuffer block = dma.alloc(0x2000);
            assertThat(block.dmaAddr()).isEqualTo(expected);
            assertThat(block.physAddr(0)).isEqualTo(expected);
        }
    }

    @Test
    @DisplayName("A7")
    void theOffsetInThePageSurvivesTheBounce(TestMachines machines) {
        Situation pc = Situation.pc(machines, "direct", "swiotlb=512,1,force");
        Device nvme = pc.machine.addDevice(DeviceConfig.named("nvme").withMinAlignMask(0xfff));
        Device plain = pc.machine.addDevice(DeviceConfig.named("plain"));
        long poolStart = plain.dma().mapPage(HIGH, 1, TO_DEVICE, 0);
        plain.dma().unmapPage(poolStart, 1, TO_DEVICE, 0);
        long dmaAddr = nvme.dma().mapPage(NVME_BUFFER, 0x1800, TO_DEVICE, 0);
        assertThat(dmaAddr & 0xfff).as("low bits").isEqualTo(0xa00);
        assertThat(dmaAddr & (SLOT - 1)).as("offset in the first slot").isEqualTo(0x200);
        assertThat((dmaAddr - poolStart) / SLOT % 2)
                .as("odd slot: address bit 11")
                .isEqualTo(1);
        assertThat(pc.usedSlots()).isEqualTo(4);
        nvme.dma().unmapPage(dmaAddr, 0x1800, TO_DEVICE, 0);
        assertThat(pc.usedSlots()).isZero();
        pc.requireIdle();
    }

    @Test
    @DisplayName("A7: the size in the line of a full pool includes the offset")
    void aFullPoolTellsTheSizeWithTheOffsetInTheSlot(TestMachines machines) {
        Situation pc = Situation.pc(machines, "direct", "swiotlb=512,1,force");
        Device nvme = pc.machine.addDevice(DeviceConfig.named("nvme").withMinAlignMask(0xfff));
        assertThat(mapUntilFull(pc.machine.addDevice(DeviceConfig.named("filler")), 262144))
                .isEqualTo(4);
        assertThat(nvme.dma().mapPage(NVME_BUFFER, 0x1800, TO_DEVICE, 0)).isEqualTo(DMA_MAPPING_ERROR);
        pc.requireLastFullLine(0x1a00, 512, 512);
    }

    @Test
    @DisplayName("A8")
    void aPartialSyncCopiesItsOwnBytesAndNoOthers(TestMachines machines) {
        Situation pc = Situation.pc(machines, "direct", "swiotlb=512,1,force");
        Device nvme = pc.machine.addDevice(DeviceConfig.named("nvme").withMinAlignMask(0xfff));
        pc.fill(NVME_BUFFER - 0xa00, 0x4000, 0x11);
        long dmaAddr = nvme.dma().mapPage(NVME_BUFFER, 0x1800, BIDIRECTIONAL, 0);
        deviceFills(nvme, dmaAddr, 0x1800, 0x55);
        nvme.dma().syncSingleForCpu(dmaAddr + 0x680, 0x80, BIDIRECTIONAL);
        assertThat(pc.bytes(NVME_BUFFER - 0xa00, 0xa00 + 0x680)).containsOnly(0x11);
        assertThat(pc.bytes(NVME_BUFFER + 0x680, 0x80)).containsOnly(0x55);
        assertThat(pc.bytes(NVME_BUFFER + 0x700, 0x2000)).containsOnly(0x11);
        assertThat(pc.logged(CLIPPED)).isEmpty();
        nvme.dma().syncSingleForCpu(dmaAddr + 0x680, 0x2000, BIDIRECTIONAL);
        assertThat(pc.logged(CLIPPED))
                .singleElement()
                .asString()
                .contains("allocation size " + 0x1180 + ", mapping size " + 0x2000);
        assertThat(pc.bytes(NVME_BUFFER, 0x680)).as("before the part").containsOnly(0x11);
        assertThat(pc.bytes(NVME_BUFFER + 0x680, 0x1180)).as("clipped part").containsOnly(0x55);
        assertThat(pc.bytes(NVME_BUFFER + 0x1800, 0x800))
                .as("behind the buffer")
                .containsOnly(0x11);
    }

    @Test
    @DisplayName("A9")
    void aShortDeviceWriteNeitherLeaksThePoolNorLosesTheBuffer(TestMachines machines) {
        Situation pc = Situation.pc(machines, "direct", "swiotlb=512,1,force");
        Device nic = pc.machine.addDevice(DeviceConfig.named("nic"));
        leaveSecretsInThePool(pc, nic);
        pc.fill(HIGH, 1024, 0xaa);
        long dmaAddr = nic.dma().mapPage(HIGH, 1024, FROM_DEVICE, 0);
        deviceFills(nic, dmaAddr, 100, 0x55);
        nic.dma().syncSingleForCpu(dmaAddr, 1024, FROM_DEVICE);
        assertThat(pc.bytes(HIGH, 100)).containsOnly(0x55);
        pc.fill(HIGH, 100, 0x77);
        nic.dma().syncSingleForDevice(dmaAddr, 1024, FROM_DEVICE);
        assertThat(deviceReads(nic, dmaAddr, 100))
                .as("nothing was copied to the device")
                .containsOnly(0x55);
        deviceFills(nic, dmaAddr + 100, 20, 0x55);
        nic.dma().unmapPage(dmaAddr, 1024, FROM_DEVICE, 0);
        assertThat(pc.bytes(HIGH, 120)).containsOnly(0x55);
        assertThat(pc.bytes(HIGH + 120, 904)).containsOnly((byte) 0xaa);
    }

    /** Every slot has held somebody's bytes before. */
    private static void leaveSecretsInThePool(Situation pc, Device device) {
        long secret = HIGH + MIB;
        pc.fill(secret, 262144, 0x99);
        for (int set = 0; set < 4; set++) {
            long dmaAddr = device.dma().mapPage(secret, 262144, DmaDirection.TO_DEVICE, 0);
            device.dma().unmapPage(dmaAddr, 262144, DmaDirection.TO_DEVICE, 0);
        }
    }

    private static void deviceFills(Device device, long dmaAddr, int sizeBytes, int value) {
        byte[] bytes = new byte[sizeBytes];
        Arrays.fill(bytes, (byte) value);
        assertThat(device.bus().write(dmaAddr, bytes, 0, sizeBytes)).isEqualTo(sizeBytes);
    }

    private static byte[] deviceReads(Device device, long dmaAddr, int sizeBytes) {
        byte[] bytes = new byte[sizeBytes];
        assertThat(device.bus().read(dmaAddr, bytes, 0, sizeBytes)).isEqualTo(sizeBytes);
        return bytes;
    }

    @Test
    @DisplayName("A12")
    void bootMemoryCannotHoldTheRequestedPool(TestMachines machines) {
        RamMap ram = RamMap.of(PhysRange.ofSize(0, 300 * MIB), PhysRange.ofSize(4 * GIB, GIB));
        Situation pc = Situation.on(machines, ram, "direct", "swiotlb=524288,1", BackendOptions.NONE);
        assertThat(pc.metric(Metric.POOL_SLOTS))
                .as("256 MiB of the 1 GiB asked for")
                .isEqualTo(131072);
        assertThat(pc.logged("swiotlb_init")).singleElement().asString().contains("524288", "131072");
        Device device = pc.narrow();
        long dmaAddr = map(device, 4096);
        assertThat(dmaAddr).isBetween(0L, 300 * MIB);
        device.dma().unmapPage(dmaAddr, 4096, FROM_DEVICE, 0);
    }

    @Test
    @DisplayName("A12: none at all")
    void withoutAPoolALaterMapSaysSoAndFails(TestMachines machines) {
        RamMap ram = RamMap.of(PhysRange.ofSize(0, MIB / 2), PhysRange.ofSize(4 * GIB, GIB));
        Situation pc = Situation.on(machines, ram, "direct", "swiotlb=524288,1,force", BackendOptions.NONE);
        assertThat(pc.metric(Metric.POOL_SLOTS)).isZero();
        Device device = pc.narrow();
        assertThat(map(device, 4096)).isEqualTo(DMA_MAPPING_ERROR);
        assertThat(pc.logged(NO_POOL)).singleElement().asString().contains("bounce buffer", "0x100010000");
        assertThat(pc.logged(FULL)).isEmpty();
        assertThat(device.dma().lastFailure().reason()).isEqualTo(FailureReason.NO_POOL);
    }
}
