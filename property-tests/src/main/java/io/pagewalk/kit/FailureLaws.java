package io.pagewalk.kit;

import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.DmaDirection;
import net.jqwik.api.ForAll;

/**
 * What a call that fails leaves behind: nothing. Every point where the kernel could run out of something fails once.
 */
public interface FailureLaws extends WorldSource {
    /** The largest allocation tried: each of its pages is a point that fails. */
    int MOST_BYTES = 1 << 15;

    /**
     * A map that fails at any point changes nothing, and the same map works as before afterwards.
     *
     * @param world the world
     * @param config the device
     * @param buffer the buffer
     * @param direction the direction
     */
    @Law
    default void aMapThatFailsChangesNothing(
            @ForAll("worlds") SmallWorld world,
            @ForAll DeviceConfig config,
            @ForAll Buffer buffer,
            @ForAll DmaDirection direction) {
        FailurePointTrial.of(world, config, device -> isUsable(CheckedMapping.page(device, 0, buffer, direction)));
    }

    /**
     * A list that fails at any point changes nothing, and the same list works as before afterwards.
     *
     * @param world the world
     * @param config the device
     * @param segments the list
     * @param direction the direction
     */
    @Law
    default void aListThatFailsChangesNothing(
            @ForAll("worlds") SmallWorld world,
            @ForAll DeviceConfig config,
            @ForAll Segments segments,
            @ForAll DmaDirection direction) {
        FailurePointTrial.of(world, config, device -> isUsable(CheckedMapping.sg(device, 0, segments, direction)));
    }

    /**
     * An allocation that fails at any point changes nothing, and the same allocation works as before afterwards.
     *
     * @param world the world
     * @param config the device
     * @param size how much
     */
    @Law
    default void anAllocationThatFailsChangesNothing(
            @ForAll("worlds") SmallWorld world, @ForAll DeviceConfig config, @ForAll Part size) {
        FailurePointTrial.of(world, config, device -> {
            CheckedMemory memory = CheckedMemory.alloc(device, 0, size.sizeBytes(MOST_BYTES));
            if (memory.isLive()) {
                memory.free();
            }
            return memory.isLive();
        });
    }

    private static boolean isUsable(CheckedMapping mapping) {
        mapping.cpuReadsTheModel();
        if (mapping.isLive()) {
            if (mapping.direction().deviceReads()) {
                mapping.deviceReadsTheModel();
            }
            mapping.unmap(0);
            return true;
        }
        return false;
    }
}
