package io.pagewalk.rdma;

import java.lang.reflect.Method;

/**
 * Asks the JVM how much heap this thread has allocated, by reflection, as the module does not read that of management.
 */
final class AllocatedBytes {
    /**
     * After so many calls the JVM makes a class for a reflective call, which must not happen while bytes are counted.
     */
    private static final int CALLS_BEFORE_INFLATION = 20;

    private final Object threads;
    private final Method allocatedBytes;

    AllocatedBytes() throws ReflectiveOperationException {
        Class<?> factory = Class.forName("java.lang.management.ManagementFactory");
        threads = factory.getMethod("getThreadMXBean").invoke(null);
        allocatedBytes =
                Class.forName("com.sun.management.ThreadMXBean").getMethod("getThreadAllocatedBytes", long.class);
        for (int i = 0; i < CALLS_BEFORE_INFLATION; i++) {
            now();
        }
    }

    /**
     * The bytes that this thread allocates in a number of rounds, after as many rounds to warm up; asking costs below
     * 1000.
     */
    long during(int rounds, Runnable round) throws ReflectiveOperationException {
        repeat(rounds, round);
        long before = now();
        repeat(rounds, round);
        return now() - before;
    }

    private static void repeat(int rounds, Runnable round) {
        for (int i = 0; i < rounds; i++) {
            round.run();
        }
    }

    private long now() throws ReflectiveOperationException {
        return (long) allocatedBytes.invoke(threads, Thread.currentThread().getId());
    }
}
