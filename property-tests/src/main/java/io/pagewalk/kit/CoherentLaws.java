package io.pagewalk.kit;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.Machine;
import java.util.ArrayList;
import java.util.List;
import net.jqwik.api.Assume;
import net.jqwik.api.ForAll;
import net.jqwik.api.constraints.Size;

/** What coherent memory is to driver and device. */
public interface CoherentLaws extends WorldSource {
    /** The largest allocation tried. */
    int MOST_BYTES = 300_000;

    /**
     * Coherent memory starts as zeroes, and CPU and device see every write of each other at once (dma-core:FE-50 to
     * FE-52).
     *
     * @param machines the try's machines
     * @param world the world
     * @param config the device
     * @param size how much
     * @param parts written by the CPU and by the device in turn
     */
    @Law
    default void bothSidesSeeCoherentMemoryAlike(
            TestMachines machines,
            @ForAll("worlds") SmallWorld world,
            @ForAll DeviceConfig config,
            @ForAll Part size,
            @ForAll @Size(max = 4) List<Part> parts) {
        Machine machine = machines.start(world);
        CheckedMemory memory = CheckedMemory.alloc(machine.addDevice(config), 0, size.sizeBytes(MOST_BYTES));
        Assume.that(memory.isLive());
        for (Part part : parts) {
            memory.cpuWrites(part, 1);
            memory.deviceWrites(part.other(), 2);
        }
        memory.free();
        DmaInvariants.checkIdle(machine);
    }

    /**
     * A device without limits gets coherent memory, all pages return when it is freed, and they are zeroed when they
     * are handed out again.
     *
     * @param machines the try's machines
     * @param world the world
     * @param sizes of allocations that live together
     */
    @Law
    default void freedPagesReturnAndAreZeroedForTheNextOwner(
            TestMachines machines,
            @ForAll("worlds") SmallWorld world,
            @ForAll @Size(min = 1, max = 4) List<Part> sizes) {
        Machine machine = machines.start(world);
        Device device = machine.addDevice(DeviceConfig.named("kit"));
        long pagesBefore = machine.pages().allocatedPages();
        for (int round = 0; round < 2; round++) {
            List<CheckedMemory> memories = new ArrayList<>();
            for (Part size : sizes) {
                CheckedMemory memory = CheckedMemory.alloc(device, round, size.sizeBytes(MOST_BYTES));
                assertThat(memory.failure()).as("failure of an allocation").isNull();
                memory.cpuWrites(Part.ALL, 3);
                memories.add(memory);
            }
            memories.forEach(CheckedMemory::free);
            DmaInvariants.checkIdle(machine);
            assertThat(machine.pages().allocatedPages()).as("allocated pages").isEqualTo(pagesBefore);
        }
    }
}
