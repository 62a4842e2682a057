package io.pagewalk.stress;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;
import static org.openjdk.jcstress.annotations.Expect.FORBIDDEN;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.L_Result;

/**
 * A device walks again and again while the driver maps a page into tables that are there. As nothing is invalidated
 * after a map (iommu:INV-14), the entry itself has to publish the page: whole, and after its bytes (iommu:VTD-16).
 */
@JCStressTest
@Outcome(id = "NOTHING", expect = ACCEPTABLE, desc = "The walks came first.")
@Outcome(id = "PAGE", expect = ACCEPTABLE, desc = "The map came first, and the writes before it.")
@Outcome(id = "STALE_BYTES", expect = FORBIDDEN, desc = "The entry came before the bytes.")
@Outcome(id = "ELSEWHERE", expect = FORBIDDEN, desc = "Half an entry was read.")
@Outcome(id = "OTHER_FAULT", expect = FORBIDDEN, desc = "Half an entry was read.")
@State
public class LeafPublication {
    private static final StressMachine MACHINE = StressMachine.withoutCaches();

    private final int slot = MACHINE.takeSlot();

    /** Writes a page and maps it. */
    @Actor
    public void driver() {
        MACHINE.writeAndMap(slot, StressMachine.single(slot));
    }

    /**
     * Reads the page until something is reached.
     *
     * @param r takes what that is
     */
    @Actor
    public void device(L_Result r) {
        r.r1 = MACHINE.walkWhile(Walk.NOTHING, slot, StressMachine.single(slot));
    }

    /**
     * Unmaps.
     *
     * @param r left as it is
     */
    @Arbiter
    public void after(L_Result r) {
        MACHINE.unmap(StressMachine.single(slot), StressMachine.PAGE);
        MACHINE.giveSlot(slot);
    }
}
