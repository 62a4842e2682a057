package io.pagewalk.trace.held;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.MachineBuilder;
import io.pagewalk.dma.held.HeldSection;
import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.Test;

class HeldJsonTest {
    private static MachineBuilder builder() {
        return Machine.builder().ramBytes(64 << 20).backend("swiotlb").commandLine("swiotlb=512,1,force");
    }

    private static JsonNode json(Machine machine) throws IOException {
        return new ObjectMapper().readTree(HeldJson.text(machine.held()));
    }

    @Test
    void aSnapshotIsOneObject() throws IOException {
        try (Machine machine = builder().ledger().build()) {
            Device nic = machine.addDevice(DeviceConfig.named("nic"));
            machine.clock().advance(3);
            nic.dma().map(0x120_0000, 0x900, DmaDirection.TO_DEVICE).ownedBy("tx");
            nic.dma().alloc(0x1000);
            machine.addHeldSource(() -> List.of(new HeldSection("pins", List.of("pid"), List.of(List.of("7")))));

            JsonNode root = json(machine);

            assertThat(root.path("timeNanos").asLong()).isEqualTo(3);
            assertThat(root.path("backend").asText()).isEqualTo("swiotlb");
            JsonNode mapping =
                    root.path("ranges").get(root.path("ranges").get(0).has("owner") ? 0 : 1);
            assertThat(mapping.path("kind").asText()).isEqualTo("PAGE");
            assertThat(mapping.path("physAddr").asText()).isEqualTo("0x1200000");
            assertThat(mapping.path("sizeBytes").asLong()).isEqualTo(0x900);
            assertThat(mapping.path("direction").asText()).isEqualTo("TO_DEVICE");
            assertThat(mapping.path("owner").asText()).isEqualTo("tx");
            assertThat(mapping.path("sinceNanos").asLong()).isEqualTo(3);
            assertThat(mapping.path("dmaAddr").asText()).startsWith("0x");
            assertThat(mapping.path("device").asText()).isEqualTo("nic");
            JsonNode other = root.path("ranges").get(root.path("ranges").get(0).has("owner") ? 1 : 0);
            assertThat(other.has("physAddr")).isFalse();
            assertThat(root.path("owners").get(1).toString())
                    .isEqualTo("{\"owner\":\"tx\",\"mappings\":1,\"mappedBytes\":2304,\"allocations\":0,"
                            + "\"allocatedBytes\":0}");
            assertThat(root.path("metrics").path("POOL_USED_SLOTS").asLong()).isEqualTo(2);
            assertThat(root.path("sections")
                            .path("bounce slots in use")
                            .get(0)
                            .path("bounces")
                            .asText())
                    .isEqualTo("0x1200000");
            assertThat(root.path("sections").path("pins").get(0).path("pid").asText())
                    .isEqualTo("7");
        }
    }

    @Test
    void withoutALedgerThereAreNoRanges() throws IOException {
        try (Machine machine = builder().build()) {
            JsonNode root = json(machine);

            assertThat(root.has("ranges")).isFalse();
            assertThat(root.has("owners")).isFalse();
            assertThat(root.path("sections").path("bounce slots in use").isArray())
                    .isTrue();
        }
    }
}
