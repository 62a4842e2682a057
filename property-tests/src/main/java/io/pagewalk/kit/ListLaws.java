package io.pagewalk.kit;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.memory.Addresses;
import java.util.List;
import net.jqwik.api.Assume;
import net.jqwik.api.ForAll;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.Size;

/**
 * What a mapped scatterlist is to driver and device. That the DMA segments cover exactly the CPU's bytes, in order,
 * follows from the bytes: each of them tells where it belongs.
 */
public interface ListLaws extends WorldSource {
    /**
     * The device reads the entries' bytes in order through the DMA segments, also when a page occurs twice.
     *
     * @param machines the try's machines
     * @param world the world
     * @param config the device
     * @param segments the list
     * @param repeated how many entries come twice
     */
    @Law
    default void theDeviceReadsTheEntriesBytesInOrder(
            TestMachines machines,
            @ForAll("worlds") SmallWorld world,
            @ForAll DeviceConfig config,
            @ForAll Segments segments,
            @ForAll @IntRange(max = 3) int repeated) {
        Device device = machines.start(world).addDevice(config);
        CheckedMapping mapping = CheckedMapping.sg(device, 1, segments.withRepeated(repeated), DmaDirection.TO_DEVICE);
        Assume.that(mapping.isLive());
        mapping.deviceReadsTheModel();
        mapping.unmap(0);
        DmaInvariants.checkIdle(device.machine());
    }

    /**
     * The CPU finds in the entries what the device wrote into the DMA segments, and the bytes around them as they were.
     *
     * @param machines the try's machines
     * @param world the world
     * @param config the device
     * @param segments the list
     * @param written what the device writes
     */
    @Law
    default void theCpuFindsInTheEntriesWhatTheDeviceWrote(
            TestMachines machines,
            @ForAll("worlds") SmallWorld world,
            @ForAll DeviceConfig config,
            @ForAll Segments segments,
            @ForAll @Size(max = 3) List<Part> written) {
        Device device = machines.start(world).addDevice(config);
        Surroundings around = new Surroundings(device.machine(), segments);
        CheckedMapping mapping = CheckedMapping.sg(device, 0, segments, DmaDirection.FROM_DEVICE);
        Assume.that(mapping.isLive());
        written.forEach(mapping::deviceWrites);
        mapping.unmap(0);
        around.requireUntouched();
        DmaInvariants.checkIdle(device.machine());
    }

    /**
     * Syncs of a whole list hand it over and back.
     *
     * @param machines the try's machines
     * @param world the world
     * @param config the device
     * @param segments the list
     * @param parts written by the CPU and by the device in turn
     */
    @Law
    default void syncsHandAListOverAndBack(
            TestMachines machines,
            @ForAll("worlds") SmallWorld world,
            @ForAll DeviceConfig config,
            @ForAll Segments segments,
            @ForAll @Size(max = 4) List<Part> parts) {
        Device device = machines.start(world).addDevice(config);
        CheckedMapping mapping = CheckedMapping.sg(device, 0, segments, DmaDirection.BIDIRECTIONAL);
        Assume.that(mapping.isLive());
        for (Part part : parts) {
            mapping.cpuWrites(part);
            mapping.deviceReadsTheModel();
            mapping.deviceWrites(part);
        }
        mapping.unmap(1);
    }

    /**
     * A fresh machine maps for a device without limits every list whose entries fit {@code maxMappingSize} and which
     * the pool, if there is one, can hold as a whole.
     *
     * @param machines the try's machines
     * @param world the world
     * @param segments the list
     * @param direction the direction
     */
    @Law
    default void aFreshMachineMapsAShortList(
            TestMachines machines,
            @ForAll("worlds") SmallWorld world,
            @ForAll Segments segments,
            @ForAll DmaDirection direction) {
        Device device = machines.start(world).addDevice(DeviceConfig.named("kit"));
        Segments few = new Segments(
                segments.buffers().subList(0, Math.min(3, segments.buffers().size())));
        CheckedMapping mapping = CheckedMapping.sg(device, 0, few, direction);
        assertThat(mapping.failure()).as("failure to map %s", few).isNull();
        mapping.unmap(0);
    }

    /**
     * Where segments merge, none grows past the device's largest segment or over its boundary, as long as no entry does
     * so by itself: such an entry is neither split nor protected (iommu:SG-14).
     *
     * @param machines the try's machines
     * @param world the world
     * @param config the device
     * @param segments the list
     */
    @Law
    default void mergingRespectsTheDevicesSegmentLimits(
            TestMachines machines,
            @ForAll("worlds") SmallWorld world,
            @ForAll DeviceConfig config,
            @ForAll Segments segments) {
        Device device = machines.start(world).addDevice(config);
        if (device.dma().mergeBoundary() == 0 || !device.isTrusted()) {
            return;
        }
        long granule = device.dma().mergeBoundary() + 1;
        Assume.that(segments.buffers().stream().allMatch(b -> fits(device, b, granule)));
        CheckedMapping mapping = CheckedMapping.sg(device, 0, segments, DmaDirection.TO_DEVICE);
        Assume.that(mapping.isLive());
        for (DmaExtent extent : mapping.extents()) {
            assertThat(extent.sizeBytes())
                    .as("bytes of segment %s", extent)
                    .isLessThanOrEqualTo(device.maxSegmentBytes());
            long last = Addresses.last(extent.dmaAddr(), extent.sizeBytes());
            assertThat((extent.dmaAddr() ^ last) & ~device.segmentBoundaryMask())
                    .as("boundary %s inside segment %s", Addresses.hex(device.segmentBoundaryMask()), extent)
                    .isZero();
        }
        mapping.unmap(0);
    }

    private static boolean fits(Device device, Buffer buffer, long granule) {
        long span = Addresses.alignUp((buffer.physAddr() & (granule - 1)) + buffer.sizeBytes(), granule);
        return buffer.sizeBytes() <= device.maxSegmentBytes()
                && Addresses.lessOrEqual(span - 1, device.segmentBoundaryMask());
    }
}
