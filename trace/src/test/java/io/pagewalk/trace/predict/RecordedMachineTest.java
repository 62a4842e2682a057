package io.pagewalk.trace.predict;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.memory.PhysRange;
import io.pagewalk.trace.replay.MachineFacts.IommuMode;
import io.pagewalk.trace.replay.MachineSpec;
import java.util.List;
import org.junit.jupiter.api.Test;

class RecordedMachineTest {
    private static RecordedMachine of(String log, String json) throws Exception {
        return RecordedMachine.of(Predictions.log(log), MachineSpec.parse("m", json), 0);
    }

    @Test
    void theBootLogAloneTellsAMachine() throws Exception {
        RecordedMachine machine = of(Predictions.SMALL_POOL, "{}");
        assertThat(machine.mode()).isEqualTo(IommuMode.OFF);
        assertThat(machine.cpus()).isEqualTo(2);
        assertThat(machine.pool()).isEqualTo(new PhysRange(0x10000000L, 0x1007ffffL));
        assertThat(machine.poolSlots()).isEqualTo(256);
        assertThat(machine.areas()).isEqualTo(2);
        assertThat(machine.bouncesAll()).isTrue();
        assertThat(machine.commandLine()).isEqualTo("swiotlb=256,force");
        RecordedMachine iommu = of(Predictions.LAZY, "{}");
        assertThat(iommu.mode()).isEqualTo(IommuMode.LAZY);
        assertThat(iommu.backend()).isEqualTo("IOMMU, lazy");
        assertThat(iommu.iommuWidthBits()).isEqualTo(48);
        assertThat(iommu.reserved()).containsExactly(new PhysRange(0xc0000000L, 0xfebfffffL));
        assertThat(iommu.pool()).isNull();
        assertThat(iommu.poolSlots()).isZero();
        assertThat(iommu.bouncesAll()).isFalse();
        assertThat(of(Predictions.STRICT, "{}").backend()).isEqualTo("IOMMU, strict");
    }

    @Test
    void theMachineFileCountsMoreThanTheLog() throws Exception {
        RecordedMachine machine = of(
                Predictions.SMALL_POOL,
                "{\"cpus\":4,\"swiotlb\":{\"start\":\"0x20000000\",\"slots\":512,\"areas\":4}}");
        assertThat(machine.cpus()).isEqualTo(4);
        assertThat(machine.pool()).isEqualTo(new PhysRange(0x20000000L, 0x200fffffL));
        assertThat(machine.areas()).isEqualTo(4);
        RecordedMachine iommu = of(
                Predictions.STRICT,
                "{\"iommu\":{\"mode\":\"lazy\",\"widthBits\":39,\"reserved\":[[\"0x1000\",\"0x1fff\"]]}}");
        assertThat(iommu.mode()).isEqualTo(IommuMode.LAZY);
        assertThat(iommu.iommuWidthBits()).isEqualTo(39);
        assertThat(iommu.reserved()).isEqualTo(List.of(new PhysRange(0x1000, 0x1fff)));
        assertThat(of(Predictions.STRICT, "{\"iommu\":{\"mode\":\"off\"}}").mode())
                .isEqualTo(IommuMode.OFF);
    }

    @Test
    void partOfThePoolMayComeFromEither() throws Exception {
        assertThat(of(Predictions.SMALL_POOL, "{\"swiotlb\":{\"slots\":1024}}").pool())
                .isEqualTo(PhysRange.ofSize(0x10000000L, 1024 * 2048));
        assertThat(of(Predictions.SMALL_POOL, "{\"swiotlb\":{\"start\":4096}}").pool())
                .isEqualTo(PhysRange.ofSize(0x1000L, 256 * 2048));
    }

    @Test
    void everyFactThatIsMissingIsNamedInOneLine() {
        assertThatThrownBy(() -> of("DMAR: Intel(R) Virtualization Technology for Directed I/O\n", "{}"))
                .isInstanceOf(MachineFactsException.class)
                .hasMessage(
                        "log: does not tell, and no machine file either (log line; field): whether unmaps are strict or lazy "
                                + "(\"iommu: DMA domain TLB invalidation policy\"; iommu.mode), the width of the IOMMU's addresses "
                                + "(\"DMAR: ... cap\"; iommu.widthBits), the host bridge's windows (\"pci_bus ...: root bus resource\"; "
                                + "iommu.reserved), the number of CPUs (\"nr_cpu_ids\"; cpus)");
        assertThatThrownBy(() -> of("nr_cpu_ids:1 \nKernel command line: quiet swiotlb=force\n", "{}"))
                .hasMessage(
                        "log: does not tell, and no machine file either (log line; field): where the bounce pool lies "
                                + "(\"software IO TLB: mapped\"; swiotlb.start and swiotlb.slots)");
    }

    @Test
    void aMachineFileThatReservesNothingIsAWordToo() throws Exception {
        String log = "nr_cpu_ids:1 \nDMAR: Intel(R) Virtualization Technology for Directed I/O\n";
        RecordedMachine machine = of(log, "{\"iommu\":{\"mode\":\"strict\",\"widthBits\":48,\"reserved\":[]}}");
        assertThat(machine.reserved()).isEmpty();
    }

    @Test
    void theTracesHeaderTellsTheCpusWhenNothingElseDoes() throws Exception {
        BootLog log = Predictions.log("software IO TLB: area num 2.\n");
        assertThat(RecordedMachine.of(log, MachineSpec.DEFAULT, 6).cpus()).isEqualTo(6);
    }

    @Test
    void aPoolThatNobodyForcesIsMissedOnlyWhenSomethingBounces() throws Exception {
        assertThat(of("nr_cpu_ids:1 \nKernel command line: quiet\n", "{}").pool())
                .isNull();
        assertThat(of("nr_cpu_ids:1 \nKernel command line: swiotlb=512,noforce\n", "{}")
                        .pool())
                .isNull();
    }

    @Test
    void areasAreThoseOfTheCpusWhenTheLogHasNone() throws Exception {
        String pool = "software IO TLB: mapped [mem 0x10000000-0x10080000] (0MB)\n";
        assertThat(of("nr_cpu_ids:1 \n" + pool, "{}").areas()).isEqualTo(1);
        assertThat(of("nr_cpu_ids:2 \n" + pool, "{}").areas()).isEqualTo(2);
        assertThat(of("nr_cpu_ids:3 \n" + pool, "{}").areas()).isEqualTo(2);
        assertThat(of("nr_cpu_ids:3 \n" + pool, "{\"swiotlb\":{\"slots\":512}}").areas())
                .isEqualTo(4);
        assertThat(of("nr_cpu_ids:3 \n", "{}").areas()).isEqualTo(4);
        assertThat(of(Predictions.SMALL_POOL, "{\"swiotlb\":{\"areas\":0}}").areas())
                .isEqualTo(2);
    }

    @Test
    void poolsThatCannotBeAreNamed() {
        String rule =
                " cannot be: it begins on a page, ends below 4 GiB, and has a power of two slots of 2 KiB, at least 128";
        assertThatThrownBy(() -> of(Predictions.SMALL_POOL, "{\"swiotlb\":{\"start\":\"0x10000800\"}}"))
                .hasMessage("log: a bounce pool of 0x10000800+0x80000" + rule);
        assertThatThrownBy(() -> of(Predictions.SMALL_POOL, "{\"swiotlb\":{\"start\":\"0xfffff000\"}}"))
                .hasMessageEndingWith(rule);
        assertThatThrownBy(() -> of(Predictions.SMALL_POOL, "{\"swiotlb\":{\"slots\":384}}"))
                .hasMessageEndingWith(rule);
        assertThatThrownBy(() -> of(Predictions.SMALL_POOL, "{\"swiotlb\":{\"slots\":64}}"))
                .hasMessageEndingWith(rule);
        assertThatThrownBy(() -> of(Predictions.SMALL_POOL, "{\"swiotlb\":{\"start\":\"0xffffffffffff0000\"}}"))
                .hasMessageEndingWith(rule);
        assertThatThrownBy(() -> of("nr_cpu_ids:1 \nsoftware IO TLB: mapped [mem 0x10000000-0x10080400] (0MB)\n", "{}"))
                .hasMessageEndingWith(rule);
        assertThatThrownBy(() -> of(Predictions.SMALL_POOL.replace("10080000", "10040000"), "{}"))
                .hasMessage(
                        "log: 2 areas cannot be in a bounce pool of 128 slots: they are a power of two, each of at least "
                                + "128 slots");
        assertThatThrownBy(() -> of(Predictions.SMALL_POOL.replace("area num 2", "area num 3"), "{}"))
                .hasMessageStartingWith("log: 3 areas cannot be");
    }

    @Test
    void theLastSlotBelow4GibMayBeThePools() throws Exception {
        assertThat(of(Predictions.SMALL_POOL, "{\"swiotlb\":{\"start\":\"0xfff80000\"}}")
                        .pool())
                .isEqualTo(new PhysRange(0xfff80000L, 0xffffffffL));
        assertThat(of(Predictions.SMALL_POOL.replace("area num 2", "area num 1"), "{\"swiotlb\":{\"slots\":128}}")
                        .poolSlots())
                .isEqualTo(128);
    }

    @Test
    void aDeviceIsWhatTheFileSaysOfItThenOfItsDriverThenWhatIsKnownOfTheDriver() throws Exception {
        String log = Predictions.SMALL_POOL + "nvme nvme0: pci function 0000:00:04.0\ne1000 0000:00:08.0 eth0: x\n";
        RecordedMachine plain = of(log, "{}");
        assertThat(plain.device("0000:00:04.0").minAlignMask()).isEqualTo(0xfff);
        assertThat(plain.device("0000:00:08.0").minAlignMask()).isNull();
        assertThat(plain.device("unknown").minAlignMask()).isNull();
        RecordedMachine told = of(
                log,
                "{\"drivers\":{\"nvme\":{\"minAlignMask\":7,\"maskBits\":40},\"e1000\":{\"maskBits\":32}},"
                        + "\"devices\":{\"0000:00:04.0\":{\"minAlignMask\":\"0x1ff\"}}}");
        assertThat(told.device("0000:00:04.0").minAlignMask()).isEqualTo(0x1ff);
        assertThat(told.device("0000:00:04.0").maskBits()).isEqualTo(40);
        assertThat(told.device("0000:00:08.0").mask()).isEqualTo(0xffffffffL);
    }
}
