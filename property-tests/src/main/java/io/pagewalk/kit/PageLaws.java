package io.pagewalk.kit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.BusWord;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.Dma;
import io.pagewalk.dma.DmaAttrs;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.KernelBugException;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.Addresses;
import java.util.List;
import net.jqwik.api.Assume;
import net.jqwik.api.ForAll;
import net.jqwik.api.constraints.Size;

/** What a mapped buffer is to driver and device. */
public interface PageLaws extends WorldSource {
    /**
     * The device reads what the CPU wrote before the map.
     *
     * @param machines the try's machines
     * @param world the world
     * @param config the device
     * @param buffer the buffer
     * @param unmapElsewhere whether another CPU unmaps
     */
    @Law
    default void theDeviceReadsWhatTheCpuWroteBeforeTheMap(
            TestMachines machines,
            @ForAll("worlds") SmallWorld world,
            @ForAll DeviceConfig config,
            @ForAll Buffer buffer,
            @ForAll boolean unmapElsewhere) {
        Device device = machines.start(world).addDevice(config);
        CheckedMapping mapping = CheckedMapping.page(device, 0, buffer, DmaDirection.TO_DEVICE);
        Assume.that(mapping.isLive());
        mapping.deviceReadsTheModel();
        mapping.unmap(unmapElsewhere ? 1 : 0);
        DmaInvariants.checkIdle(device.machine());
    }

    /**
     * The CPU reads after unmap what the device wrote, and its own old bytes where the device wrote nothing
     * (dma-core:SWB-6); bytes around the buffer stay what they were.
     *
     * @param machines the try's machines
     * @param world the world
     * @param config the device
     * @param buffer the buffer
     * @param written what the device writes
     */
    @Law
    default void theCpuReadsAfterUnmapWhatTheDeviceWroteAndOldBytesElsewhere(
            TestMachines machines,
            @ForAll("worlds") SmallWorld world,
            @ForAll DeviceConfig config,
            @ForAll Buffer buffer,
            @ForAll @Size(max = 3) List<Part> written) {
        Device device = machines.start(world).addDevice(config);
        Surroundings around = new Surroundings(device.machine(), new Segments(List.of(buffer)));
        CheckedMapping mapping = CheckedMapping.page(device, 1, buffer, DmaDirection.FROM_DEVICE);
        Assume.that(mapping.isLive());
        written.forEach(mapping::deviceWrites);
        mapping.unmap(1);
        around.requireUntouched();
        DmaInvariants.checkIdle(device.machine());
    }

    /**
     * Syncs hand any part over and back, as often as one likes: to the device what the CPU wrote, to the CPU what the
     * device wrote.
     *
     * @param machines the try's machines
     * @param world the world
     * @param config the device
     * @param buffer the buffer
     * @param parts written by the CPU and by the device in turn
     */
    @Law
    default void syncsHandPartsOverAndBack(
            TestMachines machines,
            @ForAll("worlds") SmallWorld world,
            @ForAll DeviceConfig config,
            @ForAll Buffer buffer,
            @ForAll @Size(max = 5) List<Part> parts) {
        Device device = machines.start(world).addDevice(config);
        Surroundings around = new Surroundings(device.machine(), new Segments(List.of(buffer)));
        CheckedMapping mapping = CheckedMapping.page(device, 0, buffer, DmaDirection.BIDIRECTIONAL);
        Assume.that(mapping.isLive());
        for (Part part : parts) {
            mapping.cpuWrites(part);
            mapping.deviceReadsTheModel();
            mapping.deviceWrites(part.other());
        }
        mapping.unmap(0);
        around.requireUntouched();
    }

    /**
     * A fresh machine maps for a device without limits whatever fits {@code maxMappingSize}.
     *
     * @param machines the try's machines
     * @param world the world
     * @param buffer the buffer
     * @param direction the direction
     */
    @Law
    default void aFreshMachineMapsWhateverFitsTheMaximum(
            TestMachines machines,
            @ForAll("worlds") SmallWorld world,
            @ForAll Buffer buffer,
            @ForAll DmaDirection direction) {
        Device device = machines.start(world).addDevice(DeviceConfig.named("kit"));
        Assume.that(Addresses.lessOrEqual(buffer.sizeBytes(), device.dma().maxMappingSize()));
        CheckedMapping mapping = CheckedMapping.page(device, 0, buffer, direction);
        assertThat(mapping.failure()).as("failure to map %s", buffer).isNull();
        mapping.unmap(0);
    }

    /**
     * A device's fetch-add and compare-and-swap work on what the CPU wrote, and the CPU finds their results.
     *
     * @param machines the try's machines
     * @param world the world
     * @param buffer its first aligned word is used
     * @param initial the word
     * @param operand what is added, and then swapped in
     */
    @Law
    default void atomicsOfTheDeviceWorkOnTheCpusWord(
            TestMachines machines,
            @ForAll("worlds") SmallWorld world,
            @ForAll Buffer buffer,
            @ForAll long initial,
            @ForAll long operand) {
        Machine machine = machines.start(world);
        Device device = machine.addDevice(DeviceConfig.named("kit").withMinAlignMask(0xfff));
        long physAddr = Addresses.alignDown(buffer.physAddr(), Long.BYTES);
        machine.cpuMemory().putLong(physAddr, initial);
        long dmaAddr = device.dma().mapPage(physAddr, Long.BYTES, DmaDirection.BIDIRECTIONAL, DmaAttrs.NONE);
        BusWord old = new BusWord();
        assertThat(device.bus().fetchAdd(dmaAddr, operand, old)).isEqualTo(Long.BYTES);
        assertThat(old.value()).as("fetched").isEqualTo(initial);
        assertThat(device.bus().compareAndSwap(dmaAddr, initial + operand, operand, old))
                .isEqualTo(Long.BYTES);
        assertThat(old.value()).as("compared with").isEqualTo(initial + operand);
        device.bus().compareAndSwap(dmaAddr, operand + 1, initial, old);
        assertThat(old.value()).as("what a failed swap finds").isEqualTo(operand);
        device.dma().unmapPage(dmaAddr, Long.BYTES, DmaDirection.BIDIRECTIONAL, DmaAttrs.NONE);
        assertThat(machine.cpuMemory().getLong(physAddr)).as("in memory").isEqualTo(operand);
    }

    /**
     * Direction NONE in a mapping call is a bug of the kernel's kind and changes nothing (dma-core:TYP-6).
     *
     * @param machines the try's machines
     * @param world the world
     * @param buffer the buffer
     * @param segments the list
     */
    @Law
    default void directionNoneIsAKernelBug(
            TestMachines machines,
            @ForAll("worlds") SmallWorld world,
            @ForAll Buffer buffer,
            @ForAll Segments segments) {
        Machine machine = machines.start(world);
        Dma dma = machine.addDevice(DeviceConfig.named("kit")).dma();
        long physAddr = buffer.physAddr();
        int size = buffer.sizeBytes();
        assertThatThrownBy(() -> dma.mapPage(physAddr, size, DmaDirection.NONE, DmaAttrs.NONE))
                .isInstanceOf(KernelBugException.class);
        assertThatThrownBy(() -> dma.mapSgTable(segments.toSgTable(), DmaDirection.NONE, DmaAttrs.NONE))
                .isInstanceOf(KernelBugException.class);
        DmaInvariants.checkIdle(machine);
    }
}
