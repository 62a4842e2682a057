package io.pagewalk.backends.iommu;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.backends.iommu.api.Iommu;
import io.pagewalk.backends.iommu.api.IommuPagingDomain;
import io.pagewalk.backends.iommu.api.LeafRun;
import io.pagewalk.backends.iommu.iova.IovaDomain;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.Dma;
import io.pagewalk.dma.DmaAttrs;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.KernelLog;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.MachineBuilder;
import io.pagewalk.dma.memory.PageAllocator;
import io.pagewalk.dma.memory.Zone;
import io.pagewalk.dma.spi.BackendOptions;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** What people reported of IOVAs and IOMMU tables, each as it must come out. */
class SituationsTest {
    private static final long PAGE = 0x1000;
    private static final long GIB = 1L << 30;
    private static final int RW = 3;

    private static MachineBuilder builder() {
        return Machine.builder()
                .ramBytes(128 << 20)
                .backend("iommu-strict")
                .backendOptions(BackendOptions.NONE.with("iommu.tablePoolBytes", 64 * PAGE));
    }

    private static long map(Device device, long physAddr, long sizeBytes) {
        return device.dma().mapPage(physAddr, sizeBytes, DmaDirection.BIDIRECTIONAL, DmaAttrs.NONE);
    }

    private static List<String> log(Machine machine) {
        return machine.log().entries().stream().map(KernelLog.Entry::text).toList();
    }

    @Test
    @DisplayName("D1: 1 GiB three times: below 4 GiB twice, then from the top of the width, with a notice")
    void topDownOrderAndThe32BitFirstRule() {
        try (Machine machine = builder().build();
                Machine nodac = builder().commandLine("iommu.forcedac=1").build()) {
            Device device = machine.addDevice(DeviceConfig.named("nvme").withMask((1L << 58) - 1));
            assertThat(map(device, 0, GIB)).isEqualTo(0x8000_0000L);
            assertThat(map(device, 0, GIB)).isEqualTo(0x4000_0000L);
            assertThat(log(machine)).isEmpty();
            assertThat(map(device, 0, GIB)).isEqualTo((1L << 48) - GIB);
            assertThat(log(machine)).containsExactly("nvme: Using 48-bit DMA addresses");
            Device other = nodac.addDevice(DeviceConfig.named("nvme").withMask((1L << 58) - 1));
            assertThat(map(other, 0, GIB)).isEqualTo((1L << 48) - GIB);
        }
    }

    @Test
    @DisplayName("D2: with 32-bit space full, requests fail without a walk until anything below 4 GiB is freed")
    void fullSpaceFailsFast() {
        try (Machine machine = builder().build()) {
            IovaDomain iovas = new IovaDomain(machine, PAGE, 0xf0000, true);
            long freed = iovas.allocFast(0, 16, 0xfffff, true);
            while (iovas.allocFast(0, 64, 0xfffff, true) != 0) {
                // Fill.
            }
            assertThat(iovas.allocFast(0, 256, 0xfffff, true)).isZero();
            assertThat(iovas.tree().max32AllocSize()).isEqualTo(64);
            for (int i = 0; i < 100_000; i++) {
                assertThat(iovas.allocFast(0, 256, 0xfffff, true)).isZero();
            }
            assertThat(iovas.tree().max32AllocSize())
                    .as("no walk has stored its size")
                    .isEqualTo(64);
            assertThat(iovas.allocFast(0, 32, 0xfffff, true)).isNotZero();
            iovas.free(freed);
            assertThat(iovas.tree().max32AllocSize()).isEqualTo(0x100000);
            assertThat(iovas.allocFast(0, 16, 0xfffff, true)).isEqualTo(freed);
        }
    }

    @Test
    @DisplayName("D3: taken on one CPU and given on another for long: the cache stays bounded, and nothing runs out")
    void longRunAging() {
        try (Machine machine = builder().cpus(2).build()) {
            IovaDomain iovas = new IovaDomain(machine, PAGE, 0xe0000, true);
            Random random = new Random(42);
            ArrayDeque<long[]> live = new ArrayDeque<>();
            int most = 0;
            for (int i = 0; i < 200_000; i++) {
                long size = 1L + random.nextInt(32);
                long pfn = iovas.allocFast(0, size, 0xfffff, true);
                assertThat(pfn).isNotZero();
                live.add(new long[] {pfn, size});
                if (live.size() > 300) {
                    long[] oldest = live.remove();
                    iovas.freeFast(1, oldest[0], oldest[1]);
                }
                if (i % 500 == 0) {
                    machine.clock().advance(100_000_000);
                    most = Math.max(most, iovas.cachedPfns().size());
                }
            }
            assertThat(most)
                    .as("6 sizes of 2 + 2 magazines of 2 CPUs, and what came within a trim")
                    .isLessThan(6 * 127 * 8);
        }
    }

    @Test
    @DisplayName("D5: 3 pages reserve 4; 33 pages reserve 33, aligned to 64")
    void sizesAreRoundedOrAligned() {
        try (Machine machine = builder().build()) {
            Device device = machine.addDevice(DeviceConfig.named("nic"));
            assertThat(map(device, 0x10_0000, 3 * PAGE)).isEqualTo(0xffff_c000L);
            assertThat(map(device, 0x10_0000, PAGE)).as("right below the 4").isEqualTo(0xffff_b000L);
            assertThat(map(device, 0x10_0000, 33 * PAGE)).isEqualTo(0xfffc_0000L);
            assertThat(map(device, 0x10_0000, PAGE)).isEqualTo(0xfffb_f000L);
            assertThat(map(device, 0x10_0000, 33 * PAGE)).as("64-aligned below").isEqualTo(0xfff8_0000L);
        }
    }

    @Test
    @DisplayName(
            "D6: beyond the width of a narrow unit a map is -EFAULT with width and end, and a lookup finds nothing")
    void narrowUnitRefusesWhatLiesBeyondItsWidth() {
        BackendOptions options =
                BackendOptions.NONE.with("iommu.widthBits", 39).with("iommu.tablePoolBytes", 64 * PAGE);
        try (Machine machine = builder().backendOptions(options).build()) {
            Device device = machine.addDevice(DeviceConfig.named("nic"));
            IommuPagingDomain domain = Iommu.of(machine).allocPagingDomain();
            domain.attach(device);
            assertThat(domain.map(0x88_0000_0000L, 0x20_0000, PAGE, RW)).isEqualTo(-Errno.EFAULT);
            assertThat(domain.iovaToPhys(0x88_0000_0000L)).isZero();
            assertThat(domain.leaves()).isEmpty();
            assertThat(log(machine))
                    .containsExactly(
                            "intel_iommu_map: iommu width (39) is not sufficient for the mapped address (8800001000)");
        }
    }

    @Test
    @DisplayName("D8: the driver builds as many levels as the unit walks, whichever it has")
    void tablesHaveTheLevelsOfTheUnit() {
        for (int bits : new int[] {39, 48, 57}) {
            BackendOptions options =
                    BackendOptions.NONE.with("iommu.widthBits", bits).with("iommu.tablePoolBytes", 64 * PAGE);
            try (Machine machine = builder().backendOptions(options).build()) {
                Device device = machine.addDevice(DeviceConfig.named("nic"));
                machine.memory().putLong(0x20_0000, 0x77);
                long dmaAddr = map(device, 0x20_0000, PAGE);
                assertThat(device.bus().readLong(dmaAddr)).isEqualTo(0x77);
                assertThat(Iommu.of(machine).domainOf(device).tablePages()).isEqualTo((bits - 12) / 9);
            }
        }
    }

    @Test
    @DisplayName("E6: an unmap of what was never mapped is one WARN and no change")
    void unmapOfAnAddressNeverMapped() {
        try (Machine machine = builder().build()) {
            Device device = machine.addDevice(DeviceConfig.named("nic"));
            long live = map(device, 0x20_0000, PAGE);
            String before = Iommu.of(machine).domainOf(device).toJson();
            device.dma().unmapPage(live - 0x10_0000, PAGE, DmaDirection.BIDIRECTIONAL, DmaAttrs.NONE);
            assertThat(machine.log().warnCount()).isEqualTo(1);
            assertThat(log(machine).get(0)).startsWith("nic: unmap of 0xffeff000+0x1000, which is not mapped");
            assertThat(Iommu.of(machine).domainOf(device).toJson()).isEqualTo(before);
            assertThat(map(device, 0x20_0000, PAGE)).isEqualTo(live - PAGE);
        }
    }

    @Test
    @DisplayName("E8: leaves are as large as device and physical address allow together")
    void largePageNeedsBothAlignments() {
        try (Machine machine = builder().build()) {
            Device device = machine.addDevice(DeviceConfig.named("nic"));
            IommuPagingDomain domain = Iommu.of(machine).allocPagingDomain();
            domain.attach(device);
            assertThat(domain.map(0x5fbe_0000, 0x4400_0000, 0x40_0000, RW)).isZero();
            assertThat(domain.leaves()).containsExactly(new LeafRun(0x5fbe_0000, 0x4400_0000, PAGE, 1024, RW));
            assertThat(domain.iovaToPhys(0x5fc0_0000)).isEqualTo(0x4402_0000);
            domain.unmap(0x5fbe_0000, 0x40_0000);
            assertThat(domain.map(0x5fbe_0000, 0x43fe_0000, 0x40_0000, RW)).isZero();
            assertThat(domain.leaves())
                    .containsExactly(
                            new LeafRun(0x5fbe_0000, 0x43fe_0000, PAGE, 32, RW),
                            new LeafRun(0x5fc0_0000, 0x4400_0000, 2 << 20, 1, RW),
                            new LeafRun(0x5fe0_0000, 0x4420_0000, PAGE, 480, RW));
        }
    }

    @Test
    @DisplayName("E10: a map over a live leaf leaves it, with the driver's message and a WARN, and returns 0")
    void mapOverAnExistingLeaf() {
        try (Machine machine = builder().build()) {
            IommuPagingDomain domain = Iommu.of(machine).allocPagingDomain();
            domain.map(0x1000, 0x800_0000, PAGE, RW);
            assertThat(domain.map(0x1000, 0x900_0000, PAGE, RW)).isZero();
            assertThat(domain.iovaToPhys(0x1000)).isEqualTo(0x800_0000);
            assertThat(log(machine))
                    .containsExactly("ERROR: DMA PTE for vPFN 0x1 already set (to 8000003 not 9000003)");
            assertThat(machine.log().warnCount()).isEqualTo(1);
        }
    }

    @Test
    @DisplayName("E11: unaligned requests map nothing and unmap nothing")
    void unalignedRequest() {
        try (Machine machine = builder().build()) {
            IommuPagingDomain domain = Iommu.of(machine).allocPagingDomain();
            assertThat(domain.map(0x1800, 0x1000, PAGE, RW)).isEqualTo(-Errno.EINVAL);
            assertThat(domain.map(0x1000, 0x1000, 0x800, RW)).isEqualTo(-Errno.EINVAL);
            assertThat(domain.unmap(0x1000, 0x800)).isZero();
            assertThat(domain.leaves()).isEmpty();
            assertThat(log(machine))
                    .containsExactly(
                            "unaligned: iova 0x1800 pa 0x0000000000001000 size 0x1000 min_pagesz 0x1000",
                            "unaligned: iova 0x1000 pa 0x0000000000001000 size 0x800 min_pagesz 0x1000",
                            "unaligned: iova 0x1000 size 0x800 min_pagesz 0x1000");
        }
    }

    @Test
    @DisplayName("E14: a page that is freed while mapped is named with its device and address, when asked for")
    void pageFreedWhileMapped() {
        try (Machine machine = builder().commandLine("iommu.debug_pagealloc=1").build()) {
            Device device = machine.addDevice(DeviceConfig.named("nic"));
            PageAllocator pages = machine.pages();
            long page = pages.allocPages(Zone.NORMAL, 1);
            long first = map(device, page, 2 * PAGE);
            long second = map(device, page + PAGE, PAGE);
            pages.freePages(page, 1);
            assertThat(log(machine))
                    .containsExactlyInAnyOrder(
                            "page " + hex(page) + " is freed while still mapped by nic, iova " + hex(first),
                            "page " + hex(page + PAGE) + " is freed while still mapped by nic, iova "
                                    + hex(first + PAGE),
                            "page " + hex(page + PAGE) + " is freed while still mapped by nic, iova " + hex(second));
            device.dma().unmapPage(first, 2 * PAGE, DmaDirection.BIDIRECTIONAL, DmaAttrs.NONE);
            device.dma().unmapPage(second, PAGE, DmaDirection.BIDIRECTIONAL, DmaAttrs.NONE);
            long again = pages.allocPages(Zone.NORMAL, 0);
            long live = map(device, again, PAGE);
            assertThat(live).isNotEqualTo(Dma.DMA_MAPPING_ERROR);
            device.dma().unmapPage(live, PAGE, DmaDirection.BIDIRECTIONAL, DmaAttrs.NONE);
            pages.freePages(again, 0);
            assertThat(machine.log().warnCount()).as("unmapped in time").isEqualTo(3);
        }
    }

    private static String hex(long value) {
        return "0x" + Long.toHexString(value);
    }

    @Test
    @DisplayName("E14: nobody watches unless asked to")
    void pageFreedWhileMappedGoesUnnoticedByDefault() {
        try (Machine machine = builder().build()) {
            Device device = machine.addDevice(DeviceConfig.named("nic"));
            long page = machine.pages().allocPages(Zone.NORMAL, 0);
            map(device, page, PAGE);
            machine.pages().freePages(page, 0);
            assertThat(log(machine)).isEmpty();
        }
    }
}
