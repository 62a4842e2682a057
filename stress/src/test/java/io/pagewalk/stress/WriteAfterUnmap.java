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
 * A device writes a page again and again while the driver unmaps it strictly and then writes itself (iommu:INV-11).
 * Linux asks each invalidation to drain (iommu:INV-5): it is complete when the accesses in flight are, so that the
 * driver's write is the last.
 */
@JCStressTest
@Outcome(id = "8, DRIVER", expect = ACCEPTABLE, desc = "The device was done before the page was unmapped.")
@Outcome(id = "0, DRIVER", expect = ACCEPTABLE, desc = "The device was blocked in the end.")
@Outcome(id = "8, DEVICE", expect = FORBIDDEN, desc = "The device wrote after the page was unmapped.")
@State
public class WriteAfterUnmap {
    private static final StressMachine MACHINE = StressMachine.withCaches();
    private static final long BY_DRIVER = 0x1111_2222_3333_4444L;
    private static final long BY_DEVICE = 0x5555_6666_7777_8888L;

    private final int slot = MACHINE.takeSlot();
    private final long iova = StressMachine.single(slot);

    /** Maps the page. */
    public WriteAfterUnmap() {
        MACHINE.map(slot, iova);
    }

    /** Unmaps the page and writes it. */
    @Actor
    public void driver() {
        MACHINE.unmap(iova, StressMachine.PAGE);
        MACHINE.write(slot, BY_DRIVER);
    }

    /**
     * Writes the page until it is blocked.
     *
     * @param r takes how many bytes were written the last time
     */
    @Actor
    public void device(LL_Result r) {
        int written = Long.BYTES;
        for (int tries = 0; tries < StressMachine.TRIES && written != 0; tries++) {
            written = MACHINE.bus().writeLong(iova, BY_DEVICE);
        }
        r.r1 = written;
    }

    /**
     * Looks who was last.
     *
     * @param r takes whose bytes the page has
     */
    @Arbiter
    public void after(LL_Result r) {
        long found = MACHINE.read(slot);
        r.r2 = found == BY_DRIVER ? "DRIVER" : found == BY_DEVICE ? "DEVICE" : Long.toHexString(found);
        MACHINE.giveSlot(slot);
    }
}
