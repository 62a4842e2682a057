package io.pagewalk.backends.iommu;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.backends.iommu.api.Iommu;
import io.pagewalk.backends.iommu.api.IommuPagingDomain;
import io.pagewalk.backends.iommu.api.IommuProt;
import io.pagewalk.backends.iommu.unit.RegisterFile;
import io.pagewalk.backends.iommu.unit.VtdRegisters;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.Dma;
import io.pagewalk.dma.DmaAttrs;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.KernelLog;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.spi.BackendOptions;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** What the driver says of a fault, and to whom: iommu:FLT-2, FLT-3, CORE-22. */
class FaultReportTest {
    private static final long RAM = 0x80_0000;

    private final Machine machine = machine("iommu-strict");
    private final Device device = machine.addDevice(DeviceConfig.named("nic").withRequesterId(0x0311));
    private final Dma dma = device.dma();

    private static Machine machine(String backend) {
        return Machine.builder().ramBytes(128 << 20).backend(backend).build();
    }

    private static List<String> faultLines(Machine machine) {
        return machine.log().entries().stream()
                .filter(entry -> entry.site().equals("dmar_fault"))
                .map(KernelLog.Entry::text)
                .toList();
    }

    private RegisterFile registers() {
        return Objects.requireNonNull(machine.part(RegisterFile.class));
    }

    @Test
    @DisplayName("E1: a read past a short mapping gets what is mapped, and a line that names the next page")
    void readPastTheEndStopsAtThePage() {
        long dmaAddr = dma.mapPage(RAM + 0xfca, 54, DmaDirection.TO_DEVICE, DmaAttrs.NONE);
        byte[] descriptor = new byte[72];

        assertThat(device.bus().read(dmaAddr, descriptor, 0, 72)).isEqualTo(54);
        assertThat(faultLines(machine))
                .containsExactly(
                        "DRHD: handling fault status reg 2",
                        String.format(
                                "[DMA Read NO_PASID] Request device [03:02.1] fault addr 0x%x [fault reason 0x06]"
                                        + " PTE Read access is not set",
                                dmaAddr + 54));
        Machine direct = machine("direct");
        Device silent = direct.addDevice(DeviceConfig.named("nic"));
        assertThat(silent.bus()
                        .read(
                                silent.dma().mapPage(RAM + 0xfca, 54, DmaDirection.TO_DEVICE, DmaAttrs.NONE),
                                descriptor,
                                0,
                                72))
                .as("nobody notices without an IOMMU")
                .isEqualTo(72);
    }

    @Test
    @DisplayName("E2: the direction decides, but for reads of what only the device writes (iommu:VTD-11)")
    void directionDecides() {
        long read = dma.mapPage(RAM, 64, DmaDirection.TO_DEVICE, DmaAttrs.NONE);
        long written = dma.mapPage(RAM, 64, DmaDirection.FROM_DEVICE, DmaAttrs.NONE);
        long both = dma.mapPage(RAM, 64, DmaDirection.BIDIRECTIONAL, DmaAttrs.NONE);
        byte[] bytes = new byte[64];

        assertThat(device.bus().read(read, bytes, 0, 64)).isEqualTo(64);
        assertThat(device.bus().write(read, bytes, 0, 64)).isZero();
        assertThat(device.bus().read(written, bytes, 0, 64)).isEqualTo(64);
        assertThat(device.bus().write(written, bytes, 0, 64)).isEqualTo(64);
        assertThat(device.bus().read(both, bytes, 0, 64)).isEqualTo(64);
        assertThat(device.bus().write(both, bytes, 0, 64)).isEqualTo(64);
        assertThat(faultLines(machine)).hasSize(2).last().asString().startsWith("[DMA Write NO_PASID]");
        assertThat(faultLines(machine).get(1)).endsWith("[fault reason 0x05] PTE Write access is not set");
    }

    @Test
    @DisplayName("FLT-3: every record is freed, of which ten interrupts in five seconds are logged")
    void recordsAreFreedWhetherLoggedOrNot() {
        for (int i = 0; i < 25; i++) {
            device.bus().writeLong(0x5000 + 0x1000L * i, 1);
            assertThat(registers().read32(VtdRegisters.FSTS)).as("fault %d", i).isZero();
        }

        assertThat(faultLines(machine)).hasSize(20);
        assertThat(faultLines(machine).get(18))
                .as("the next record is the next one")
                .isEqualTo("DRHD: handling fault status reg 102");
        assertThat(machine.log().count("dmar_fault")).isEqualTo(25);
        assertThat(machine.faults().count()).isEqualTo(25);
        machine.clock().advance(5_000_000_000L);
        device.bus().writeLong(0x9000, 1);
        assertThat(faultLines(machine)).hasSize(22);
    }

    @Test
    @DisplayName("CORE-22: the owner of the domain is told, and may cause a fault meanwhile")
    void ownerOfTheDomainIsTold() {
        IommuPagingDomain domain = Iommu.of(machine).allocPagingDomain();
        assertThat(domain.attach(device)).isZero();
        domain.map(0x10_0000, RAM, 0x1000, IommuProt.READ);
        List<String> told = new ArrayList<>();
        domain.setFaultHandler((who, iova, write) -> {
            told.add(who.name() + " " + Long.toHexString(iova) + (write ? " write" : " read"));
            if (told.size() < 3) {
                who.bus().readLong(iova + 0x1000);
            }
            domain.map(iova, RAM, 0x1000, IommuProt.READ | IommuProt.WRITE);
            return 0;
        });

        assertThat(device.bus().writeLong(0x20_0ff8, 1)).isZero();
        assertThat(told).containsExactly("nic 200000 write", "nic 201000 read", "nic 202000 read");
        assertThat(device.bus().writeLong(0x20_0ff8, 1)).as("mended").isEqualTo(8);
        assertThat(registers().read32(VtdRegisters.FSTS)).isZero();
        domain.detach(device);
        device.bus().readLong(0x30_0000);
        assertThat(told).as("not its domain any more").hasSize(3);
    }

    @Test
    @DisplayName("a unit has as many records as its options say")
    void recordsAreCountedByOption() {
        Machine one = Machine.builder()
                .ramBytes(128 << 20)
                .backend("iommu-strict")
                .backendOptions(BackendOptions.NONE.with("iommu.faultRecords", 1))
                .build();
        Device asked = one.addDevice(DeviceConfig.named("nic"));
        asked.bus().readLong(0x5000);
        asked.bus().readLong(0x6000);

        assertThat(faultLines(one))
                .filteredOn(line -> line.startsWith("DRHD"))
                .containsOnly("DRHD: handling fault status reg 2");
        assertThat(faultLines(one)).hasSize(4);
    }
}
