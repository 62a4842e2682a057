package io.pagewalk.kit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.DmaAttrs;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.PhysRange;
import java.util.SplittableRandom;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** A device that keeps to no rule, for as many accesses as the run allows: a million with the profile {@code long}. */
class MisbehavingDeviceTest {
    private static final int ACCESSES = 50 * Math.max(40, Integer.getInteger("jqwik.tries.default", 200));
    private static final int BURST = 50;
    private static final PhysRange ARENA = SmallWorld.ARENAS.get(0);

    private static Machine machine(String backend) {
        return SmallWorld.of(backend).builder().build();
    }

    private static Buffer buffer(SplittableRandom random) {
        int sizeBytes = 1 + random.nextInt(3 * 4096);
        return new Buffer(ARENA.first() + random.nextInt((int) ARENA.sizeBytes() - sizeBytes), sizeBytes);
    }

    private static void hammer(String backend, boolean lazy) {
        try (Machine machine = machine(backend)) {
            Device device = machine.addDevice(DeviceConfig.named("hostile"));
            MisbehavingDevice hostile = new MisbehavingDevice(device, 42, GuardedMemory.SECRET);
            GuardedMemory memory = new GuardedMemory(machine);
            SplittableRandom random = new SplittableRandom(7);
            hostile.learn(ARENA.first(), ARENA.sizeBytes());
            while (hostile.accesses() < ACCESSES) {
                Buffer buffer = buffer(random);
                boolean writes = random.nextBoolean();
                DmaDirection direction = writes ? DmaDirection.FROM_DEVICE : DmaDirection.TO_DEVICE;
                memory.open(buffer, writes);
                long dmaAddr = device.dma().mapPage(buffer.physAddr(), buffer.sizeBytes(), direction, DmaAttrs.NONE);
                hostile.learn(dmaAddr, buffer.sizeBytes());
                memory.requireUntouchedBy(hostile, BURST);
                device.dma().unmapPage(dmaAddr, buffer.sizeBytes(), direction, DmaAttrs.NONE);
                if (lazy) {
                    memory.requireUntouchedBy(hostile, BURST);
                    machine.clock().advance(10_000_000);
                }
                memory.close(buffer);
                memory.requireUntouchedBy(hostile, BURST);
            }
            assertThat(hostile.secretsSeen()).isZero();
            assertThat(hostile.bytesReached()).as("what was mapped").isPositive();
            DmaInvariants.checkIdle(machine);
        }
    }

    @Test
    @DisplayName("strict: whatever it does, no byte but what is mapped at that moment")
    void strictLetsItReachWhatIsMappedOnly() {
        hammer("iommu-strict", false);
    }

    @Test
    @DisplayName("iommu:FQ-8: lazy: after the flush no access reaches what was unmapped")
    void lazyLetsItReachNothingAfterTheFlush() {
        hammer("iommu-lazy", true);
    }

    @Test
    void withoutAnIommuItGetsEverywhere() {
        try (Machine machine = machine("direct")) {
            Device device = machine.addDevice(DeviceConfig.named("hostile"));
            MisbehavingDevice hostile = new MisbehavingDevice(device, 42, GuardedMemory.SECRET);
            GuardedMemory memory = new GuardedMemory(machine);
            hostile.learn(ARENA.first(), ARENA.sizeBytes());
            assertThatThrownBy(() -> memory.requireUntouchedBy(hostile, 200))
                    .isInstanceOf(AssertionError.class)
                    .hasMessageMatching("the device wrote 0x[0-9a-f]{2} at 0x[0-9a-f]+, where nothing is mapped for it"
                            + " to write");
            assertThat(hostile.secretsSeen()).isPositive();
            assertThat(hostile.bytesReached()).isPositive();
            assertThat(hostile.accesses()).isEqualTo(200);
        }
    }

    @Test
    void whatItDoesFollowsFromItsSeed() {
        long[] reached = new long[3];
        for (int i = 0; i < 3; i++) {
            try (Machine machine = machine("direct")) {
                Device device = machine.addDevice(DeviceConfig.named("hostile"));
                MisbehavingDevice hostile = new MisbehavingDevice(device, i / 2, GuardedMemory.SECRET);
                hostile.learn(new DmaExtent(ARENA.first(), 100));
                hostile.misbehave(300);
                reached[i] = hostile.bytesReached();
            }
        }
        assertThat(reached[1]).isEqualTo(reached[0]);
        assertThat(reached[2]).isNotEqualTo(reached[0]);
    }

    @Test
    void guardedMemoryIsOpenWhereABufferIs() {
        try (Machine machine = machine("direct")) {
            GuardedMemory memory = new GuardedMemory(machine);
            Buffer buffer = new Buffer(ARENA.first() + 4000, 200);
            Device device = machine.addDevice(DeviceConfig.named("idle"));
            MisbehavingDevice idle = new MisbehavingDevice(device, 1, GuardedMemory.SECRET);
            memory.open(buffer, true);
            device.bus().writeLong(ARENA.first() + 0x1ff8, 5);
            memory.requireUntouchedBy(idle, 0);
            memory.open(buffer, false);
            memory.requireUntouchedBy(idle, 0);
            device.bus().writeLong(ARENA.first() + 0x1ff8, 5);
            assertThatThrownBy(() -> memory.requireUntouchedBy(idle, 0))
                    .hasMessage("the device wrote 0x05 at 0x3001ff8, where nothing is mapped for it to write");
            memory.close(buffer);
            memory.requireUntouchedBy(idle, 0);
            device.bus().writeLong(ARENA.first() + 0x2000, 5);
            assertThatThrownBy(() -> memory.requireUntouchedBy(idle, 0))
                    .hasMessage("the device wrote 0x05 at 0x3002000, where nothing is mapped for it to write");
        }
    }
}
