package io.pagewalk.dma.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.EdgeCasesMode;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.statistics.Statistics;

/** Random accesses to a small world, beside a model that is one array of bytes and one of what is RAM. */
class PhysicalMemoryProperties {

    private static final int SPAN = 5000;

    /** Bases of RAM: at 0, where the near chunks end (of 64 bytes), and where a leaf ends. */
    private static final long[] BASES = {0, (64L << 16) - 1000, (1L << 26) - 1000};

    enum Kind {
        GET_AND_PUT_LONG,
        GET_AND_PUT_INT,
        GET_AND_PUT_SHORT,
        GET_AND_PUT_BYTE,
        ORDERED,
        COMPARE_AND_SET,
        COMPARE_AND_EXCHANGE,
        GET_AND_ADD,
        READ_AND_WRITE_ARRAY,
        READ_AND_WRITE_BUFFER,
        COPY,
        COPY_NEARBY,
        FILL,
        ZERO,
        DISCARD,
        MISMATCH,
        VIEW
    }

    /** One access: where, to where (a copy), how long, and what to write. */
    record Op(Kind kind, int at, int to, int length, long value) {}

    record World(long base, RamMap ram, int chunkSizeBytes, boolean withRegion) {}

    @Provide
    Arbitrary<World> worlds() {
        Arbitrary<Long> bases = Arbitraries.of(BASES[0], BASES[1], BASES[2]);
        return bases.flatMap(base -> Combinators.combine(
                        MemoryArbitraries.ramMaps(base), Arbitraries.of(64, 128, 512), Arbitraries.of(true, false))
                .as((ram, chunk, region) -> new World(base, ram, chunk, region)));
    }

    @Provide
    Arbitrary<List<Op>> operations() {
        Arbitrary<Integer> places = Arbitraries.oneOf(
                Arbitraries.integers().between(0, 1600),
                Combinators.combine(
                                Arbitraries.integers().between(0, 24),
                                Arbitraries.integers().between(-8, 8))
                        .as((chunk, delta) -> Math.max(0, chunk * 64 + delta)));
        Arbitrary<Integer> lengths = Arbitraries.oneOf(
                Arbitraries.integers().between(0, 20), Arbitraries.integers().between(0, 400));
        return Combinators.combine(Arbitraries.of(Kind.class), places, places, lengths, Arbitraries.longs())
                .as(Op::new)
                .list()
                .ofMinSize(1)
                .ofMaxSize(60);
    }

    @Property(tries = 600, edgeCases = EdgeCasesMode.NONE)
    void memoryIsAnArrayOfBytesWithHoles(@ForAll("worlds") World world, @ForAll("operations") List<Op> operations) {
        Model model = new Model(world);
        for (Op op : operations) {
            Statistics.collect(model.isRam(op.at(), op.length()) ? "RAM" : "not RAM");
            model.run(op);
        }
        model.checkAll();
        Statistics.coverage(coverage -> {
            coverage.check("RAM").percentage(share -> share > 20);
            coverage.check("not RAM").percentage(share -> share > 20);
        });
    }

    /** The memory and what should be in it. */
    private static final class Model {
        private final World world;
        private final PhysicalMemory memory;
        private final byte[] bytes = new byte[SPAN];
        private final boolean[] ram = new boolean[SPAN];
        private long regionFirst = -1;
        private long regionSize;

        Model(World world) {
            this.world = world;
            this.memory = PhysicalMemory.create(world.ram(), world.chunkSizeBytes());
            for (PhysRange range : world.ram().ranges()) {
                Arrays.fill(ram, index(range.first()), index(range.last()) + 1, true);
            }
            if (world.withRegion()) {
                makeRegion();
            }
        }

        /** Backs the first two neighbouring chunks that are RAM by one buffer. */
        private void makeRegion() {
            long size = 2L * world.chunkSizeBytes();
            long first = Addresses.alignUp(world.base(), world.chunkSizeBytes());
            while (first < world.base() + SPAN && regionFirst < 0) {
                if (world.ram().contains(first, size)) {
                    assertThat(memory.contiguousRegion(first, size).capacity()).isEqualTo((int) size);
                    regionFirst = first;
                    regionSize = size;
                }
                first += world.chunkSizeBytes();
            }
        }

        private int index(long physAddr) {
            return (int) (physAddr - world.base());
        }

        private boolean isRam(int at, int length) {
            for (int i = at; i < at + length; i++) {
                if (!ram[i]) {
                    return false;
                }
            }
            return true;
        }

        void run(Op op) {
            switch (op.kind()) {
                case GET_AND_PUT_LONG -> scalar(op, Long.BYTES);
                case GET_AND_PUT_INT -> scalar(op, Integer.BYTES);
                case GET_AND_PUT_SHORT -> scalar(op, Short.BYTES);
                case GET_AND_PUT_BYTE -> scalar(op, Byte.BYTES);
                case ORDERED, COMPARE_AND_SET, COMPARE_AND_EXCHANGE, GET_AND_ADD -> atomic(op);
                case READ_AND_WRITE_ARRAY, READ_AND_WRITE_BUFFER -> bulk(op);
                case COPY -> copy(op.at(), op.to(), op.length());
                case COPY_NEARBY -> copy(op.at(), op.at() + op.to() % 130, op.length());
                case FILL -> fill(op, (byte) op.value());
                case ZERO, DISCARD -> fill(op, (byte) 0);
                case MISMATCH -> mismatch(op);
                case VIEW -> view(op);
            }
        }

        // ---- scalars

        private void scalar(Op op, int width) {
            long physAddr = world.base() + op.at();
            long mask = Addresses.bitMask(width * Byte.SIZE);
            if (!isRam(op.at(), width)) {
                assertThatIllegalArgumentException().isThrownBy(() -> get(physAddr, width));
                assertThatIllegalArgumentException().isThrownBy(() -> put(physAddr, width, op.value()));
                return;
            }
            assertThat(get(physAddr, width) & mask).isEqualTo(modelGet(op.at(), width));
            put(physAddr, width, op.value());
            modelPut(op.at(), width, op.value());
            assertThat(get(physAddr, width) & mask).isEqualTo(op.value() & mask);
        }

        private long get(long physAddr, int width) {
            return switch (width) {
                case Long.BYTES -> memory.getLong(physAddr);
                case Integer.BYTES -> memory.getInt(physAddr);
                case Short.BYTES -> memory.getShort(physAddr);
                default -> memory.getByte(physAddr);
            };
        }

        private void put(long physAddr, int width, long value) {
            switch (width) {
                case Long.BYTES -> memory.putLong(physAddr, value);
                case Integer.BYTES -> memory.putInt(physAddr, (int) value);
                case Short.BYTES -> memory.putShort(physAddr, (short) value);
                default -> memory.putByte(physAddr, (byte) value);
            }
        }

        private long modelGet(int at, int width) {
            long value = 0;
            for (int i = 0; i < width; i++) {
                value |= (bytes[at + i] & 0xffL) << (8 * i);
            }
            return value;
        }

        private void modelPut(int at, int width, long value) {
            for (int i = 0; i < width; i++) {
                bytes[at + i] = (byte) (value >>> (8 * i));
            }
        }

        // ---- atomics, made aligned three times out of four

        private void atomic(Op op) {
            long asked = world.base() + op.at();
            long physAddr = op.to() % 4 == 0 ? asked : Addresses.alignUp(asked, Long.BYTES);
            int at = index(physAddr);
            if (!Addresses.isAligned(physAddr, Long.BYTES) || !isRam(at, Long.BYTES)) {
                assertThatIllegalArgumentException().isThrownBy(() -> atomic(op, physAddr, 0));
                return;
            }
            long before = modelGet(at, Long.BYTES);
            long expected = op.length() % 2 == 0 ? before : before + 1;
            long after = atomic(op, physAddr, expected);
            modelPut(at, Long.BYTES, after);
            assertThat(memory.getLong(physAddr)).isEqualTo(after);
        }

        /** Does one atomic access, checks what it answers, and gives what should be in memory after it. */
        private long atomic(Op op, long physAddr, long expected) {
            switch (op.kind()) {
                case ORDERED -> {
                    assertThat(memory.getLongAcquire(physAddr)).isEqualTo(modelGet(index(physAddr), Long.BYTES));
                    memory.putLongRelease(physAddr, op.value());
                    return op.value();
                }
                case COMPARE_AND_SET -> {
                    boolean set = memory.compareAndSetLong(physAddr, expected, op.value());
                    long before = modelGet(index(physAddr), Long.BYTES);
                    assertThat(set).isEqualTo(before == expected);
                    return set ? op.value() : before;
                }
                case COMPARE_AND_EXCHANGE -> {
                    long before = memory.compareAndExchangeLong(physAddr, expected, op.value());
                    assertThat(before).isEqualTo(modelGet(index(physAddr), Long.BYTES));
                    return before == expected ? op.value() : before;
                }
                default -> {
                    long before = memory.getAndAddLong(physAddr, op.value());
                    assertThat(before).isEqualTo(modelGet(index(physAddr), Long.BYTES));
                    return before + op.value();
                }
            }
        }

        // ---- bulk

        private void bulk(Op op) {
            boolean array = op.kind() == Kind.READ_AND_WRITE_ARRAY;
            byte[] source = new byte[op.length() + 3];
            new Random(op.value()).nextBytes(source);
            long physAddr = world.base() + op.at();
            if (!isRam(op.at(), op.length())) {
                assertThatIllegalArgumentException().isThrownBy(() -> write(array, physAddr, source, op.length()));
                assertThatIllegalArgumentException().isThrownBy(() -> read(array, physAddr, op.length()));
                return;
            }
            write(array, physAddr, source, op.length());
            System.arraycopy(source, 2, bytes, op.at(), op.length());
            byte[] read = read(array, physAddr, op.length());
            assertThat(Arrays.equals(read, 1, 1 + op.length(), source, 2, 2 + op.length()))
                    .isTrue();
            assertThat(read[0]).isEqualTo((byte) 0x77);
        }

        private void write(boolean array, long physAddr, byte[] source, int length) {
            if (array) {
                memory.write(physAddr, source, 2, length);
            } else {
                ByteBuffer buffer = ByteBuffer.wrap(source).position(1);
                memory.write(physAddr, buffer, 2, length);
                assertThat(buffer.position()).isEqualTo(1);
            }
        }

        private byte[] read(boolean array, long physAddr, int length) {
            byte[] target = new byte[length + 2];
            Arrays.fill(target, (byte) 0x77);
            if (array) {
                memory.read(physAddr, target, 1, length);
            } else {
                memory.read(physAddr, ByteBuffer.wrap(target), 1, length);
            }
            return target;
        }

        private void copy(int from, int to, int length) {
            long src = world.base() + from;
            long dst = world.base() + to;
            if (!isRam(from, length) || !isRam(to, length)) {
                assertThatIllegalArgumentException().isThrownBy(() -> memory.copy(src, dst, length));
                return;
            }
            memory.copy(src, dst, length);
            System.arraycopy(bytes, from, bytes, to, length);
        }

        private void fill(Op op, byte value) {
            long physAddr = world.base() + op.at();
            if (!isRam(op.at(), op.length())) {
                assertThatIllegalArgumentException().isThrownBy(() -> fill(op.kind(), physAddr, op.length(), value));
                return;
            }
            fill(op.kind(), physAddr, op.length(), value);
            Arrays.fill(bytes, op.at(), op.at() + op.length(), value);
        }

        private void fill(Kind kind, long physAddr, int length, byte value) {
            switch (kind) {
                case FILL -> memory.fill(physAddr, length, value);
                case ZERO -> memory.zero(physAddr, length);
                default -> memory.discard(physAddr, length);
            }
        }

        // ---- comparing and viewing

        private void mismatch(Op op) {
            long physAddr = world.base() + op.at();
            byte[] expected = Arrays.copyOfRange(bytes, op.at(), op.at() + op.length());
            if (!isRam(op.at(), op.length())) {
                assertThatIllegalArgumentException()
                        .isThrownBy(() -> memory.mismatch(physAddr, expected, 0, op.length()));
                return;
            }
            assertThat(memory.mismatch(physAddr, expected, 0, op.length())).isEqualTo(-1);
            if (op.length() > 0) {
                int wrong = op.to() % op.length();
                expected[wrong] ^= 1;
                assertThat(memory.mismatch(physAddr, expected, 0, op.length())).isEqualTo(wrong);
            }
        }

        private void view(Op op) {
            long physAddr = world.base() + op.at();
            long last = Addresses.last(physAddr, op.length());
            boolean oneChunk = physAddr / world.chunkSizeBytes() == last / world.chunkSizeBytes();
            boolean inRegion = regionFirst >= 0 && Addresses.contains(regionFirst, regionSize, physAddr, op.length());
            if (op.length() == 0 || !isRam(op.at(), op.length()) || (!oneChunk && !inRegion)) {
                assertThatIllegalArgumentException().isThrownBy(() -> memory.view(physAddr, op.length()));
                return;
            }
            ByteBuffer view = memory.view(physAddr, op.length());
            byte[] seen = new byte[op.length()];
            view.get(0, seen);
            assertThat(seen).isEqualTo(Arrays.copyOfRange(bytes, op.at(), op.at() + op.length()));
            view.put(op.length() - 1, (byte) op.value());
            bytes[op.at() + op.length() - 1] = (byte) op.value();
        }

        void checkAll() {
            for (int at = 0; at < SPAN; at++) {
                if (ram[at]) {
                    assertThat(memory.getByte(world.base() + at)).isEqualTo(bytes[at]);
                }
            }
            assertThat(memory.residentBytes() % world.chunkSizeBytes()).isZero();
            checkDiscardingEverything();
        }

        private void checkDiscardingEverything() {
            for (PhysRange range : world.ram().ranges()) {
                memory.discard(range.first(), range.sizeBytes());
            }
            for (PhysRange range : world.ram().ranges()) {
                int size = (int) range.sizeBytes();
                assertThat(memory.mismatch(range.first(), new byte[size], 0, size))
                        .isEqualTo(-1);
            }
        }
    }
}
