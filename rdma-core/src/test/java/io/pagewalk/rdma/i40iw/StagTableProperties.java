package io.pagewalk.rdma.i40iw;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;

/** Stags while they come and go. */
class StagTableProperties {
    /** rdma:STAG-1 to STAG-4. */
    @Property(tries = 200)
    void stagsAreUniqueWhileTheyLive(
            @ForAll @IntRange(min = 1, max = 40) int entries,
            @ForAll long seed,
            @ForAll @IntRange(max = 200) int steps) {
        Random random = new Random(seed);
        StagTable table = new StagTable(entries, random::nextInt);
        List<Integer> live = new ArrayList<>();
        for (int i = 0; i < steps; i++) {
            if (random.nextInt(3) < 2) {
                int stag = table.create();
                assertThat(stag == 0).as("none is left").isEqualTo(live.size() == entries - 1);
                if (stag != 0) {
                    live.add(stag);
                }
            } else if (!live.isEmpty()) {
                table.free(live.remove(random.nextInt(live.size())));
            }
            Set<Integer> indexes = new HashSet<>();
            live.forEach(stag -> indexes.add(table.index(stag)));
            assertThat(indexes).hasSameSizeAs(live).doesNotContain(0).allMatch(index -> index < entries);
            assertThat(table.inUse()).isEqualTo(live.size());
        }
    }
}
