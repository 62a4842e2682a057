package io.pagewalk.dma.events;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.Access;
import io.pagewalk.dma.BusFault;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.Dma;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.fake.World;
import io.pagewalk.dma.scatterlist.SgTable;
import java.util.Objects;
import org.junit.jupiter.api.Test;

/** The reporter that joins raw faults with what the driver has mapped: architecture rule 1. */
class MappingLedgerTest {
    private final World world = World.make(World.builder().listener(clock -> new MappingLedger(clock::nowNanos)));
    private final MappingLedger ledger = (MappingLedger) Objects.requireNonNull(world.machine.listener());
    private final Dma dma = world.dma;

    /** What the ledger adds to the fault's own text. */
    private String describe(long dmaAddr) {
        BusFault fault = new BusFault(0, 0, world.device, dmaAddr, Access.WRITE, 5);
        String text = ledger.describe(fault);
        assertThat(text).startsWith(fault.toString());
        return text.substring(fault.toString().length());
    }

    @Test
    void withNothingMappedThereIsNothingToName() {
        assertThat(describe(0x1000)).isEqualTo("; no live mapping of nic starts at or below it");
    }

    @Test
    void theNearestMappingBelowIsNamedWithTheDistancePastItsEnd() {
        dma.mapPage(0x1000, 0x100, DmaDirection.FROM_DEVICE, 0);
        dma.mapPage(0x3000, 0x80, DmaDirection.TO_DEVICE, 0);

        assertThat(describe(0xfff)).isEqualTo("; no live mapping of nic starts at or below it");
        assertThat(describe(0x1000)).isEqualTo("; inside page mapping 0x1000+0x100 FROM_DEVICE");
        assertThat(describe(0x10ff)).isEqualTo("; inside page mapping 0x1000+0x100 FROM_DEVICE");
        assertThat(describe(0x1100)).isEqualTo("; 1 bytes past the end of page mapping 0x1000+0x100 FROM_DEVICE");
        assertThat(describe(0x2fff)).isEqualTo("; 7936 bytes past the end of page mapping 0x1000+0x100 FROM_DEVICE");
        assertThat(describe(-1L)).contains("past the end of page mapping 0x3000+0x80 TO_DEVICE");
    }

    @Test
    void addressesAreUnsigned() {
        world.backend.onMap = physAddr -> -0x2000L;
        dma.mapPage(0x1000, 0x1000, DmaDirection.FROM_DEVICE, 0);

        assertThat(describe(0x1000)).contains("no live mapping");
        assertThat(describe(-1L))
                .isEqualTo("; 4096 bytes past the end of page mapping 0xffffffffffffe000+0x1000 FROM_DEVICE");
    }

    @Test
    void anAddressThatWasUnmappedSaysHowLongAgo() {
        dma.mapPage(0x1000, 0x100, DmaDirection.FROM_DEVICE, 0);
        world.machine.clock().advance(100);
        dma.unmapPage(0x1000, 0x100, DmaDirection.FROM_DEVICE, 0);
        world.machine.clock().advance(250);

        assertThat(describe(0x10ff))
                .isEqualTo("; no live mapping of nic starts at or below it; that address was unmapped 250 ns ago");
        assertThat(describe(0x1100)).isEqualTo("; no live mapping of nic starts at or below it");
    }

    @Test
    void theLatestUnmapThatHeldTheAddressIsTheOneToName() {
        dma.mapPage(0x2000, 0x10, DmaDirection.TO_DEVICE, 0);
        dma.unmapPage(0x2000, 0x10, DmaDirection.TO_DEVICE, 0);
        world.machine.clock().advance(10);
        dma.mapPage(0x1000, 0x3000, DmaDirection.TO_DEVICE, 0);
        dma.unmapPage(0x1000, 0x3000, DmaDirection.TO_DEVICE, 0);
        world.machine.clock().advance(5);

        assertThat(describe(0x2008)).endsWith("; that address was unmapped 5 ns ago");
        assertThat(describe(0x2010)).endsWith("; that address was unmapped 5 ns ago");
    }

    @Test
    void theLatestUnmapsAreRemembered() {
        world.backend.onMap = physAddr -> physAddr;
        for (long page = 5000; page > 0; page--) {
            dma.mapPage(page << 12, 0x1000, DmaDirection.TO_DEVICE, 0);
            dma.unmapPage(page << 12, 0x1000, DmaDirection.TO_DEVICE, 0);
        }

        assertThat(describe(1 << 12)).endsWith("that address was unmapped 0 ns ago");
        assertThat(describe(4000 << 12)).endsWith("that address was unmapped 0 ns ago");
    }

    @Test
    void whatCouldNotBeMappedIsNotLive() {
        world.backend.onMap = physAddr -> -1L;
        world.backend.onMapSg = nents -> -12;
        dma.mapPage(0x1000, 0x100, DmaDirection.FROM_DEVICE, 0);
        dma.mapSg(new SgTable(1).add(0x1000, 0x100), 1, DmaDirection.TO_DEVICE, 0);

        assertThat(ledger.liveCount()).isZero();
    }

    @Test
    void aListIsOneRangeForEachOfItsSegments() {
        SgTable sg = new SgTable(3).add(0x1000, 0x100).add(0x3000, 0x200).add(0x5000, 0x300);
        world.backend.onMapSg = nents -> 2;
        dma.mapSgTable(sg, DmaDirection.TO_DEVICE, 0);

        assertThat(ledger.liveCount()).isEqualTo(2);
        assertThat(describe(0x3001)).isEqualTo("; inside sg mapping 0x3000+0x200 TO_DEVICE");
        dma.unmapSgTable(sg, DmaDirection.TO_DEVICE, 0);
        assertThat(ledger.liveCount()).isZero();
    }

    @Test
    void anEntryOfNoBytesHidesNoneOfThoseAfterIt() { // FE-2
        SgTable sg = new SgTable(3).add(0x1000, 0x100).add(0x1100, 0).add(0x3000, 0x100);
        dma.mapSgTable(sg, DmaDirection.TO_DEVICE, 0);
        assertThat(ledger.liveCount()).isEqualTo(2);
        dma.unmapSgTable(sg, DmaDirection.TO_DEVICE, 0);

        assertThat(ledger.liveCount()).isZero();
    }

    @Test
    void oneBufferMappedTwiceAtOneAddressIsLiveUntilBothAreUnmapped() {
        dma.mapPage(0x1000, 0x100, DmaDirection.TO_DEVICE, 0);
        dma.mapPage(0x1000, 0x800, DmaDirection.TO_DEVICE, 0);
        assertThat(ledger.liveCount()).isEqualTo(2);
        dma.unmapPage(0x1000, 0x800, DmaDirection.TO_DEVICE, 0);

        assertThat(ledger.liveCount()).isEqualTo(1);
        assertThat(describe(0x1050)).startsWith("; inside page mapping 0x1000+0x100");
        dma.unmapPage(0x1000, 0x100, DmaDirection.TO_DEVICE, 0);
        assertThat(ledger.liveCount()).isZero();
    }

    @Test
    void anUnmapOfAnotherSizeEndsTheMappingAsAWhole() { // DIR-15
        dma.mapPage(0x1000, 0x100, DmaDirection.TO_DEVICE, 0);
        dma.unmapPage(0x1000, 0x10, DmaDirection.TO_DEVICE, 0);
        dma.unmapPage(0x7000, 0x10, DmaDirection.TO_DEVICE, 0);

        assertThat(ledger.liveCount()).isZero();
    }

    @Test
    void coherentMemoryIsLiveUntilItIsFreed() {
        dma.alloc(0x1000).close();
        assertThat(ledger.liveCount()).isZero();
        dma.alloc(0x1000);

        assertThat(describe(0x4fff)).startsWith("; inside coherent mapping 0x4000+0x1000 BIDIRECTIONAL; that address");
    }

    @Test
    void aMappingKnowsItsOwnerAndItsAge() {
        world.machine.clock().advance(42);
        dma.mapPage(0x1000, 0x100, DmaDirection.TO_DEVICE, 0);

        assertThat(ledger.nearestBelow(world.device, 0x2000))
                .isEqualTo(new MappingLedger.Live(world.device, 0x1000, 0x100, DmaDirection.TO_DEVICE, "page", 42));
    }

    @Test
    void mappingsOfAnotherDeviceAreNotNamed() {
        Device other = world.machine.addDevice(DeviceConfig.named("other"));
        other.dma().mapPage(0x1000, 0x100, DmaDirection.TO_DEVICE, 0);

        assertThat(describe(0x1010)).isEqualTo("; no live mapping of nic starts at or below it");
        assertThat(Objects.requireNonNull(ledger.nearestBelow(other, 0x1010)).device())
                .isSameAs(other);
    }
}
