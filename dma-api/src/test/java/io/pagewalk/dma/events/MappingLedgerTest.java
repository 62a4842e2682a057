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
        assertThat(describe(0x1000)).isEqualTo("; nic has no live mapping");
    }

    @Test
    void theNearestMappingIsNamedWithTheDistanceFromItsEndOrItsStart() {
        dma.mapPage(0x1000, 0x100, DmaDirection.FROM_DEVICE, 0);
        dma.mapPage(0x3000, 0x80, DmaDirection.TO_DEVICE, 0);

        assertThat(describe(0xfff)).isEqualTo("; 1 bytes before page mapping 0x1000+0x100 FROM_DEVICE");
        assertThat(describe(0x1000)).isEqualTo("; inside page mapping 0x1000+0x100 FROM_DEVICE");
        assertThat(describe(0x10ff)).isEqualTo("; inside page mapping 0x1000+0x100 FROM_DEVICE");
        assertThat(describe(0x1100)).isEqualTo("; 0 bytes past the end of page mapping 0x1000+0x100 FROM_DEVICE");
        assertThat(describe(0x2080)).isEqualTo("; 3968 bytes past the end of page mapping 0x1000+0x100 FROM_DEVICE");
        assertThat(describe(0x2081)).isEqualTo("; 3967 bytes before page mapping 0x3000+0x80 TO_DEVICE");
        assertThat(describe(0x2fff)).isEqualTo("; 1 bytes before page mapping 0x3000+0x80 TO_DEVICE");
        assertThat(describe(0)).isEqualTo("; 4096 bytes before page mapping 0x1000+0x100 FROM_DEVICE");
        assertThat(describe(-1L)).contains("past the end of page mapping 0x3000+0x80 TO_DEVICE");
    }

    @Test
    void anAddressInsideALongMappingIsNotPastAShortOneInIt() {
        dma.mapPage(0x1000, 0x100, DmaDirection.FROM_DEVICE, 0);
        dma.mapPage(0x1010, 0x10, DmaDirection.TO_DEVICE, 0);

        assertThat(describe(0x1018)).isEqualTo("; inside page mapping 0x1010+0x10 TO_DEVICE");
        assertThat(describe(0x1020)).isEqualTo("; inside page mapping 0x1000+0x100 FROM_DEVICE");
    }

    @Test
    void addressesAreUnsigned() {
        world.backend.onMap = physAddr -> -0x2000L;
        dma.mapPage(0x1000, 0x1000, DmaDirection.FROM_DEVICE, 0);

        assertThat(describe(0x1000)).contains("bytes before page mapping 0xffffffffffffe000+0x1000");
        assertThat(describe(-1L))
                .isEqualTo("; 4095 bytes past the end of page mapping 0xffffffffffffe000+0x1000 FROM_DEVICE");
    }

    @Test
    void anAddressThatWasUnmappedSaysHowLongAgo() {
        dma.mapPage(0x1000, 0x100, DmaDirection.FROM_DEVICE, 0);
        world.machine.clock().advance(100);
        dma.unmapPage(0x1000, 0x100, DmaDirection.FROM_DEVICE, 0);
        world.machine.clock().advance(250);

        assertThat(describe(0x10ff)).isEqualTo("; nic has no live mapping; that address was unmapped 250 ns ago");
        assertThat(describe(0x1100)).isEqualTo("; nic has no live mapping");
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

        assertThat(describe(0x4fff)).startsWith("; inside coherent memory 0x4000+0x1000 BIDIRECTIONAL; that address");
    }

    @Test
    void aMappingKnowsItsOwnerAndItsAge() {
        world.machine.clock().advance(42);
        dma.mapPage(0x1000, 0x100, DmaDirection.TO_DEVICE, 0);

        assertThat(ledger.nearestBelow(world.device, 0x2000))
                .isEqualTo(new LiveRange(
                        world.device, 0x1000, 0x100, DmaDirection.TO_DEVICE, LiveRange.Kind.PAGE, 0x1000, "", 1, 42));
    }

    @Test
    void mappingsOfAnotherDeviceAreNotNamed() {
        Device other = world.machine.addDevice(DeviceConfig.named("other"));
        other.dma().mapPage(0x1000, 0x100, DmaDirection.TO_DEVICE, 0);

        assertThat(describe(0x1010)).isEqualTo("; nic has no live mapping");
        assertThat(Objects.requireNonNull(ledger.nearestBelow(other, 0x1010)).device())
                .isSameAs(other);
    }

    // ---- owners

    @Test
    void aTagNamesTheOwnerFromNowOnAndAfterTheUnmap() {
        dma.mapPage(0x1000, 0x100, DmaDirection.TO_DEVICE, 0);
        dma.tag(0x1000, "rx ring");

        assertThat(describe(0x1000)).isEqualTo("; inside page mapping 0x1000+0x100 TO_DEVICE of rx ring");
        dma.unmapPage(0x1000, 0x100, DmaDirection.TO_DEVICE, 0);
        assertThat(describe(0x1000)).endsWith("; that address was unmapped 0 ns ago, held by rx ring");
    }

    @Test
    void aTagNamesTheLatestOfSeveralAndNothingWhereNothingBegins() {
        dma.mapPage(0x1000, 0x100, DmaDirection.TO_DEVICE, 0);
        dma.mapPage(0x1000, 0x200, DmaDirection.TO_DEVICE, 0);

        assertThat(ledger.tag(world.device, 0x1000, "second")).isTrue();
        assertThat(ledger.tag(world.device, 0x1001, "nobody")).isFalse();
        assertThat(ledger.live())
                .extracting(range -> range.sizeBytes() + " " + range.owner() + " " + range.call())
                .containsExactly("256  1", "512 second 2");
    }

    @Test
    void accountsAddUpAndWhatNobodyTaggedComesFirst() {
        dma.mapPage(0x1000, 0x100, DmaDirection.TO_DEVICE, 0);
        dma.map(0x8000, 0x40, DmaDirection.TO_DEVICE).ownedBy("tx");
        dma.map(0x9000, 0x50, DmaDirection.TO_DEVICE).ownedBy("tx");
        dma.tag(dma.alloc(0x1000).dmaAddr(), "rx");
        SgTable sg = new SgTable(2).add(0x20000, 0x10).add(0x30000, 0x20);
        dma.mapSgTable(sg, DmaDirection.FROM_DEVICE, 0);
        dma.tag(sg, "rx");

        assertThat(ledger.accounts())
                .containsExactly(
                        new OwnerAccount("", 1, 0x100, 0, 0),
                        new OwnerAccount("rx", 2, 0x30, 1, 0x1000),
                        new OwnerAccount("tx", 2, 0x90, 0, 0));
        dma.unmapSgTable(sg, DmaDirection.FROM_DEVICE, 0);
        assertThat(ledger.accounts().get(1)).isEqualTo(new OwnerAccount("rx", 0, 0, 1, 0x1000));
    }

    @Test
    void withoutALedgerATagIsNoError() {
        World plain = World.make(World.builder());
        plain.dma.tag(0x1000, "nobody");

        assertThat(plain.machine.ledger()).isNull();
    }

    @Test
    void aMachineHasTheLedgerThatItsBuilderAsksForOrThatListens() {
        assertThat(world.machine.ledger()).isSameAs(ledger);
        World asked = World.make(World.builder().ledger());
        asked.dma.mapPage(0x1000, 0x100, DmaDirection.TO_DEVICE, 0);

        assertThat(Objects.requireNonNull(asked.machine.ledger()).liveCount()).isEqualTo(1);
        assertThat(asked.machine.strayAccesses()).isNull();
    }

    // ---- how much of an access is inside

    private long inside(long dmaAddr, long sizeBytes) {
        return ledger.bytesInside(world.device, dmaAddr, sizeBytes);
    }

    @Test
    void anAccessIsInsideAsFarAsItsMappingReaches() {
        dma.mapPage(0x1000, 0x100, DmaDirection.TO_DEVICE, 0);

        assertThat(inside(0x1000, 0x100)).isEqualTo(0x100);
        assertThat(inside(0x1000, 0x101)).isEqualTo(0x100);
        assertThat(inside(0x10ff, 8)).isEqualTo(1);
        assertThat(inside(0x1100, 8)).isZero();
        assertThat(inside(0xfff, 8)).isZero();
    }

    @Test
    void theMappingBehindItIsSomebodyElsesAndTheNextSegmentIsNot() {
        dma.mapPage(0x1000, 0x100, DmaDirection.TO_DEVICE, 0);
        dma.mapPage(0x1100, 0x100, DmaDirection.TO_DEVICE, 0);
        SgTable sg = new SgTable(3).add(0x5000, 0x100).add(0x5100, 0x80).add(0x5200, 0x80);
        dma.mapSgTable(sg, DmaDirection.TO_DEVICE, 0);

        assertThat(inside(0x10f0, 0x20)).isEqualTo(0x10);
        assertThat(inside(0x5010, 0x170)).isEqualTo(0x170);
        assertThat(inside(0x5010, 0x171)).as("a hole follows").isEqualTo(0x170);
    }

    @Test
    void ofMappingsThatOverlapTheOneThatReachesFurthestCounts() {
        dma.mapPage(0x1000, 0x4000, DmaDirection.TO_DEVICE, 0);
        dma.mapPage(0x1800, 0x100, DmaDirection.TO_DEVICE, 0);
        dma.mapPage(0x1800, 0x200, DmaDirection.TO_DEVICE, 0);

        assertThat(inside(0x1810, 0x1000)).isEqualTo(0x1000);
        assertThat(inside(0x1810, 0x4000)).isEqualTo(0x37f0);
    }

    @Test
    void whatLiveRangesAreCalled() {
        assertThat(LiveRange.Kind.PAGES.isAllocation()).isTrue();
        assertThat(LiveRange.Kind.COHERENT.isAllocation()).isTrue();
        assertThat(LiveRange.Kind.SG.isAllocation()).isFalse();
        assertThat(LiveRange.Kind.PAGES.label()).isEqualTo("pages");
    }

    @Test
    void aSegmentOfSeveralEntriesHasNoPhysicalAddress() {
        SgTable sg = new SgTable(2).add(0x1000, 0x100).add(0x3000, 0x200);
        dma.mapSgTable(sg, DmaDirection.TO_DEVICE, 0);
        assertThat(ledger.live()).extracting(LiveRange::physAddr).containsExactly(0x1000L, 0x3000L);
        dma.unmapSgTable(sg, DmaDirection.TO_DEVICE, 0);
        world.backend.onMapSg = nents -> 1;
        dma.mapSgTable(sg, DmaDirection.TO_DEVICE, 0);

        assertThat(ledger.live()).extracting(LiveRange::physAddr).containsExactly(LiveRange.UNKNOWN_PHYS_ADDR);
    }
}
