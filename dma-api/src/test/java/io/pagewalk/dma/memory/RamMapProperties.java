package io.pagewalk.dma.memory;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.BitSet;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.constraints.IntRange;

class RamMapProperties {

    @Provide
    Arbitrary<RamMap> maps() {
        return MemoryArbitraries.ramMaps(0);
    }

    @Property
    void whatTheMapSaysOfARangeItSaysOfEachByte(
            @ForAll("maps") RamMap ram,
            @ForAll @IntRange(max = 4500) int physAddr,
            @ForAll @IntRange(max = 800) int sizeBytes) {
        BitSet model = model(ram);
        int end = physAddr + sizeBytes;
        boolean all = model.nextClearBit(physAddr) >= end;
        int next = model.nextSetBit(physAddr);

        assertThat(ram.contains(physAddr, sizeBytes)).isEqualTo(all);
        assertThat(ram.touches(physAddr, sizeBytes)).isEqualTo(next >= 0 && next < end);
        assertThat(ram.bytesFrom(physAddr)).isEqualTo(model.nextClearBit(physAddr) - physAddr);
        assertThat(ram.top()).isEqualTo(model.length() - 1);
        assertThat(ram.sizeBytes()).isEqualTo(model.cardinality());
    }

    private static BitSet model(RamMap ram) {
        BitSet bytes = new BitSet();
        for (PhysRange range : ram.ranges()) {
            bytes.set((int) range.first(), (int) range.last() + 1);
        }
        return bytes;
    }
}
