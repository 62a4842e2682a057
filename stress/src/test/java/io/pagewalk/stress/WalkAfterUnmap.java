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
 * A device reads again and again while the driver unmaps strictly (iommu:INV-11). An access that begins after the unmap
 * has returned reaches nothing, although one before it may have brought the translation back into the IOTLB.
 */
@JCStressTest
@Outcome(id = "RUNNING, PAGE", expect = ACCEPTABLE, desc = "The access came first.")
@Outcome(id = "RUNNING, NOTHING", expect = ACCEPTABLE, desc = "The unmap came first, and had not returned yet.")
@Outcome(id = "RETURNED, NOTHING", expect = ACCEPTABLE, desc = "The unmap had returned.")
@Outcome(id = "RETURNED, PAGE", expect = FORBIDDEN, desc = "The page was reached although it was unmapped.")
@State
public class WalkAfterUnmap {
    /** How far the unmap is, as the device knows. */
    enum Unmap {
        /** It has not returned, and has not begun perhaps. */
        RUNNING,
        /** It has returned. */
        RETURNED
    }

    private static final StressMachine MACHINE = StressMachine.withCaches();

    private final int slot = MACHINE.takeSlot();
    private final long iova = StressMachine.single(slot);
    private volatile Unmap unmap = Unmap.RUNNING;

    /** Maps the page. */
    public WalkAfterUnmap() {
        MACHINE.writeAndMap(slot, iova);
    }

    /** Unmaps the page. */
    @Actor
    public void driver() {
        MACHINE.unmap(iova, StressMachine.PAGE);
        unmap = Unmap.RETURNED;
    }

    /**
     * Reads the page until nothing is reached, and once more.
     *
     * @param r takes whether the unmap had returned before the last time, and what was reached then
     */
    @Actor
    public void device(LL_Result r) {
        Walk first = MACHINE.walkWhile(Walk.PAGE, slot, iova);
        r.r1 = unmap;
        Walk second = MACHINE.walk(slot, iova);
        r.r2 = first == Walk.NOTHING && second == Walk.PAGE ? "PAGE after NOTHING" : second;
    }

    /**
     * Gives the slot back.
     *
     * @param r left as it is
     */
    @Arbiter
    public void after(LL_Result r) {
        MACHINE.giveSlot(slot);
    }
}
