package io.pagewalk.rdma.rxe;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.Errno;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** The numbers of rxe's objects (rdma:RXE-2). */
class RxePoolTest {
    @Test
    @DisplayName("rdma:RXE-2: numbers count up from the first, and a freed one waits for the wrap")
    void aFreedNumberWaitsForTheWrap() {
        RxePool pool = new RxePool(5, 8, 4);
        assertThat(pool.add()).isEqualTo(5);
        assertThat(pool.add()).isEqualTo(6);
        pool.remove(5);
        assertThat(pool.add()).isEqualTo(7);
        pool.remove(7);
        assertThat(pool.add()).isEqualTo(8);
        assertThat(pool.add()).as("wrapped").isEqualTo(5);
        assertThat(pool.add()).as("6 is taken").isEqualTo(7);
        assertThat(pool.elements()).isEqualTo(4);
    }

    @Test
    @DisplayName("rdma:RXE-2: more objects than may be is -EINVAL, and takes nothing")
    void moreThanMayBeIsRefused() {
        RxePool pool = new RxePool(1, 3, 2);
        assertThat(pool.add()).isEqualTo(1);
        assertThat(pool.add()).isEqualTo(2);
        assertThat(pool.add()).isEqualTo(-Errno.EINVAL);
        assertThat(pool.elements()).isEqualTo(2);
        pool.remove(2);
        assertThat(pool.add()).isEqualTo(3);
        pool.remove(3);
        assertThat(pool.add()).as("1 is taken").isEqualTo(2);
    }

    @Test
    @DisplayName("rdma:RXE-2: no free number is -EBUSY")
    void noFreeNumberIsBusy() {
        RxePool pool = new RxePool(1, 2, 3);
        pool.add();
        pool.add();
        assertThat(pool.add()).isEqualTo(-Errno.EBUSY);
        assertThat(pool.elements()).isEqualTo(2);
    }

    @Test
    void whatIsNotThereCannotBeRemoved() {
        RxePool pool = new RxePool(2, 3, 2);
        for (int index : new int[] {1, 2, 4}) {
            assertThatThrownBy(() -> pool.remove(index))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("no object has the number " + index);
        }
        assertThat(pool.add()).isEqualTo(2);
    }

    @Test
    void aPoolHasRoom() {
        assertThatThrownBy(() -> new RxePool(0, 3, 2)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> new RxePool(4, 3, 2)).hasMessage("a pool of 2 objects cannot have the numbers 4 to 3");
        assertThatThrownBy(() -> new RxePool(1, 3, 0)).isInstanceOf(IllegalArgumentException.class);
        assertThat(new RxePool(1, 1, 1).add()).isEqualTo(1);
    }
}
