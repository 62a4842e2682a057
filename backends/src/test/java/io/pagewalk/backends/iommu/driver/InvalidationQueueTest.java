package io.pagewalk.backends.iommu.driver;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.backends.iommu.unit.InvalidationLayout;
import io.pagewalk.backends.iommu.unit.RegisterFile;
import io.pagewalk.backends.iommu.unit.VtdFeatures;
import io.pagewalk.backends.iommu.unit.VtdRegisters;
import io.pagewalk.backends.iommu.unit.VtdUnit;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.memory.PhysicalMemory;
import io.pagewalk.dma.memory.RamMap;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The driver's end of the queue, before hardware that does what a test wants. iommu:INV-13, INV-16, INV-17. */
@Timeout(60)
class InvalidationQueueTest {
    private static final long QUEUE = 0x1000;
    private static final long STATUS = 0x2000;
    private static final int PRESENT = 0x310;
    private static final int GONE = 0x410;
    private static final long GLOBAL = InvalidationLayout.iotlb(InvalidationLayout.GLOBAL, 0);

    private final PhysicalMemory memory = PhysicalMemory.create(RamMap.sizedWithHole(1 << 20), 4096);
    private final Hardware hardware = new Hardware();
    private final InvalidationQueue queue = queue(hardware);

    private InvalidationQueue queue(RegisterFile registers) {
        return new InvalidationQueue(registers, memory, QUEUE, STATUS, id -> id == PRESENT);
    }

    /** Fetches on a write of the tail, and fails once at what it is told to. */
    private final class Hardware implements RegisterFile {
        final List<Long> fetched = new ArrayList<>();
        final List<Integer> tails = new ArrayList<>();
        int status;
        int silent;
        int failAt = -1;
        private int head;
        private int tail;

        @Override
        public int read32(int offset) {
            return offset == VtdRegisters.FSTS ? status : 0;
        }

        @Override
        public long read64(int offset) {
            return switch (offset) {
                case VtdRegisters.IQH -> (long) head << 4;
                case VtdRegisters.IQER -> (long) silent << 32;
                default -> 0;
            };
        }

        @Override
        public void write32(int offset, int value) {
            if (offset == VtdRegisters.FSTS) {
                status &= ~value;
                fetch();
            }
        }

        @Override
        public void write64(int offset, long value) {
            if (offset == VtdRegisters.IQT) {
                tail = (int) value >>> 4;
                tails.add(tail);
                fetch();
            }
        }

        private void fetch() {
            while (head != tail && (status & (VtdRegisters.FSTS_IQE | VtdRegisters.FSTS_ITE)) == 0) {
                if (fetched.size() == failAt) {
                    failAt = -1;
                    failing.run();
                    continue;
                }
                long low = memory.getLong(QUEUE + 16L * head);
                fetched.add(low);
                if ((low & 0xf) == InvalidationLayout.WAIT) {
                    memory.putInt(memory.getLong(QUEUE + 16L * head + 8), (int) (low >>> 32));
                }
                head = (head + 1) & 255;
            }
        }

        Runnable failing = () -> {};
    }

    @Test
    @DisplayName("INV-16: a descriptor and a wait, the tail behind both")
    void aSubmissionIsADescriptorAndAWait() {
        assertThat(queue.submit(GLOBAL, 0)).isZero();

        assertThat(hardware.fetched).containsExactly(GLOBAL, 0x2_0000_0025L);
        assertThat(hardware.tails).containsExactly(2);
        assertThat(memory.getLong(QUEUE + 24)).as("status word of entry 1").isEqualTo(STATUS + 4);
        assertThat(memory.getInt(STATUS + 4)).isEqualTo(2);
    }

    @Test
    @DisplayName("INV-13: up to 16 descriptors share one wait")
    void aBatchSharesOneWait() {
        queue.begin();
        for (int i = 0; i < InvalidationQueue.BATCH; i++) {
            assertThat(queue.isBatchFull()).isFalse();
            queue.add(GLOBAL, i);
        }
        assertThat(queue.isBatchFull()).isTrue();
        assertThat(hardware.tails).as("nothing is said before the end").isEmpty();
        assertThat(queue.finish()).isZero();

        assertThat(hardware.fetched).hasSize(17);
        assertThat(hardware.tails).containsExactly(17);
        assertThat(memory.getLong(QUEUE + 15 * 16 + 8)).isEqualTo(15);
        assertThat(queue.submit(GLOBAL, 0)).isZero();
        assertThat(hardware.tails).containsExactly(17, 19);
    }

    @Test
    void batchesGoRoundTheRing() {
        for (int round = 0; round < 40; round++) {
            queue.begin();
            for (int i = 0; i < 12; i++) {
                queue.add(GLOBAL, 0);
            }
            assertThat(queue.finish()).isZero();
        }
        assertThat(hardware.fetched).hasSize(40 * 13);
        assertThat(hardware.tails).endsWith(40 * 13 % 256);
    }

    @Test
    @DisplayName("INV-17: what the unit refuses is overwritten by a wait, and the rest is done")
    void aRefusedDescriptorIsSteppedOver() {
        hardware.failAt = 1;
        hardware.failing = () -> hardware.status |= VtdRegisters.FSTS_IQE;
        queue.begin();
        queue.add(GLOBAL, 0);
        queue.add(0xf, 0);
        queue.add(InvalidationLayout.context(InvalidationLayout.GLOBAL, 0, 0), 0);

        assertThat(queue.finish()).isEqualTo(-Errno.EINVAL);
        assertThat(hardware.fetched).containsExactly(GLOBAL, 0x2_0000_0025L, 0x11L, 0x2_0000_0025L);
        assertThat(hardware.status).isZero();
        assertThat(queue.submit(GLOBAL, 0)).isZero();
    }

    @Test
    @DisplayName("INV-17: a device that did not answer is asked once more, with the whole batch")
    void aTimeoutOfAPresentDeviceIsTriedAgain() {
        hardware.failAt = 1;
        hardware.silent = PRESENT;
        hardware.failing = () -> hardware.status |= VtdRegisters.FSTS_ITE;
        long deviceTlb = InvalidationLayout.DEVICE_TLB | (long) PRESENT << 32;
        queue.begin();
        queue.add(GLOBAL, 0);
        queue.add(deviceTlb, 1);

        assertThat(queue.finish()).isZero();
        assertThat(hardware.tails).containsExactly(3, 6);
        assertThat(hardware.fetched.subList(3, 6)).containsExactly(GLOBAL, deviceTlb, 0x2_0000_0025L);
        assertThat(hardware.status).isZero();
    }

    @Test
    @DisplayName("INV-17: for a device that is gone the submission ends with -ETIMEDOUT, its wait marked")
    void aTimeoutOfADeviceThatIsGoneIsAnError() {
        int[] marked = {0};
        hardware.failAt = 0;
        hardware.silent = GONE;
        hardware.failing = () -> hardware.status |= VtdRegisters.FSTS_ITE;
        InvalidationQueue watched = queue(new RegisterFile() {
            @Override
            public int read32(int offset) {
                return hardware.read32(offset);
            }

            @Override
            public void write32(int offset, int value) {
                marked[0] = memory.getInt(STATUS + 4);
                hardware.write32(offset, value);
            }

            @Override
            public long read64(int offset) {
                return hardware.read64(offset);
            }

            @Override
            public void write64(int offset, long value) {
                hardware.write64(offset, value);
            }
        });
        assertThat(watched.submit(InvalidationLayout.DEVICE_TLB | (long) GONE << 32, 0))
                .isEqualTo(-Errno.ETIMEDOUT);
        assertThat(marked[0]).as("ABORT, before the unit goes on").isEqualTo(3);
        assertThat(watched.submit(GLOBAL, 0)).isZero();
    }

    @Test
    @DisplayName("INV-17: a wrong answer is cleared, and nothing comes of it")
    void aWrongAnswerIsCleared() {
        hardware.failAt = 1;
        hardware.failing = () -> hardware.status |= VtdRegisters.FSTS_ICE | VtdRegisters.FSTS_IQE;
        assertThat(queue.submit(GLOBAL, 0)).isEqualTo(-Errno.EINVAL);
        assertThat(hardware.status).isZero();
    }

    @Test
    void theUnitTimesOutForRequestersThatAreNotThere() {
        VtdUnit unit = new VtdUnit(memory, VtdFeatures.DEFAULT);
        InvalidationQueue real = queue(unit);
        real.enable();
        assertThat(real.submit(InvalidationLayout.DEVICE_TLB | (long) GONE << 32, 0))
                .isEqualTo(-Errno.ETIMEDOUT);
        assertThat(unit.read64(VtdRegisters.IQER)).isEqualTo((long) GONE << 32);
        assertThat(unit.read32(VtdRegisters.FSTS)).isZero();
        assertThat(unit.read64(VtdRegisters.IQH)).isEqualTo(0x20);
        assertThat(real.submit(GLOBAL, 0)).isZero();
        assertThat(unit.read64(VtdRegisters.IQH)).isEqualTo(0x40);
    }

    @Test
    void aClosedQueueTakesNothing() {
        queue.close();
        assertThatThrownBy(() -> queue.submit(GLOBAL, 0))
                .isInstanceOf(IllegalStateException.class)
                .hasMessage("the machine is closed: its IOMMU invalidates nothing any more");
        assertThatThrownBy(queue::begin).as("the lock was given back").isInstanceOf(IllegalStateException.class);
        assertThat(hardware.tails).isEmpty();
    }
}
