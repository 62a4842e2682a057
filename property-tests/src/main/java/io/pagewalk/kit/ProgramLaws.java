package io.pagewalk.kit;

import net.jqwik.api.ForAll;

/** What holds whatever drivers and devices do, and in which order. */
public interface ProgramLaws extends WorldSource {
    /**
     * A program of two drivers and two devices, by the rules, keeps every law at every step, and leaves nothing behind
     * once all is unmapped.
     *
     * @param machines the try's machines
     * @param world the world
     * @param program the program
     */
    @Law
    default void aProgramKeepsEveryLawAndLeavesNothingBehind(
            TestMachines machines, @ForAll("worlds") SmallWorld world, @ForAll DmaProgram program) {
        DmaProgramRun.run(machines.start(world), program);
    }
}
