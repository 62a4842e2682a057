package io.pagewalk.stress;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;

import io.pagewalk.dma.BusWord;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.JJJ_Result;

/** Two threads of a device add to the same word across the bus: no addition is lost, and each sees the other or not. */
@JCStressTest
@Outcome(id = "0, 1, 11", expect = ACCEPTABLE, desc = "One after the other.")
@Outcome(id = "10, 0, 11", expect = ACCEPTABLE, desc = "The other way round.")
@State
public class BusAtomics {
    private static final StressMachine MACHINE = StressMachine.withCaches();

    private final int slot = MACHINE.takeSlot();
    private final long iova = StressMachine.single(slot);
    private final BusWord old = new BusWord();
    private final BusWord otherOld = new BusWord();

    /** Maps the word. */
    public BusAtomics() {
        MACHINE.map(slot, iova);
    }

    /**
     * Adds 1.
     *
     * @param r takes what stood there before
     */
    @Actor
    public void device(JJJ_Result r) {
        MACHINE.bus().fetchAdd(iova, 1, old);
        r.r1 = old.value();
    }

    /**
     * Adds 10.
     *
     * @param r takes what stood there before
     */
    @Actor
    public void otherThread(JJJ_Result r) {
        MACHINE.bus().fetchAdd(iova, 10, otherOld);
        r.r2 = otherOld.value();
    }

    /**
     * Reads the sum.
     *
     * @param r takes it
     */
    @Arbiter
    public void after(JJJ_Result r) {
        r.r3 = MACHINE.read(slot);
        MACHINE.unmap(iova, StressMachine.PAGE);
        MACHINE.giveSlot(slot);
    }
}
