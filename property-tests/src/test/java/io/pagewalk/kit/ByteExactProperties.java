package io.pagewalk.kit;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.events.MappingLedger;
import io.pagewalk.dma.events.OwnerAccount;
import java.util.List;
import java.util.Objects;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.PropertyDefaults;
import net.jqwik.api.Provide;

/** A correct program of any drivers never strays, on no backend, and what is tagged adds up. */
@PropertyDefaults(tries = 60)
class ByteExactProperties {
    @Provide
    Arbitrary<String> backends() {
        return Arbitraries.of("direct", "swiotlb", "iommu-strict", "iommu-lazy", "virt");
    }

    @Law
    void aProgramByTheRulesHasNoStrayAccess(
            TestMachines machines, @ForAll("backends") String backend, @ForAll DmaProgram program) {
        Machine machine = machines.start(SmallWorld.of(backend).builder().byteExact());

        DmaProgramRun.run(machine, program);

        assertThat(Objects.requireNonNull(machine.strayAccesses()).recent()).isEmpty();
        assertThat(Objects.requireNonNull(machine.ledger()).live()).isEmpty();
    }

    @Law
    void whatOwnersHoldAddsUpToAllThatIsHeld(
            TestMachines machines,
            @ForAll("backends") String backend,
            @ForAll List<Buffer> buffers,
            @ForAll DeviceConfig config) {
        Machine machine = machines.start(SmallWorld.of(backend).builder().ledger());
        MappingLedger ledger = Objects.requireNonNull(machine.ledger());
        Device device = machine.addDevice(config);
        List<CheckedMapping> live = buffers.stream()
                .map(buffer -> CheckedMapping.page(device, 0, buffer, DmaDirection.TO_DEVICE))
                .filter(CheckedMapping::isLive)
                .toList();
        for (int i = 0; i < live.size(); i++) {
            device.dma().tag(live.get(i).extents().get(0).dmaAddr(), "owner " + i % 3);
        }

        List<OwnerAccount> accounts = ledger.accounts();
        assertThat(accounts.stream().mapToLong(OwnerAccount::mappings).sum()).isEqualTo(live.size());
        assertThat(accounts.stream().mapToLong(OwnerAccount::mappedBytes).sum())
                .isEqualTo(
                        live.stream().mapToLong(m -> m.segments().sizeBytes()).sum());
        live.forEach(mapping -> mapping.unmap(0));
        assertThat(ledger.accounts()).isEmpty();
    }
}
