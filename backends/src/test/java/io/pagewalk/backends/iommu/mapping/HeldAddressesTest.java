package io.pagewalk.backends.iommu.mapping;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.PhysRange;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The device addresses of domains, as a snapshot tells them. */
class HeldAddressesTest {
    private static Machine machine(String backend) {
        return Machine.builder()
                .ramBytes(64 << 20)
                .backend(backend)
                .hostBridgeWindows(List.of(PhysRange.ofSize(0xc000_0000L, 0x1000)))
                .build();
    }

    private static List<List<String>> addresses(Machine machine) {
        return machine.held().sections().stream()
                .filter(section -> section.name().equals("device addresses"))
                .findFirst()
                .orElseThrow()
                .rows();
    }

    private static List<String> statesAt(Machine machine, long iova) {
        return addresses(machine).stream()
                .filter(row -> row.get(1).equals("0x" + Long.toHexString(iova)))
                .map(row -> row.get(3))
                .toList();
    }

    @Test
    void rangesAreMappedOrReserved() {
        try (Machine machine = machine("iommu-strict")) {
            Device nic = machine.addDevice(DeviceConfig.named("nic"));
            long iova = nic.dma().mapPage(0x120_0000, 0x3000, DmaDirection.TO_DEVICE, 0);

            String first = "0x" + Long.toHexString(iova);
            String last = "0x" + Long.toHexString(iova + 0x3fff);
            assertThat(addresses(machine))
                    .contains(List.of("nic", "0xc0000000", "0xc0000fff", "reserved"))
                    .contains(List.of("nic", first, last, "mapped"));
        }
    }

    @Test
    void whatIsUnmappedWaitsForAFlushAndThenLiesInACache() {
        try (Machine machine = machine("iommu-lazy")) {
            Device nic = machine.addDevice(DeviceConfig.named("nic"));
            long iova = nic.dma().mapPage(0x120_0000, 0x1000, DmaDirection.TO_DEVICE, 0);
            assertThat(statesAt(machine, iova)).containsExactly("mapped");
            nic.dma().unmapPage(iova, 0x1000, DmaDirection.TO_DEVICE, 0);
            assertThat(statesAt(machine, iova)).containsExactly("waits for a flush");

            machine.clock().advance(20_000_000L);
            assertThat(statesAt(machine, iova)).containsExactly("cached");
            machine.quiesce();
            assertThat(statesAt(machine, iova)).isEmpty();
        }
    }
}
