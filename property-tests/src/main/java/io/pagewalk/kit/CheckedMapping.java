package io.pagewalk.kit;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.Dma;
import io.pagewalk.dma.DmaAttrs;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.DmaFailure;
import io.pagewalk.dma.FailureReason;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.scatterlist.SgTable;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A streaming mapping with a model of its bytes. Whatever the backend, driver and device see one array as long as both
 * keep to the rules; each method plays one of them by the rules and compares what it sees.
 *
 * <p>Making one fills the buffer, maps it and checks what came back: DMA segments that cover the bytes, or a typed
 * cause. The buffers of a direction in which the device writes must share no byte. What needs a live mapping throws
 * {@link IllegalStateException} without one. Not thread-safe; mappings of different buffers may be used by different
 * threads.
 */
public final class CheckedMapping {
    private final Device device;
    private final Segments segments;
    private final DmaDirection direction;
    private final @Nullable SgTable table;
    private final List<DmaExtent> extents;
    private final @Nullable DmaFailure failure;
    private final byte[] model;
    private long salt;
    private boolean live;

    private CheckedMapping(
            Device device, int cpu, Segments segments, DmaDirection direction, @Nullable SgTable table, long salt) {
        this.device = device;
        this.segments = segments;
        this.direction = direction;
        this.table = table;
        this.salt = salt;
        this.model = fill();
        this.extents = table == null ? mapPage(device.dma(cpu)) : mapSg(device.dma(cpu), table);
        this.live = !extents.isEmpty();
        this.failure = live ? null : typedFailure(device.dma(cpu));
    }

    /**
     * Fills and maps one buffer.
     *
     * @param device the device
     * @param cpu the CPU that maps
     * @param buffer the buffer
     * @param direction a valid direction
     * @return the mapping, or what did not become one: ask {@link #isLive()}
     */
    public static CheckedMapping page(Device device, int cpu, Buffer buffer, DmaDirection direction) {
        return page(device, cpu, buffer, direction, 1);
    }

    /**
     * Fills and maps one buffer with bytes of one's choice.
     *
     * @param device the device
     * @param cpu the CPU that maps
     * @param buffer the buffer
     * @param direction a valid direction
     * @param salt makes the bytes differ from those of another salt
     * @return the mapping, or what did not become one: ask {@link #isLive()}
     */
    public static CheckedMapping page(Device device, int cpu, Buffer buffer, DmaDirection direction, long salt) {
        return new CheckedMapping(device, cpu, new Segments(List.of(buffer)), direction, null, salt);
    }

    /**
     * Fills and maps a list.
     *
     * @param device the device
     * @param cpu the CPU that maps
     * @param segments the list
     * @param direction a valid direction
     * @return the mapping, or what did not become one: ask {@link #isLive()}
     */
    public static CheckedMapping sg(Device device, int cpu, Segments segments, DmaDirection direction) {
        return sg(device, cpu, segments, direction, 1);
    }

    /**
     * Fills and maps a list with bytes of one's choice.
     *
     * @param device the device
     * @param cpu the CPU that maps
     * @param segments the list
     * @param direction a valid direction
     * @param salt makes the bytes differ from those of another salt
     * @return the mapping, or what did not become one: ask {@link #isLive()}
     */
    public static CheckedMapping sg(Device device, int cpu, Segments segments, DmaDirection direction, long salt) {
        return new CheckedMapping(device, cpu, segments, direction, segments.toSgTable(), salt);
    }

    private byte[] fill() {
        byte[] bytes = new byte[segments.sizeBytes()];
        int at = 0;
        for (Buffer buffer : segments.buffers()) {
            byte[] content = Content.of(salt, buffer.physAddr(), buffer.sizeBytes());
            buffer.write(device.machine(), content);
            System.arraycopy(content, 0, bytes, at, content.length);
            at += content.length;
        }
        return bytes;
    }

    private List<DmaExtent> mapPage(Dma dma) {
        Buffer buffer = segments.buffers().get(0);
        long dmaAddr = dma.mapPage(buffer.physAddr(), buffer.sizeBytes(), direction, DmaAttrs.NONE);
        return dma.mappingError(dmaAddr) != 0 ? List.of() : List.of(new DmaExtent(dmaAddr, buffer.sizeBytes()));
    }

    private List<DmaExtent> mapSg(Dma dma, SgTable sg) {
        int error = dma.mapSgTable(sg, direction, DmaAttrs.NONE);
        requireCpuSideUntouched(sg);
        if (error != 0) {
            assertThat(error).as("error of a list that is not mapped").isNegative();
            return List.of();
        }
        assertThat(sg.nents()).as("DMA segments of " + sg).isBetween(1, sg.origNents());
        List<DmaExtent> all = new ArrayList<>();
        for (int i = 0; i < sg.nents(); i++) {
            all.add(new DmaExtent(sg.dmaAddr(i), sg.dmaLengthBytes(i)));
        }
        assertThat(all.stream().mapToLong(DmaExtent::sizeBytes).sum())
                .as("bytes of the DMA segments %s of %s", all, sg)
                .isEqualTo(segments.sizeBytes());
        return List.copyOf(all);
    }

    /** Mapping and unmapping leave a list's CPU side as it was (dma-core:SG-7). */
    private void requireCpuSideUntouched(SgTable sg) {
        for (int i = 0; i < sg.origNents(); i++) {
            Buffer buffer = segments.buffers().get(i);
            assertThat(Addresses.hexRange(sg.physAddr(i), sg.lengthBytes(i)))
                    .as("CPU side of entry %d", i)
                    .isEqualTo(buffer.toString());
        }
    }

    private static DmaFailure typedFailure(Dma dma) {
        DmaFailure why = dma.lastFailure();
        assertThat(why.reason()).as("cause of a failed map").isNotEqualTo(FailureReason.UNSPECIFIED);
        assertThat(why.errno()).as("error number of %s", why).isPositive();
        return why;
    }

    /**
     * Whether it is mapped.
     *
     * @return false after a failed map or after {@link #unmap}
     */
    public boolean isLive() {
        return live;
    }

    /**
     * Why it could not be mapped.
     *
     * @return the typed cause, null when it could
     */
    public @Nullable DmaFailure failure() {
        return failure;
    }

    /**
     * The device.
     *
     * @return whose mapping it is
     */
    public Device device() {
        return device;
    }

    /**
     * The CPU's side.
     *
     * @return the buffers
     */
    public Segments segments() {
        return segments;
    }

    /**
     * The direction.
     *
     * @return as mapped
     */
    public DmaDirection direction() {
        return direction;
    }

    /**
     * The device's side; kept after the unmap.
     *
     * @return the DMA segments in order, none when the map failed
     */
    public List<DmaExtent> extents() {
        return extents;
    }

    /**
     * Takes the part for the CPU, writes it, and gives it to the device again. The direction must let the device read.
     *
     * @param part which bytes
     */
    public void cpuWrites(Part part) {
        requireLive();
        int offset = part.offset(model.length);
        int sizeBytes = part.sizeBytes(model.length);
        syncForCpu(offset, sizeBytes);
        byte[] bytes = freshBytes(offset, sizeBytes);
        int at = 0;
        for (Buffer piece : piecesOf(offset, sizeBytes)) {
            device.machine().cpuMemory().write(piece.physAddr(), bytes, at, piece.sizeBytes());
            at += piece.sizeBytes();
        }
        syncForDevice(offset, sizeBytes);
    }

    /**
     * Lets the device write the part, takes it for the CPU and compares. The direction must let the device write.
     *
     * @param part which bytes
     */
    public void deviceWrites(Part part) {
        requireLive();
        int offset = part.offset(model.length);
        int sizeBytes = part.sizeBytes(model.length);
        byte[] bytes = freshBytes(offset, sizeBytes);
        int at = 0;
        for (DmaExtent extent : extentsOf(offset, sizeBytes)) {
            int length = (int) extent.sizeBytes();
            assertThat(device.bus().write(extent.dmaAddr(), bytes, at, length))
                    .as("bytes that %s writes at %s of a %s mapping %s", device, extent, direction, extents)
                    .isEqualTo(length);
            at += length;
        }
        syncForCpu(offset, sizeBytes);
        cpuReadsTheModel();
    }

    private void requireLive() {
        if (!live) {
            throw new IllegalStateException(failure == null ? "unmapped: " + this : "not mapped: " + failure);
        }
    }

    private byte[] freshBytes(int offset, int sizeBytes) {
        salt++;
        byte[] bytes = Content.of(salt, offset, sizeBytes);
        System.arraycopy(bytes, 0, model, offset, sizeBytes);
        return bytes;
    }

    /** Lets the device read everything and compares. The direction must let the device read. */
    public void deviceReadsTheModel() {
        requireLive();
        byte[] seen = new byte[model.length];
        int at = 0;
        for (DmaExtent extent : extents) {
            int length = (int) extent.sizeBytes();
            assertThat(device.bus().read(extent.dmaAddr(), seen, at, length))
                    .as("bytes that %s reads at %s of a %s mapping %s", device, extent, direction, extents)
                    .isEqualTo(length);
            at += length;
        }
        ByteComparison.require("device " + device.name(), seen, model, segments, extents);
    }

    /** Lets the CPU read everything and compares. The CPU must own the bytes: after a sync for it, or after unmap. */
    public void cpuReadsTheModel() {
        byte[] seen = new byte[model.length];
        int at = 0;
        for (Buffer buffer : segments.buffers()) {
            device.machine().cpuMemory().read(buffer.physAddr(), seen, at, buffer.sizeBytes());
            at += buffer.sizeBytes();
        }
        ByteComparison.require("CPU", seen, model, segments, extents);
    }

    /**
     * Unmaps and lets the CPU read everything.
     *
     * @param cpu the CPU that unmaps
     */
    public void unmap(int cpu) {
        requireLive();
        live = false;
        Dma dma = device.dma(cpu);
        if (table == null) {
            dma.unmapPage(extents.get(0).dmaAddr(), model.length, direction, DmaAttrs.NONE);
        } else {
            dma.unmapSgTable(table, direction, DmaAttrs.NONE);
            requireCpuSideUntouched(table);
        }
        cpuReadsTheModel();
    }

    private void syncForCpu(int offset, int sizeBytes) {
        if (table == null) {
            device.dma().syncSingleForCpu(extents.get(0).dmaAddr() + offset, sizeBytes, direction);
        } else {
            device.dma().syncSgForCpu(table, table.origNents(), direction);
        }
    }

    private void syncForDevice(int offset, int sizeBytes) {
        if (table == null) {
            device.dma().syncSingleForDevice(extents.get(0).dmaAddr() + offset, sizeBytes, direction);
        } else {
            device.dma().syncSgForDevice(table, table.origNents(), direction);
        }
    }

    private List<Buffer> piecesOf(int offset, int sizeBytes) {
        List<Buffer> pieces = new ArrayList<>();
        long at = 0;
        for (Buffer buffer : segments.buffers()) {
            long first = Math.max(offset, at);
            long end = Math.min((long) offset + sizeBytes, at + buffer.sizeBytes());
            if (first < end) {
                pieces.add(new Buffer(buffer.physAddr() + first - at, (int) (end - first)));
            }
            at += buffer.sizeBytes();
        }
        return pieces;
    }

    private List<DmaExtent> extentsOf(int offset, int sizeBytes) {
        List<DmaExtent> parts = new ArrayList<>();
        long at = 0;
        for (DmaExtent extent : extents) {
            long first = Math.max(offset, at);
            long end = Math.min((long) offset + sizeBytes, at + extent.sizeBytes());
            if (first < end) {
                parts.add(new DmaExtent(extent.dmaAddr() + first - at, end - first));
            }
            at += extent.sizeBytes();
        }
        return parts;
    }

    @Override
    public String toString() {
        return segments.buffers() + " " + direction + " of " + device + " at " + extents;
    }
}
