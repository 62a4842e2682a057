package io.pagewalk.dma;

import io.pagewalk.dma.memory.CpuMemory;
import io.pagewalk.dma.spi.DmaPages;
import org.jspecify.annotations.Nullable;

/** Memory that a device reaches in place of a buffer that could not be mapped. Not thread-safe. */
abstract class StandIn {
    /** Moves bytes piece by piece, as coherent memory may lie apart. */
    private static final int STEP_BYTES = 4096;

    final Dma dma;
    final long sizeBytes;
    private final long physAddr;

    private StandIn(Dma dma, long physAddr, long sizeBytes) {
        this.dma = dma;
        this.physAddr = physAddr;
        this.sizeBytes = sizeBytes;
    }

    /** Takes memory and copies the buffer into it, whatever the direction, so that bytes nobody writes come back. */
    static @Nullable StandIn of(Dma dma, MapPolicy policy, long physAddr, long sizeBytes, DmaDirection direction) {
        if (policy != MapPolicy.FAIL && sizeBytes != 0) {
            // Only bytes can be copied; an address without any must not cost the memory that is taken below.
            dma.device().machine().ram().require(physAddr, sizeBytes);
        }
        StandIn made = switch (policy) {
            case FAIL -> null;
            case COPY -> Coherent.of(dma, physAddr, sizeBytes);
            case BOUNCE -> Streaming.of(dma, physAddr, sizeBytes, direction);
        };
        if (made != null) {
            made.copyIn();
            made.syncForDevice();
        }
        return made;
    }

    abstract long dmaAddr();

    abstract void read(long offset, byte[] dst, int length);

    abstract void write(long offset, byte[] src, int length);

    abstract void syncForCpu();

    abstract void syncForDevice();

    abstract void free();

    final void copyIn() {
        CpuMemory memory = dma.device().machine().cpuMemory();
        byte[] step = new byte[STEP_BYTES];
        for (long done = 0; done < sizeBytes; done += STEP_BYTES) {
            int length = (int) Math.min(STEP_BYTES, sizeBytes - done);
            memory.read(physAddr + done, step, 0, length);
            write(done, step, length);
        }
    }

    final void copyOut() {
        CpuMemory memory = dma.device().machine().cpuMemory();
        byte[] step = new byte[STEP_BYTES];
        for (long done = 0; done < sizeBytes; done += STEP_BYTES) {
            int length = (int) Math.min(STEP_BYTES, sizeBytes - done);
            read(done, step, length);
            memory.write(physAddr + done, step, 0, length);
        }
    }

    private static final class Coherent extends StandIn {
        private final CoherentBuffer buffer;

        private Coherent(Dma dma, long physAddr, long sizeBytes, CoherentBuffer buffer) {
            super(dma, physAddr, sizeBytes);
            this.buffer = buffer;
        }

        static @Nullable StandIn of(Dma dma, long physAddr, long sizeBytes) {
            CoherentBuffer buffer = dma.allocCoherent(sizeBytes, DmaAttrs.NONE);
            return buffer == null ? null : new Coherent(dma, physAddr, sizeBytes, buffer);
        }

        @Override
        long dmaAddr() {
            return buffer.dmaAddr();
        }

        @Override
        void read(long offset, byte[] dst, int length) {
            buffer.read(offset, dst, 0, length);
        }

        @Override
        void write(long offset, byte[] src, int length) {
            buffer.write(offset, src, 0, length);
        }

        @Override
        void syncForCpu() {
            // Both see the same.
        }

        @Override
        void syncForDevice() {
            // Both see the same.
        }

        @Override
        void free() {
            buffer.close();
        }
    }

    private static final class Streaming extends StandIn {
        private final DmaPages pages;
        private final DmaDirection direction;

        private Streaming(Dma dma, long physAddr, long sizeBytes, DmaDirection direction, DmaPages pages) {
            super(dma, physAddr, sizeBytes);
            this.pages = pages;
            this.direction = direction;
        }

        static @Nullable StandIn of(Dma dma, long physAddr, long sizeBytes, DmaDirection direction) {
            DmaPages pages = dma.memory().allocPages(sizeBytes, direction, Gfp.KERNEL);
            return pages == null ? null : new Streaming(dma, physAddr, sizeBytes, direction, pages);
        }

        @Override
        long dmaAddr() {
            return pages.dmaAddr();
        }

        @Override
        void read(long offset, byte[] dst, int length) {
            dma.device().machine().cpuMemory().read(pages.physAddr() + offset, dst, 0, length);
        }

        @Override
        void write(long offset, byte[] src, int length) {
            dma.device().machine().cpuMemory().write(pages.physAddr() + offset, src, 0, length);
        }

        @Override
        void syncForCpu() {
            dma.syncSingleForCpu(pages.dmaAddr(), sizeBytes, direction);
        }

        @Override
        void syncForDevice() {
            dma.syncSingleForDevice(pages.dmaAddr(), sizeBytes, direction);
        }

        @Override
        void free() {
            dma.memory().freePages(sizeBytes, pages.physAddr(), pages.dmaAddr(), direction);
        }
    }
}
