package io.pagewalk.backends.lock;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class SpinLockTest {
    private int counter;

    @Test
    void heldLockIsNotTakenTwice() {
        SpinLock lock = new SpinLock();
        lock.lock();
        assertThat(lock.isLocked()).isTrue();
        assertThat(lock.tryLock()).isFalse();
        lock.unlock();
        assertThat(lock.isLocked()).isFalse();
        assertThat(lock.tryLock()).isTrue();
    }

    @Test
    void noIncrementIsLostBetweenThreads() throws InterruptedException {
        SpinLock lock = new SpinLock();
        List<Thread> threads = new ArrayList<>();
        for (int t = 0; t < 4; t++) {
            Thread thread = new Thread(() -> incrementOften(lock));
            threads.add(thread);
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        assertThat(counter).isEqualTo(4 * 20_000);
    }

    private void incrementOften(SpinLock lock) {
        for (int i = 0; i < 20_000; i++) {
            lock.lock();
            try {
                counter++;
            } finally {
                lock.unlock();
            }
        }
    }
}
