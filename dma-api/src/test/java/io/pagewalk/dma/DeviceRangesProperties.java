package io.pagewalk.dma;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.fake.World;
import java.math.BigInteger;
import java.util.List;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.statistics.Statistics;

/** Translation by dma-ranges against a model of unbounded integers: dma-core:DIR-1 to DIR-3. */
class DeviceRangesProperties {
    private static final BigInteger TWO_64 = BigInteger.ONE.shiftLeft(64);

    /** Near a few anchors, so that ranges overlap, touch, and reach the ends of the address space. */
    @Provide
    Arbitrary<Long> addresses() {
        return Combinators.combine(
                        Arbitraries.of(0L, 0x1000L, Long.MAX_VALUE - 0x800, -0x1000L),
                        Arbitraries.longs().between(0, 0x1000))
                .as(Long::sum);
    }

    @Provide
    Arbitrary<List<DmaRange>> rangeLists() {
        Arbitrary<Long> sizes = Arbitraries.longs().between(1, 0x1800);
        return Combinators.combine(addresses(), addresses(), sizes)
                .as(DmaRange::new)
                .list()
                .ofMinSize(1)
                .ofMaxSize(4);
    }

    @Property
    void aPhysicalAddressIsMovedByTheFirstRangeThatCoversIt(
            @ForAll("rangeLists") List<DmaRange> ranges, @ForAll("addresses") long physAddr) {
        long modelled = ranges.stream()
                .filter(r -> covers(r.cpuStart(), r.sizeBytes(), physAddr))
                .findFirst()
                .map(r -> moved(physAddr, r.cpuStart(), r.dmaStart()))
                .orElse(-1L);
        Statistics.label("covered").collect(modelled != -1L).coverage(c -> {
            c.check(true).percentage(p -> p > 10);
            c.check(false).percentage(p -> p > 10);
        });

        assertThat(device(ranges).physToDma(physAddr)).isEqualTo(modelled);
    }

    @Property
    void aDmaAddressIsMovedBackByTheFirstRangeThatCoversIt(
            @ForAll("rangeLists") List<DmaRange> ranges, @ForAll("addresses") long dmaAddr) {
        long modelled = ranges.stream()
                .filter(r -> covers(r.dmaStart(), r.sizeBytes(), dmaAddr))
                .findFirst()
                .map(r -> moved(dmaAddr, r.dmaStart(), r.cpuStart()))
                .orElse(-1L);

        assertThat(device(ranges).dmaToPhys(dmaAddr)).isEqualTo(modelled);
    }

    /** One range that does not wrap on the bus is its own inverse wherever it covers. */
    @Property
    void oneRangeTranslatesThereAndBack(
            @ForAll("addresses") long cpuStart,
            @ForAll("addresses") long dmaStart,
            @ForAll("addresses") long physAddr) {
        DmaRange range = new DmaRange(cpuStart, dmaStart & Long.MAX_VALUE, 0x1000);
        Device device = device(List.of(range));
        long dmaAddr = device.physToDma(physAddr);

        if (dmaAddr != -1L) {
            assertThat(device.dmaToPhys(dmaAddr)).isEqualTo(physAddr);
        }
    }

    private static boolean covers(long first, long sizeBytes, long address) {
        BigInteger offset = unsigned(address).subtract(unsigned(first));
        return offset.signum() >= 0 && offset.compareTo(unsigned(sizeBytes)) < 0;
    }

    private static long moved(long address, long from, long to) {
        return unsigned(address)
                .subtract(unsigned(from))
                .add(unsigned(to))
                .mod(TWO_64)
                .longValue();
    }

    private static BigInteger unsigned(long value) {
        return new BigInteger(Long.toUnsignedString(value));
    }

    private static Device device(List<DmaRange> ranges) {
        return World.make(config -> config.withRanges(ranges.toArray(new DmaRange[0]))).device;
    }
}
