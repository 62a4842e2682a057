package io.pagewalk.trace.predict;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.memory.PhysRange;
import io.pagewalk.trace.UnreadableTraceException;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.zip.GZIPOutputStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class BootLogTest {
    private static final List<PhysRange> PC_WINDOWS = List.of(
            new PhysRange(0xa0000L, 0xbffffL),
            new PhysRange(0x80000000L, 0xafffffffL),
            new PhysRange(0xc0000000L, 0xfebfffffL),
            new PhysRange(0x1c0000000L, 0x9bfffffffL));

    @TempDir
    Path folder;

    @Test
    void aRecordedLogTellsAllThatAddressesDependOn() throws IOException {
        BootLog log = Predictions.logOf("strict");
        assertThat(log.name()).isEqualTo("predict/dmesg-strict.txt");
        assertThat(log.commandLine())
                .startsWith("console=ttyS0 ")
                .endsWith(" intel_iommu=on iommu.strict=1 ora.mode=trace");
        assertThat(log.cpus()).isEqualTo(2);
        assertThat(log.pool()).isEqualTo(new PhysRange(0x7a65a000L, 0x7e659fffL));
        assertThat(log.areas()).isEqualTo(2);
        assertThat(log.iommuOn()).isTrue();
        assertThat(log.lazy()).isFalse();
        assertThat(log.iommuWidthBits()).isEqualTo(48);
        assertThat(log.hostBridgeWindows()).isEqualTo(PC_WINDOWS);
        assertThat(log.drivers())
                .isEqualTo(Map.of("0000:00:04.0", "nvme", "0000:00:07.0", "e1000e", "0000:00:08.0", "e1000"));
    }

    @Test
    void aLogWithoutAnIommuHasNoneOnWhateverItSaysOfPolicies() throws IOException {
        BootLog log = BootLog.bundled();
        assertThat(log.name()).isEqualTo("dmesg-direct (bundled)");
        assertThat(log.iommuOn()).isFalse();
        assertThat(log.lazy()).isTrue();
        assertThat(log.iommuWidthBits()).isNull();
        assertThat(log.hostBridgeWindows()).isEqualTo(PC_WINDOWS);
    }

    @Test
    void whatALogDoesNotSayIsNull() throws IOException {
        BootLog log = Predictions.log("nr_cpu_ids:7 \n");
        assertThat(log.cpus()).isEqualTo(7);
        assertThat(log.commandLine()).isNull();
        assertThat(log.pool()).isNull();
        assertThat(log.areas()).isNull();
        assertThat(log.lazy()).isNull();
        assertThat(log.iommuWidthBits()).isNull();
        assertThat(log.hostBridgeWindows()).isEmpty();
        assertThat(log.drivers()).isEmpty();
    }

    @Test
    void timesAndLevelsInFrontOfALineArePassedOver() throws IOException {
        BootLog log = Predictions.log("""
                <6>[    0.000000] Command line: a b
                [   12.5] software IO TLB: area num 4.
                noise
                [    1.0] Kernel command line: other
                """);
        assertThat(log.commandLine()).isEqualTo("a b");
        assertThat(log.areas()).isEqualTo(4);
    }

    @Test
    void theFirstLineOfAKindCounts() throws IOException {
        BootLog log = Predictions.log("""
                nr_cpu_ids:2
                nr_cpu_ids:8
                software IO TLB: area num 2.
                software IO TLB: area num 8.
                iommu: DMA domain TLB invalidation policy: strict mode
                iommu: DMA domain TLB invalidation policy: lazy mode
                software IO TLB: mapped [mem 0x1000-0x41000] (0MB)
                software IO TLB: mapped [mem 0x2000-0x42000] (0MB)
                nvme nvme0: pci function 0000:01:00.0
                other 0000:01:00.0: x
                """);
        assertThat(log.cpus()).isEqualTo(2);
        assertThat(log.areas()).isEqualTo(2);
        assertThat(log.lazy()).isFalse();
        assertThat(log.pool()).isEqualTo(new PhysRange(0x1000, 0x40fff));
        assertThat(log.drivers()).isEqualTo(Map.of("0000:01:00.0", "nvme"));
    }

    /** iommu:VTD: bits 8 to 12 say which tables there are, bits 16 to 21 the width of addresses minus one. */
    @Test
    void theWidthIsThatOfTheWidestTablesWithinTheUnitsLimit() throws IOException {
        assertThat(widthOf("2f0606")).isEqualTo(48);
        assertThat(widthOf("260206")).isEqualTo(39);
        assertThat(widthOf("380e06")).isEqualTo(57);
        assertThat(widthOf("250606")).isEqualTo(38);
        assertThat(widthOf("3f1e06")).isEqualTo(57);
        assertThat(widthOf("2f0006")).isNull();
        assertThat(widthOf("1d0606")).isNull();
        assertThat(widthOf("1e0606")).isEqualTo(31);
    }

    private static @Nullable Integer widthOf(String capability) throws IOException {
        return Predictions.log(
                        "nr_cpu_ids:1 \nDMAR: dmar0: reg_base_addr fed90000 ver 1:0 cap " + capability + " ecap 0\n")
                .iommuWidthBits();
    }

    @Test
    void anIommuThatPassesThroughDoesNotTranslate() throws IOException {
        String vtd = "DMAR: Intel(R) Virtualization Technology for Directed I/O\n";
        assertThat(Predictions.log(vtd).iommuOn()).isTrue();
        assertThat(Predictions.log("iommu: Default domain type: Passthrough \n" + vtd)
                        .iommuOn())
                .isFalse();
        assertThat(Predictions.log("iommu: Default domain type: Translated \n" + vtd)
                        .iommuOn())
                .isTrue();
    }

    @Test
    void pciCoreAndPortsDriveNoDevice() throws IOException {
        BootLog log = Predictions.log("""
                pci 0000:00:04.0: [1b36:0010]
                pcieport 0000:00:01.0: PME
                virtio-pci 0000:00:05.0: enabling device
                """);
        assertThat(log.drivers()).isEqualTo(Map.of("0000:00:05.0", "virtio-pci"));
    }

    @Test
    void aPackedLogIsReadToo() throws IOException {
        ByteArrayOutputStream packed = new ByteArrayOutputStream();
        try (GZIPOutputStream gzip = new GZIPOutputStream(packed)) {
            gzip.write(Predictions.SMALL_POOL.getBytes(StandardCharsets.UTF_8));
        }
        Path file = Files.write(folder.resolve("dmesg.gz"), packed.toByteArray());
        assertThat(BootLog.read(file).cpus()).isEqualTo(2);
        assertThat(BootLog.read(file).name()).isEqualTo(file.toString());
    }

    @Test
    void aTextThatIsNoBootLogIsNamed() {
        assertThatThrownBy(() -> Predictions.log("hello\nworld\n"))
                .isInstanceOf(MachineFactsException.class)
                .hasMessage("log: no line of a kernel's boot log that DMA addresses depend on");
    }

    @Test
    void missingEmptyAndBinaryFilesAreNamed() throws IOException {
        Path missing = folder.resolve("missing");
        assertThatThrownBy(() -> BootLog.read(missing))
                .isInstanceOf(UnreadableTraceException.class)
                .hasMessage(missing + ": no such file");
        assertThatThrownBy(() -> BootLog.read(folder)).hasMessage(folder + ": is a directory");
        Path empty = Files.write(folder.resolve("empty"), new byte[0]);
        assertThatThrownBy(() -> BootLog.read(empty)).hasMessage(empty + ": is empty");
        byte[] bytes = {'a', 0, 1};
        assertThatThrownBy(() -> BootLog.read(new ByteArrayInputStream(bytes), "bin"))
                .isInstanceOf(UnreadableTraceException.class)
                .hasMessageContaining("bin: is binary");
    }

    @Test
    void aLineWithoutEndIsRefusedInsteadOfFillingMemory() {
        String endless = "a".repeat(1_100_000);
        assertThatThrownBy(() -> Predictions.log(endless)).hasMessage("log: line 1 is longer than 1048576 bytes");
    }

    @Test
    void numbersThatCannotBeAreNamed() {
        assertThatThrownBy(() -> Predictions.log("nr_cpu_ids:0 \n"))
                .hasMessage("log: nr_cpu_ids:0 is not between 1 and 8192");
        assertThatThrownBy(() -> Predictions.log("nr_cpu_ids:8193 \n"))
                .hasMessage("log: nr_cpu_ids:8193 is not between 1 and 8192");
        assertThatThrownBy(() -> Predictions.log("x\nsoftware IO TLB: mapped [mem 0x2000-0x1000] (0MB)\n"))
                .hasMessage("log: line 2: the range from 0x2000 ends before it begins");
        assertThatThrownBy(() -> Predictions.log("pci_bus 0000:00: root bus resource [mem 0x2-0x1 window]\n"))
                .hasMessage("log: line 1: the range from 0x2 ends before it begins");
    }
}
