package io.pagewalk.kit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.Addresses;
import java.util.ArrayList;
import java.util.List;
import net.jqwik.api.Assume;
import net.jqwik.api.ForAll;
import net.jqwik.api.constraints.Size;

/**
 * What device addresses promise, on backends that promise it: see {@code ownsAddresses} and {@code blocksAfterUnmap}.
 */
public interface AddressLaws extends WorldSource {
    /**
     * Where a backend owns its addresses, no two live mappings of a device share one, even of the same buffer.
     *
     * @param machines the try's machines
     * @param world the world
     * @param config the device
     * @param buffers mapped one by one, each twice
     * @param segments mapped as a list
     * @param coherentBytes allocated
     */
    @Law
    default void liveMappingsOfADeviceNeverOverlap(
            TestMachines machines,
            @ForAll("worlds") SmallWorld world,
            @ForAll DeviceConfig config,
            @ForAll @Size(max = 5) List<Buffer> buffers,
            @ForAll Segments segments,
            @ForAll Part coherentBytes) {
        Machine machine = machines.start(world);
        if (!machine.ownsAddresses()) {
            return;
        }
        Device device = machine.addDevice(config);
        List<DmaExtent> live = new ArrayList<>();
        CheckedMemory memory = CheckedMemory.alloc(device, 0, coherentBytes.sizeBytes(1 << 16));
        if (memory.isLive()) {
            live.add(memory.extent());
        }
        live.addAll(
                CheckedMapping.sg(device, 0, segments, DmaDirection.TO_DEVICE).extents());
        for (Buffer buffer : buffers) {
            live.addAll(CheckedMapping.page(device, 0, buffer, DmaDirection.TO_DEVICE)
                    .extents());
            live.addAll(CheckedMapping.page(device, 1, buffer, DmaDirection.TO_DEVICE)
                    .extents());
        }
        requireApart(live);
    }

    /**
     * Throws an AssertionError when two of the runs share an address.
     *
     * @param extents runs of addresses of one device
     */
    static void requireApart(List<DmaExtent> extents) {
        for (int i = 0; i < extents.size(); i++) {
            for (int j = 0; j < i; j++) {
                assertThat(extents.get(i).overlaps(extents.get(j)))
                        .as("live mappings at %s and %s share addresses", extents.get(j), extents.get(i))
                        .isFalse();
            }
        }
    }

    /**
     * Where a backend owns its addresses, its idle check sees a mapping that is still live.
     *
     * @param machines the try's machines
     * @param world the world
     * @param buffer the buffer
     */
    @Law
    default void theIdleCheckSeesAMappingThatIsStillLive(
            TestMachines machines, @ForAll("worlds") SmallWorld world, @ForAll Buffer buffer) {
        Machine machine = machines.start(world);
        if (!machine.ownsAddresses()) {
            return;
        }
        CheckedMapping mapping =
                CheckedMapping.page(machine.addDevice(DeviceConfig.named("kit")), 0, buffer, DmaDirection.TO_DEVICE);
        Assume.that(mapping.isLive());
        assertThatThrownBy(() -> DmaInvariants.checkIdle(machine)).isInstanceOf(AssertionError.class);
        mapping.unmap(0);
        DmaInvariants.checkIdle(machine);
    }

    /**
     * Where a backend blocks, a device reaches nothing at addresses that were never mapped for it: beside a mapping, at
     * the buffer's physical address, anywhere.
     *
     * @param machines the try's machines
     * @param world the world
     * @param buffer mapped for another device and for this one
     * @param anywhere an address
     */
    @Law
    default void anAddressNeverMappedReachesNothing(
            TestMachines machines, @ForAll("worlds") SmallWorld world, @ForAll Buffer buffer, @ForAll long anywhere) {
        Machine machine = machines.start(world);
        if (!machine.blocksAfterUnmap()) {
            return;
        }
        Device device = machine.addDevice(DeviceConfig.named("kit"));
        CheckedMapping others = CheckedMapping.page(
                machine.addDevice(DeviceConfig.named("other")), 0, buffer, DmaDirection.BIDIRECTIONAL);
        Assume.that(others.isLive());
        requireBlocked(device, others.extents().get(0).dmaAddr());
        CheckedMapping mapping = CheckedMapping.page(device, 0, buffer, DmaDirection.BIDIRECTIONAL);
        DmaExtent pages = wholePages(mapping.extents().get(0));
        for (long dmaAddr :
                List.of(pages.dmaAddr() - 1, pages.dmaAddr() + pages.sizeBytes(), buffer.physAddr(), anywhere)) {
            if (!pages.overlaps(new DmaExtent(dmaAddr, 1))) {
                requireBlocked(device, dmaAddr);
            }
        }
        mapping.cpuReadsTheModel();
    }

    /**
     * Where a backend blocks, a device reaches nothing through a mapping that has ended, even if it has just used it.
     *
     * @param machines the try's machines
     * @param world the world
     * @param config the device
     * @param segments the list
     */
    @Law
    default void anUnmappedAddressReachesNothing(
            TestMachines machines,
            @ForAll("worlds") SmallWorld world,
            @ForAll DeviceConfig config,
            @ForAll Segments segments) {
        Machine machine = machines.start(world);
        if (!machine.blocksAfterUnmap()) {
            return;
        }
        Device device = machine.addDevice(config);
        CheckedMapping mapping = CheckedMapping.sg(device, 0, segments, DmaDirection.BIDIRECTIONAL);
        Assume.that(mapping.isLive());
        mapping.deviceReadsTheModel();
        mapping.unmap(0);
        for (DmaExtent extent : mapping.extents()) {
            requireBlocked(device, extent.dmaAddr());
            requireBlocked(device, Addresses.last(extent.dmaAddr(), extent.sizeBytes()));
        }
        mapping.cpuReadsTheModel();
    }

    /**
     * Where a backend blocks, a device cannot write what was mapped for it to read (iommu:DMAP-1).
     *
     * @param machines the try's machines
     * @param world the world
     * @param config the device
     * @param buffer the buffer
     */
    @Law
    default void whatIsMappedToTheDeviceCannotBeWrittenByIt(
            TestMachines machines,
            @ForAll("worlds") SmallWorld world,
            @ForAll DeviceConfig config,
            @ForAll Buffer buffer) {
        Machine machine = machines.start(world);
        if (!machine.blocksAfterUnmap()) {
            return;
        }
        Device device = machine.addDevice(config);
        CheckedMapping mapping = CheckedMapping.page(device, 0, buffer, DmaDirection.TO_DEVICE);
        Assume.that(mapping.isLive());
        assertThat(device.bus().write(mapping.extents().get(0).dmaAddr(), new byte[1], 0, 1))
                .isZero();
        mapping.deviceReadsTheModel();
        mapping.unmap(0);
    }

    private static DmaExtent wholePages(DmaExtent extent) {
        long first = Addresses.alignDown(extent.dmaAddr(), Addresses.PAGE_SIZE);
        long end = Addresses.alignUp(extent.dmaAddr() + extent.sizeBytes(), Addresses.PAGE_SIZE);
        return new DmaExtent(first, end - first);
    }

    private static void requireBlocked(Device device, long dmaAddr) {
        long faults = device.machine().faults().count();
        byte[] seen = {0};
        assertThat(device.bus().read(dmaAddr, seen, 0, 1))
                .as("bytes read at %s", Addresses.hex(dmaAddr))
                .isZero();
        assertThat(seen[0]).as("what a blocked read returns").isEqualTo((byte) -1);
        assertThat(device.bus().write(dmaAddr, seen, 0, 1))
                .as("bytes written at %s", Addresses.hex(dmaAddr))
                .isZero();
        assertThat(device.machine().faults().count()).as("recorded faults").isEqualTo(faults + 2);
    }
}
