package io.pagewalk.backends.iommu.mapping;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.backends.iommu.api.IommuDomainType;
import io.pagewalk.backends.iommu.api.IommuPagingDomain;
import io.pagewalk.backends.swiotlb.SwiotlbBoot;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.PciBridge;
import io.pagewalk.dma.PciPlace;
import io.pagewalk.dma.memory.PhysRange;
import io.pagewalk.dma.spi.BackendOptions;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Which devices cannot be kept apart, and who uses or owns them: iommu:GRP-1 to GRP-6. */
class IommuGroupsTest {
    private static final PciBridge ROOT_PORT = PciBridge.port(0x08, true);
    private static final PciBridge OPEN_PORT = PciBridge.port(0x10, false);

    private final Machine machine = World.builder().build();
    private final RecordingDriver driver = new RecordingDriver(RecordingDriver.APERTURE_39);
    private final IommuBackend backend = new IommuBackend(
            machine,
            driver,
            SwiotlbBoot.boot(machine, BackendOptions.NONE, false),
            new IommuBoot(false, IommuDomainType.DMA, false));

    private Device add(String name, int requesterId, PciPlace place) {
        return add(DeviceConfig.named(name).withRequesterId(requesterId).withPciPlace(place));
    }

    private Device add(DeviceConfig config) {
        Device device = machine.addDevice(config);
        backend.attach(device);
        return device;
    }

    private void assertTogether(Device... devices) {
        for (Device device : devices) {
            assertThat(backend.groupOf(device)).containsExactly(devices);
            assertThat(backend.domainOf(device)).isSameAs(backend.domainOf(devices[0]));
        }
    }

    // ---- which devices (GRP-1)

    @Test
    void devicesWithNothingInCommonHaveGroupsOfTheirOwn() {
        Device a = add("a", 0x100, PciPlace.below(ROOT_PORT));
        Device b = add("b", 0x108, PciPlace.below(ROOT_PORT));
        Device c = add("c", 0x101, PciPlace.below(ROOT_PORT));
        assertTogether(a);
        assertTogether(b);
        assertTogether(c);
    }

    @Test
    @DisplayName("GRP-1: devices on one conventional bus share an alias, those on its sub-buses too")
    void devicesOfOneConventionalBusAreOneGroup() {
        PciBridge toPci = PciBridge.toConventional(0x100, 2).below(ROOT_PORT);
        Device a = add("a", 0x208, PciPlace.below(toPci));
        Device other = add("other", 0x108, PciPlace.below(ROOT_PORT));
        Device b = add("b", 0x210, PciPlace.below(toPci));
        Device c = add("c", 0x308, PciPlace.below(PciBridge.conventional(0x218).below(toPci)));
        assertTogether(a, b, c);
        assertTogether(other);
    }

    @Test
    @DisplayName("GRP-1: devices below one bridge without ACS are one group, wherever it stands above them")
    void devicesBelowABridgeWithoutAcsAreOneGroup() {
        PciBridge left = PciBridge.port(0x100, true).below(OPEN_PORT);
        PciBridge right = PciBridge.port(0x108, true).below(OPEN_PORT);
        Device a = add("a", 0x200, PciPlace.below(left));
        Device b = add("b", 0x300, PciPlace.below(right));
        Device c = add("c", 0x400, PciPlace.below(PciBridge.port(0x110, true).below(ROOT_PORT)));
        assertTogether(a, b);
        assertTogether(c);
    }

    @Test
    @DisplayName("GRP-1: ACS above ends the walk; two open ports below isolated ones stay apart")
    void openPortsBelowIsolatedOnesStayApart() {
        Device a = add("a", 0x200, PciPlace.below(PciBridge.port(0x100, false).below(ROOT_PORT)));
        Device b = add("b", 0x300, PciPlace.below(PciBridge.port(0x108, false).below(ROOT_PORT)));
        Device c = add("c", 0x208, PciPlace.below(PciBridge.port(0x100, false).below(ROOT_PORT)));
        assertTogether(a, c);
        assertTogether(b);
    }

    @Test
    @DisplayName("GRP-1: the walk for a bridge begins above the last alias")
    void aConventionalBusBelowAnOpenPortJoinsWhatIsThere() {
        Device a = add("a", 0x100, PciPlace.below(OPEN_PORT));
        Device b = add(
                "b", 0x208, PciPlace.below(PciBridge.toConventional(0x108, 2).below(OPEN_PORT)));
        assertTogether(a, b);
    }

    @Test
    @DisplayName("GRP-1: ids that a device uses beside its own join the groups of those ids")
    void aliasesOfADeviceJoinItToTheirOwners() {
        Device a = add("a", 0x100, PciPlace.ALONE);
        Device b = add("b", 0x108, PciPlace.ALONE.withAliases(0x100));
        Device c = add("c", 0x110, PciPlace.ALONE.withAliases(0x118));
        Device d = add("d", 0x118, PciPlace.ALONE);
        assertTogether(a, b);
        assertTogether(c, d);
    }

    @Test
    @DisplayName("GRP-1: functions of one slot without ACS are one group, those with it are not")
    void functionsOfASlotShareUnlessIsolated() {
        Device a = add("a", 0x100, PciPlace.ALONE.notIsolated());
        Device isolated = add("isolated", 0x101, PciPlace.ALONE);
        Device b = add("b", 0x107, PciPlace.ALONE.notIsolated());
        Device nextSlot = add("next", 0x108, PciPlace.ALONE.notIsolated());
        assertTogether(a, b);
        assertTogether(isolated);
        assertTogether(nextSlot);
    }

    @Test
    @DisplayName("GRP-1: a device that is not on PCI has its own group")
    void platformDevicesAreAlone() {
        Device a = add(DeviceConfig.platform("a").withPciPlace(PciPlace.below(OPEN_PORT)));
        Device b = add(DeviceConfig.platform("b").withPciPlace(PciPlace.below(OPEN_PORT)));
        Device c = add("c", 0x100, PciPlace.below(OPEN_PORT));
        assertTogether(a);
        assertTogether(b);
        assertTogether(c);
    }

    @Test
    void aNamedGroupComesBeforeThePlace() {
        Device a = add("a", 0x100, PciPlace.below(OPEN_PORT));
        Device b = add(DeviceConfig.named("b")
                .withRequesterId(0x108)
                .withPciPlace(PciPlace.below(OPEN_PORT))
                .withIommuGroup("slot"));
        Device c = add(DeviceConfig.named("c").withRequesterId(0x200).withIommuGroup("slot"));
        assertTogether(a);
        assertTogether(b, c);
    }

    @Test
    void faultsUnderAnAliasReachTheOwnerOfTheDomain() {
        PciBridge toPci = PciBridge.toConventional(0x100, 2).below(ROOT_PORT);
        Device a = add("a", 0x208, PciPlace.below(toPci));
        IommuPagingDomain domain = backend.allocPagingDomain();
        domain.setFaultHandler((device, iova, write) -> {
            driver.calls.add("fault of " + device.name());
            return 0;
        });
        assertThat(domain.attach(a)).isZero();
        driver.calls.clear();
        driver.faultReports.reported(0x200, 0x5000, true, 5);
        driver.faultReports.reported(0x210, 0x5000, true, 5);
        assertThat(driver.calls).containsExactly("fault of a");
    }

    // ---- whole groups, users and owners (GRP-2 to GRP-6)

    @Test
    @DisplayName("GRP-2: a group of two is attached whole")
    void groupsAreAttachedWhole() {
        Device a = add("a", 0x100, PciPlace.below(OPEN_PORT));
        Device b = add("b", 0x108, PciPlace.below(OPEN_PORT));
        IommuPagingDomain domain = backend.allocPagingDomain();
        IommuPagingDomain other = backend.allocPagingDomain();
        assertThat(domain.attach(a)).isEqualTo(-Errno.EINVAL);
        assertThat(domain.attachGroup(a)).isZero();
        assertThat(domain.attachGroup(b)).isZero();
        assertThat(backend.domainOf(b)).isSameAs(domain);
        assertThat(other.attachGroup(b)).isEqualTo(-Errno.EBUSY);
        domain.detach(b);
        assertThat(backend.domainOf(a)).isSameAs(backend.defaultDomainOf(a));
        assertThat(other.attachGroup(b)).isZero();
    }

    @Test
    @DisplayName("GRP-5: a group whose drivers have gone can be owned: it is blocked, and after each detach again")
    void anOwnedGroupIsBlockedUntilADomainIsAttached() {
        Device a = add("a", 0x100, PciPlace.below(OPEN_PORT));
        Device b = add("b", 0x108, PciPlace.below(OPEN_PORT));
        Object owner = new Object();
        assertThat(backend.claimDmaOwner(a, owner)).isEqualTo(-Errno.EPERM);
        backend.unuseDefaultDomain(a);
        assertThat(backend.claimDmaOwner(a, owner)).as("b's driver").isEqualTo(-Errno.EPERM);
        backend.unuseDefaultDomain(b);
        assertThat(backend.claimDmaOwner(b, owner)).isZero();
        assertThat(backend.domainOf(a).type()).isEqualTo(IommuDomainType.BLOCKED);
        assertThat(driver.calls).endsWith("detach a", "detach b");
        assertThat(backend.claimDmaOwner(a, owner)).as("owned").isEqualTo(-Errno.EPERM);
        assertThat(backend.useDefaultDomain(a)).isEqualTo(-Errno.EBUSY);
        IommuPagingDomain domain = backend.allocPagingDomain();
        assertThat(domain.attachGroup(a)).isZero();
        domain.detach(a);
        assertThat(backend.domainOf(b).type()).isEqualTo(IommuDomainType.BLOCKED);
        assertThatThrownBy(() -> backend.releaseDmaOwner(a, new Object())).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> backend.unuseDefaultDomain(a))
                .isInstanceOf(IllegalStateException.class)
                .hasMessage("no driver of the group [a, b] uses the DMA API");
        backend.releaseDmaOwner(a, owner);
        assertThat(backend.domainOf(a)).isSameAs(backend.defaultDomainOf(a));
        assertThat(backend.useDefaultDomain(a)).isZero();
        assertThat(backend.claimDmaOwner(a, owner)).isEqualTo(-Errno.EPERM);
    }

    @Test
    @DisplayName("GRP-5, GRP-6: neither owner nor driver of the DMA API while another domain is attached")
    void anotherDomainKeepsOwnersAndDriversAway() {
        Device a = add("a", 0x100, PciPlace.ALONE);
        backend.unuseDefaultDomain(a);
        IommuPagingDomain domain = backend.allocPagingDomain();
        domain.attach(a);
        assertThat(backend.claimDmaOwner(a, "owner")).isEqualTo(-Errno.EBUSY);
        assertThat(backend.useDefaultDomain(a)).isEqualTo(-Errno.EBUSY);
        domain.detach(a);
        assertThat(backend.useDefaultDomain(a)).isZero();
        assertThatThrownBy(() -> backend.claimDmaOwner(a, Objects.requireNonNullElse(null, null)))
                .isInstanceOf(NullPointerException.class);
    }

    @Test
    @DisplayName("GRP-4: a group that firmware needs cannot be blocked, and so not be owned")
    void aGroupWithFirmwareMemoryIsNotOwned() {
        Device bmc = add(DeviceConfig.named("bmc").withFirmwareRegions(new PhysRange(0x80_0000, 0x80_0fff)));
        backend.unuseDefaultDomain(bmc);
        assertThat(backend.claimDmaOwner(bmc, "owner")).isEqualTo(-Errno.EINVAL);
        assertThat(backend.domainOf(bmc)).isSameAs(backend.defaultDomainOf(bmc));
        assertThat(List.of(backend.useDefaultDomain(bmc))).containsExactly(0);
    }
}
