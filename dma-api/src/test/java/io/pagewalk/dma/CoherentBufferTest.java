package io.pagewalk.dma;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.fake.World;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.dma.spi.CoherentPages;
import java.util.Objects;
import org.junit.jupiter.api.Test;

/** Coherent memory: dma-core:ATTR-11, FE-50, FE-52, FE-53. */
class CoherentBufferTest {
    private final World world = World.make();

    /** Three pages that lie apart: 0x6000, 0x2000, 0x11000. */
    private CoherentBuffer apart(long sizeBytes) {
        world.backend.onAlloc = size -> new CoherentPages(0xf000_0000L, size, new long[] {0x6000, 0x2000, 0x11000});
        return world.dma.alloc(sizeBytes);
    }

    @Test
    void aCoherentMaskOfZeroWarnsOnceAndAllocatesAllTheSame() { // FE-50
        World narrow = World.make(config -> config.withCoherentMask(0));
        assertThat(narrow.dma.allocCoherent(0x1000, 0)).isNotNull();
        assertThat(narrow.dma.allocCoherent(0x1000, 0)).isNotNull();

        assertThat(narrow.machine.log().warnCount()).isEqualTo(1);
        assertThat(narrow.machine.log().count("dma_alloc_coherent")).isEqualTo(2);
        assertThat(narrow.machine.log().entries().get(0).text()).contains("FE-50");
    }

    @Test
    void allocationAsksForNoStreamingMask() { // SEL-3
        World maskless = World.make(config -> config.withStreamingMask(null));

        assertThat(maskless.dma.allocCoherent(0x1000, 0)).isNotNull();
        assertThat(maskless.machine.log().warnCount()).isZero();
    }

    @Test
    void aFailedAllocationIsNullForTheOneAndAnExceptionForTheOther() { // FE-52, architecture rule 5
        world.backend.onAlloc = size -> null;
        world.backend.cause = slot -> slot.record(FailureReason.NO_MEMORY, Errno.ENOMEM, 0x2000, 0xffff, 0, 0);

        assertThat(world.dma.allocCoherent(0x2000, 0)).isNull();
        assertThatThrownBy(() -> world.dma.alloc(0x2000))
                .isInstanceOf(DmaException.class)
                .hasMessage("nic cannot allocate 8192 coherent bytes: NO_MEMORY: size 8192, mask 0xffff "
                        + "(ENOMEM; give the machine more memory below the mask)");
    }

    @Test
    void memoryIsFreedWithTheAttributesItWasAllocatedWith() { // ATTR-11, FE-53
        CoherentBuffer buffer = Objects.requireNonNull(world.dma.allocCoherent(0x800, DmaAttrs.WRITE_COMBINE));
        buffer.close();

        assertThat(world.backend.calls)
                .containsExactly("alloc cpu 0 0x800 attrs 0x4", "free cpu 0 0x4000+0x800 attrs 0x4");
    }

    @Test
    void closingTwiceFreesOnce() {
        CoherentBuffer buffer = world.dma.alloc(0x800);
        buffer.close();
        buffer.close();

        assertThat(world.backend.calls)
                .containsExactly("alloc cpu 0 0x800 attrs 0x0", "free cpu 0 0x4000+0x800 attrs 0x0");
    }

    @Test
    void useAfterCloseIsRefusedAndTouchesNoMemory() {
        CoherentBuffer buffer = world.dma.alloc(0x800);
        buffer.close();

        for (Runnable use : new Runnable[] {
            buffer::dmaAddr,
            () -> buffer.getLong(0),
            () -> buffer.putLong(0, 1),
            () -> buffer.read(0, new byte[8], 0, 8),
            () -> buffer.write(0, new byte[] {1}, 0, 1),
            () -> buffer.physAddr(0)
        }) {
            assertThatThrownBy(use::run)
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessage("the coherent buffer at 0x4000 was freed");
        }
        assertThat(world.machine.memory().getLong(0x4000)).isZero();
    }

    @Test
    void offsetsRunOnWhereverThePagesLie() {
        try (CoherentBuffer buffer = apart(0x3000)) {
            byte[] bytes = new byte[0x2000];
            for (int i = 0; i < bytes.length; i++) {
                bytes[i] = (byte) (i * 7 + 1);
            }
            buffer.write(0x800, bytes, 0, bytes.length);
            byte[] back = new byte[bytes.length + 2];
            buffer.read(0x800, back, 1, bytes.length);

            assertThat(back).startsWith(0).endsWith(0).containsSequence(bytes);
            assertThat(world.machine.memory().mismatch(0x6800, bytes, 0, 0x800)).isEqualTo(-1);
            assertThat(world.machine.memory().mismatch(0x2000, bytes, 0x800, 0x1000))
                    .isEqualTo(-1);
            assertThat(world.machine.memory().mismatch(0x11000, bytes, 0x1800, 0x800))
                    .isEqualTo(-1);
            assertThat(buffer.physAddr(0xfff)).isEqualTo(0x6fff);
            assertThat(buffer.physAddr(0x1000)).isEqualTo(0x2000);
            buffer.putLong(0x2ff8, 0x0102_0304_0506_0708L);
            assertThat(world.machine.memory().getLong(0x11ff8)).isEqualTo(0x0102_0304_0506_0708L);
            assertThat(buffer.getLong(0x2ff8)).isEqualTo(0x0102_0304_0506_0708L);
        }
    }

    @Test
    void theSizeAskedForIsTheBound() {
        CoherentBuffer buffer = apart(0x1008);

        buffer.putLong(0x1000, 5);
        buffer.read(0x1008, new byte[0], 0, 0);
        for (Runnable use : new Runnable[] {
            () -> buffer.getLong(0x1008),
            () -> buffer.putLong(0x1008, 1),
            () -> buffer.getLong(-8),
            () -> buffer.read(0x1001, new byte[8], 0, 8),
            () -> buffer.write(Long.MAX_VALUE, new byte[8], 0, 8),
            () -> buffer.physAddr(0x1008),
            () -> buffer.read(0, new byte[8], 1, 8)
        }) {
            assertThatThrownBy(use::run).isInstanceOf(IndexOutOfBoundsException.class);
        }
        assertThatThrownBy(() -> buffer.getLong(0x1008)).hasMessage("4104+8 of a coherent buffer of 4104 bytes");
    }

    @Test
    void aWordOfAnOddOffsetIsRefused() {
        CoherentBuffer buffer = apart(0x1000);

        assertThatThrownBy(() -> buffer.getLong(4))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("offset 4 is not 8-byte aligned");
        assertThatThrownBy(() -> buffer.putLong(1, 0)).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void pagesHoldWhatWasAskedForOrAreRefused() {
        assertThatThrownBy(() -> new CoherentPages(0, 0x1001, new long[] {0x1000}))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("1 pages do not hold 4097 bytes");
        CoherentPages pages = CoherentPages.contiguous(0x9000, 0x1001, 0x4000);

        assertThat(pages.pageCount()).isEqualTo(2);
        assertThat(pages.pagePhysAddr(1)).isEqualTo(0x5000);
        assertThat(pages.sizeBytes()).isEqualTo(0x1001);
    }

    @Test
    void pagesDoNotChangeWithTheArrayTheyWereMadeFrom() {
        long[] physAddrs = {0x1000};
        CoherentPages pages = new CoherentPages(0, 0x1000, physAddrs);
        physAddrs[0] = 0x7000;

        assertThat(pages.pagePhysAddr(0)).isEqualTo(0x1000);
    }

    @Test
    void freedMemoryIsShownToNobody() {
        World world = World.make();
        CoherentBuffer buffer = world.dma.alloc(0x1000);
        buffer.close();

        assertThatThrownBy(() -> world.dma.memory().getSgTable(new SgTable(1), buffer, 0x1000, 0))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("was freed");
        assertThatThrownBy(() -> world.dma.memory().mmap(new UserVma(1, 0), buffer, 0x1000, 0))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("was freed");
    }
}
