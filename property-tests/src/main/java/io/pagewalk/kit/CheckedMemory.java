package io.pagewalk.kit;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.CoherentBuffer;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.DmaAttrs;
import io.pagewalk.dma.DmaFailure;
import io.pagewalk.dma.FailureReason;
import org.jspecify.annotations.Nullable;

/**
 * A coherent allocation with a model of its bytes, which CPU and device see alike at any time.
 *
 * <p>Making one allocates and checks that it is zeroed, or that a failure has a typed cause. Not thread-safe.
 */
public final class CheckedMemory {
    private final Device device;
    private final @Nullable CoherentBuffer buffer;
    private final @Nullable DmaFailure failure;
    private final byte[] model;

    private CheckedMemory(Device device, @Nullable CoherentBuffer buffer, @Nullable DmaFailure failure, int sizeBytes) {
        this.device = device;
        this.buffer = buffer;
        this.failure = failure;
        this.model = new byte[sizeBytes];
    }

    /**
     * Allocates.
     *
     * @param device the device
     * @param cpu the CPU
     * @param sizeBytes length
     * @return the memory, or what did not become any: ask {@link #isLive()}
     */
    public static CheckedMemory alloc(Device device, int cpu, int sizeBytes) {
        CoherentBuffer buffer = device.dma(cpu).allocCoherent(sizeBytes, DmaAttrs.NONE);
        if (buffer == null) {
            DmaFailure failure = device.dma(cpu).lastFailure();
            assertThat(failure.reason()).as("cause of a failed allocation").isNotEqualTo(FailureReason.UNSPECIFIED);
            return new CheckedMemory(device, null, failure, sizeBytes);
        }
        CheckedMemory memory = new CheckedMemory(device, buffer, null, sizeBytes);
        memory.bothSidesSeeTheModel();
        return memory;
    }

    /**
     * Whether there was memory.
     *
     * @return false after a failure
     */
    public boolean isLive() {
        return buffer != null;
    }

    /**
     * The device.
     *
     * @return whose memory it is
     */
    public Device device() {
        return device;
    }

    /**
     * Why there was none.
     *
     * @return the typed cause, null when there was
     */
    public @Nullable DmaFailure failure() {
        return failure;
    }

    private CoherentBuffer live() {
        if (buffer == null) {
            throw new IllegalStateException("not allocated: " + failure);
        }
        return buffer;
    }

    /**
     * The device's side.
     *
     * @return its addresses
     */
    public DmaExtent extent() {
        return new DmaExtent(live().dmaAddr(), model.length);
    }

    /**
     * Lets the CPU write a part, and both sides read.
     *
     * @param part which bytes
     * @param salt makes the bytes differ from those of another salt
     */
    public void cpuWrites(Part part, long salt) {
        byte[] bytes = fresh(part, salt);
        live().write(part.offset(model.length), bytes, 0, bytes.length);
        bothSidesSeeTheModel();
    }

    /**
     * Lets the device write a part, and both sides read.
     *
     * @param part which bytes
     * @param salt makes the bytes differ from those of another salt
     */
    public void deviceWrites(Part part, long salt) {
        byte[] bytes = fresh(part, salt);
        long dmaAddr = live().dmaAddr() + part.offset(model.length);
        assertThat(device.bus().write(dmaAddr, bytes, 0, bytes.length))
                .as("bytes that %s writes into coherent memory %s", device, extent())
                .isEqualTo(bytes.length);
        bothSidesSeeTheModel();
    }

    private byte[] fresh(Part part, long salt) {
        int offset = part.offset(model.length);
        byte[] bytes = Content.of(salt, offset, part.sizeBytes(model.length));
        System.arraycopy(bytes, 0, model, offset, bytes.length);
        return bytes;
    }

    /** Lets CPU and device read everything and compares. */
    public void bothSidesSeeTheModel() {
        byte[] cpu = new byte[model.length];
        live().read(0, cpu, 0, cpu.length);
        assertThat(cpu).as("coherent memory %s as the CPU sees it", extent()).isEqualTo(model);
        byte[] seen = new byte[model.length];
        assertThat(device.bus().read(live().dmaAddr(), seen, 0, seen.length))
                .as("bytes that %s reads of coherent memory %s", device, extent())
                .isEqualTo(seen.length);
        assertThat(seen)
                .as("coherent memory %s as %s sees it", extent(), device)
                .isEqualTo(model);
    }

    /** Frees. */
    public void free() {
        live().close();
    }
}
