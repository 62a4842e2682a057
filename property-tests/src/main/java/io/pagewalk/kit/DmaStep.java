package io.pagewalk.kit;

import io.pagewalk.dma.DmaDirection;

/**
 * One step of a {@link DmaProgram}. Numbers of mappings and allocations count among those live, modulo how many there
 * are.
 */
public sealed interface DmaStep {
    /**
     * Takes the step.
     *
     * @param run the program's run
     */
    void play(DmaProgramRun run);

    /**
     * A driver maps a buffer; left out when that would share bytes with a live mapping that anybody writes.
     *
     * @param second whether it is the second device's driver
     * @param cpu the CPU
     * @param buffer the buffer
     * @param direction the direction
     */
    record MapPage(boolean second, int cpu, Buffer buffer, DmaDirection direction) implements DmaStep {
        @Override
        public void play(DmaProgramRun run) {
            run.mapPage(this);
        }
    }

    /**
     * A driver maps a list; left out as a buffer is.
     *
     * @param second whether it is the second device's driver
     * @param cpu the CPU
     * @param segments the list
     * @param direction the direction
     */
    record MapSg(boolean second, int cpu, Segments segments, DmaDirection direction) implements DmaStep {
        @Override
        public void play(DmaProgramRun run) {
            run.mapSg(this);
        }
    }

    /**
     * A live mapping is unmapped.
     *
     * @param which its number
     * @param cpu the CPU
     */
    record Unmap(int which, int cpu) implements DmaStep {
        @Override
        public void play(DmaProgramRun run) {
            run.unmap(this);
        }
    }

    /**
     * The CPU writes a part of a live mapping that the device may read, and syncs it for the device.
     *
     * @param which its number
     * @param part the part
     */
    record CpuWrites(int which, Part part) implements DmaStep {
        @Override
        public void play(DmaProgramRun run) {
            run.cpuWrites(this);
        }
    }

    /**
     * The device writes a part of a live mapping that it may write, and the driver syncs it for the CPU.
     *
     * @param which its number
     * @param part the part
     */
    record DeviceWrites(int which, Part part) implements DmaStep {
        @Override
        public void play(DmaProgramRun run) {
            run.deviceWrites(this);
        }
    }

    /**
     * A driver allocates coherent memory.
     *
     * @param second whether it is the second device's driver
     * @param cpu the CPU
     * @param sizeBytes length
     */
    record Alloc(boolean second, int cpu, int sizeBytes) implements DmaStep {
        @Override
        public void play(DmaProgramRun run) {
            run.alloc(this);
        }
    }

    /**
     * A coherent allocation is freed.
     *
     * @param which its number
     */
    record Free(int which) implements DmaStep {
        @Override
        public void play(DmaProgramRun run) {
            run.free(this);
        }
    }

    /**
     * Time passes.
     *
     * @param nanos how much
     */
    record Advance(long nanos) implements DmaStep {
        @Override
        public void play(DmaProgramRun run) {
            run.advance(this);
        }
    }
}
