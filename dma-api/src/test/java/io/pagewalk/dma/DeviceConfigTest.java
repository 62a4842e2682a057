package io.pagewalk.dma;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.fake.World;
import io.pagewalk.dma.memory.CmaAreas;
import io.pagewalk.dma.memory.PhysRange;
import io.pagewalk.dma.spi.DmaOps;
import io.pagewalk.dma.spi.DummyOps;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a device is before its driver touches it: each setting by itself, and its defaults (DEV-2 to DEV-6). */
class DeviceConfigTest {
    private static final DmaOps OPS = new DummyOps();
    private static final DmaRange RANGE = new DmaRange(0x1000, 0x2000, 0x3000);
    private static final DmaRange BUS_RANGE = new DmaRange(0x4000, 0x5000, 0x6000);
    private static final PciPlace PLACE = PciPlace.below(PciBridge.port(8, true));
    private static final PhysRange REGION = PhysRange.ofSize(0x8000, 0x1000);

    private static Map<String, Function<DeviceConfig, @Nullable Object>> getters() {
        Map<String, Function<DeviceConfig, @Nullable Object>> all = new LinkedHashMap<>();
        all.put("requesterId", DeviceConfig::requesterId);
        all.put("streamingMask", DeviceConfig::streamingMask);
        all.put("coherentMask", DeviceConfig::coherentMask);
        all.put("busLimit", DeviceConfig::busLimit);
        all.put("ranges", DeviceConfig::ranges);
        all.put("busRanges", DeviceConfig::busRanges);
        all.put("maxSegmentBytes", DeviceConfig::maxSegmentBytes);
        all.put("segmentBoundaryMask", DeviceConfig::segmentBoundaryMask);
        all.put("minAlignMask", DeviceConfig::minAlignMask);
        all.put("coherent", DeviceConfig::coherent);
        all.put("trusted", DeviceConfig::trusted);
        all.put("pci", DeviceConfig::pci);
        all.put("addressBits", DeviceConfig::addressBits);
        all.put("hasDmaParms", DeviceConfig::hasDmaParms);
        all.put("dmaOps", DeviceConfig::dmaOps);
        all.put("dmaOpsBypass", DeviceConfig::dmaOpsBypass);
        all.put("numaNode", DeviceConfig::numaNode);
        all.put("cmaArea", DeviceConfig::cmaArea);
        all.put("restrictedPool", DeviceConfig::restrictedPool);
        all.put("pciClass", DeviceConfig::pciClass);
        all.put("firmwareRegions", DeviceConfig::firmwareRegions);
        all.put("iommuGroup", DeviceConfig::iommuGroup);
        all.put("pciPlace", DeviceConfig::pciPlace);
        return all;
    }

    private static Map<String, @Nullable Object> read(DeviceConfig config) {
        Map<String, @Nullable Object> values = new LinkedHashMap<>();
        getters().forEach((name, getter) -> values.put(name, getter.apply(config)));
        return values;
    }

    private static void assertOnlyChanges(
            String setting, Object value, DeviceConfig from, UnaryOperator<DeviceConfig> change) {
        Map<String, @Nullable Object> expected = read(from);
        expected.put(setting, value);
        assertThat(read(change.apply(from))).as(setting).isEqualTo(expected);
    }

    @Test
    @DisplayName("DEV-6: a PCI device's defaults")
    void aPciDeviceStartsWide() {
        Map<String, @Nullable Object> values = read(DeviceConfig.named("nic"));
        assertThat(values)
                .containsEntry("requesterId", -1)
                .containsEntry("streamingMask", -1L)
                .containsEntry("coherentMask", -1L)
                .containsEntry("busLimit", 0L)
                .containsEntry("segmentBoundaryMask", 0xffff_ffffL)
                .containsEntry("minAlignMask", 0)
                .containsEntry("coherent", true)
                .containsEntry("trusted", true)
                .containsEntry("pci", true)
                .containsEntry("addressBits", 64)
                .containsEntry("hasDmaParms", true)
                .containsEntry("dmaOpsBypass", false)
                .containsEntry("numaNode", -1)
                .containsEntry("pciClass", 0)
                .containsEntry("pciPlace", PciPlace.ALONE);
        assertThat(DeviceConfig.named("nic")).hasToString("nic");
    }

    @Test
    void eachSettingChangesNothingElse() {
        DeviceConfig full = DeviceConfig.named("nic")
                .withRequesterId(9)
                .withStreamingMask(0xffffL)
                .withCoherentMask(0xfffL)
                .withBusLimit(0xffL)
                .withBusRanges(BUS_RANGE)
                .withRanges(RANGE)
                .withSegments(0x1000, 0xffff)
                .withMinAlignMask(0x7f)
                .withCoherent(false)
                .withTrusted(false)
                .withPci(false)
                .withAddressBits(40)
                .withDmaOps(OPS)
                .withDmaOpsBypass()
                .withNumaNode(3)
                .withCmaArea("area")
                .withRestrictedPool("pool")
                .withPciClass(0x30000)
                .withFirmwareRegions(REGION)
                .withIommuGroup("group")
                .withPciPlace(PLACE);
        assertThat(read(full).values())
                .containsExactly(
                        9,
                        0xffffL,
                        0xfffL,
                        0xffL,
                        List.of(RANGE),
                        List.of(BUS_RANGE),
                        0x1000,
                        0xffffL,
                        0x7f,
                        false,
                        false,
                        false,
                        40,
                        true,
                        OPS,
                        true,
                        3,
                        "area",
                        "pool",
                        0x30000,
                        List.of(REGION),
                        "group",
                        PLACE);
        assertOnlyChanges("requesterId", 1, full, c -> c.withRequesterId(1));
        assertOnlyChanges("coherentMask", 1L, full, c -> c.withCoherentMask(1));
        assertOnlyChanges("busLimit", 1L, full, c -> c.withBusLimit(1));
        assertOnlyChanges("trusted", true, full, c -> c.withTrusted(true));
        assertOnlyChanges("addressBits", 1, full, c -> c.withAddressBits(1));
        assertOnlyChanges("numaNode", 1, full, c -> c.withNumaNode(1));
        assertOnlyChanges("cmaArea", "other", full, c -> c.withCmaArea("other"));
        assertOnlyChanges("restrictedPool", "other", full, c -> c.withRestrictedPool("other"));
        assertOnlyChanges("pciClass", 2, full, c -> c.withPciClass(2));
        assertOnlyChanges("firmwareRegions", List.of(), full, c -> c.withFirmwareRegions());
        assertOnlyChanges("iommuGroup", "other", full, c -> c.withIommuGroup("other"));
        assertOnlyChanges("pciPlace", PciPlace.ALONE, full, c -> c.withPciPlace(PciPlace.ALONE));
        assertThat(full.withRanges().busRanges())
                .as("the bus keeps what it was said to do")
                .containsExactly(BUS_RANGE);
        assertThat(DeviceConfig.named("nic").withRanges(RANGE).busRanges())
                .as("else it does what the kernel says")
                .containsExactly(RANGE);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 65, -1})
    void wiresAreOneToSixtyFour(int bits) {
        DeviceConfig config = DeviceConfig.named("nic");
        assertThatThrownBy(() -> config.withAddressBits(bits))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("nic cannot have " + bits + " address lines");
        assertThat(config.withAddressBits(64).addressBits()).isEqualTo(64);
        assertThat(config.withAddressBits(1).addressBits()).isEqualTo(1);
    }

    @Test
    void aDeviceShowsWhatItIs() {
        CmaAreas areas = new CmaAreas().with("video", PhysRange.ofSize(0x10000, 0x4000));
        Machine machine = World.builder().cma(areas).build();
        Device device =
                machine.addDevice(DeviceConfig.named("gpu").withTrusted(false).withCmaArea("video"));
        assertThat(device).hasToString("gpu");
        assertThat(device.isTrusted()).isFalse();
        assertThat(device.cmaArea()).isNotNull().isSameAs(machine.cma().named("video"));
        Device plain = machine.addDevice(DeviceConfig.named("nic"));
        assertThat(plain.isTrusted()).isTrue();
        assertThat(plain.cmaArea()).isNull();
    }
}
