package io.pagewalk.rdma.ring;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Set;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.Size;

/** A ring answers as a plain list does, and never makes more places than its fullest moment asked for. */
class RingProperties {
    @Property
    void aRingIsAQueueOfPlacesThatAreMadeOnce(
            @ForAll @IntRange(max = 70) int capacity,
            @ForAll @Size(max = 60) List<@IntRange(min = -40, max = 40) Integer> steps) {
        List<int[]> made = new ArrayList<>();
        Ring<int[]> ring = new Ring<>(capacity, () -> {
            int[] place = new int[1];
            made.add(place);
            return place;
        });
        List<Integer> model = new ArrayList<>();
        int most = 0;
        int value = 0;
        for (int step : steps) {
            if (step == 0) {
                ring.clear();
                model.clear();
            }
            for (int i = 0; i < step && !ring.isFull(); i++) {
                ring.next()[0] = ++value;
                ring.push();
                model.add(value);
            }
            for (int i = 0; i > step && !ring.isEmpty(); i--) {
                assertThat(ring.first()[0]).isEqualTo(model.remove(0));
                ring.pop();
            }
            most = Math.max(most, model.size());
            check(ring, model, capacity);
        }
        int room = 16;
        while (room < most) {
            room *= 2;
        }
        assertThat(made).hasSize(Math.min(capacity, room));
    }

    private static void check(Ring<int[]> ring, List<Integer> model, int capacity) {
        assertThat(ring.size()).isEqualTo(model.size());
        assertThat(ring.isEmpty()).isEqualTo(model.isEmpty());
        assertThat(ring.isFull()).isEqualTo(model.size() == capacity);
        Set<int[]> places = Collections.newSetFromMap(new IdentityHashMap<>());
        for (int i = 0; i < model.size(); i++) {
            assertThat(ring.waiting(i)[0]).isEqualTo(model.get(i));
            places.add(ring.waiting(i));
        }
        assertThat(places).hasSize(model.size());
    }
}
