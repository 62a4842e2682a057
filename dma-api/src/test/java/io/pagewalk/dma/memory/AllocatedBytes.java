package io.pagewalk.dma.memory;

import java.lang.reflect.Method;

/**
 * Asks the JVM how much heap a thread has allocated. By reflection, as this module does not read the modules of
 * management.
 */
final class AllocatedBytes {

    private final Object threads;
    private final Method allocatedBytes;

    AllocatedBytes() throws ReflectiveOperationException {
        Class<?> factory = Class.forName("java.lang.management.ManagementFactory");
        this.threads = factory.getMethod("getThreadMXBean").invoke(null);
        this.allocatedBytes =
                Class.forName("com.sun.management.ThreadMXBean").getMethod("getThreadAllocatedBytes", long.class);
    }

    /**
     * Runs some work and gives the bytes that this thread allocated meanwhile, those of asking (well below 1000)
     * included.
     */
    long during(Runnable work) throws ReflectiveOperationException {
        long before = now();
        work.run();
        return now() - before;
    }

    private long now() throws ReflectiveOperationException {
        return (long) allocatedBytes.invoke(threads, Thread.currentThread().getId());
    }
}
