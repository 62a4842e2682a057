package io.pagewalk.backends.iommu.unit;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.backends.iommu.pgtable.TableMemory;
import io.pagewalk.dma.Access;
import io.pagewalk.dma.memory.PhysicalMemory;
import io.pagewalk.dma.memory.RamMap;
import io.pagewalk.dma.spi.BusPort;
import io.pagewalk.dma.spi.Metric;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.statistics.Statistics;

/**
 * Tables of random bytes, some good, some bad: with empty caches the unit answers what an independent reading of the
 * bytes says, whatever they are, and with full ones it answers an address in range or a fault, never an exception.
 */
class CorruptedTablesProperties {
    private static final long RAM_BYTES = 1 << 20;
    private static final int PAGES = 24;
    private static final long ROOT = 0x1000;
    private static final List<Access> ACCESSES = List.of(Access.READ, Access.WRITE, Access.ATOMIC);

    /** What a unit can be. */
    record Shape(int widthBits, int largeLevels, int hostBits, boolean snoops, boolean cachingMode, int entries) {
        VtdFeatures features() {
            return new VtdFeatures(
                    widthBits,
                    largeLevels,
                    hostBits,
                    new VtdFeatures.CacheShape(entries, 1),
                    new VtdFeatures.CacheShape(entries, 1),
                    4,
                    18,
                    snoops,
                    true,
                    cachingMode);
        }
    }

    @Provide
    Arbitrary<Shape> shapes() {
        return Arbitraries.of(
                new Shape(39, 2, 40, true, false, 1),
                new Shape(39, 0, 52, false, false, 4),
                new Shape(48, 1, 46, true, true, 8),
                new Shape(42, 2, 52, false, true, 2),
                new Shape(57, 2, 36, true, false, 16));
    }

    private static final class World {
        final PhysicalMemory memory = PhysicalMemory.create(RamMap.sizedWithHole(RAM_BYTES), 4096);
        final SplittableRandom random;
        final Shape shape;
        final VtdUnit unit;
        final NaiveUnit naive;

        World(Shape shape, long seed) {
            this.shape = shape;
            random = new SplittableRandom(seed);
            unit = new VtdUnit(memory, shape.features());
            naive = new NaiveUnit(
                    memory, RAM_BYTES, shape.widthBits(), shape.largeLevels(), shape.hostBits(), shape.snoops());
            for (int page = 1; page <= PAGES; page++) {
                for (int i = 0; i < 512; i++) {
                    memory.putLong(page * 4096L + 8L * i, entry());
                }
            }
            putTops();
            unit.write64(VtdRegisters.RTADDR, ROOT);
            unit.write32(VtdRegisters.GCMD, VtdRegisters.GCMD_SRTP);
            unit.write32(VtdRegisters.GCMD, VtdRegisters.GCMD_TE);
        }

        /** Good root and context entries, but for a few. */
        private void putTops() {
            for (int bus = 0; bus < 256; bus++) {
                memory.putLong(ROOT + 16L * bus, 0x2000 | present());
                memory.putLong(ROOT + 16L * bus + 8, random.nextInt(32) == 0 ? 1L << random.nextInt(64) : 0);
            }
            int agaw = VtdCapability.agawOfWidth(shape.widthBits());
            for (int devfn = 0; devfn < 256; devfn++) {
                long type = random.nextInt(16) == 0 ? (long) random.nextInt(4) << 2 : 0;
                long fpd = random.nextInt(8) == 0 ? 2 : 0;
                memory.putLong(0x2000 + 16L * devfn, table() | type | fpd | present());
                long aw = random.nextInt(16) == 0 ? random.nextInt(8) : agaw;
                long stray = random.nextInt(32) == 0 ? 1L << random.nextInt(64) : 0;
                memory.putLong(0x2000 + 16L * devfn + 8, (long) (devfn % 4 + 1) << 8 | aw | stray);
            }
        }

        private long present() {
            return random.nextInt(16) == 0 ? 0 : 1;
        }

        private long table() {
            return (1L + random.nextInt(PAGES)) * 4096;
        }

        /** Mostly something that leads on. */
        private long entry() {
            long target = random.nextInt(6) == 0 ? random.nextLong(1L << 32) & -4096L : table();
            long permissions = random.nextInt(4) == 0 ? random.nextInt(4) : 3;
            long large = random.nextInt(6) == 0 ? 0x80 : 0;
            long stray = random.nextInt(12) == 0 ? 1L << random.nextInt(64) : 0;
            long aligned = large != 0 && random.nextBoolean() ? 0 : target;
            return aligned | permissions | large | stray;
        }

        long iova() {
            return switch (random.nextInt(4)) {
                case 0 -> random.nextLong();
                case 1 -> 0xfee0_0000L - 4096 + random.nextInt(3 * 4096);
                default -> random.nextLong(1L << shape.widthBits());
            };
        }

        Access access() {
            return ACCESSES.get(random.nextInt(3));
        }

        void forgetAll() {
            unit.write64(VtdRegisters.CCMD, VtdRegisters.CCMD_ICC | 1L << 61);
            unit.write64(VtdRegisters.IOTLB, VtdRegisters.IOTLB_IVT | 1L << 60);
        }

        void corrupt() {
            long at = (1L + random.nextInt(PAGES)) * 4096 + random.nextInt(4096);
            memory.putByte(at, (byte) random.nextInt());
        }

        long metric(Metric metric) {
            Map<Metric, Long> numbers = new EnumMap<>(Metric.class);
            unit.report(numbers::put);
            return numbers.getOrDefault(metric, -1L);
        }
    }

    private static long expected(long naive) {
        return naive < 0 ? BusPort.fault((int) -naive) : naive;
    }

    @Property(tries = 150)
    void withEmptyCachesTheUnitSaysWhatTheBytesSay(@ForAll("shapes") Shape shape, @ForAll long seed) {
        World world = new World(shape, seed);
        TableMemory tables = new TableMemory(world.memory);
        int reached = 0;
        for (int i = 0; i < 120; i++) {
            int requester = world.random.nextInt(0x1_0000);
            long iova = world.iova();
            Access access = world.access();
            world.forgetAll();
            long byUnit = world.unit.port(requester, tables).translate(iova, access);
            long byBytes = world.naive.translate(ROOT, requester, iova, access);
            assertThat(byUnit).as("%s of %x at 0x%x", access, requester, iova).isEqualTo(expected(byBytes));
            reached += byBytes < 0 ? 0 : 1;
        }
        Statistics.label("some reached").collect(reached > 0);
    }

    @Property(tries = 150)
    void withFullCachesAnyBytesGiveAnAddressOrAFault(@ForAll("shapes") Shape shape, @ForAll long seed) {
        World world = new World(shape, seed);
        TableMemory tables = new TableMemory(world.memory);
        List<BusPort> ports =
                List.of(world.unit.port(0x10, tables), world.unit.port(0x111, tables), world.unit.port(0x215, tables));
        long faults = 0;
        for (int i = 0; i < 400; i++) {
            world.corrupt();
            long answer = ports.get(world.random.nextInt(3)).translate(world.iova(), world.access());
            if (BusPort.isFault(answer)) {
                int reason = BusPort.faultCode(answer);
                assertThat((reason >= 1 && reason <= 0xe) || reason == VtdFaultReason.INTERRUPT_REQUEST)
                        .as("reason %x", reason)
                        .isTrue();
                faults += reason == VtdFaultReason.INTERRUPT_REQUEST ? 0 : 1;
            } else {
                assertThat(answer >>> 57)
                        .as("an entry has 52 bits, what passes 57")
                        .isZero();
            }
        }
        assertThat(world.metric(Metric.TRANSLATION_FAULTS)).isEqualTo(faults);
    }
}
