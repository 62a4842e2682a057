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
 * A device walks again and again while the driver maps a page that needs two new tables (iommu:VTD-16). Their pages
 * were tables of other slots before (iommu:VTD-25, DALLOC-6), with an entry at the same place: a table that is linked
 * before it is empty leads to another slot's page.
 */
@JCStressTest
@Outcome(id = "NOTHING", expect = ACCEPTABLE, desc = "The walks came first.")
@Outcome(id = "PAGE", expect = ACCEPTABLE, desc = "The map came first, and the writes before it.")
@Outcome(id = "STALE_BYTES", expect = FORBIDDEN, desc = "The entry came before the bytes.")
@Outcome(id = "ELSEWHERE", expect = FORBIDDEN, desc = "A table was linked with what its page held before.")
@Outcome(id = "OTHER_FAULT", expect = FORBIDDEN, desc = "A table was linked with what its page held before.")
@State
public class TablePublication {
    private static final StressMachine MACHINE = StressMachine.withoutCaches();

    private final int slot = MACHINE.takeSlot();

    /** Writes a page and maps it. */
    @Actor
    public void driver() {
        MACHINE.writeAndMap(slot, StressMachine.sparse(slot));
    }

    /**
     * Reads the page until something is reached.
     *
     * @param r takes what that is
     */
    @Actor
    public void device(L_Result r) {
        r.r1 = MACHINE.walkWhile(Walk.NOTHING, slot, StressMachine.sparse(slot));
    }

    /**
     * Unmaps, tables included.
     *
     * @param r left as it is
     */
    @Arbiter
    public void after(L_Result r) {
        MACHINE.unmap(StressMachine.sparse(slot), StressMachine.GIB);
        MACHINE.giveSlot(slot);
    }
}
