package io.pagewalk.stress;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;
import static org.openjdk.jcstress.annotations.Expect.FORBIDDEN;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.LL_Result;

/**
 * A device walks again and again while the driver unmaps a range with its tables, and maps another range with the same
 * table pages: they are given back only when the unit has forgotten them, upper levels included (iommu:VTD-25,
 * DALLOC-6, INV-11). A walk through a paging-structure cache that still knows them would reach the other range's page.
 */
@JCStressTest
@Outcome(id = "PAGE, PAGE", expect = ACCEPTABLE, desc = "The walks came first.")
@Outcome(id = "PAGE, NOTHING", expect = ACCEPTABLE, desc = "All walks but the last ones came first.")
@Outcome(id = "NOTHING, NOTHING", expect = ACCEPTABLE, desc = "The range went, and nothing came after it.")
@Outcome(id = "ELSEWHERE, .*", expect = FORBIDDEN, desc = "A walk went through a table of the other range.")
@Outcome(id = ".*, ELSEWHERE", expect = FORBIDDEN, desc = "A walk went through a table of the other range.")
@State
public class TablesUsedAgain {
    private static final StressMachine MACHINE = StressMachine.withCaches();

    private final int slot = MACHINE.takeSlot();
    private final int other = MACHINE.takeSlot();
    private final long iova = StressMachine.sparse(slot);
    private final long otherIova = StressMachine.sparse(other);

    /** Maps the range, and has the unit remember its tables. */
    public TablesUsedAgain() {
        MACHINE.writeAndMap(slot, iova);
        MACHINE.walk(slot, iova);
    }

    /** Unmaps the range and maps the other one. */
    @Actor
    public void driver() {
        MACHINE.unmap(iova, StressMachine.GIB);
        MACHINE.writeAndMap(other, otherIova);
    }

    /**
     * Reads the first page of the range until something else is reached, and on until that is not nothing.
     *
     * @param r takes what was reached
     */
    @Actor
    public void device(LL_Result r) {
        r.r1 = MACHINE.walkWhile(Walk.PAGE, slot, iova);
        r.r2 = MACHINE.walkWhile(Walk.NOTHING, slot, iova);
    }

    /**
     * Unmaps the other range.
     *
     * @param r left as it is
     */
    @Arbiter
    public void after(LL_Result r) {
        MACHINE.unmap(otherIova, StressMachine.GIB);
        MACHINE.giveSlot(slot);
        MACHINE.giveSlot(other);
    }
}
