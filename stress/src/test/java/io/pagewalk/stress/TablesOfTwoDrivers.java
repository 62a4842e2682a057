package io.pagewalk.stress;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.LL_Result;

/**
 * Two drivers map neighbouring pages and miss the same tables. Both bring some, one of them links (iommu:VTD-16), and
 * neither mapping is lost with a table that nobody can find.
 */
@JCStressTest
@Outcome(id = "PAGE, PAGE", expect = ACCEPTABLE, desc = "Both pages are mapped.")
@State
public class TablesOfTwoDrivers {
    private static final StressMachine MACHINE = StressMachine.withoutCaches();

    private final int slot = MACHINE.takeSlot();
    private final int neighbour = MACHINE.takeSlot();
    private final long iova = StressMachine.sparse(slot);
    private final long nextIova = iova + StressMachine.PAGE;

    /** Maps the first page. */
    @Actor
    public void driver() {
        MACHINE.writeAndMap(slot, iova);
    }

    /** Maps the second page. */
    @Actor
    public void otherDriver() {
        MACHINE.writeAndMap(neighbour, nextIova);
    }

    /**
     * Reads both pages as the device, and unmaps them.
     *
     * @param r takes what was reached
     */
    @Arbiter
    public void after(LL_Result r) {
        r.r1 = MACHINE.walk(slot, iova);
        r.r2 = MACHINE.walk(neighbour, nextIova);
        MACHINE.unmap(iova, StressMachine.GIB);
        MACHINE.giveSlot(slot);
        MACHINE.giveSlot(neighbour);
    }
}
