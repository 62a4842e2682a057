package io.pagewalk.kit;

import io.pagewalk.dma.Machine;
import io.pagewalk.dma.MachineBuilder;
import java.util.ArrayList;
import java.util.List;

/**
 * The machines of one test or one try. Ask for it as a parameter; whoever made it checks and closes all of them at the
 * end.
 *
 * <p>Not thread-safe.
 */
public final class TestMachines {
    private final List<Machine> machines = new ArrayList<>();

    /** Starts without a machine. */
    public TestMachines() {}

    /**
     * Builds a machine and watches it.
     *
     * @param builder describes it
     * @return the machine
     */
    public Machine start(MachineBuilder builder) {
        return watch(builder.build());
    }

    /**
     * Builds a small machine and watches it.
     *
     * @param world describes it
     * @return the machine
     */
    public Machine start(SmallWorld world) {
        return start(world.builder());
    }

    /**
     * Watches a machine.
     *
     * @param machine any machine, not closed by the test
     * @return the same machine
     */
    public Machine watch(Machine machine) {
        machines.add(machine);
        return machine;
    }

    /**
     * Checks the structures of all machines and closes them, in the order in which they were started.
     *
     * @throws AssertionError of the first machine with a broken invariant, after all were closed
     */
    public void checkAndClose() {
        List<Machine> watched = List.copyOf(machines);
        machines.clear();
        try {
            watched.forEach(DmaInvariants::check);
        } finally {
            watched.forEach(Machine::close);
        }
    }
}
