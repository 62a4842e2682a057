package io.pagewalk.model;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.Dma;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.DmaRange;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.FailureReason;
import io.pagewalk.dma.KernelConfig;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.kit.SmallWorld;
import java.math.BigInteger;
import java.util.List;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.EdgeCasesMode;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.Tuple;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.statistics.Statistics;

/**
 * Arithmetic at and past 2^64, with masks of every width, against the specification in integers that do not wrap:
 * reachability, translation and both ways of mapping without a pool (dma-core:TYP-4, DEV-3, DIR-1 to DIR-9, DIR-40).
 */
class OverflowProperties {
    private static final BigInteger TWO_64 = BigInteger.ONE.shiftLeft(64);
    private static final BigInteger ALL_ONES = TWO_64.subtract(BigInteger.ONE);

    /** What a device says, and what is mapped. */
    record Question(int maskBits, long busLimit, List<DmaRange> ranges, long physAddr, long sizeBytes) {
        BigInteger dmaAddr() {
            for (DmaRange range : ranges) {
                BigInteger offset = unsigned(physAddr).subtract(unsigned(range.cpuStart()));
                if (offset.signum() >= 0 && offset.compareTo(unsigned(range.sizeBytes())) < 0) {
                    return unsigned(range.dmaStart()).add(offset).mod(TWO_64);
                }
            }
            return ranges.isEmpty() ? unsigned(physAddr) : ALL_ONES;
        }

        /** The smaller of mask and bus limit, a zero being ignored; both zero give 0. */
        BigInteger limit() {
            BigInteger mask = BigInteger.ONE.shiftLeft(maskBits).subtract(BigInteger.ONE);
            BigInteger bus = unsigned(busLimit);
            return mask.signum() == 0 ? bus : bus.signum() == 0 ? mask : mask.min(bus);
        }

        /** DIR-7: the last byte wraps, as in the kernel. */
        boolean isCapable(BigInteger dmaAddr) {
            BigInteger last =
                    dmaAddr.add(unsigned(sizeBytes)).subtract(BigInteger.ONE).mod(TWO_64);
            return !dmaAddr.equals(ALL_ONES) && last.compareTo(limit()) <= 0;
        }

        boolean wraps() {
            return dmaAddr().add(unsigned(sizeBytes)).compareTo(TWO_64) > 0;
        }

        Device device(Machine machine) {
            Device device = machine.addDevice(
                    DeviceConfig.named("kit").withBusLimit(busLimit).withRanges(ranges.toArray(new DmaRange[0])));
            device.storeStreamingMask(Addresses.bitMask(maskBits));
            return device;
        }
    }

    private static BigInteger unsigned(long value) {
        return new BigInteger(Long.toUnsignedString(value));
    }

    private static Machine poolless() {
        return new SmallWorld("direct", "swiotlb=noforce", SmallWorld.SMALL_TABLES, KernelConfig.distribution())
                .builder()
                .build();
    }

    @Property(edgeCases = EdgeCasesMode.NONE)
    void aPageIsMappedWhereTheRulesSayThatItIsReached(@ForAll("questions") Question question) {
        try (Machine machine = poolless()) {
            Device device = question.device(machine);
            long expected =
                    question.isCapable(question.dmaAddr()) ? question.dmaAddr().longValue() : Dma.DMA_MAPPING_ERROR;
            Dma dma = device.dma();
            long dmaAddr = dma.mapPage(question.physAddr(), question.sizeBytes(), DmaDirection.TO_DEVICE, 0);
            assertThat(Addresses.hex(dmaAddr)).isEqualTo(Addresses.hex(expected));
            requireCause(question, dma, dmaAddr);
            dma.syncSingleForCpu(dmaAddr, question.sizeBytes(), DmaDirection.FROM_DEVICE);
            dma.syncSingleForDevice(dmaAddr, question.sizeBytes(), DmaDirection.TO_DEVICE);
            dma.unmapPage(dmaAddr, question.sizeBytes(), DmaDirection.BIDIRECTIONAL, 0);
            assertThat(Addresses.hex(device.mask()))
                    .isEqualTo(Addresses.hex(question.maskBits() == 0 ? 0xffff_ffffL : device.streamingMask()));
        }
        Statistics.label("wraps")
                .collect(question.wraps())
                .coverage(c -> c.check(true).percentage(p -> p > 5));
        Statistics.label("reached")
                .collect(question.isCapable(question.dmaAddr()))
                .coverage(c -> {
                    c.check(true).percentage(p -> p > 10);
                    c.check(false).percentage(p -> p > 10);
                });
    }

    private static void requireCause(Question question, Dma dma, long dmaAddr) {
        if (dmaAddr == Dma.DMA_MAPPING_ERROR) {
            boolean untranslated =
                    !question.ranges().isEmpty() && question.dmaAddr().equals(ALL_ONES);
            assertThat(dma.lastFailure().reason())
                    .isEqualTo(untranslated ? FailureReason.NO_RANGE : FailureReason.MASK_TOO_SMALL);
            assertThat(dma.lastFailure().numbers()).element(1).isEqualTo(question.sizeBytes());
        }
    }

    @Property(edgeCases = EdgeCasesMode.NONE)
    void aResourceIsComparedUntranslated(@ForAll("questions") Question question) {
        try (Machine machine = poolless()) {
            Dma dma = question.device(machine).dma();
            long expected =
                    question.isCapable(unsigned(question.physAddr())) ? question.physAddr() : Dma.DMA_MAPPING_ERROR;
            long dmaAddr = dma.mapResource(question.physAddr(), question.sizeBytes(), DmaDirection.BIDIRECTIONAL, 0);
            assertThat(Addresses.hex(dmaAddr)).isEqualTo(Addresses.hex(expected));
            dma.unmapResource(dmaAddr, question.sizeBytes(), DmaDirection.BIDIRECTIONAL, 0);
        }
    }

    /** The lengths of a list are 32-bit (dma-core:SG-1), its addresses are not. */
    @Property(edgeCases = EdgeCasesMode.NONE)
    void aListIsMappedWhenEachOfItsEntriesIsReached(
            @ForAll("questions") Question first, @ForAll long otherPhysAddr, @ForAll("lengths") long length) {
        Question one = withPhys(first, first.physAddr(), length);
        Question two = withPhys(first, otherPhysAddr, length);
        try (Machine machine = poolless()) {
            Device device = first.device(machine);
            SgTable table = new SgTable(2).add(one.physAddr(), length).add(two.physAddr(), length);
            boolean reached = one.isCapable(one.dmaAddr()) && two.isCapable(two.dmaAddr());
            assertThat(device.dma().mapSgTable(table, DmaDirection.TO_DEVICE, 0))
                    .isEqualTo(reached ? 0 : -Errno.EIO);
            if (reached) {
                assertThat(table.dmaAddr(0)).isEqualTo(one.dmaAddr().longValue());
                assertThat(table.dmaAddr(1)).isEqualTo(two.dmaAddr().longValue());
                assertThat(table.dmaLengthBytes(1)).isEqualTo(length);
                device.dma().unmapSgTable(table, DmaDirection.TO_DEVICE, 0);
            }
        }
    }

    private static Question withPhys(Question question, long physAddr, long sizeBytes) {
        return new Question(question.maskBits(), question.busLimit(), question.ranges(), physAddr, sizeBytes);
    }

    /** TYP-4, MSK-5: a mask is stored or refused whole, at every width. */
    @Property(edgeCases = EdgeCasesMode.NONE)
    void aMaskOfEveryWidthIsAllOnesOfThatWidthAndSetWholeOrNotAtAll(@ForAll @IntRange(max = 64) int bits) {
        BigInteger wanted = BigInteger.ONE.shiftLeft(bits).subtract(BigInteger.ONE);
        assertThat(Addresses.bitMask(bits)).isEqualTo(wanted.longValue());
        try (Machine machine = poolless()) {
            Device device = machine.addDevice(DeviceConfig.named("kit").withMask(0xabc_ffff_ffffL));
            int result = device.setMask(Addresses.bitMask(bits));
            assertThat(result).isIn(0, -Errno.EIO);
            assertThat(result == 0).as("%d bits, ZONE_DMA below 16 MiB", bits).isEqualTo(bits >= 24);
            assertThat(device.streamingMask()).isEqualTo(result == 0 ? Addresses.bitMask(bits) : 0xabc_ffff_ffffL);
            assertThat(device.coherentMask()).isEqualTo(0xabc_ffff_ffffL);
        }
    }

    @Provide
    Arbitrary<Long> lengths() {
        return Arbitraries.of(0L, 1L, 0xfffL, 0x1000L, 0x1001L, 0x7fff_ffffL, 0x8000_0000L, 0xffff_ffffL);
    }

    @Provide
    Arbitrary<Question> questions() {
        Arbitrary<Integer> maskBits = Arbitraries.frequencyOf(
                Tuple.of(2, Arbitraries.integers().between(0, 64)), Tuple.of(1, Arbitraries.of(24, 32, 63, 64)));
        Arbitrary<Long> busLimit = Arbitraries.frequencyOf(
                Tuple.of(3, Arbitraries.just(0L)),
                Tuple.of(1, Arbitraries.integers().between(1, 64).map(Addresses::bitMask)),
                Tuple.of(1, edges()));
        Arbitrary<Long> sizes = Arbitraries.frequencyOf(
                Tuple.of(2, edges()),
                Tuple.of(2, Arbitraries.of(0L, 1L, 2L, 0xfffL, 0x1000L, 0x1001L, -1L, Long.MIN_VALUE)));
        Arbitrary<List<DmaRange>> ranges = Arbitraries.frequencyOf(
                Tuple.of(3, Arbitraries.just(List.of())),
                Tuple.of(2, range().list().ofMinSize(1).ofMaxSize(3)));
        return Combinators.combine(maskBits, busLimit, ranges, edges(), sizes).as(Question::new);
    }

    private static Arbitrary<DmaRange> range() {
        Arbitrary<Long> starts = edges().map(a -> a & -0x1000L);
        Arbitrary<Long> sizes = Arbitraries.of(0x1000L, 0x4000_0000L, 1L << 32, 1L << 62);
        return Combinators.combine(starts, starts, sizes)
                .as((cpu, dma, size) -> new DmaRange(fitting(cpu, size), fitting(dma, size), size));
    }

    /** A start from which a range of that size stays below 2^64. */
    private static long fitting(long start, long size) {
        return Addresses.min(start, -size);
    }

    /** Powers of two and their neighbours, the last bytes below 2^64, and anything. */
    private static Arbitrary<Long> edges() {
        return Arbitraries.frequencyOf(
                Tuple.of(
                        4,
                        Combinators.combine(
                                        Arbitraries.integers().between(0, 63),
                                        Arbitraries.longs().between(-2, 2))
                                .as((bit, delta) -> (1L << bit) + delta)),
                Tuple.of(2, Arbitraries.longs().between(-0x2001, 0x2001)),
                Tuple.of(1, Arbitraries.longs()));
    }
}
