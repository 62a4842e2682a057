package io.pagewalk.kit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.Machine;
import io.pagewalk.kit.planted.FaultyBackend;
import io.pagewalk.kit.planted.PlantedFault;
import net.jqwik.api.ForAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * Whatever a test does, the machines it started are checked and closed behind its back, in JUnit and in jqwik alike.
 */
@ExtendWith(PlantedBackends.class)
class MachineValidatorTest {
    private static final SmallWorld BROKEN = SmallWorld.of(PlantedFault.BROKEN_STRUCTURE.backend());
    private static final SmallWorld SOUND = SmallWorld.of(PlantedFault.LEAKS_PAGES.backend());

    @Test
    void aJUnitTestThatLeavesABrokenMachineBehindFails() {
        ContractRun run = ContractRun.ofAll(JUnitTests.class);
        assertThat(run.fallen()).containsOnlyKeys("leavesABrokenMachine", "leavesABrokenMachineBesideASoundOne");
        assertThat(run.kept()).isEqualTo(2);
        assertThat(run.fallen().get("leavesABrokenMachine"))
                .isInstanceOf(AssertionError.class)
                .hasMessage("1 broken invariants of planted-broken-structure:\n  slot 3 is free and in use");
    }

    @Test
    void aTryThatLeavesABrokenMachineBehindFallsUnlessItFellAlready() {
        ContractRun run = ContractRun.ofAll(Properties.class);
        assertThat(run.fallen()).containsOnlyKeys("sometimesBroken", "failsByItself");
        assertThat(run.kept()).isEqualTo(1);
        assertThat(run.fallen().get("sometimesBroken")).hasMessageContaining("slot 3");
        assertThat(run.fallen().get("failsByItself")).hasMessageContaining("its own reason");
    }

    @Test
    void allMachinesAreClosedThoughOneOfThemIsBroken() {
        TestMachines machines = new TestMachines();
        Machine first = machines.start(BROKEN);
        Machine second = machines.start(SOUND);
        assertThatThrownBy(machines::checkAndClose).isInstanceOf(AssertionError.class);
        assertThat(first.log().count(FaultyBackend.CLOSED)).isEqualTo(1);
        assertThat(second.log().count(FaultyBackend.CLOSED)).isEqualTo(1);
        machines.checkAndClose();
    }

    /** Run by {@link ContractRun} only. */
    @ExtendWith(MachineValidator.class)
    static class JUnitTests {
        @Test
        void leavesASoundMachine(TestMachines machines) {
            machines.start(SOUND);
        }

        @Test
        void leavesABrokenMachine(TestMachines machines) {
            machines.start(BROKEN);
        }

        @Test
        void leavesABrokenMachineBesideASoundOne(TestMachines machines) {
            machines.start(SOUND);
            machines.start(BROKEN);
        }

        @Test
        void asksForNone() {}
    }

    /** Run by {@link ContractRun} only. */
    static class Properties {
        @Law
        void neverBroken(TestMachines machines) {
            machines.start(SOUND);
        }

        @Law
        void sometimesBroken(TestMachines machines, @ForAll boolean broken) {
            machines.start(broken ? BROKEN : SOUND);
        }

        @Law
        void failsByItself(TestMachines machines) {
            machines.start(BROKEN);
            throw new AssertionError("its own reason");
        }
    }
}
