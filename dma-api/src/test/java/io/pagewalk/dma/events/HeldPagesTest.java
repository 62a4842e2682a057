package io.pagewalk.dma.events;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Which pages live mappings lead to. */
class HeldPagesTest {
    private static final long PAGE = 0x1000;

    private final HeldPages<String> pages = new HeldPages<>();

    @Test
    void aPageIsHeldByAnyOfItsBytes() {
        pages.hold("end and start", 0x2fff, 2);
        pages.hold("nothing", 0x5000, 0);
        assertThat(pages.heldOf(0, 16)).containsExactly(2L, 3L);
        assertThat(pages.heldOf(3, 1)).containsExactly(3L);
        assertThat(pages.heldOf(4, 1L << 40)).isEmpty();
        assertThat(pages.holders(0x2000)).containsExactly("end and start");
        assertThat(pages.holders(0x3000)).containsExactly("end and start");
        assertThat(pages.holders(0x1000)).isEmpty();
        assertThat(pages.holders(0x4000)).isEmpty();
    }

    @Test
    void aMappingLetsGoOfAllItsRangesAndOfNoOthers() {
        pages.hold("list", 0x1000, 8);
        pages.hold("list", 0x1800, 8);
        pages.hold("list", 0x8000, PAGE);
        pages.hold("other", 0x1010, 8);
        assertThat(pages.holders(0x1000)).containsExactly("list", "other");
        pages.release("list");
        pages.release("list");
        assertThat(pages.holders(0x1000)).containsExactly("other");
        assertThat(pages.heldOf(0, 16)).containsExactly(1L);
        pages.release("other");
        assertThat(pages.heldOf(0, 16)).isEmpty();
    }

    @Test
    void aMappingThatTakesThePlaceOfAnotherHoldsItsPages() {
        pages.hold("before", 0x1234, PAGE);
        pages.hold("before", 0x7000, 1);
        pages.replace("before", "after");
        pages.replace("unknown", "nobody");
        assertThat(pages.heldOf(0, 16)).containsExactly(1L, 2L, 7L);
        assertThat(pages.holders(0x2000)).containsExactly("after");
        pages.hold("later", 0x0fff, 0x3000);
        pages.replace("after", "now");
        assertThat(pages.holders(0x2000)).containsExactly("now", "later");
        pages.replace("now", "after");
        pages.release("later");
        pages.release("before");
        assertThat(pages.heldOf(0, 16)).containsExactly(1L, 2L, 7L);
        pages.release("after");
        assertThat(pages.heldOf(0, 16)).isEmpty();
    }

    @Test
    void theRangesOfARandomProgramAreFoundAsByLookingAtEachOfThem() {
        Random random = new Random(9);
        List<long[]> model = new ArrayList<>();
        for (int step = 0; step < 2000; step++) {
            if (random.nextInt(3) == 0 && !model.isEmpty()) {
                pages.release("m" + model.remove(random.nextInt(model.size()))[0]);
            } else {
                long size = 1L + random.nextInt(random.nextInt(10) == 0 ? 0x8000 : 0x1800);
                long[] range = {step, random.nextInt(0x2_0000), size};
                model.add(range);
                pages.hold("m" + step, range[1], range[2]);
            }
            long first = random.nextInt(40);
            long count = 1L + random.nextInt(8);
            List<Long> expected = new ArrayList<>();
            for (long pfn = first; pfn < first + count; pfn++) {
                List<String> holders = holders(model, pfn);
                assertThat(pages.holders(pfn * PAGE)).containsExactlyInAnyOrderElementsOf(holders);
                if (!holders.isEmpty()) {
                    expected.add(pfn);
                }
            }
            assertThat(pages.heldOf(first, count)).containsExactlyElementsOf(expected);
        }
    }

    @Test
    @Timeout(10)
    @DisplayName("a look-up goes past small ranges below the page only while a range of their size may reach it")
    void aHugeRangeDoesNotMakeLookUpsLookAtAllSmallOnes() {
        int count = 20_000;
        for (int i = 0; i < count; i++) {
            pages.hold("small " + i, i * PAGE, 64);
        }
        pages.hold("huge", 0, 8L << 30);
        pages.hold("registers", 0xff_0000_0000L, 1L << 32);
        for (int i = 0; i < count; i++) {
            assertThat(pages.heldOf(count + i, 1)).hasSize(1);
            assertThat(pages.holders((count + i) * PAGE)).containsExactly("huge");
        }
        pages.release("huge");
        assertThat(pages.heldOf(count, 1)).isEmpty();
        assertThat(pages.heldOf(count - 1, 2)).containsExactly(count - 1L);
    }

    private static List<String> holders(List<long[]> model, long pfn) {
        return model.stream()
                .filter(m -> m[1] / PAGE <= pfn && pfn <= (m[1] + m[2] - 1) / PAGE)
                .map(m -> "m" + m[0])
                .toList();
    }
}
