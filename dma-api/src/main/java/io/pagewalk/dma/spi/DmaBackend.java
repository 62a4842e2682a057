package io.pagewalk.dma.spi;

import io.pagewalk.dma.Device;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** One backend of one machine: it gives each device its driver-side operations and its bus port. */
public interface DmaBackend extends AutoCloseable {
    /**
     * Attaches a device, once.
     *
     * @param device a device of the backend's machine
     * @return its driver-side operations
     */
    DmaOps attach(Device device);

    /**
     * The direct path of an attached device, for calls that go around an IOMMU or the device's own operations
     * (dma-core:SEL-2, SEL-5).
     *
     * @param device an attached device
     * @param attached what {@link #attach} gave
     * @return the direct operations; {@code attached} for a backend that has no others
     */
    default DmaOps directOps(Device device, DmaOps attached) {
        return attached;
    }

    /**
     * The hardware between an attached device and memory.
     *
     * @param device an attached device
     * @return its port, always the same
     */
    BusPort port(Device device);

    /**
     * Reports what the backend counted.
     *
     * @param sink takes the numbers
     */
    void report(MetricSink sink);

    /**
     * Whether a device access to an unmapped address is blocked from the moment on at which unmap returns.
     *
     * @return true when that is promised; a stale access that gets through is then a broken invariant
     */
    default boolean blocksAfterUnmap() {
        return false;
    }

    /** Does what was put off: flushes, returns of cached addresses. Afterwards only live mappings hold anything. */
    default void quiesce() {}

    /**
     * Checks the backend's structures against each other. The caller makes sure no call is running.
     *
     * @param violation takes a sentence with its numbers for each broken invariant
     */
    void checkStructure(Consumer<String> violation);

    /**
     * Checks that nothing is held: no slot, address, table page or pin. Call it after {@link #quiesce} with everything
     * unmapped.
     *
     * @param violation takes a sentence with its numbers for each thing still held
     */
    void checkIdle(Consumer<String> violation);

    /**
     * Whether the addresses of live mappings are the backend's own: no two live mappings of a device share one, even of
     * the same buffer. A backend that hands out the addresses of the memory itself cannot promise that.
     *
     * @return false unless it does
     */
    default boolean ownsAddresses() {
        return false;
    }

    /**
     * Finds a part of the backend by its type.
     *
     * @param <T> the type
     * @param type a type that the backend documents
     * @return the part, or null when there is none of that type
     */
    default <T> @Nullable T part(Class<T> type) {
        return null;
    }

    /** Gives back what the backend took from the machine. */
    @Override
    default void close() {}
}
