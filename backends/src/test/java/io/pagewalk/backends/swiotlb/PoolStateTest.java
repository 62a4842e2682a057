package io.pagewalk.backends.swiotlb;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.held.HeldSection;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What bounce pools hold, as a snapshot tells it. */
class PoolStateTest {
    private static HeldSection section(Machine machine, String name) {
        return machine.held().sections().stream()
                .filter(section -> section.name().equals(name))
                .findFirst()
                .orElseThrow();
    }

    @Test
    void areasTellWhatIsFreeAndRunsWhatTheyBounce() {
        try (Machine machine = Machine.builder()
                .ramBytes(64 << 20)
                .cpus(2)
                .backend("swiotlb")
                .commandLine("swiotlb=512,2,force")
                .build()) {
            Device device = machine.addDevice(DeviceConfig.named("nic").withMinAlignMask(0xfff));
            long start = device.dma(0).mapPage(0x120_0a00, 0x1800, DmaDirection.TO_DEVICE, 0) & ~0xfffL;
            device.dma(0).mapPage(0x130_0000, 0x10, DmaDirection.TO_DEVICE, 0);
            device.dma(1).mapPage(0x140_0000, 0x800, DmaDirection.TO_DEVICE, 0);

            String base = "0x" + Long.toHexString(start);
            String second = "0x" + Long.toHexString(start + 256 * 2048);
            assertThat(section(machine, "bounce pool areas").rows())
                    .containsExactly(
                            List.of("default", base, "256", "5", "251", "128", "no"),
                            List.of("default", second, "256", "1", "255", "128", "no"));
            assertThat(section(machine, "bounce slots in use").columns())
                    .containsExactly("allocator", "start", "slots", "bytes", "bounces");
            assertThat(section(machine, "bounce slots in use").rows())
                    .extracting(row -> row.get(2) + " slots, " + row.get(3) + " bytes of " + row.get(4))
                    .containsExactly(
                            "4 slots, 6144 bytes of 0x1200a00",
                            "1 slots, 16 bytes of 0x1300000",
                            "1 slots, 2048 bytes of 0x1400000");
        }
    }

    @Test
    void mappingsSideBySideStayApart() {
        PoolWorld world = new PoolWorld(128, 1);
        Device device = world.device(0);
        world.map(device, 0x10_0000, 0x800);
        world.map(device, 0x20_0000, 0x900);
        world.map(device, 0x30_0000, 0x100);
        PoolState state = new PoolState();
        world.pool.tell(state);

        assertThat(state.sections().get(0).rows())
                .containsExactly(List.of("default", "0x2000000", "128", "4", "124", "124", "no"));
        assertThat(state.sections().get(1).rows())
                .containsExactly(
                        List.of("default", "0x2000000", "1", "2048", "0x100000"),
                        List.of("default", "0x2000800", "2", "2304", "0x200000"),
                        List.of("default", "0x2001800", "1", "256", "0x300000"));
    }

    @Test
    void memoryAllocatedFromAPoolBouncesNothing() {
        PoolWorld world = new PoolWorld(128, 1);
        Device device = world.device(0);
        world.pool.alloc(device, 0, 0x1000);
        PoolState state = new PoolState();
        world.pool.tell(state);

        assertThat(state.sections().get(1).rows()).extracting(row -> row.get(4)).containsExactly("-");
    }
}
