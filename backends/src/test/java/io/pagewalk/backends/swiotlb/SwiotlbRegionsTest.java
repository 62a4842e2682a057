package io.pagewalk.backends.swiotlb;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.Gfp;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.RestrictedPool;
import io.pagewalk.dma.memory.PhysRange;
import io.pagewalk.dma.memory.RamMap;
import io.pagewalk.dma.spi.BackendOptions;
import io.pagewalk.dma.spi.Metric;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Restricted pools beside the default one (SWX-1, SWX-2), and what a swiotlb does with the memory that it takes. */
class SwiotlbRegionsTest {
    private static final long MIB = 1 << 20;
    private static final long WIFI_BASE = 16 * MIB;
    private static final long GPU_BASE = 32 * MIB;

    private final Machine machine = Machine.builder()
            .ram(RamMap.of(PhysRange.ofSize(0, 64 * MIB)))
            .chunkBytes(1 << 16)
            .commandLine("swiotlb=512,1,force")
            .restrictedPools(
                    RestrictedPool.of("wifi", PhysRange.ofSize(WIFI_BASE, 0x4_0000)),
                    RestrictedPool.of("gpu", PhysRange.ofSize(GPU_BASE, 0x8_0000)),
                    new RestrictedPool(
                            "cma", PhysRange.ofSize(48 * MIB, MIB), Set.of(RestrictedPool.Property.REUSABLE)))
            .build();
    private final Swiotlb swiotlb = Swiotlb.of(machine);

    private Device device(String region) {
        return machine.addDevice(DeviceConfig.named(region + "-dev").withRestrictedPool(region));
    }

    private List<String> wrong(boolean idle) {
        List<String> wrong = new ArrayList<>();
        if (idle) {
            swiotlb.checkIdle(wrong::add);
        } else {
            swiotlb.checkStructure(wrong::add);
        }
        return wrong;
    }

    @Test
    @DisplayName("SWX-1: each device gets the region of its name, and what was there before is zeroed")
    void regionIsFoundByNameAndZeroed() {
        machine.cpuMemory().fill(GPU_BASE - 1, 0x8_0002, (byte) 0x55);
        assertThat(swiotlb.restrictedMem("gpu")).isNull();
        Device gpu = device("gpu");
        SwiotlbPool mem = Objects.requireNonNull(swiotlb.restrictedMem("gpu"));
        assertThat(mem.start()).isEqualTo(GPU_BASE);
        assertThat(mem.slots()).isEqualTo(256);
        assertThat(swiotlb.ioTlbOf(gpu).mem()).isSameAs(mem);
        byte[] bytes = new byte[0x8_0002];
        machine.cpuMemory().read(GPU_BASE - 1, bytes, 0, bytes.length);
        assertThat(bytes[0]).isEqualTo((byte) 0x55);
        assertThat(bytes[bytes.length - 1]).isEqualTo((byte) 0x55);
        assertThat(Arrays.copyOfRange(bytes, 1, bytes.length - 1)).isEqualTo(new byte[0x8_0000]);
        assertThat(swiotlb.restrictedMem("wifi")).isNull();
        assertThat(machine.log().entries()).noneMatch(entry -> entry.text().contains("gpu"));
        assertThatThrownBy(() -> swiotlb.attachRestricted(gpu, "nic"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("no restricted pool nic");
    }

    @Test
    @DisplayName("SWX-1: a region that must not be one leaves the default allocator, with a message")
    void forbiddenRegionLeavesTheDefaultAllocator() {
        Device device = device("cma");
        assertThat(swiotlb.ioTlbOf(device).mem()).isSameAs(swiotlb.defaultMem());
        assertThat(swiotlb.attachRestricted(device, "cma")).isEqualTo(-Errno.EINVAL);
        assertThat(machine.log()
                        .entries()
                        .get(machine.log().entries().size() - 1)
                        .text())
                .isEqualTo("cma-dev cannot use the restricted pool cma: EINVAL (dma-core:SWX-1)");
    }

    @Test
    @DisplayName("SWX-1: no memory for the allocator is ENOMEM, and changes nothing")
    void allocatorThatCannotBeHadIsEnomem() {
        Device device = machine.addDevice(DeviceConfig.named("dev"));
        machine.failures().failNth("swiotlb.restricted", 1);
        assertThat(swiotlb.attachRestricted(device, "wifi")).isEqualTo(-Errno.ENOMEM);
        assertThat(swiotlb.ioTlbOf(device).mem()).isSameAs(swiotlb.defaultMem());
        assertThat(swiotlb.attachRestricted(device, "wifi")).isZero();
        assertThat(swiotlb.ioTlbOf(device).mem()).isSameAs(swiotlb.restrictedMem("wifi"));
        swiotlb.detachRestricted(device);
        assertThat(swiotlb.ioTlbOf(device).mem()).as("SWX-2").isSameAs(swiotlb.defaultMem());
    }

    @Test
    @DisplayName("SWF-1: copies of restricted pools count with the default allocator's, their slots do not")
    void reportAddsTheCopiesOfRestrictedPools() {
        Device wifi = device("wifi");
        Device plain = machine.addDevice(DeviceConfig.named("plain"));
        wifi.dma().mapPage(0x5000, 0x30, DmaDirection.TO_DEVICE, 0);
        plain.dma().mapPage(0x5000, 0x1000, DmaDirection.TO_DEVICE, 0);
        Map<Metric, Long> metrics = new EnumMap<>(Metric.class);
        swiotlb.report(metrics::put);
        assertThat(metrics)
                .isEqualTo(Map.of(
                        Metric.BYTES_BOUNCED, 0x1030L,
                        Metric.POOL_SLOTS, 512L,
                        Metric.POOL_PEAK_SLOTS, 2L,
                        Metric.POOL_USED_SLOTS, 2L));
    }

    @Test
    @DisplayName("the checks look at every pool")
    void checksCoverRestrictedPools() {
        Device wifi = device("wifi");
        assertThat(wrong(true)).isEmpty();
        wifi.dma().mapPage(0x5000, 0x30, DmaDirection.TO_DEVICE, 0);
        assertThat(wrong(true)).hasSize(2).allMatch(text -> text.contains("swiotlb pool at 0x1000000+0x40000"));
        assertThat(wrong(false)).isEmpty();
        SwiotlbPool mem = Objects.requireNonNull(swiotlb.restrictedMem("wifi"));
        mem.free(wifi, WIFI_BASE);
        assertThat(wrong(true)).isEmpty();
        mem.unmap(offset(), 0, WIFI_BASE + 1, 0, DmaDirection.TO_DEVICE, 0);
        assertThat(wrong(false))
                .as("SWR-6: a release of what is free, with an offset")
                .anyMatch(text -> text.contains("area 0 counts -1 slots in use, 0 are"));
    }

    private Device offset() {
        return machine.addDevice(DeviceConfig.named("offset").withMinAlignMask(0x7ff));
    }

    @Test
    @DisplayName("SWC-9, SWC-20: a late pool's memory is zeroed")
    void latePoolIsZeroed() {
        Machine late = Machine.builder()
                .ram(RamMap.of(PhysRange.ofSize(0, 64 * MIB)))
                .chunkBytes(1 << 16)
                .build();
        Swiotlb its = Swiotlb.of(late);
        assertThat(its.initLate(2 * MIB, Gfp.KERNEL, null)).isZero();
        long start = its.defaultMem().start();
        its.exit();
        late.cpuMemory().fill(start, 2 * MIB, (byte) 0x55);
        assertThat(its.initLate(2 * MIB, Gfp.KERNEL, null)).isZero();
        assertThat(its.defaultMem().start()).isEqualTo(start);
        byte[] bytes = new byte[(int) (2 * MIB)];
        late.cpuMemory().read(start, bytes, 0, bytes.length);
        assertThat(bytes).isEqualTo(new byte[bytes.length]);
    }

    @Test
    @DisplayName("SWC-8: more slots than 4 GiB hold are halved like any other size, not wrapped")
    void requestBeyondAllAddressesIsHalved() {
        Machine huge = Machine.builder()
                .ram(RamMap.of(PhysRange.ofSize(0, 64 * MIB)))
                .chunkBytes(1 << 16)
                .commandLine("swiotlb=0x20000000000000,1")
                .backend("virt")
                .build();
        SwiotlbPool mem = SwiotlbBoot.boot(huge, BackendOptions.NONE, true).defaultMem();
        assertThat(mem.slots()).isEqualTo(0x4000);
        assertThat(huge.log().entries())
                .anyMatch(entry -> entry.text()
                        .equals("bounce pool adjusted from 9007199254740992 to 16384 slots (dma-core:SWC-8)"));
    }

    @Test
    @DisplayName("a place without any RAM is refused though nobody hands it out")
    void placeBehindRamIsRefused() {
        Machine small = Machine.builder()
                .ram(RamMap.of(PhysRange.ofSize(0, 64 * MIB)))
                .commandLine("swiotlb=1024")
                .backend("virt")
                .build();
        BackendOptions behind = BackendOptions.NONE.with(SwiotlbBoot.POOL_BASE_OPTION, 128 * MIB);
        assertThatThrownBy(() -> SwiotlbBoot.boot(small, behind, true))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("0x8000000");
    }
}
