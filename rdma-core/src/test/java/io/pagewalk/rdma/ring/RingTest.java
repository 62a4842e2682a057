package io.pagewalk.rdma.ring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Queues of places that are made once. */
class RingTest {
    /** A place, and what was put into it last. */
    private static final class Place {
        private int value = -1;
    }

    private final List<Place> made = new ArrayList<>();

    private Ring<Place> ring(int capacity) {
        return new Ring<>(capacity, () -> {
            Place place = new Place();
            made.add(place);
            return place;
        });
    }

    private static void push(Ring<Place> ring, int value) {
        ring.next().value = value;
        ring.push();
    }

    @Test
    void placesAreMadeInStepsThatDoubleUpToTheCapacity() {
        Ring<Place> ring = ring(50);
        List<Integer> rooms = new ArrayList<>();
        for (int i = 0; i < 50; i++) {
            assertThat(ring.isFull()).isFalse();
            push(ring, i);
            rooms.add(made.size());
        }
        assertThat(ring.isFull()).isTrue();
        assertThat(rooms.subList(0, 16)).containsOnly(16);
        assertThat(rooms.subList(16, 32)).containsOnly(32);
        assertThat(rooms.subList(32, 50)).containsOnly(50);
        assertThat(ring.size()).isEqualTo(50);
        for (int i = 0; i < 50; i++) {
            assertThat(ring.waiting(0)).isSameAs(ring.first());
            assertThat(ring.waiting(49 - i).value).isEqualTo(49);
            assertThat(ring.first().value).isEqualTo(i);
            ring.pop();
        }
        assertThat(ring.isEmpty()).isTrue();
        assertThat(made).as("nothing is made again").hasSize(50);
    }

    @Test
    void aSmallQueueHasItsPlacesAtOnceAndAnEmptyOneHasNone() {
        Ring<Place> three = ring(3);
        assertThat(made).hasSize(3);
        for (int i = 0; i < 3; i++) {
            push(three, i);
        }
        assertThat(three.isFull()).isTrue();
        made.clear();
        Ring<Place> none = ring(0);
        assertThat(made).isEmpty();
        assertThat(none.isFull()).isTrue();
        assertThat(none.isEmpty()).isTrue();
        none.clear();
        assertThat(none.size()).isZero();
        assertThatIllegalArgumentException().isThrownBy(() -> ring(-1)).withMessage("a queue of -1 places");
    }

    @Test
    void whatWaitsKeepsItsOrderWhenTheQueueGrowsWhereverItBegins() {
        for (int popped = 0; popped < 16; popped++) {
            made.clear();
            Ring<Place> ring = ring(40);
            for (int i = 0; i < popped; i++) {
                push(ring, -1);
                ring.pop();
            }
            for (int i = 0; i < 16; i++) {
                push(ring, i);
            }
            assertThat(made).hasSize(16);
            Set<Place> before = new HashSet<>(made);
            push(ring, 16);
            assertThat(made).hasSize(32);
            for (int i = 0; i <= 16; i++) {
                assertThat(ring.waiting(i).value).isEqualTo(i);
                assertThat(before.contains(ring.waiting(i))).isEqualTo(i < 16);
            }
        }
    }

    @Test
    void aClearedQueueGoesOnWithTheSamePlaces() {
        Ring<Place> ring = ring(5);
        for (int round = 0; round < 7; round++) {
            push(ring, round);
            push(ring, round + 1);
            ring.pop();
            assertThat(ring.first().value).isEqualTo(round + 1);
            ring.clear();
            assertThat(ring.isEmpty()).isTrue();
            assertThat(ring.size()).isZero();
        }
        for (int i = 0; i < 5; i++) {
            push(ring, 10 + i);
        }
        Set<Place> distinct = new HashSet<>();
        for (int i = 0; i < 5; i++) {
            assertThat(ring.waiting(i).value).isEqualTo(10 + i);
            distinct.add(ring.waiting(i));
        }
        assertThat(distinct).hasSize(5);
        assertThat(made).hasSize(5);
    }

    @Test
    void aPlaceThatIsStillNeededIsLeftOutOfTheQueue() {
        Ring<Place> ring = ring(2);
        push(ring, 1);
        push(ring, 2);
        Place needed = ring.first();
        ring.pop();
        assertThat(ring.next()).isSameAs(needed);
        Place other = ring.renewNext();
        assertThat(other).isNotSameAs(needed).isSameAs(ring.next());
        push(ring, 3);
        assertThat(needed.value).isEqualTo(1);
        assertThat(ring.first().value).isEqualTo(2);
        assertThat(ring.waiting(1)).isSameAs(other);
        assertThat(made).hasSize(3);
    }

    @Test
    void aPlaceOfARoomThatIsTakenIsMadeInALargerOne() {
        Ring<Place> ring = ring(17);
        for (int i = 0; i < 16; i++) {
            push(ring, i);
        }
        Place place = ring.renewNext();
        assertThat(ring.next()).isSameAs(place);
        push(ring, 16);
        assertThat(ring.isFull()).isTrue();
        assertThat(ring.waiting(16)).isSameAs(place);
    }
}
