package io.pagewalk.backends.direct;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.Access;
import io.pagewalk.dma.BusFault;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceBus;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.DmaRange;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.PhysRange;
import io.pagewalk.dma.memory.RamMap;
import io.pagewalk.dma.spi.BusPort;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** What a device reaches without an IOMMU. */
class DirectPortTest {
    private final Machine machine = Machine.builder()
            .ram(RamMap.of(PhysRange.ofSize(0, 64 << 20)))
            .chunkBytes(1 << 16)
            .build();

    private int lastFault() {
        BusFault fault = machine.faults().recent().get(machine.faults().recent().size() - 1);
        return fault.code();
    }

    @Test
    void addressesArePhysicalOnes() {
        DeviceBus bus = machine.addDevice(DeviceConfig.named("dev")).bus();
        byte[] much = new byte[0x2_0000];
        java.util.Arrays.fill(much, (byte) 7);
        assertThat(bus.write(0x1_fff8, much, 0, much.length)).isEqualTo(much.length);
        assertThat(machine.memory().getByte(0x1_fff8 + 0x1_ffffL)).isEqualTo((byte) 7);
        assertThat(bus.readLong(64 << 20)).isEqualTo(-1L);
        assertThat(lastFault()).isEqualTo(DeviceBus.NOT_RAM);
        assertThat(bus.readLong(-8)).isEqualTo(-1L);
        assertThat(lastFault()).isEqualTo(DeviceBus.NOT_RAM);
    }

    @Test
    void rangesMoveAddressesAndEndWhereTheyEnd() {
        Device device = machine.addDevice(DeviceConfig.named("dev")
                .withRanges(new DmaRange(0x10_0000, 0x8000_0000L, 0x1000), new DmaRange(0, 0x8000_1000L, 0x1000)));
        DeviceBus bus = device.bus();
        byte[] bytes = new byte[0x1800];
        java.util.Arrays.fill(bytes, (byte) 9);
        assertThat(bus.write(0x8000_0800L, bytes, 0, bytes.length)).isEqualTo(0x1800);
        assertThat(machine.memory().getByte(0x10_0800)).isEqualTo((byte) 9);
        assertThat(machine.memory().getByte(0x10_1000)).isZero();
        assertThat(machine.memory().getByte(0)).isEqualTo((byte) 9);
        assertThat(machine.memory().getByte(0xfff)).isEqualTo((byte) 9);
        assertThat(bus.write(0x8000_1800L, bytes, 0, bytes.length)).isEqualTo(0x800);
        assertThat(lastFault()).isEqualTo(DirectPort.NO_RANGE);
        assertThat(machine.faults().recent())
                .singleElement()
                .extracting(BusFault::dmaAddr)
                .isEqualTo(0x8000_2000L);
    }

    @Test
    void faultsAreSaidInWords() {
        DirectPort port = new DirectPort(java.util.List.of(), 0);
        assertThat(port.faultText(DirectPort.NO_RANGE)).contains("dma-ranges");
        assertThat(port.faultText(9)).isEqualTo("fault 9");
        assertThat(port.spanBytes(5)).isEqualTo(-1L);
    }

    @Test
    void wiresEndBeforeMemoryDoes() {
        DeviceBus bus =
                machine.addDevice(DeviceConfig.named("isa").withAddressBits(24)).bus();
        assertThat(bus.writeLong(0xff_fff8, 1)).isEqualTo(8);
        assertThat(bus.writeLong(0x100_0000, 1)).isZero();
        assertThat(lastFault()).isEqualTo(DeviceBus.BEYOND_WIRES);
    }

    @Test
    @DisplayName("of two entries that overlap the first wins, for the bus as for the driver (DIR-3)")
    void aSpanEndsWhereAnEarlierEntryBegins() {
        DirectPort port = new DirectPort(
                List.of(new DmaRange(0x50_0000, 0x8000_1000L, 0x1000), new DmaRange(0x10_0000, 0x8000_0000L, 0x4000)),
                0);
        assertThat(port.spanBytes(0x8000_0800L)).isEqualTo(0x800);
        assertThat(port.spanBytes(0x8000_1800L)).isEqualTo(0x800);
        assertThat(port.spanBytes(0x8000_2800L)).isEqualTo(0x1800);
        assertThat(port.translate(0x8000_0fffL, Access.READ)).isEqualTo(0x10_0fff);
        assertThat(port.translate(0x8000_1000L, Access.READ)).isEqualTo(0x50_0000);
        assertThat(port.translate(0x8000_2000L, Access.READ)).isEqualTo(0x10_2000);
    }

    @Test
    void anEntryThatWouldGoOnAtAddressZeroEndsAtTheTop() {
        DirectPort port = new DirectPort(List.of(new DmaRange(0x10_0000, -0x1000L, 0x2000)), 0);
        assertThat(port.translate(-1L, Access.READ)).isEqualTo(0x10_0fff);
        assertThat(BusPort.isFault(port.translate(0, Access.READ))).isTrue();
    }
}
