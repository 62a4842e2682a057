package io.pagewalk.dma;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.fake.FakeBackend;
import io.pagewalk.dma.fake.FakeProvider;
import io.pagewalk.dma.fake.World;
import io.pagewalk.dma.memory.PhysRange;
import io.pagewalk.dma.memory.RamMap;
import io.pagewalk.dma.spi.DmaBackends;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** A machine owns what varies, and no other machine sees it: architecture rule 2. */
class MachineTest {
    private final Machine machine = World.builder().build();

    @Test
    void aNameCanBeTakenOnce() {
        Device nic = machine.addDevice(DeviceConfig.named("nic"));

        assertThatThrownBy(() -> machine.addDevice(DeviceConfig.named("nic")))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("there is a device nic already");
        assertThat(machine.devices()).containsExactly(nic);
        assertThat(machine.device("nic")).isSameAs(nic);
        assertThat(machine.device("disk")).isNull();
        assertThatThrownBy(() -> DeviceConfig.named(" ")).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void aRequesterIdCanBeTakenOnce() {
        machine.addDevice(DeviceConfig.named("nic").withRequesterId(0x10));

        assertThatThrownBy(() -> machine.addDevice(DeviceConfig.named("disk").withRequesterId(0x10)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("requester id 0x10 of disk is taken");
        assertThat(machine.device("disk")).isNull();
    }

    @Test
    void aRequesterIdOfMoreThan16BitsIsRefused() {
        assertThatThrownBy(() -> DeviceConfig.named("nic").withRequesterId(0x10000))
                .isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> DeviceConfig.named("nic").withRequesterId(-2))
                .isInstanceOf(IllegalArgumentException.class);
        assertThat(machine.addDevice(DeviceConfig.named("nic").withRequesterId(0xffff))
                        .requesterId())
                .isEqualTo(0xffff);
    }

    @Test
    void theMachineChoosesTheFirstFreeIdOfFunctionZero() {
        assertThat(machine.addDevice(DeviceConfig.named("a")).requesterId()).isEqualTo(8);
        assertThat(machine.addDevice(DeviceConfig.named("b").withRequesterId(16))
                        .requesterId())
                .isEqualTo(16);
        assertThat(machine.addDevice(DeviceConfig.named("c")).requesterId()).isEqualTo(24);
        assertThat(machine.addDevice(DeviceConfig.named("zero").withRequesterId(0))
                        .requesterId())
                .isZero();
    }

    @Test
    void otherFunctionsAreChosenWhenFunctionZeroIsGoneAndTheNextDeviceAfterAllIsRefused() {
        RequesterIds ids = new RequesterIds();
        DeviceConfig any = DeviceConfig.named("last");
        for (int id = 8; id <= 0xffff; id += 8) {
            ids.take(id);
        }
        assertThat(ids.free(any)).isEqualTo(9);
        for (int id = 9; id < 0xffff; id++) {
            ids.take(id);
        }
        assertThat(ids.free(any)).isEqualTo(0xffff);
        ids.take(0xffff);
        assertThatThrownBy(() -> ids.free(any))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("no requester id is left for last below 0x10000");
    }

    @Test
    void aDeviceThatTheBackendRefusesIsNotOnTheMachine() {
        FakeBackend backend = FakeBackend.of(machine);
        backend.refusesDevices = true;
        assertThatThrownBy(() -> machine.addDevice(DeviceConfig.named("nic"))).hasMessage("no nic");
        assertThat(machine.devices()).isEmpty();

        backend.refusesDevices = false;
        assertThat(machine.addDevice(DeviceConfig.named("nic")).requesterId()).isEqualTo(8);
    }

    @Test
    void anUnknownBackendIsRefusedWithAListOfThoseThereAre() {
        assertThatThrownBy(() -> World.builder().backend("iommu-magic").build())
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("no backend is called \"iommu-magic\"; there are [test-identity, test-other]");
    }

    @Test
    void everyVariantOfEveryProviderIsFound() {
        assertThat(DmaBackends.all())
                .extracting(DmaBackends.Found::name)
                .containsExactly(FakeProvider.NAME, "test-other");
        assertThat(DmaBackends.byName("test-other").summary()).isEqualTo("the same under another name");
        assertThat(World.builder().backend("test-other").build().backendName()).isEqualTo("test-other");
    }

    @Test
    void aMachineNeedsACpu() {
        assertThatThrownBy(() -> Machine.builder().cpus(0))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("a machine has 1 to 8192 CPUs, not 0");
    }

    @Test
    void pageZeroIsNeverHandedOutByDefault() {
        Machine small = Machine.builder()
                .ram(RamMap.of(PhysRange.ofSize(0, 0x4000)))
                .chunkBytes(0x1000)
                .backend(FakeProvider.NAME)
                .build();

        assertThat(small.pages().freeBytes()).isEqualTo(0x3000);
    }

    @Test
    void housekeepingGoesToTheBackend() {
        List<String> violations = new ArrayList<>();
        machine.checkStructure(violations::add);
        machine.checkIdle(violations::add);
        machine.quiesce();
        machine.close();

        assertThat(violations).containsExactly("structure", "idle");
        assertThat(FakeBackend.of(machine).calls).containsExactly("quiesce", "close");
    }

    @Test
    void twoMachinesNeverMeet() { // architecture rule 2
        World one = World.make();
        World two = World.make();
        one.bus.writeLong(0x1000, 1);
        one.bus.readLong(0x9000);
        one.machine.clock().advance(5);
        one.machine.log().warn("dma_map_page", "text");
        one.machine.failures().failNth(1);
        one.machine.failures().point("p").fails();
        one.dma.mapPage(0x1000, 16, DmaDirection.TO_DEVICE, 0);
        one.device.setMask(0xffff);
        one.machine.pages().reserve(0x10000, 0x1000);

        assertThat(two.device.name()).isEqualTo(one.device.name());
        assertThat(two.device.requesterId()).isEqualTo(one.device.requesterId());
        assertThat(two.machine.memory().getLong(0x1000)).isZero();
        assertThat(two.machine.faults().count()).isZero();
        assertThat(two.machine.clock().nowNanos()).isZero();
        assertThat(two.machine.log().count("dma_map_page")).isZero();
        assertThat(two.machine.failures().pointNames()).doesNotContain("p");
        assertThat(two.machine.failures().point("p").fails()).isFalse();
        assertThat(two.backend.calls).isEmpty();
        assertThat(two.device.streamingMask()).isEqualTo(-1L);
        assertThat(two.machine.pages().freeBytes()).isEqualTo(0x8000);
        assertThat(one.machine.pages().freeBytes()).isEqualTo(0x7000);
    }

    @Test
    void whatAModuleKeepsOfAMachineIsMadeOnce() {
        try (Machine machine = Machine.builder()
                        .ramBytes(64 << 20)
                        .backend(FakeProvider.NAME)
                        .build();
                Machine other = Machine.builder()
                        .ramBytes(64 << 20)
                        .backend(FakeProvider.NAME)
                        .build()) {
            StringBuilder made = machine.extension(
                    StringBuilder.class, m -> new StringBuilder(m.extension(Integer.class, inner -> 7) + "!"));
            assertThat(made).hasToString("7!");
            assertThat(machine.extension(StringBuilder.class, m -> new StringBuilder("second")))
                    .isSameAs(made);
            assertThat(other.extension(StringBuilder.class, m -> new StringBuilder("other")))
                    .hasToString("other");
        }
    }
}
