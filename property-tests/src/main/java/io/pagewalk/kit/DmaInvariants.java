package io.pagewalk.kit;

import io.pagewalk.dma.Machine;
import java.util.ArrayList;
import java.util.List;

/** What must hold of a machine between any two calls, and what must hold of one that has nothing mapped. */
public final class DmaInvariants {
    private DmaInvariants() {}

    /**
     * Checks the backend's structures against each other. No call may be running.
     *
     * @param machine the machine
     * @throws AssertionError that lists every broken invariant
     */
    public static void check(Machine machine) {
        List<String> violations = new ArrayList<>();
        machine.checkStructure(violations::add);
        require(machine, violations);
    }

    /**
     * Lets the backend do what it put off, and checks that nothing is held: no slot, address, table page or pin.
     *
     * @param machine a machine with nothing mapped and nothing allocated
     * @throws AssertionError that lists everything still held, and every broken invariant
     */
    public static void checkIdle(Machine machine) {
        machine.quiesce();
        List<String> violations = new ArrayList<>();
        machine.checkStructure(violations::add);
        machine.checkIdle(violations::add);
        require(machine, violations);
    }

    private static void require(Machine machine, List<String> violations) {
        if (!violations.isEmpty()) {
            throw new AssertionError(violations.size() + " broken invariants of " + machine.backendName() + ":\n  "
                    + String.join("\n  ", violations));
        }
    }
}
