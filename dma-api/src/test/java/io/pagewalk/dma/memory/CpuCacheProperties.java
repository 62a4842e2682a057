package io.pagewalk.dma.memory;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.Tuple;

/** A cache that everybody who reaches memory agrees with changes nothing, whatever its size. */
class CpuCacheProperties {
    private static final int SPAN = 2048;

    enum Kind {
        LONG,
        INT,
        BYTES,
        COPY,
        FILL,
        ADD,
        EXCHANGE,
        DEVICE_READS,
        DEVICE_WRITES,
        DEVICE_ADDS,
        CLEAN,
        FLUSH
    }

    /** One step: where, to where (a copy), how long, and what to write. */
    record Op(Kind kind, int at, int to, int length, long value) {}

    @Provide
    Arbitrary<List<Op>> ops() {
        Arbitrary<Integer> places = Arbitraries.integers().between(0, SPAN - 1);
        Arbitrary<Integer> lengths = Arbitraries.frequencyOf(
                Tuple.of(4, Arbitraries.integers().between(0, 40)),
                Tuple.of(1, Arbitraries.integers().between(0, SPAN)));
        return Combinators.combine(Arbitraries.of(Kind.values()), places, places, lengths, Arbitraries.longs())
                .as((kind, at, to, length, value) ->
                        new Op(kind, at, to, Math.min(length, SPAN - Math.max(at, to)), value))
                .list()
                .ofMaxSize(60);
    }

    /** One side: software, and a device that agrees with it. */
    private static final class Side {
        private final PhysicalMemory memory = PhysicalMemory.create(RamMap.of(PhysRange.ofSize(0, SPAN)), 64);
        private final CpuMemory cpu;
        private final BusMemory bus;

        private Side(CpuCacheOptions options) {
            cpu = new CpuMemory(memory, options);
            bus = new BusMemory(memory, cpu.cache());
        }

        private Side() {
            cpu = new CpuMemory(memory);
            bus = new BusMemory(memory, null);
        }

        private Object does(Op op) {
            byte[] bytes = new byte[op.length];
            int word = Math.min(op.at, SPAN - 8);
            int aligned = op.at & ~7;
            switch (op.kind) {
                case LONG -> cpu.putLong(word, op.value);
                case INT -> cpu.putInt(word, (int) op.value);
                case BYTES -> {
                    new Random(op.value).nextBytes(bytes);
                    cpu.write(op.at, bytes, 0, op.length);
                }
                case COPY -> cpu.copy(op.at, op.to, op.length);
                case FILL -> cpu.fill(op.at, op.length, (byte) op.value);
                case ADD -> {
                    return cpu.getAndAddLong(aligned, op.value);
                }
                case EXCHANGE -> {
                    return cpu.compareAndExchangeLong(aligned, op.to & 1, op.value);
                }
                case DEVICE_READS -> {
                    bus.read(op.at, bytes, 0, op.length);
                    return new String(bytes, StandardCharsets.ISO_8859_1);
                }
                case DEVICE_WRITES -> {
                    new Random(op.value).nextBytes(bytes);
                    bus.write(op.at, bytes, 0, op.length);
                }
                case DEVICE_ADDS -> {
                    return bus.getAndAddLong(aligned, op.value);
                }
                case CLEAN -> {
                    if (cpu.cache() != null) {
                        cpu.cache().clean(op.at, op.length);
                    }
                }
                case FLUSH -> {
                    if (cpu.cache() != null) {
                        cpu.cache().flush(op.at, op.length);
                    }
                }
            }
            byte[] seen = new byte[op.length];
            cpu.read(op.at, seen, 0, op.length);
            return new String(seen, StandardCharsets.ISO_8859_1);
        }
    }

    @Provide
    Arbitrary<CpuCacheOptions> caches() {
        return Combinators.combine(Arbitraries.of(8, 16, 64), Arbitraries.of(1, 2, 5, 1000))
                .as(CpuCacheOptions::new);
    }

    @Property
    void softwareAndSnoopingDevicesSeeWhatTheyWouldWithoutACache(
            @ForAll("ops") List<Op> ops, @ForAll("caches") CpuCacheOptions options) {
        Side cached = new Side(options);
        Side plain = new Side();
        for (Op op : ops) {
            assertThat(cached.does(op)).as("%s", op).isEqualTo(plain.does(op));
        }
        CpuCache cache = Objects.requireNonNull(cached.cpu.cache());
        assertThat(cache.staleReads()).isZero();
        assertThat(cache.cachedLines()).isLessThanOrEqualTo(options.lines());
        cache.flushAll();
        byte[] all = new byte[SPAN];
        plain.memory.read(0, all, 0, SPAN);
        assertThat(cached.memory.mismatch(0, all, 0, SPAN)).isEqualTo(-1);
    }
}
