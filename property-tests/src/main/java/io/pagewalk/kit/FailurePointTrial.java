package io.pagewalk.kit;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.Machine;

/**
 * Fails every point that a call passes, one at a time: each on a fresh machine, where tables and caches are still
 * empty, and once more on a machine that has made the call before.
 */
final class FailurePointTrial {
    /** A call that passes more points than this is taken for one that never ends. */
    private static final int MOST_POINTS = 1000;

    /** A call with its use and its undoing. */
    @FunctionalInterface
    interface Call {
        /** Makes the call, uses what it gave and gives it back; false when it failed. */
        boolean works(Device device);
    }

    private final SmallWorld world;
    private final DeviceConfig config;
    private final Call call;

    private FailurePointTrial(SmallWorld world, DeviceConfig config, Call call) {
        this.world = world;
        this.config = config;
        this.call = call;
    }

    /** Tries the call; throws an AssertionError when a failure leaves something behind. */
    static void of(SmallWorld world, DeviceConfig config, Call call) {
        new FailurePointTrial(world, config, call).run();
    }

    private void run() {
        TestMachines machines = new TestMachines();
        try {
            Device warm = machines.start(world).addDevice(config);
            boolean works = call.works(warm);
            for (int n = 1; leavesNothingOnAFreshMachine(n, works); n++) {
                assertThat(n).as("points passed by one call").isLessThan(MOST_POINTS);
            }
            for (int n = 1; leavesNothing(warm, n, works); n++) {
                assertThat(n).as("points passed by one call").isLessThan(MOST_POINTS);
            }
        } finally {
            machines.checkAndClose();
        }
    }

    private boolean leavesNothingOnAFreshMachine(int n, boolean works) {
        TestMachines machines = new TestMachines();
        try {
            return leavesNothing(machines.start(world).addDevice(config), n, works);
        } finally {
            machines.checkAndClose();
        }
    }

    /** Whether the call passed an n-th point, which then failed, and left nothing behind. */
    private boolean leavesNothing(Device device, int n, boolean works) {
        Machine machine = device.machine();
        long pagesBefore = machine.pages().allocatedPages();
        machine.failures().failNth(n);
        call.works(device);
        String failedAt = machine.failures().failedAt();
        machine.failures().disarm();
        requireAsBefore(machine, pagesBefore);
        if (failedAt == null) {
            return false;
        }
        assertThat(call.works(device))
                .as("the call works after %s failed", failedAt)
                .isEqualTo(works);
        requireAsBefore(machine, pagesBefore);
        return true;
    }

    private static void requireAsBefore(Machine machine, long pages) {
        DmaInvariants.checkIdle(machine);
        assertThat(machine.pages().allocatedPages()).as("allocated pages").isEqualTo(pages);
    }
}
