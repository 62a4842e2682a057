package io.pagewalk.backends.swiotlb;

import org.jetbrains.lincheck.datastructures.IntGen;
import org.jetbrains.lincheck.datastructures.ModelCheckingOptions;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.Param;
import org.jetbrains.lincheck.datastructures.StressOptions;
import org.junit.jupiter.api.Test;

/**
 * One area hands out and takes back slots as if its callers came one after the other. Two areas do not, by the
 * specification: a search looks into them in turn (dma-core:SWS-20).
 *
 * <p>Every allocation starts at an even slot, so that none is released by an address inside it; releasing what is free
 * has no effect (SWR-6).
 */
public class SlotAllocatorLincheckTest {
    private static final int SLOTS = 6;
    private static final long EVEN = 0xfff;

    /** 1 in an ordinary build, more where properties are tried more often. */
    private static final int SCALE = Math.max(1, Integer.getInteger("jqwik.tries.default", 200) / 1000);

    private final IoTlbPool pool = new IoTlbPool(0x200_0000L, SLOTS, 1);

    /** Used by lincheck, which makes an allocator for each scenario. */
    public SlotAllocatorLincheckTest() {}

    @Operation
    public int take(@Param(gen = IntGen.class, conf = "1:2") int slots) {
        return pool.allocate(0, 0, slots * SwiotlbLayout.SLOT_BYTES, EVEN, 0, 0x200_0000L, -1L);
    }

    @Operation
    public void giveBack(@Param(gen = IntGen.class, conf = "0:2") int pair) {
        pool.release(pool.addressOf(2 * pair), 0);
    }

    @Test
    void callersUnderStressComeOneAfterTheOther() {
        new StressOptions()
                .iterations(8 * SCALE)
                .invocationsPerIteration(100)
                .threads(2)
                .actorsPerThread(3)
                .actorsBefore(2)
                .actorsAfter(2)
                .check(SlotAllocatorLincheckTest.class);
    }

    @Test
    void callersOfEveryScheduleComeOneAfterTheOther() {
        new ModelCheckingOptions()
                .iterations(4 * SCALE)
                .invocationsPerIteration(60)
                .threads(2)
                .actorsPerThread(3)
                .actorsBefore(2)
                .actorsAfter(1)
                .check(SlotAllocatorLincheckTest.class);
    }
}
