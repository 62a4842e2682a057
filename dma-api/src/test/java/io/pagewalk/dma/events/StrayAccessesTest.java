package io.pagewalk.dma.events;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.Access;
import io.pagewalk.dma.BusWord;
import io.pagewalk.dma.Dma;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.fake.World;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;

/** Device accesses to the byte: what leaves its mapping is told, whatever the hardware lets pass. */
class StrayAccessesTest {
    private final World world = World.make(World.builder().byteExact());
    private final StrayAccesses strays = Objects.requireNonNull(world.machine.strayAccesses());
    private final Dma dma = world.dma;
    private final byte[] bytes = new byte[0x2000];

    private List<String> told() {
        return strays.recent().stream().map(StrayAccess::toString).toList();
    }

    @Test
    void accessesInsideAreSilent() {
        dma.mapPage(0x1000, 0x108, DmaDirection.BIDIRECTIONAL, 0);
        world.device.bus().read(0x1000, bytes, 0, 0x108);
        world.device.bus().write(0x1010, bytes, 0, 0xf0);
        world.device.bus().readLong(0x1100);
        world.device.bus().writeLong(0x1100, 1);
        world.device.bus().fetchAdd(0x1100, 1, new BusWord());
        world.device.bus().compareAndSwap(0x1100, 1, 2, new BusWord());
        world.device.bus().read(0x7000, bytes, 0, 0);

        assertThat(strays.count()).isZero();
        assertThat(strays.recent()).isEmpty();
    }

    @Test
    void aWritePastTheMappedLengthIsToldWithItsMapping() { // I14
        dma.map(0x1000, 0x200, DmaDirection.FROM_DEVICE).ownedBy("disk");
        assertThat(world.device.bus().write(0x1000, bytes, 0, 0x1000)).isEqualTo(0x1000);

        StrayAccess stray = strays.recent().get(0);
        assertThat(stray.firstStrayAddr()).isEqualTo(0x1200);
        assertThat(stray.strayBytes()).isEqualTo(0xe00);
        assertThat(stray)
                .hasToString(
                        "DMA write by nic at 0x1000+0x1000 strays from 0x1200 on, 3584 bytes; 0 bytes past the end "
                                + "of page mapping 0x1000+0x200 FROM_DEVICE of disk");
    }

    @Test
    void anAccessAfterTheUnmapIsTold() {
        dma.map(0x1000, 0x200, DmaDirection.TO_DEVICE).ownedBy("disk").close();
        world.machine.clock().advance(7);
        world.device.bus().read(0x1100, bytes, 0, 4);

        assertThat(told())
                .containsExactly("DMA read by nic at 0x1100+0x4 strays from 0x1100 on, 4 bytes; nic has no live mapping"
                        + "; that address was unmapped 7 ns ago, held by disk");
        assertThat(strays.recent().get(0).timeNanos()).isEqualTo(7);
    }

    @Test
    void wordsAreCheckedToo() {
        dma.mapPage(0x1000, 0x10c, DmaDirection.BIDIRECTIONAL, 0);
        world.machine.cpuMemory().putLong(0x1108, 0x1122_3344_5566_7788L);

        assertThat(world.device.bus().readLong(0x1108)).isEqualTo(0x1122_3344_5566_7788L);
        assertThat(world.device.bus().writeLong(0x1109, 5)).isEqualTo(8);
        assertThat(world.device.bus().fetchAdd(0x1110, 1, new BusWord())).isEqualTo(8);
        assertThat(world.device.bus().compareAndSwap(0x1118, 0, 1, new BusWord()))
                .isEqualTo(8);
        assertThat(strays.recent())
                .extracting(stray -> stray.sequence() + " " + stray.access() + " " + stray.insideBytes())
                .containsExactly("0 READ 4", "1 WRITE 3", "2 ATOMIC 0", "3 ATOMIC 0");
    }

    @Test
    void onlyWhatGotThroughCounts() {
        dma.mapPage(0x1000, 0x100, DmaDirection.FROM_DEVICE, 0);
        long end = 0x8000; // of RAM
        assertThat(world.device.bus().write(end, bytes, 0, 8)).isZero();
        assertThat(world.device.bus().readLong(end)).isEqualTo(-1L);
        assertThat(world.device.bus().fetchAdd(end, 1, new BusWord())).isZero();

        assertThat(strays.count()).isZero();
        assertThat(world.device.bus().write(end - 4, bytes, 0, 8)).isEqualTo(4);
        assertThat(strays.recent().get(0).sizeBytes()).isEqualTo(4);
    }

    @Test
    void aHandlerIsToldOfEachAndTheLatestAreKept() {
        List<Long> sequences = new ArrayList<>();
        strays.onStray(stray -> sequences.add(stray.sequence()));
        for (int i = 0; i < StrayAccesses.KEPT + 3; i++) {
            world.device.bus().read(0x1000, bytes, 0, 1);
        }
        strays.onStray(null);
        world.device.bus().read(0x1000, bytes, 0, 1);

        assertThat(sequences).hasSize(StrayAccesses.KEPT + 3).startsWith(0L, 1L);
        assertThat(strays.count()).isEqualTo(StrayAccesses.KEPT + 4);
        assertThat(strays.recent()).hasSize(StrayAccesses.KEPT);
        assertThat(strays.recent().get(0).sequence()).isEqualTo(4);
    }

    @Test
    void coherentMemoryCountsAlsoOfADevicesOwnRegion() {
        long own = dma.alloc(0x40).dmaAddr();
        world.device.bus().write(own, bytes, 0, 0x40);
        world.device.declareCoherentMemory(0x6000, 0x6000, 0x1000);
        long region = dma.alloc(0x20).dmaAddr();
        world.device.bus().write(region, bytes, 0, 0x20);
        assertThat(strays.count()).isZero();

        world.device.bus().write(region, bytes, 0, 0x21);
        assertThat(strays.recent()).extracting(StrayAccess::access).containsExactly(Access.WRITE);
        assertThat(strays.recent().get(0).insideBytes()).isEqualTo(0x20);
    }

    @Test
    void memoryOfARegionThatWasFreedIsNobodys() {
        world.device.declareCoherentMemory(0x6000, 0x6000, 0x1000);
        var buffer = dma.alloc(0x20);
        long region = buffer.dmaAddr();
        buffer.close();
        world.device.bus().write(region, bytes, 0, 1);

        assertThat(strays.count()).isEqualTo(1);
        assertThat(Objects.requireNonNull(world.machine.ledger()).liveCount()).isZero();
    }
}
