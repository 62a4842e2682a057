package io.pagewalk.dma;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.fake.World;
import io.pagewalk.dma.spi.DmaPages;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Memory that stands in for a buffer that cannot be mapped: who copies what, and when. */
class StandInTest {
    private static final long BUFFER = 0x1000;
    private static final int SIZE = 0x1234;

    private final World world = World.make();

    @BeforeEach
    void nothingCanBeMapped() {
        world.backend.onMap = physAddr -> -1L;
        world.backend.cause = slot -> slot.record(FailureReason.NO_IOVA, Errno.ENOMEM, 2, 0xfff, 0, 0);
        world.backend.onAllocPages = size -> new DmaPages(0x4000, 0x4000, size);
        world.backend.mayNeedSync = true;
        fill(BUFFER, 1);
    }

    private void fill(long physAddr, int value) {
        world.machine.cpuMemory().fill(physAddr, SIZE, (byte) value);
    }

    /** One value if all bytes have it, which is -1 for bytes of several values. */
    private int value(long physAddr) {
        byte first = world.machine.cpuMemory().getByte(physAddr);
        for (int i = 0; i < SIZE; i++) {
            if (world.machine.cpuMemory().getByte(physAddr + i) != first) {
                return -1;
            }
        }
        return first;
    }

    @Test
    void coherentMemoryIsFilledAtTheMapAndNotSynced() {
        DmaMapping mapping = world.dma.map(BUFFER, SIZE, DmaDirection.BIDIRECTIONAL, MapPolicy.COPY);

        assertThat(mapping.isStandIn()).isTrue();
        assertThat(mapping.dmaAddr()).isEqualTo(0x4000);
        assertThat(value(0x4000)).isEqualTo(1);
        fill(BUFFER, 2);
        mapping.syncForDevice();
        assertThat(value(0x4000)).isEqualTo(2);
        fill(0x4000, 3);
        mapping.syncForCpu();
        assertThat(value(BUFFER)).isEqualTo(3);
        fill(0x4000, 4);
        mapping.close();
        assertThat(value(BUFFER)).isEqualTo(4);
        assertThat(world.backend.calls).noneMatch(call -> call.startsWith("sync") || call.startsWith("unmap"));
        assertThat(world.backend.calls).last().asString().startsWith("free ");
    }

    @Test
    void pagesOfItsOwnAreSyncedBeforeTheCopyBackAndAfterTheCopyThere() {
        DmaMapping mapping = world.dma.map(BUFFER, SIZE, DmaDirection.BIDIRECTIONAL, MapPolicy.BOUNCE);
        assertThat(value(0x4000)).isEqualTo(1);
        assertThat(world.backend.calls)
                .last()
                .asString()
                .startsWith("syncForDevice")
                .contains("0x4000+0x1234");
        fill(BUFFER, 2);
        mapping.syncForDevice();
        assertThat(value(0x4000)).isEqualTo(2);
        fill(0x4000, 3);
        mapping.syncForCpu();
        assertThat(value(BUFFER)).isEqualTo(3);
        assertThat(world.backend.calls)
                .last()
                .asString()
                .startsWith("syncForCpu")
                .contains("0x4000+0x1234");
        fill(0x4000, 4);
        mapping.close();
        mapping.close();

        assertThat(value(BUFFER)).isEqualTo(4);
        assertThat(world.backend.calls)
                .filteredOn(call -> call.startsWith("freePages"))
                .hasSize(1);
    }

    @Test
    void theDirectionDecidesWhatIsCopied() {
        DmaMapping out = world.dma.map(BUFFER, SIZE, DmaDirection.TO_DEVICE, MapPolicy.COPY);
        fill(0x4000, 9);
        out.syncForCpu();
        out.close();
        assertThat(value(BUFFER)).as("the device only reads").isEqualTo(1);

        DmaMapping in = world.dma.map(BUFFER, SIZE, DmaDirection.FROM_DEVICE, MapPolicy.BOUNCE);
        assertThat(value(0x4000)).as("what nobody writes has to come back").isEqualTo(1);
        fill(BUFFER, 5);
        in.syncForDevice();
        assertThat(value(0x4000)).as("the device only writes").isEqualTo(1);
        in.close();
        assertThat(value(BUFFER)).isEqualTo(1);
    }

    @Test
    void withoutMemoryTheCauseOfTheMapIsThrownAndTheOtherSuppressed() {
        world.backend.onAllocPages = size -> null;
        for (MapPolicy policy : new MapPolicy[] {MapPolicy.FAIL, MapPolicy.BOUNCE}) {
            assertThatThrownBy(() -> world.dma.map(BUFFER, SIZE, DmaDirection.TO_DEVICE, policy))
                    .isInstanceOf(DmaException.class)
                    .hasMessageStartingWith("nic cannot map 0x1000+0x1234: NO_IOVA")
                    .satisfies(
                            refused -> assertThat(refused.getSuppressed()).hasSize(policy == MapPolicy.FAIL ? 0 : 1));
        }
    }

    @Test
    void aBufferThatCanBeMappedNeedsNoMemory() {
        world.backend.onMap = physAddr -> physAddr;
        try (DmaMapping mapping = world.dma.map(BUFFER, SIZE, DmaDirection.TO_DEVICE, MapPolicy.COPY)) {
            assertThat(mapping.isStandIn()).isFalse();
            mapping.syncForDevice();
            mapping.syncForCpu();
        }
        assertThat(world.backend.calls).noneMatch(call -> call.startsWith("alloc"));
        assertThat(world.backend.calls).last().asString().startsWith("unmapPage");
    }
}
