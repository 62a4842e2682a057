package io.pagewalk.model;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.DmaException;
import io.pagewalk.dma.DmaMapping;
import io.pagewalk.dma.FailureReason;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.MapPolicy;
import io.pagewalk.dma.memory.CpuCacheOptions;
import io.pagewalk.kit.DmaInvariants;
import io.pagewalk.kit.SmallWorld;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** What the convenience API does with a buffer that cannot be mapped as it lies. */
class MapPolicyTest {
    private static final long BUFFER = SmallWorld.ARENAS.get(0).first() + 0x123;
    /** More than a bounce buffer ever holds. */
    private static final int SIZE = 0x5_0000;

    private static byte[] filled(int value) {
        byte[] bytes = new byte[SIZE];
        Arrays.fill(bytes, (byte) value);
        return bytes;
    }

    private static byte[] cpuReads(Machine machine) {
        byte[] bytes = new byte[SIZE];
        machine.cpuMemory().read(BUFFER, bytes, 0, SIZE);
        return bytes;
    }

    private static byte[] deviceReads(Device device, DmaMapping mapping) {
        byte[] bytes = new byte[SIZE];
        assertThat(device.bus().read(mapping.dmaAddr(), bytes, 0, SIZE)).isEqualTo(SIZE);
        return bytes;
    }

    @ParameterizedTest
    @CsvSource({"COPY, true", "COPY, false", "BOUNCE, true", "BOUNCE, false"})
    void otherMemoryStandsInForARequestThatCanNeverBounce(MapPolicy policy, boolean coherent) {
        Machine machine = SmallWorld.of("swiotlb")
                .withCpuCache(CpuCacheOptions.DEFAULT)
                .builder()
                .commandLine("swiotlb=1024,1,force")
                .build();
        Device device = machine.addDevice(DeviceConfig.named("nic").withCoherent(coherent));
        machine.cpuMemory().write(BUFFER, filled(1), 0, SIZE);
        try (DmaMapping mapping = device.dma().map(BUFFER, SIZE, DmaDirection.BIDIRECTIONAL, policy)) {
            assertThat(mapping.isStandIn()).isTrue();
            assertThat(mapping.sizeBytes()).isEqualTo(SIZE);
            assertThat(deviceReads(device, mapping)).isEqualTo(filled(1));

            machine.cpuMemory().write(BUFFER, filled(2), 0, SIZE);
            mapping.syncForDevice();
            assertThat(deviceReads(device, mapping)).isEqualTo(filled(2));

            device.bus().write(mapping.dmaAddr(), filled(3), 0, SIZE);
            assertThat(cpuReads(machine)).isEqualTo(filled(2));
            mapping.syncForCpu();
            assertThat(cpuReads(machine)).isEqualTo(filled(3));
            device.bus().write(mapping.dmaAddr(), filled(4), 0, SIZE);
        }
        assertThat(cpuReads(machine)).isEqualTo(filled(4));
        DmaInvariants.checkIdle(machine);
        machine.close();
    }

    @ParameterizedTest
    @EnumSource(
            value = MapPolicy.class,
            names = {"COPY", "BOUNCE"})
    void nothingComesBackOfAMappingThatTheDeviceOnlyReads(MapPolicy policy) {
        Machine machine = SmallWorld.of("swiotlb")
                .builder()
                .commandLine("swiotlb=1024,1,force")
                .build();
        Device device = machine.addDevice(DeviceConfig.named("nic"));
        try (DmaMapping mapping = device.dma().map(BUFFER, SIZE, DmaDirection.TO_DEVICE, policy)) {
            device.bus().write(mapping.dmaAddr(), filled(3), 0, SIZE);
            mapping.syncForCpu();
            assertThat(cpuReads(machine)).isEqualTo(filled(0));
        }
        assertThat(cpuReads(machine)).isEqualTo(filled(0));
        machine.close();
    }

    @ParameterizedTest
    @EnumSource(
            value = MapPolicy.class,
            names = {"COPY", "BOUNCE"})
    void bytesThatTheDeviceDoesNotWriteComeBackAsTheyWere(MapPolicy policy) {
        Machine machine = SmallWorld.of("swiotlb")
                .builder()
                .commandLine("swiotlb=1024,1,force")
                .build();
        Device device = machine.addDevice(DeviceConfig.named("nic"));
        machine.cpuMemory().write(BUFFER, filled(7), 0, SIZE);
        try (DmaMapping mapping = device.dma().map(BUFFER, SIZE, DmaDirection.FROM_DEVICE, policy)) {
            device.bus().write(mapping.dmaAddr(), new byte[] {1, 2}, 0, 2);
            machine.cpuMemory().putByte(BUFFER + 9, (byte) 8);
            mapping.syncForDevice();
        }
        byte[] expected = filled(7);
        expected[0] = 1;
        expected[1] = 2;
        assertThat(cpuReads(machine)).isEqualTo(expected);
        machine.close();
    }

    @Test
    void aBufferThatCanBeMappedIsMappedAsItLies() {
        try (Machine machine = SmallWorld.of("direct").builder().build()) {
            Device device = machine.addDevice(DeviceConfig.named("nic"));
            try (DmaMapping mapping = device.dma().map(BUFFER, SIZE, DmaDirection.TO_DEVICE, MapPolicy.COPY)) {
                assertThat(mapping.isStandIn()).isFalse();
                assertThat(mapping.dmaAddr()).isEqualTo(BUFFER);
                mapping.syncForDevice();
                mapping.syncForCpu();
            }
        }
    }

    @Test
    void failingIsTheDefaultAndHasTheCause() {
        try (Machine machine = SmallWorld.of("swiotlb").builder().build()) {
            Device device = machine.addDevice(DeviceConfig.named("nic"));
            for (int i = 0; i < 2; i++) {
                boolean named = i == 1;
                DmaException refused = catchThrowableOfType(
                        DmaException.class,
                        () -> (named
                                        ? device.dma().map(BUFFER, SIZE, DmaDirection.TO_DEVICE, MapPolicy.FAIL)
                                        : device.dma().map(BUFFER, SIZE, DmaDirection.TO_DEVICE))
                                .close());
                assertThat(refused.failure().reason()).isEqualTo(FailureReason.EXCEEDS_MAX_MAPPING);
                assertThat(refused.getSuppressed()).isEmpty();
            }
        }
    }

    @Test
    void whenNothingCanStandInBothCausesAreTold() {
        try (Machine machine = SmallWorld.of("swiotlb").builder().build()) {
            Device device = machine.addDevice(DeviceConfig.named("nic"));
            machine.failures().failNth("direct.pages", 1);
            assertThatThrownBy(() -> device.dma()
                            .map(BUFFER, SIZE, DmaDirection.TO_DEVICE, MapPolicy.COPY)
                            .close())
                    .isInstanceOfSatisfying(DmaException.class, refused -> {
                        assertThat(refused.failure().reason()).isEqualTo(FailureReason.EXCEEDS_MAX_MAPPING);
                        assertThat(refused.getSuppressed()).hasSize(1);
                        assertThat(refused.getSuppressed()[0])
                                .hasMessage(
                                        "nic cannot take memory to stand in for it (policy COPY): INJECTED (ENOMEM; "
                                                + "disarm the machine's failure injection)");
                    });
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = MapPolicy.class,
            names = {"COPY", "BOUNCE"})
    void nothingStandsInForWhatIsNoMemoryAndNothingIsTakenForIt(MapPolicy policy) {
        Machine machine = SmallWorld.of("swiotlb")
                .builder()
                .commandLine("swiotlb=1024,1,force")
                .build();
        Device device = machine.addDevice(DeviceConfig.named("nic").withMask(0xff_ffffL));
        long end = SmallWorld.ARENAS.get(1).last() + 1;
        long free = machine.pages().freeBytes();
        assertThatThrownBy(() -> device.dma().map(end - 1, SIZE, DmaDirection.BIDIRECTIONAL, policy))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("is not RAM");
        assertThat(machine.pages().freeBytes()).isEqualTo(free);
        DmaInvariants.checkIdle(machine);
        machine.close();
    }
}
