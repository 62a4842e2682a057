package io.pagewalk.backends.iommu.unit;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.backends.iommu.pgtable.TableMemory;
import io.pagewalk.dma.Access;
import io.pagewalk.dma.memory.PhysicalMemory;
import io.pagewalk.dma.memory.RamMap;
import io.pagewalk.dma.spi.BusPort;
import io.pagewalk.dma.spi.Metric;
import java.util.EnumMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;

/** Counters are events: look-ups, hits, faults and each kind of invalidation, whatever was recorded or lost. */
class CountersProperties {
    private static final long ROOT = 0x1000;
    private static final int PAGES = 8;

    /** An access to one of 8 pages, of which the even ones are mapped, or an invalidation. */
    record Event(int kind, int page) {}

    @Provide
    Arbitrary<List<Event>> events() {
        return Combinators.combine(
                        Arbitraries.frequency(
                                net.jqwik.api.Tuple.of(6, 0),
                                net.jqwik.api.Tuple.of(3, 1),
                                net.jqwik.api.Tuple.of(1, 2),
                                net.jqwik.api.Tuple.of(1, 3),
                                net.jqwik.api.Tuple.of(1, 4),
                                net.jqwik.api.Tuple.of(1, 5)),
                        Arbitraries.integers().between(0, PAGES - 1))
                .as(Event::new)
                .list()
                .ofMaxSize(80);
    }

    @Property(tries = 300)
    void everyEventIsCountedOnce(@ForAll("events") List<Event> events) {
        PhysicalMemory memory = PhysicalMemory.create(RamMap.sizedWithHole(1 << 20), 4096);
        memory.putLong(ROOT, 0x2000 | 1);
        memory.putLong(0x2000, 0x3000 | 1);
        memory.putLong(0x2008, 0x701);
        memory.putLong(0x3000, 0x4000 | 3);
        memory.putLong(0x4000, 0x5000 | 3);
        for (int page = 0; page < PAGES; page += 2) {
            memory.putLong(0x5000 + 8L * page, 0x8000 + 4096L * page | 3);
        }
        VtdUnit unit = new VtdUnit(memory, VtdFeatures.DEFAULT.withIotlb(64, 64).withPagingCache(4, 4));
        // 48 bits: one level more than the tables above have.
        memory.putLong(0x6000, 0x3000 | 3);
        memory.putLong(0x2000, 0x6000 | 1);
        memory.putLong(0x2008, 0x702);
        unit.write64(VtdRegisters.RTADDR, ROOT);
        unit.write32(VtdRegisters.GCMD, VtdRegisters.GCMD_SRTP);
        unit.write32(VtdRegisters.GCMD, VtdRegisters.GCMD_TE);
        BusPort port = unit.port(0, new TableMemory(memory));
        Set<Integer> cached = new HashSet<>();
        Map<Metric, Long> expected = new EnumMap<>(Metric.class);
        for (Event event : events) {
            switch (event.kind()) {
                case 0, 1 -> {
                    boolean mapped = event.page() % 2 == 0;
                    Access access = event.kind() == 0 ? Access.READ : Access.ATOMIC;
                    assertThat(BusPort.isFault(port.translate(event.page() * 4096L, access)))
                            .isEqualTo(!mapped);
                    count(expected, Metric.IOTLB_LOOKUPS);
                    if (mapped && !cached.add(event.page())) {
                        count(expected, Metric.IOTLB_HITS);
                    }
                    if (!mapped) {
                        count(expected, Metric.TRANSLATION_FAULTS);
                    }
                }
                case 2 -> {
                    unit.write64(VtdRegisters.IVA, event.page() * 4096L);
                    unit.write64(VtdRegisters.IOTLB, VtdRegisters.IOTLB_IVT | 3L << 60 | 7L << 32);
                    cached.remove(event.page());
                    count(expected, Metric.INVALIDATIONS_PAGE);
                }
                case 3 -> {
                    unit.write64(VtdRegisters.IOTLB, VtdRegisters.IOTLB_IVT | 2L << 60 | 7L << 32);
                    cached.clear();
                    count(expected, Metric.INVALIDATIONS_DOMAIN);
                }
                case 4 -> {
                    unit.write64(VtdRegisters.IOTLB, VtdRegisters.IOTLB_IVT | 1L << 60);
                    cached.clear();
                    count(expected, Metric.INVALIDATIONS_GLOBAL);
                }
                default -> {
                    unit.write64(VtdRegisters.CCMD, VtdRegisters.CCMD_ICC | 1L << 61);
                    count(expected, Metric.INVALIDATIONS_CONTEXT);
                }
            }
        }
        Map<Metric, Long> counted = new EnumMap<>(Metric.class);
        unit.report((metric, value) -> {
            if (value != 0) {
                counted.put(metric, value);
            }
        });
        assertThat(counted).isEqualTo(expected);
        assertThat(unit.iotlbHeld()).isEqualTo(cached.size());
        assertThat(unit.accessesInFlight()).isZero();
    }

    private static void count(Map<Metric, Long> counts, Metric metric) {
        counts.merge(metric, 1L, Long::sum);
    }
}
