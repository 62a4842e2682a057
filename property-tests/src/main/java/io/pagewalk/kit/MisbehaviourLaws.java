package io.pagewalk.kit;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.Dma;
import io.pagewalk.dma.DmaAttrs;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.Machine;
import java.util.ArrayList;
import java.util.List;
import net.jqwik.api.EdgeCasesMode;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.Size;

/**
 * What a device can do that keeps to no rule: nothing to the library, and nothing to memory that is not mapped for it.
 */
public interface MisbehaviourLaws extends WorldSource {
    /** Accesses between two calls of the driver. */
    int BURST = 60;

    /**
     * Whatever a device does before, during and after its mappings, the driver's calls work and the structures hold.
     *
     * @param machines the try's machines
     * @param world the world
     * @param config the device
     * @param buffers mapped one after the other
     * @param direction of all of them
     * @param seed of what the device does
     */
    @Law
    @Property(tries = 100, edgeCases = EdgeCasesMode.NONE)
    default void aMisbehavingDeviceBreaksNoStructure(
            TestMachines machines,
            @ForAll("worlds") SmallWorld world,
            @ForAll DeviceConfig config,
            @ForAll @Size(max = 4) List<Buffer> buffers,
            @ForAll DmaDirection direction,
            @ForAll long seed) {
        DmaDirection valid = direction == DmaDirection.NONE ? DmaDirection.BIDIRECTIONAL : direction;
        Machine machine = machines.start(world);
        Device device = machine.addDevice(config);
        MisbehavingDevice hostile = new MisbehavingDevice(device, seed, GuardedMemory.SECRET);
        hostile.misbehave(BURST);
        List<DmaExtent> live = new ArrayList<>();
        for (Buffer buffer : buffers) {
            long dmaAddr = device.dma().mapPage(buffer.physAddr(), buffer.sizeBytes(), valid, DmaAttrs.NONE);
            if (dmaAddr != Dma.DMA_MAPPING_ERROR) {
                live.add(new DmaExtent(dmaAddr, buffer.sizeBytes()));
                hostile.learn(dmaAddr, buffer.sizeBytes());
            }
            hostile.learn(buffer.physAddr(), buffer.sizeBytes());
            hostile.misbehave(BURST);
        }
        DmaInvariants.check(machine);
        for (DmaExtent extent : live) {
            device.dma().unmapPage(extent.dmaAddr(), extent.sizeBytes(), valid, DmaAttrs.NONE);
            hostile.misbehave(BURST);
        }
        DmaInvariants.checkIdle(machine);
    }

    /**
     * Where a backend blocks, a device writes only to pages that are mapped for it to write, and reads only from pages
     * that are mapped for it, at any moment.
     *
     * @param machines the try's machines
     * @param world the world
     * @param config the device
     * @param buffers mapped one after the other, every second one for the device to read only
     * @param seed of what the device does
     */
    @Law
    @Property(tries = 100, edgeCases = EdgeCasesMode.NONE)
    default void aMisbehavingDeviceReachesOnlyWhatIsMapped(
            TestMachines machines,
            @ForAll("worlds") SmallWorld world,
            @ForAll DeviceConfig config,
            @ForAll @Size(max = 4) List<Buffer> buffers,
            @ForAll long seed) {
        Machine machine = machines.start(world);
        if (!machine.blocksAfterUnmap()) {
            return;
        }
        Device device = machine.addDevice(config);
        MisbehavingDevice hostile = new MisbehavingDevice(device, seed, GuardedMemory.SECRET);
        GuardedMemory memory = new GuardedMemory(machine);
        hostile.learn(SmallWorld.ARENAS.get(0).first(), 1 << 20);
        memory.requireUntouchedBy(hostile, BURST);
        for (int i = 0; i < buffers.size(); i++) {
            Buffer buffer = buffers.get(i);
            DmaDirection direction = i % 2 == 0 ? DmaDirection.BIDIRECTIONAL : DmaDirection.TO_DEVICE;
            memory.open(buffer, direction.deviceWrites());
            long dmaAddr = device.dma().mapPage(buffer.physAddr(), buffer.sizeBytes(), direction, DmaAttrs.NONE);
            if (dmaAddr != Dma.DMA_MAPPING_ERROR) {
                hostile.learn(dmaAddr, buffer.sizeBytes());
                memory.requireUntouchedBy(hostile, BURST);
                device.dma().unmapPage(dmaAddr, buffer.sizeBytes(), direction, DmaAttrs.NONE);
            }
            memory.close(buffer);
            memory.requireUntouchedBy(hostile, BURST);
        }
        assertThat(hostile.secretsSeen())
                .as("secret bytes that the device read")
                .isZero();
    }
}
