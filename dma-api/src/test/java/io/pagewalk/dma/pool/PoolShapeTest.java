package io.pagewalk.dma.pool;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.constraints.IntRange;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Where blocks lie: dma-core:POOL-1, POOL-2, EX-40. */
class PoolShapeTest {
    private static List<Long> blocks(PoolShape shape) {
        List<Long> offsets = new ArrayList<>();
        for (long at = shape.blockFrom(0); at >= 0; at = shape.blockFrom(at + shape.blockBytes())) {
            offsets.add(at);
        }
        return offsets;
    }

    private static PoolShape shape(long size, long align, long boundary) {
        return Objects.requireNonNull(PoolShape.of(size, align, boundary));
    }

    @ParameterizedTest
    @CsvSource({
        "96, 16, 256, 96, 4096, 256, 32, 0xf60",
        "24, 8, 0, 24, 4096, 4096, 170, 0xfd8",
        "100, 64, 0, 128, 4096, 4096, 32, 0xf80",
        "3000, 1, 4096, 3000, 4096, 4096, 1, 0",
        "5000, 1, 8192, 5000, 5000, 5000, 1, 0",
        "5, 4, 0, 16, 4096, 4096, 256, 0xff0",
        "600, 1, 1024, 600, 4096, 1024, 4, 0xc00",
        "0x7fffffff, 0, 0, 0x7fffffff, 0x7fffffff, 0x7fffffff, 1, 0",
        "16, 4096, 0, 4096, 4096, 4096, 1, 0",
        "17, 0, 0, 17, 4096, 4096, 240, 4063",
        "4097, 2, 0, 4098, 4098, 4098, 1, 0"
    })
    @DisplayName("dma-core:EX-40")
    void theWorkedExamples(
            String size,
            long align,
            long boundary,
            String blockBytes,
            String pageBytes,
            String boundaryBytes,
            int count,
            String last) {
        PoolShape shape = shape(Long.decode(size), align, boundary);

        assertThat(shape)
                .isEqualTo(new PoolShape(Long.decode(blockBytes), Long.decode(pageBytes), Long.decode(boundaryBytes)));
        assertThat(blocks(shape)).hasSize(count).last().isEqualTo(Long.decode(last));
    }

    @Test
    @DisplayName("dma-core:EX-40: 0,0x60,0x100,0x160,...; 0,0x400,0x800,0xc00")
    void blocksGoOnBehindEachBoundary() {
        assertThat(blocks(shape(96, 16, 256))).startsWith(0L, 0x60L, 0x100L, 0x160L, 0x200L);
        assertThat(blocks(shape(600, 1, 1024))).containsExactly(0L, 0x400L, 0x800L, 0xc00L);
    }

    @ParameterizedTest
    @CsvSource({
        "0, 1, 0",
        "0x80000000, 1, 0",
        "-1, 1, 0",
        "-9223372036854775808, 1, 0",
        "16, 3, 0",
        "16, -1, 0",
        "16, 6, 0",
        "5000, 1, 4096",
        "16, 1, 8",
        "16, 1, 24",
        "16, 1, -1",
        "100, 64, 64"
    })
    @DisplayName("dma-core:POOL-1")
    void whatTheKernelRefuses(String size, long align, long boundary) {
        assertThat(PoolShape.of(Long.decode(size), align, boundary)).isNull();
    }

    @Test
    @DisplayName("dma-core:POOL-1: a power of two is one up to 2^63")
    void hugeAlignmentsAndBoundariesArePowersOfTwoToo() {
        assertThat(shape(16, Long.MIN_VALUE, 0).pageBytes()).isEqualTo(Long.MIN_VALUE);
        assertThat(PoolShape.of(16, Long.MIN_VALUE, 1L << 62)).isNull();
        assertThat(shape(16, 1, Long.MIN_VALUE).boundaryBytes()).isEqualTo(0x1000);
        assertThat(shape(128, 0, 128).boundaryBytes()).isEqualTo(128);
    }

    @Provide
    static Arbitrary<Long> powers() {
        return Arbitraries.integers().between(-1, 14).map(log2 -> log2 < 0 ? 0L : 1L << log2);
    }

    /** The loop of POOL-2 as it is written there, or null by the rules of POOL-1. */
    private static @Nullable List<Long> model(long size, long align, long boundary) {
        long step = align == 0 ? 1 : align;
        long block = (Math.max(size, 16) + step - 1) / step * step;
        long page = Math.max(block, 4096);
        if (boundary != 0 && boundary < block) {
            return null;
        }
        long limit = boundary == 0 ? page : Math.min(boundary, page);
        List<Long> offsets = new ArrayList<>();
        long offset = 0;
        long next = limit;
        while (offset + block <= page) {
            if (offset + block > next) {
                offset = next;
                next += limit;
            } else {
                offsets.add(offset);
                offset += block;
            }
        }
        return offsets;
    }

    @Property
    void blocksLieWhereTheLoopPutsThem(
            @ForAll @IntRange(min = 1, max = 9000) int size,
            @ForAll("powers") long align,
            @ForAll("powers") long boundary) {
        PoolShape shape = PoolShape.of(size, align, boundary);
        List<Long> expected = model(size, align, boundary);

        assertThat(shape == null ? null : blocks(shape)).isEqualTo(expected);
    }
}
