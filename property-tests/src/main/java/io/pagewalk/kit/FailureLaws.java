package io.pagewalk.kit;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.Machine;
import net.jqwik.api.ForAll;

/**
 * What a call that fails leaves behind: nothing. Every point where the kernel could run out of something fails once.
 */
public interface FailureLaws extends WorldSource {
    /** A call that passes more points than this is taken for one that never ends. */
    int MOST_POINTS = 1000;

    /**
     * A map that fails at any point changes nothing, and the same map works as before afterwards.
     *
     * @param machines the try's machines
     * @param world the world
     * @param config the device
     * @param buffer the buffer
     * @param direction the direction
     */
    @Law
    default void aMapThatFailsChangesNothing(
            TestMachines machines,
            @ForAll("worlds") SmallWorld world,
            @ForAll DeviceConfig config,
            @ForAll Buffer buffer,
            @ForAll DmaDirection direction) {
        Device device = machines.start(world).addDevice(config);
        failEveryPoint(device, () -> isUsable(CheckedMapping.page(device, 0, buffer, direction)));
    }

    /**
     * A list that fails at any point changes nothing, and the same list works as before afterwards.
     *
     * @param machines the try's machines
     * @param world the world
     * @param config the device
     * @param segments the list
     * @param direction the direction
     */
    @Law
    default void aListThatFailsChangesNothing(
            TestMachines machines,
            @ForAll("worlds") SmallWorld world,
            @ForAll DeviceConfig config,
            @ForAll Segments segments,
            @ForAll DmaDirection direction) {
        Device device = machines.start(world).addDevice(config);
        failEveryPoint(device, () -> isUsable(CheckedMapping.sg(device, 0, segments, direction)));
    }

    /**
     * An allocation that fails at any point changes nothing, and the same allocation works as before afterwards.
     *
     * @param machines the try's machines
     * @param world the world
     * @param config the device
     * @param size how much
     */
    @Law
    default void anAllocationThatFailsChangesNothing(
            TestMachines machines, @ForAll("worlds") SmallWorld world, @ForAll DeviceConfig config, @ForAll Part size) {
        Device device = machines.start(world).addDevice(config);
        failEveryPoint(device, () -> {
            CheckedMemory memory = CheckedMemory.alloc(device, 0, size.sizeBytes(CoherentLaws.MOST_BYTES));
            if (memory.isLive()) {
                memory.free();
            }
            return memory.isLive();
        });
    }

    /** Makes a call, uses and undoes what it gave, and says whether it gave anything. */
    @FunctionalInterface
    interface Call {
        /**
         * Makes the call.
         *
         * @return false when it failed
         */
        boolean works();
    }

    private static boolean isUsable(CheckedMapping mapping) {
        mapping.cpuReadsTheModel();
        if (mapping.isLive()) {
            if (mapping.direction().deviceReads()) {
                mapping.deviceReadsTheModel();
            }
            mapping.unmap(0);
            return true;
        }
        return false;
    }

    private static void failEveryPoint(Device device, Call call) {
        Machine machine = device.machine();
        boolean works = call.works();
        requireAsBefore(machine, machine.pages().allocatedPages());
        long pagesBefore = machine.pages().allocatedPages();
        for (int n = 1; failNth(machine, n, call); n++) {
            assertThat(n).as("points passed by one call").isLessThan(MOST_POINTS);
            requireAsBefore(machine, pagesBefore);
            assertThat(call.works()).as("the call works after failure %d", n).isEqualTo(works);
            requireAsBefore(machine, pagesBefore);
        }
    }

    /** Whether the call passed an n-th point, which then failed. */
    private static boolean failNth(Machine machine, int n, Call call) {
        machine.failures().failNth(n);
        call.works();
        String failedAt = machine.failures().failedAt();
        machine.failures().disarm();
        return failedAt != null;
    }

    private static void requireAsBefore(Machine machine, long pages) {
        DmaInvariants.checkIdle(machine);
        assertThat(machine.pages().allocatedPages()).as("allocated pages").isEqualTo(pages);
    }
}
