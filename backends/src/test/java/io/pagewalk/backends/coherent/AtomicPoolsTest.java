package io.pagewalk.backends.coherent;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.backends.RecordingCache;
import io.pagewalk.dma.ArchConfig;
import io.pagewalk.dma.CoherentBuffer;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.DmaAttrs;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.FailureReason;
import io.pagewalk.dma.Gfp;
import io.pagewalk.dma.KernelConfig;
import io.pagewalk.dma.KernelLog;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.memory.PhysRange;
import io.pagewalk.dma.memory.RamMap;
import io.pagewalk.dma.memory.ZoneLimits;
import io.pagewalk.dma.spi.DmaPages;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Memory for callers that must not wait (dma-core:ALC-4, ALC-11, ATM-1 to ATM-5). */
class AtomicPoolsTest {
    private static final long KIB = 1 << 10;
    private static final long MIB = 1 << 20;
    private static final long GIB = 1L << 30;

    private static Machine machine(RamMap ram, String commandLine, UnaryOperator<ArchConfig> change) {
        ArchConfig arch = change.apply(new RecordingCache().arch().withRemap(true));
        return Machine.builder()
                .ram(ram)
                .chunkBytes(1 << 16)
                .commandLine(commandLine)
                .kernelConfig(KernelConfig.distribution().withArch(arch))
                .build();
    }

    /** 6 GiB with a pool of 128 KiB for each zone, no bouncing. */
    private static Machine machine() {
        return machine(RamMap.sizedWithHole(6 * GIB), "swiotlb=noforce coherent_pool=128K", arch -> arch);
    }

    private static AtomicPools pools(Machine machine) {
        return Objects.requireNonNull(AtomicPools.of(machine));
    }

    private static Device device(Machine machine, long mask) {
        return machine.addDevice(
                io.pagewalk.dma.DeviceConfig.named("dev" + machine.devices().size())
                        .withCoherent(false)
                        .withCoherentMask(mask));
    }

    private static @Nullable CoherentBuffer atomic(Device device, long sizeBytes) {
        return device.dma().memory().allocCoherent(sizeBytes, Gfp.ATOMIC);
    }

    private static long physAddr(@Nullable CoherentBuffer buffer) {
        return buffer == null ? -1 : buffer.physAddr(0);
    }

    private static void assertIdle(Machine machine) {
        List<String> held = new ArrayList<>();
        machine.checkIdle(held::add);
        assertThat(held).isEmpty();
    }

    /** ATM-1. */
    @ParameterizedTest
    @CsvSource({
        "coherent_pool=256K, 0x40000000, 0x40000",
        "coherent_pool=2M, 0x40000000, 0x200000",
        "coherent_pool=0x30000, 0x40000000, 0x30000",
        "coherent_pool=1G, 0x40000000, 0x40000000",
        "coherent_pool=1m coherent_pool=64k, 0x40000000, 0x10000",
        "coherent_pool=0, 0x40000000, 0x20000",
        "coherent_pool=, 0x40000000, 0x20000",
        "quiet, 0x4000000, 0x20000",
        "quiet, 0x40000000, 0x20000",
        "quiet, 0x80000000, 0x40000",
        "quiet, 0x60000000, 0x30000",
        "quiet, 0x800000000, 0x400000",
        "quiet, 0x1000000000, 0x400000"
    })
    void sizeFollowsTheCommandLineOrTheMemory(String commandLine, String ramBytes, String poolBytes) {
        Machine machine = Machine.builder()
                .ram(RamMap.of(PhysRange.ofSize(0, Long.decode(ramBytes))))
                .commandLine(commandLine)
                .backend("virt")
                .build();
        assertThat(AtomicPools.baseBytes(machine)).isEqualTo(Long.decode(poolBytes));
    }

    @Test
    @DisplayName("ATM-2: one pool for each zone that has memory, rounded up to a block, at most the largest")
    void everyZoneHasAPool() {
        AtomicPools all = pools(machine());
        assertThat(all.sizeBytes(0)).isEqualTo(128 * KIB);
        assertThat(all.sizeBytes(Gfp.DMA)).isEqualTo(128 * KIB);
        assertThat(all.sizeBytes(Gfp.DMA32)).isEqualTo(128 * KIB);
        AtomicPools odd = pools(machine(RamMap.sizedWithHole(GIB), "coherent_pool=192K", arch -> arch));
        assertThat(odd.sizeBytes(0)).isEqualTo(256 * KIB);
        AtomicPools huge = pools(machine(RamMap.sizedWithHole(GIB), "coherent_pool=64M", arch -> arch));
        assertThat(huge.sizeBytes(0)).isEqualTo(4 * MIB);
        RamMap high = RamMap.of(PhysRange.ofSize(0x100_0000, 64 * MIB));
        AtomicPools withoutLow = pools(machine(high, "", arch -> arch));
        assertThat(withoutLow.sizeBytes(Gfp.DMA)).isZero();
        assertThat(withoutLow.sizeBytes(Gfp.DMA32)).isEqualTo(128 * KIB);
        AtomicPools plain = pools(machine(
                RamMap.sizedWithHole(GIB), "", arch -> arch.withZones(ZoneLimits.of(false, false, 0xff_ffffL))));
        assertThat(plain.sizeBytes(Gfp.DMA) + plain.sizeBytes(Gfp.DMA32)).isZero();
        assertThat(plain.sizeBytes(0)).isEqualTo(128 * KIB);
    }

    @Test
    @DisplayName("ATM-1: a boot says what it set aside")
    void bootSaysWhatItSetAside() {
        assertThat(machine().log().entries())
                .filteredOn(entry -> entry.kind() == KernelLog.Kind.INFO)
                .extracting(KernelLog.Entry::text)
                .containsExactly(
                        "preallocated 128 KiB NORMAL pool for atomic allocations (dma-core:ATM-1)",
                        "preallocated 128 KiB DMA pool for atomic allocations (dma-core:ATM-1)",
                        "preallocated 128 KiB DMA32 pool for atomic allocations (dma-core:ATM-1)");
    }

    @Test
    @DisplayName("a kernel that never remaps or decrypts has no pools")
    void plainKernelHasNoPools() {
        Machine pc = Machine.builder().ramBytes(GIB).build();
        assertThat(AtomicPools.of(pc)).isNull();
    }

    @Test
    @DisplayName("ALC-4: only callers that must not wait are served, and only what would be remapped")
    void poolsServeThoseWhoMustNotWait() {
        Machine machine = machine();
        Device device = device(machine, -1);
        assertThat(physAddr(atomic(device, 0x1000))).isEqualTo(4 * GIB);
        assertThat(physAddr(device.dma().alloc(0x1000))).as("may wait").isEqualTo(4 * GIB + 128 * KIB);
        Device coherent = machine.addDevice(io.pagewalk.dma.DeviceConfig.named("coherent"));
        assertThat(physAddr(atomic(coherent, 0x1000))).isEqualTo(4 * GIB + 132 * KIB);
        assertThat(machine.kernelMemory().vmapCount())
                .as("a pool is mapped already")
                .isEqualTo(1);
    }

    @Test
    @DisplayName("ATM-3: the limit chooses the pool")
    void limitChoosesThePool() {
        Machine machine = machine();
        assertThat(physAddr(atomic(device(machine, -1), 0x1000))).isEqualTo(4 * GIB);
        assertThat(physAddr(atomic(device(machine, 0xffff_ffffL), 0x1000))).isEqualTo(16 * MIB);
        assertThat(physAddr(atomic(device(machine, 0xff_ffffL), 0x1000))).isEqualTo(128 * KIB);
    }

    @Test
    @DisplayName("ATM-3, ATM-4: kernel, then DMA32, then DMA, then nothing, with a WARN unless told not to")
    void nextPoolsStandIn() {
        Machine machine = machine();
        Device device = device(machine, -1);
        assertThat(physAddr(atomic(device, 128 * KIB))).isEqualTo(4 * GIB);
        assertThat(physAddr(atomic(device, 128 * KIB))).as("DMA32").isEqualTo(16 * MIB);
        assertThat(physAddr(atomic(device, 0x1000))).as("DMA").isEqualTo(128 * KIB);
        assertThat(atomic(device, 128 * KIB)).isNull();
        assertThat(device.dma().lastFailure().reason()).isEqualTo(FailureReason.NO_MEMORY);
        assertThat(machine.log().warnCount()).isEqualTo(1);
        assertThat(machine.log().entries())
                .last()
                .extracting(KernelLog.Entry::text)
                .asString()
                .contains("dev0: no atomic pool has 0x20000 bytes in reach (dma-core:ATM-4)");
        assertThat(device.dma().memory().allocCoherent(128 * KIB, Gfp.ATOMIC | Gfp.NOWARN))
                .isNull();
        assertThat(device.dma().memory().allocAttrs(128 * KIB, Gfp.ATOMIC, DmaAttrs.NO_WARN))
                .isNull();
        assertThat(machine.log().warnCount()).isEqualTo(1);
    }

    @Test
    @DisplayName("ATM-3: after DMA comes nothing, after DMA32 comes DMA")
    void lowPoolsHaveFewerStandIns() {
        Machine machine = machine();
        Device low = device(machine, 0xff_ffffL);
        assertThat(physAddr(atomic(low, 128 * KIB))).isEqualTo(128 * KIB);
        assertThat(atomic(low, 0x1000)).isNull();
        Device dma32 = device(machine, 0xffff_ffffL);
        assertThat(physAddr(atomic(dma32, 128 * KIB))).isEqualTo(16 * MIB);
        assertThat(atomic(dma32, 0x1000)).as("DMA is full").isNull();
    }

    @Test
    @DisplayName("ATM-4, DIR-9: what lies out of reach goes back, and the next pool is asked")
    void poolOutOfReachIsLeftForTheNext() {
        Machine machine = machine();
        Device device = device(machine, 0x1_0000_0fffL);
        assertThat(physAddr(atomic(device, 0x2000)))
                .as("kernel's pool ends behind the mask")
                .isEqualTo(16 * MIB);
        assertThat(physAddr(atomic(device, 0x1000)))
                .as("its first page is free")
                .isEqualTo(4 * GIB);
    }

    @Test
    @DisplayName("ATM-4: memory is zeroed, rounded to pages, aligned to its order, the first fit")
    void firstFitIsAlignedToItsOrder() {
        Machine machine = machine();
        machine.cpuMemory().fill(4 * GIB, 128 * KIB, (byte) 0x77);
        Device device = device(machine, -1);
        CoherentBuffer one = Objects.requireNonNull(atomic(device, 1));
        assertThat(one.physAddr(0)).isEqualTo(4 * GIB);
        assertThat(machine.cpuMemory().getLong(4 * GIB + 0xff8)).isZero();
        assertThat(machine.cpuMemory().getByte(4 * GIB + 0x1000)).isEqualTo((byte) 0x77);
        assertThat(physAddr(atomic(device, 0x3000))).isEqualTo(4 * GIB + 0x4000);
        assertThat(physAddr(atomic(device, 0x1000))).isEqualTo(4 * GIB + 0x1000);
        assertThat(physAddr(atomic(device, 0x1000))).isEqualTo(4 * GIB + 0x2000);
        one.close();
        assertThat(physAddr(atomic(device, 0x1000))).as("ATM-5").isEqualTo(4 * GIB);
    }

    @Test
    @DisplayName("ATM-2: when less than the base size is free, work in the background doubles the pool")
    void poolGrowsInTheBackground() {
        Machine machine = machine();
        Device device = device(machine, -1);
        CoherentBuffer first = Objects.requireNonNull(atomic(device, 0x1000));
        assertThat(machine.clock().armedTimers()).isEqualTo(1);
        long before = machine.pages().freeBytes();
        machine.clock().advance(0);
        assertThat(machine.pages().freeBytes()).as("the kernel's pool only").isEqualTo(before - 128 * KIB);
        assertThat(physAddr(atomic(device, 128 * KIB))).isEqualTo(4 * GIB + 128 * KIB);
        before = machine.pages().freeBytes();
        machine.clock().advance(0);
        assertThat(machine.pages().freeBytes()).as("as large as it is").isEqualTo(before - 256 * KIB);
        CoherentBuffer last = Objects.requireNonNull(atomic(device, 128 * KIB));
        assertThat(last.physAddr(0)).isEqualTo(4 * GIB + 256 * KIB);
        assertThat(machine.clock().armedTimers()).as("252 KiB are free").isZero();
        first.close();
        last.close();
    }

    @Test
    @DisplayName("ATM-2: a chunk is at most 4 MiB, and smaller when there is no more")
    void growthIsCapped() {
        Machine machine = machine(RamMap.sizedWithHole(GIB), "coherent_pool=4M", arch -> arch);
        Device device = device(machine, -1);
        atomic(device, 0x1000);
        machine.clock().advance(0);
        atomic(device, 4 * MIB);
        long before = machine.pages().freeBytes();
        machine.clock().advance(0);
        assertThat(machine.pages().freeBytes()).isEqualTo(before - 4 * MIB);
        Machine failing = machine();
        failing.failures().failNth("direct.atomicPool", 1);
        atomic(device(failing, -1), 0x1000);
        before = failing.pages().freeBytes();
        failing.clock().advance(0);
        assertThat(failing.pages().freeBytes()).isEqualTo(before - 64 * KIB);
    }

    @Test
    @DisplayName("B8: five taken and four given back for each load: the pool ends after as many loads as it has pages")
    void leakOfOneBufferForEachLoadEndsAtACountedLoad() {
        Machine machine = machine(
                RamMap.of(PhysRange.ofSize(0, 64 * MIB)),
                "coherent_pool=2M",
                arch -> arch.withZones(ZoneLimits.of(false, false, 0xff_ffffL)));
        Device device = device(machine, -1);
        int loads = 0;
        while (load(device)) {
            loads++;
        }
        assertThat(loads)
                .as("512 pages: the load that needs a fifth page fails")
                .isEqualTo(508);
        List<String> held = new ArrayList<>();
        machine.checkIdle(held::add);
        assertThat(held).anyMatch(line -> line.contains("the atomic pool of zone NORMAL has 2080768 bytes in use"));
    }

    @Test
    @DisplayName("iommu:DALLOC-1: behind an IOMMU the pools serve the same callers, whatever the device's mask reaches")
    void poolsServeDevicesBehindAnIommu() {
        ArchConfig arch = new RecordingCache().arch().withRemap(true);
        Machine machine = Machine.builder()
                .ram(RamMap.sizedWithHole(6 * GIB))
                .chunkBytes(1 << 16)
                .backend("iommu-strict")
                .commandLine("coherent_pool=128K")
                .kernelConfig(KernelConfig.distribution().withArch(arch))
                .build();
        Device device = device(machine, 0xffff_ffffL);
        CoherentBuffer buffer = Objects.requireNonNull(atomic(device, 0x3000));
        long pool = buffer.physAddr(0);
        assertThat(pool).as("mask or not").isGreaterThanOrEqualTo(4 * GIB);
        assertThat(buffer.dmaAddr()).isEqualTo(0xffff_c000L);
        assertThat(physAddr(atomic(device, 0x1000))).as("the first fit").isEqualTo(pool + 0x3000);
        assertThat(physAddr(atomic(device, 128 * KIB)))
                .as("no room in the first pool")
                .isBetween(16 * MIB, 4 * GIB);
        assertThat(Addresses.contains(pool, 128 * KIB, physAddr(device.dma().alloc(0x1000)), 1))
                .as("may wait")
                .isFalse();
        Device coherent = machine.addDevice(io.pagewalk.dma.DeviceConfig.named("coherent"));
        assertThat(Addresses.contains(pool, 128 * KIB, physAddr(atomic(coherent, 0x1000)), 1))
                .as("coherent")
                .isFalse();
        buffer.close();
        assertThat(physAddr(atomic(device, 0x2000))).as("given back").isEqualTo(pool);
        DmaPages pages = Objects.requireNonNull(
                device.dma().memory().allocPages(0x1000, DmaDirection.BIDIRECTIONAL, Gfp.ATOMIC));
        assertThat(Addresses.contains(pool, 128 * KIB, pages.physAddr(), 1))
                .as("not coherent memory")
                .isFalse();
    }

    private static boolean load(Device device) {
        List<CoherentBuffer> taken = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            CoherentBuffer buffer = device.dma().memory().allocCoherent(0x1000, Gfp.ATOMIC | Gfp.NOWARN);
            if (buffer == null) {
                taken.forEach(CoherentBuffer::close);
                return false;
            }
            taken.add(buffer);
        }
        taken.subList(0, 4).forEach(CoherentBuffer::close);
        return true;
    }

    @Test
    @DisplayName("ALC-11: pages for streaming take from pools only when they must be decrypted")
    void streamingPagesTakeFromPoolsOnlyForDecryption() {
        Machine remapping = machine();
        var plain = Objects.requireNonNull(
                device(remapping, -1).dma().memory().allocPages(0x1000, DmaDirection.TO_DEVICE, Gfp.ATOMIC));
        assertThat(plain.physAddr()).isEqualTo(4 * GIB + 128 * KIB);
        Machine decrypting = machine(
                RamMap.sizedWithHole(6 * GIB),
                "swiotlb=noforce coherent_pool=128K",
                arch -> arch.withForcedDecryption(true).withRemap(false));
        Device device = device(decrypting, -1);
        var memory = device.dma().memory();
        var pooled = Objects.requireNonNull(memory.allocPages(0x1000, DmaDirection.TO_DEVICE, Gfp.ATOMIC));
        assertThat(pooled.physAddr()).isEqualTo(4 * GIB);
        var waited = Objects.requireNonNull(memory.allocPages(0x1000, DmaDirection.TO_DEVICE, Gfp.KERNEL));
        assertThat(waited.physAddr()).isEqualTo(4 * GIB + 128 * KIB);
        memory.freePages(0x1000, pooled.physAddr(), pooled.dmaAddr(), DmaDirection.TO_DEVICE);
        memory.freePages(0x1000, waited.physAddr(), waited.dmaAddr(), DmaDirection.TO_DEVICE);
        assertIdle(decrypting);
    }
}
