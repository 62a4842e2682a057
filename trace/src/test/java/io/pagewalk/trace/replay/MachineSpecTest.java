package io.pagewalk.trace.replay;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.memory.PhysRange;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Machine files, good and bad. */
class MachineSpecTest {
    private static final String DOCUMENTED = """
            {
              "holes":   [["0xc0000000", "0xffffffff"], ["0x8000000000", "0x80ffffffff"]],
              "ramTop":  "0x3ffffffffff",
              "cpus":    4,
              "swiotlb": {"slots": 65536, "areas": 2},
              "iommu":   {"widthBits": 39, "reserved": [["0xa0000", "0xbffff"]]},
              "devices": {
                "0000:00:04.0": {"maskBits": 64, "minAlignMask": "0xfff", "maxSegmentBytes": "0xffffffff",
                                 "segmentBoundaryMask": "0xffffffff", "coherent": true, "addressBits": 40},
                "0000:00:08.0": {"maskBits": 32}
              }
            }
            """;

    @Test
    void everyFieldIsRead() throws MachineSpecException {
        MachineSpec spec = MachineSpec.parse("m.json", DOCUMENTED);
        assertThat(spec.holes()).hasSize(2).contains(new PhysRange(0x80_0000_0000L, 0x80_ffff_ffffL));
        assertThat(spec.ramTop()).isEqualTo(0x3ff_ffff_ffffL);
        assertThat(spec.cpus()).isEqualTo(4);
        assertThat(spec.swiotlbSlots()).isEqualTo(65536);
        assertThat(spec.swiotlbAreas()).isEqualTo(2);
        assertThat(spec.iommuWidthBits()).isEqualTo(39);
        assertThat(spec.iommuReserved()).containsExactly(new PhysRange(0xa0000, 0xbffff));
        assertThat(spec.devices().keySet()).containsExactly("0000:00:04.0", "0000:00:08.0");
        assertThat(spec.devices()).containsEntry("0000:00:04.0", new DeviceSpec(64, 0xfff, -1, 0xffff_ffffL, true, 40));
        assertThat(spec.devices()).containsEntry("0000:00:08.0", new DeviceSpec(32, null, null, null, null, null));
    }

    @Test
    void anEmptyFileIsTheDefaultMachine() throws MachineSpecException {
        assertThat(MachineSpec.parse("m.json", "{}")).isEqualTo(MachineSpec.DEFAULT);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "{\"hols\": []} | m.json: hols: unknown field; known are [holes, ramTop, cpus, swiotlb, iommu, devices]",
                "{\"swiotlb\": {\"slot\": 1}} | m.json: swiotlb.slot: unknown field; known are [slots, areas]",
                "{\"devices\": {\"d\": {\"mask\": 32}}} | m.json: devices.d.mask: unknown field",
                "{\"cpus\": 0} | m.json: cpus: 0 is not between 1 and 8192",
                "{\"cpus\": \"two\"} | m.json: cpus: must be a number like 4096 or \"0x1000\", not \"two\"",
                "{\"cpus\": 1.5} | m.json: cpus: must be a number",
                "{\"cpus\": null} | m.json: cpus: must be a number",
                "{\"holes\": 3} | m.json: holes: must be a list of [first, last], not 3",
                "{\"holes\": [[1]]} | m.json: holes[0]: must be [first, last], not [1]",
                "{\"holes\": [[2, 1]]} | m.json: holes[0]: ends at 0x1, before its start 0x2",
                "{\"holes\": []} | m.json: holes: there must be one, below 4 GiB",
                "{\"holes\": [[0, \"0xffffffff\"]]} | m.json: holes: the first, [0x0, 0xffffffff], must lie below 4 GiB",
                "{\"holes\": [[\"0xf0000000\", \"0xf0ffffff\"]]} | m.json: holes: the first",
                "{\"holes\": [[\"0xc0000000\", \"0xffffffff\"], [\"0xffffffff\", \"0x1ffffffff\"]]} | overlap",
                "{\"ramTop\": \"0x1000\"} | m.json: ramTop: 0x1000 is not between the end of the first hole",
                "{\"ramTop\": \"0xffffffffffffffff\"} | m.json: ramTop: 0xffffffffffffffff is not between",
                "{\"swiotlb\": {\"slots\": 4000000}} | m.json: swiotlb.slots: 4000000 is not between 1 and",
                "{\"swiotlb\": {\"slots\": 1000, \"areas\": 9}} | swiotlb.areas: 9 areas need 1152 slots, and the pool has 1024",
                "{\"iommu\": []} | m.json: iommu: must be an object with [widthBits, reserved, mode], not []",
                "{\"iommu\": {\"mode\": \"on\"}} | m.json: iommu.mode: must be \"off\", \"strict\" or \"lazy\", not \"on\"",
                "{\"swiotlb\": {\"start\": \"low\"}} | m.json: swiotlb.start: must be a number",
                "{\"drivers\": []} | m.json: drivers: must be an object of drivers by name, not []",
                "{\"drivers\": {\"nvme\": {\"maskBits\": 0}}} | m.json: drivers.nvme.maskBits: 0 is not between 1 and 64",
                "{\"devices\": 7} | m.json: devices: must be an object of devices by name, not 7",
                "{\"devices\": {\"d\": {\"maskBits\": 65}}} | m.json: devices.d.maskBits: 65 is not between 1 and 64",
                "{\"devices\": {\"d\": {\"coherent\": 1}}} | m.json: devices.d.coherent: must be true or false, not 1",
                "{\"devices\": {\"d\": {\"minAlignMask\": \"0x100000000\"}}} | does not fit in 32 bits",
                "{\"devices\": {\"d\": {\"segmentBoundaryMask\": 6}}} | 0x6 is not a power of two minus one",
                "{\"cpus\": 1, \"cpus\": 2} | m.json: not JSON at line 1",
                "{\"cpus\": | m.json: not JSON at line 1",
                "[] | m.json: must be an object with [holes",
            })
    void aBadFileIsRefusedWithItsNameAndTheField(String json, String message) {
        assertThatThrownBy(() -> MachineSpec.parse("m.json", json))
                .isInstanceOf(MachineSpecException.class)
                .hasMessageContaining(message)
                .satisfies(refused -> assertThat(refused.getMessage()).doesNotContain("\n"));
    }

    @Test
    void whatAFileItselfSaysIsKeptApartFromDefaults() throws Exception {
        assertThat(MachineSpec.parse("m", "{}").facts()).isEqualTo(MachineFacts.NONE);
        MachineFacts facts = MachineSpec.parse(
                        "m",
                        "{\"swiotlb\": {\"start\": \"0x7a65a000\", \"slots\": 512, \"areas\": 2}, \"iommu\": {\"mode\": \"lazy\", "
                                + "\"widthBits\": 39, \"reserved\": [[1, 2]]}, \"drivers\": {\"nvme\": {\"minAlignMask\": 4095}}}")
                .facts();
        assertThat(facts)
                .isEqualTo(new MachineFacts(
                        0x7a65a000L,
                        512,
                        2,
                        MachineFacts.IommuMode.LAZY,
                        39,
                        List.of(new PhysRange(1, 2)),
                        Map.of("nvme", new DeviceSpec(null, 4095, null, null, null, null))));
        assertThat(MachineSpec.parse("m", "{\"iommu\": {\"mode\": \"off\"}}")
                        .facts()
                        .iommuMode())
                .isEqualTo(MachineFacts.IommuMode.OFF);
        assertThat(MachineSpec.parse("m", "{\"iommu\": {\"mode\": \"strict\"}}")
                        .facts()
                        .iommuMode())
                .isEqualTo(MachineFacts.IommuMode.STRICT);
    }

    @Test
    void aSpecFillsWhatItLeavesOpenWithAnother() {
        DeviceSpec none = new DeviceSpec(null, null, null, null, null, null);
        DeviceSpec one = new DeviceSpec(1, 2, 3, 7L, true, 6);
        DeviceSpec other = new DeviceSpec(10, 20, 30, 15L, false, 60);
        assertThat(one.orElse(other)).isEqualTo(one);
        assertThat(none.orElse(other)).isEqualTo(other);
        assertThat(other.orElse(none)).isEqualTo(other);
    }

    @Test
    void aFileIsReadByItsPath(@TempDir Path folder) throws Exception {
        Path file = folder.resolve("machine.json");
        Files.writeString(file, "{\"cpus\": 3}");
        assertThat(MachineSpec.read(file).cpus()).isEqualTo(3);
        assertThatThrownBy(() -> MachineSpec.read(folder.resolve("nothing")))
                .isInstanceOf(MachineSpecException.class)
                .hasMessageContaining("nothing: cannot be read");
        assertThatThrownBy(() -> MachineSpec.read(folder)).isInstanceOf(MachineSpecException.class);
        Files.write(file, new byte[] {(byte) 0xff, (byte) 0xfe, 0});
        assertThatThrownBy(() -> MachineSpec.read(file)).isInstanceOf(MachineSpecException.class);
        Files.writeString(file, "");
        assertThatThrownBy(() -> MachineSpec.read(file)).isInstanceOf(MachineSpecException.class);
    }
}
