package io.pagewalk.backends.iommu.driver;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.backends.iommu.pgtable.PageTable;
import io.pagewalk.backends.iommu.unit.InvalidationLayout;
import io.pagewalk.backends.iommu.unit.VtdRegisters;
import io.pagewalk.dma.Access;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.DmaAttrs;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.Zone;
import io.pagewalk.dma.spi.BusPort;
import io.pagewalk.dma.spi.Metric;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** The very descriptors that a unit gets, read from its queue, and what becomes of accesses that it blocks. */
class TheUnitIsToldTest {
    private static final long PAGE = VtdWorld.PAGE;
    private static final int SID = 0x310;

    /** Descriptors since a place of the tail, without waits. */
    private static List<List<Long>> since(VtdWorld world, long tail) {
        long queue = world.driver.registers().read64(VtdRegisters.IQA) & ~0xfffL;
        List<List<Long>> told = new ArrayList<>();
        for (long at = tail; at != tail(world); at = (at + 16) & 0xfff) {
            long low = world.machine.memory().getLong(queue + at);
            if ((low & 0xf) != InvalidationLayout.WAIT) {
                told.add(List.of(low, world.machine.memory().getLong(queue + at + 8)));
            }
        }
        return told;
    }

    private static long tail(VtdWorld world) {
        return world.driver.registers().read64(VtdRegisters.IQT);
    }

    private static long contextSlot(VtdWorld world) {
        long root = world.driver.registers().read64(VtdRegisters.RTADDR);
        return (world.machine.memory().getLong(root + 3 * 16) & ~0xfffL) + 0x10 * 16;
    }

    @Test
    @DisplayName("iommu:CTX-1, CTX-2: a root entry by bus, a context entry by device and function, tables made at need")
    void entriesStandWhereTheRequesterSays() {
        VtdWorld world = VtdWorld.unattached(VtdWorld.smallPool());
        long root = world.driver.registers().read64(VtdRegisters.RTADDR);
        int id = 2;
        for (int sid : new int[] {0x001, 0x0ff, 0x311, 0x3ff, 0xff00}) {
            Device device =
                    world.machine.addDevice(DeviceConfig.named("d" + sid).withRequesterId(sid));
            long rootSlot = root + (sid >>> 8) * 16L;
            boolean first = sid != 0x0ff && sid != 0x3ff;
            assertThat(world.machine.memory().getLong(rootSlot) == 0)
                    .as("%x", sid)
                    .isEqualTo(first);

            PageTable table = world.driver.newTable();
            world.driver.attach(device, table);

            long rootEntry = world.machine.memory().getLong(rootSlot);
            assertThat(rootEntry & 0xfff).isEqualTo(1);
            assertThat(world.machine.memory().getLong(rootSlot + 8)).isZero();
            long slot = rootEntry - 1 + (sid & 0xff) * 16L;
            assertThat(world.machine.memory().getLong(slot)).isEqualTo(table.rootPhysAddr() | 1);
            assertThat(world.machine.memory().getLong(slot + 8)).isEqualTo((long) id++ << 8 | 2);
        }
    }

    @Test
    @DisplayName("iommu:CTX-6, CTX-8: a detached device is forgotten by id and requester, then its entry is erased")
    void detachForgetsTheDeviceThenItsDomain() {
        VtdWorld world = VtdWorld.create();
        long slot = contextSlot(world);
        long before = tail(world);

        world.driver.detach(world.device);

        assertThat(since(world, before)).containsExactly(List.of(0x310_0002_0031L, 0L), List.of(0x2_00e2L, 0L));
        assertThat(world.machine.memory().getLong(slot)).isZero();
        assertThat(world.machine.memory().getLong(slot + 8)).isZero();
        assertThat(world.translate(0x5000, Access.READ)).isEqualTo(BusPort.fault(2));
        before = tail(world);
        world.driver.detach(world.device);
        assertThat(since(world, before)).as("a second time").isEmpty();
    }

    @Test
    @DisplayName("iommu:INV-9, INV-10: pages by address and mask, and all of the domain where no mask is enough")
    void rangesBeyondTheMaskAreTheWholeDomain() {
        for (int mask = 0; mask < 14; mask++) {
            VtdWorld world = VtdWorld.create(VtdWorld.smallPool().with("iommu.maxAddressMask", mask));
            for (int order = 0; order < 14; order++) {
                long sizeBytes = PAGE << order;
                long before = tail(world);

                world.driver.invalidateRange(world.domainId, sizeBytes, 2 * sizeBytes - 1, true);

                assertThat(since(world, before))
                        .as("2^%d pages, MAMV %d", order, mask)
                        .containsExactly(
                                order <= mask
                                        ? List.of(0x2_00f2L, sizeBytes | 1 << 6 | order)
                                        : List.of(0x2_00e2L, 0L));
            }
        }
    }

    /** Nothing here has a device-TLB: no context entry allows one, and none is told of anything. */
    @Test
    @DisplayName("iommu:INV-8, INV-12: a flush of everything is one descriptor for the domain, none for device-TLBs")
    void aFullFlushIsOneDescriptor() {
        VtdWorld world = VtdWorld.create();
        Device second = world.machine.addDevice(DeviceConfig.named("b").withRequesterId(0x318));
        world.driver.attach(second, world.table);
        long before = tail(world);

        world.driver.invalidateDomain(world.domainId);

        assertThat(since(world, before)).containsExactly(List.of(0x2_00e2L, 0L));
    }

    private static Map<Metric, Long> metrics(Machine machine) {
        Map<Metric, Long> numbers = new EnumMap<>(Metric.class);
        machine.report(numbers::put);
        return numbers;
    }

    @Test
    @DisplayName("iommu:INV-12: a flush queue of many unmaps is one invalidation of the domain")
    void theFlushQueueInvalidatesTheDomainOnce() {
        try (Machine machine =
                Machine.builder().ramBytes(64 << 20).backend("iommu-lazy").build()) {
            Device device = machine.addDevice(DeviceConfig.named("nic"));
            long page = machine.pages().allocPages(Zone.NORMAL, 0);
            for (int i = 0; i < 20; i++) {
                long dmaAddr = device.dma().mapPage(page, PAGE, DmaDirection.TO_DEVICE, DmaAttrs.NONE);
                device.dma().unmapPage(dmaAddr, PAGE, DmaDirection.TO_DEVICE, DmaAttrs.NONE);
            }
            Map<Metric, Long> before = metrics(machine);

            machine.clock().advance(10_000_000);

            Map<Metric, Long> after = metrics(machine);
            assertThat(after.get(Metric.INVALIDATIONS_DOMAIN))
                    .isEqualTo(before.getOrDefault(Metric.INVALIDATIONS_DOMAIN, 0L) + 1);
            assertThat(after.get(Metric.INVALIDATIONS_PAGE)).isEqualTo(before.get(Metric.INVALIDATIONS_PAGE));
        }
    }

    @Test
    @DisplayName("iommu:FLT-9: a blocked write is dropped, a blocked read gives all ones, and the device goes on")
    void blockedAccessesDoNotStopTheDevice() {
        try (Machine machine =
                Machine.builder().ramBytes(64 << 20).backend("iommu-strict").build()) {
            Device device = machine.addDevice(DeviceConfig.named("nic").withRequesterId(SID));
            long page = machine.pages().allocPages(Zone.NORMAL, 1);
            machine.cpuMemory().fill(page, 2 * PAGE, (byte) 0x55);
            long dmaAddr = device.dma().mapPage(page, PAGE, DmaDirection.FROM_DEVICE, DmaAttrs.NONE);
            byte[] data = new byte[(int) (2 * PAGE)];

            assertThat(device.bus().write(dmaAddr, data, 0, data.length)).isEqualTo((int) PAGE);
            assertThat(device.bus().read(dmaAddr + PAGE, data, 0, 16)).isZero();
            assertThat(IntStream.range(0, 16).map(i -> data[i])).containsOnly(-1);
            assertThat(device.bus().write(dmaAddr, new byte[] {7}, 0, 1)).isEqualTo(1);

            byte[] memory = new byte[(int) (2 * PAGE)];
            machine.cpuMemory().read(page, memory, 0, memory.length);
            assertThat(memory[0]).isEqualTo((byte) 7);
            assertThat(IntStream.range(1, (int) PAGE).map(i -> memory[i])).containsOnly(0);
            assertThat(IntStream.range((int) PAGE, 2 * (int) PAGE).map(i -> memory[i]))
                    .containsOnly(0x55);
            assertThat(machine.faults().count()).isEqualTo(2);
        }
    }
}
