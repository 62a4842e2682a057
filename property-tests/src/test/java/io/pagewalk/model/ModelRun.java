package io.pagewalk.model;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.Dma;
import io.pagewalk.dma.DmaAttrs;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.FailureReason;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.dma.spi.Metric;
import io.pagewalk.kit.Buffer;
import io.pagewalk.kit.DmaExtent;
import io.pagewalk.kit.DmaInvariants;
import io.pagewalk.kit.Part;
import io.pagewalk.kit.Segments;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;

/**
 * A machine beside its model. Every call is made on both, and {@link #requireAgreement()} compares all there is to see:
 * each byte of each buffer, slots in use and their peak, where the slots lie, whether syncs are skipped, the pool's own
 * counters against a recount.
 */
final class ModelRun {
    private static final int SLOT = 0x800;
    private static final int POOL_SLOTS = 256;
    private static final long MOST_BOUNCE_BYTES = 0x4_0000;

    final Shape shape;
    private final Machine machine;
    private final ModelMemory memory;
    private final Device wide;
    private final Device narrow;
    private final List<ModelMapping> live = new ArrayList<>();
    private final Set<Event> seen = EnumSet.noneOf(Event.class);
    private final SplittableRandom random = new SplittableRandom(1);
    private final boolean[] skips = new boolean[2];
    private int peakSlots;

    /** What a run should have met, sooner or later. */
    enum Event {
        BOUNCE,
        NO_BOUNCE,
        LIST,
        MIXED_LIST,
        REFUSED,
        REFUSED_LIST,
        SHARED_BYTES,
        SYNC_SKIPPED,
        COPIED_BACK,
        NOT_COPIED_BACK
    }

    ModelRun(Shape shape) {
        this.shape = shape;
        this.machine = shape.start();
        this.wide = machine.addDevice(shape.wide());
        this.narrow = machine.addDevice(shape.narrow());
        this.memory = new ModelMemory(machine);
        leaveSecretsInThePool();
    }

    /** So that no slot is zero: what nobody copied over would show. */
    private void leaveSecretsInThePool() {
        if (shape.isDirect()) {
            long physAddr = ModelMemory.WINDOWS.get(2).first();
            Buffer secret = new Buffer(physAddr, 0x4_0000 - SLOT);
            byte[] before = memory.read(secret);
            machine.cpuMemory().fill(physAddr, secret.sizeBytes(), (byte) 0xee);
            for (int cpu = 0; cpu < 2; cpu++) {
                long dmaAddr = narrow.dma(cpu).mapPage(physAddr, secret.sizeBytes(), DmaDirection.TO_DEVICE, 0);
                narrow.dma(cpu).unmapPage(dmaAddr, secret.sizeBytes(), DmaDirection.TO_DEVICE, 0);
                peakSlots = shape.slots(physAddr, secret.sizeBytes());
            }
            secret.write(machine, before);
        }
    }

    private Device device(boolean isNarrow) {
        return isNarrow ? narrow : wide;
    }

    private boolean bounces(Device device, Buffer buffer) {
        return shape.bounces(device.mask(), buffer.physAddr(), buffer.sizeBytes());
    }

    private ModelMapping.Element element(Device device, Buffer buffer) {
        return bounces(device, buffer)
                ? new ModelMapping.Element(
                        buffer, memory.read(buffer), shape.slots(buffer.physAddr(), buffer.sizeBytes()))
                : new ModelMapping.Element(buffer, null, 0);
    }

    void mapPage(boolean isNarrow, int cpu, Buffer buffer, DmaDirection direction, int attrs) {
        Device device = device(isNarrow);
        Dma dma = device.dma(cpu);
        long dmaAddr = dma.mapPage(buffer.physAddr(), buffer.sizeBytes(), direction, attrs);
        if (dmaAddr == Dma.DMA_MAPPING_ERROR) {
            requireLawfulRefusal(dma, buffer, usedSlots());
            seen.add(Event.REFUSED);
            return;
        }
        requireNoLimitBroken(device, buffer);
        ModelMapping.Element element = element(device, buffer);
        requireAddress(device, element, dmaAddr);
        add(new ModelMapping(
                memory,
                device,
                direction,
                List.of(element),
                List.of(new DmaExtent(dmaAddr, buffer.sizeBytes())),
                null));
    }

    void mapSg(boolean isNarrow, int cpu, Segments segments, DmaDirection direction) {
        Device device = device(isNarrow);
        Dma dma = device.dma(cpu);
        SgTable table = segments.toSgTable();
        int usedBefore = usedSlots();
        int error = dma.mapSgTable(table, direction, DmaAttrs.NONE);
        if (error != 0) {
            assertThat(error).as("error of a list").isEqualTo(-Errno.EIO);
            assertThat(table.nents()).as("nents of a list that failed").isZero();
            requireLawfulRollback(dma, segments, table, usedBefore);
            seen.add(Event.REFUSED_LIST);
            return;
        }
        List<ModelMapping.Element> elements = new ArrayList<>();
        List<DmaExtent> extents = new ArrayList<>();
        segments.buffers().forEach(b -> elements.add(element(device, b)));
        for (int i = 0; i < table.nents(); i++) {
            extents.add(new DmaExtent(table.dmaAddr(i), table.dmaLengthBytes(i)));
        }
        if (!shape.isIommu()) {
            for (int i = 0; i < elements.size(); i++) {
                requireAddress(device, elements.get(i), table.dmaAddr(i));
            }
        }
        seen.add(Event.LIST);
        add(new ModelMapping(memory, device, direction, elements, extents, table));
    }

    private void add(ModelMapping mapping) {
        boolean bounced = mapping.isBounced();
        seen.add(bounced ? Event.BOUNCE : Event.NO_BOUNCE);
        if (bounced && mapping.elements.stream().anyMatch(e -> e.copy() == null)) {
            seen.add(Event.MIXED_LIST);
        }
        if (live.stream().anyMatch(m -> overlaps(m, mapping))) {
            seen.add(Event.SHARED_BYTES);
        }
        live.add(mapping);
        peakSlots = Math.max(peakSlots, usedSlots());
        if (bounced) {
            skips[mapping.device == narrow ? 1 : 0] = false;
        }
    }

    private static boolean overlaps(ModelMapping one, ModelMapping other) {
        return one.elements.stream()
                .anyMatch(e -> other.elements.stream().anyMatch(o -> e.buffer().overlaps(o.buffer())));
    }

    /** What is not bounced appears at its own address; what is keeps the bits it must keep (dma-core:SWM-14). */
    private void requireAddress(Device device, ModelMapping.Element element, long dmaAddr) {
        if (!shape.isIommu() && !shape.backend().equals("virt")) {
            if (element.copy() == null) {
                assertThat(Addresses.hex(dmaAddr))
                        .isEqualTo(Addresses.hex(element.buffer().physAddr()));
            } else {
                assertThat((dmaAddr ^ element.buffer().physAddr()) & device.minAlignMask())
                        .as("bits of %s that %s must keep", Addresses.hex(dmaAddr), element.buffer())
                        .isZero();
            }
        }
    }

    private void requireNoLimitBroken(Device device, Buffer buffer) {
        if (bounces(device, buffer)) {
            assertThat(shape.bounceBytes(buffer.physAddr(), buffer.sizeBytes()))
                    .as("bytes of a bounce of %s", buffer)
                    .isLessThanOrEqualTo(MOST_BOUNCE_BYTES);
        }
    }

    /** Only what is bounced is ever refused here, with a cause that the counters bear out. */
    private void requireLawfulRefusal(Dma dma, Buffer buffer, int used) {
        assertThat(bounces(dma.device(), buffer))
                .as("refused %s needed a bounce", buffer)
                .isTrue();
        FailureReason reason = dma.lastFailure().reason();
        long wanted = shape.bounceBytes(buffer.physAddr(), buffer.sizeBytes());
        if (reason == FailureReason.EXCEEDS_MAX_MAPPING) {
            assertThat(buffer.sizeBytes()).as("too large for any pool").isGreaterThan(shape.mostBytes());
            return;
        }
        assertThat(wanted).as("bytes that some pool can hold").isLessThanOrEqualTo(MOST_BOUNCE_BYTES);
        assertThat(reason).isIn(FailureReason.POOL_FULL, FailureReason.POOL_FRAGMENTED);
        List<Long> numbers = dma.lastFailure().numbers();
        assertThat(numbers.get(0)).as("slots asked for").isEqualTo((wanted + SLOT - 1) / SLOT);
        assertThat(numbers.get(1)).as("free slots").isEqualTo(POOL_SLOTS - used);
        assertThat(numbers.get(3)).as("all slots").isEqualTo(POOL_SLOTS);
    }

    /** Entries before the one that failed were mapped and are unmapped again; the list tells which (DIR-31). */
    private void requireLawfulRollback(Dma dma, Segments segments, SgTable table, int usedBefore) {
        int which = dma.device() == narrow ? 1 : 0;
        if (shape.isIommu()) {
            skips[which] = skips[which] && dma.device().skipsSync(); // the list does not tell which entry it was
            return;
        }
        int failed = 0;
        int used = usedBefore;
        while (table.dmaAddr(failed) != Dma.DMA_MAPPING_ERROR) {
            Buffer buffer = segments.buffers().get(failed);
            used += bounces(dma.device(), buffer) ? shape.slots(buffer.physAddr(), buffer.sizeBytes()) : 0;
            failed++;
        }
        requireLawfulRefusal(dma, segments.buffers().get(failed), used);
        peakSlots = Math.max(peakSlots, used);
        skips[which] = skips[which] && used == usedBefore;
    }

    private @Nullable ModelMapping pick(int which) {
        return live.isEmpty() ? null : live.get(which % live.size());
    }

    void unmap(int which, int cpu, int attrs) {
        ModelMapping mapping = pick(which);
        if (mapping == null) {
            return;
        }
        live.remove(mapping);
        Dma dma = mapping.device.dma(cpu);
        if (mapping.table == null) {
            dma.unmapPage(mapping.extents.get(0).dmaAddr(), mapping.sizeBytes, mapping.direction, attrs);
        } else {
            dma.unmapSgTable(mapping.table, mapping.direction, attrs);
        }
        if (mapping.direction.deviceWrites() && (attrs & DmaAttrs.SKIP_CPU_SYNC) == 0) {
            mapping.copyBack(0, mapping.sizeBytes);
            seen.add(Event.COPIED_BACK);
        } else if (mapping.isBounced()) {
            seen.add(Event.NOT_COPIED_BACK);
        }
    }

    /** The CPU writes where it likes, mapped or not, synced or not. */
    void cpuWrites(Buffer buffer) {
        byte[] bytes = fresh(buffer.sizeBytes());
        buffer.write(machine, bytes);
        memory.write(buffer.physAddr(), bytes, 0, bytes.length);
    }

    void deviceWrites(int which, Part part) {
        ModelMapping mapping = pick(which);
        if (mapping == null) {
            return;
        }
        int offset = part.offset(mapping.sizeBytes);
        byte[] bytes = fresh(part.sizeBytes(mapping.sizeBytes));
        boolean blocked = shape.isIommu() && !mapping.direction.deviceWrites();
        int at = 0;
        for (DmaExtent extent : mapping.extentsOf(offset, bytes.length)) {
            int length = (int) extent.sizeBytes();
            assertThat(mapping.device.bus().write(extent.dmaAddr(), bytes, at, length))
                    .as("bytes written at %s of %s", extent, mapping)
                    .isEqualTo(blocked ? 0 : length);
            at += length;
        }
        if (!blocked) {
            mapping.write(offset, bytes);
        }
    }

    private byte[] fresh(int sizeBytes) {
        byte[] bytes = new byte[sizeBytes];
        random.nextBytes(bytes);
        return bytes;
    }

    void syncForCpu(int which, Part part) {
        ModelMapping mapping = pick(which);
        if (mapping == null) {
            return;
        }
        Dma dma = mapping.device.dma();
        int offset = mapping.table == null ? part.offset(mapping.sizeBytes) : 0;
        int size = mapping.table == null ? part.sizeBytes(mapping.sizeBytes) : mapping.sizeBytes;
        if (mapping.table == null) {
            dma.syncSingleForCpu(mapping.extents.get(0).dmaAddr() + offset, size, mapping.direction);
        } else {
            dma.syncSgTableForCpu(mapping.table, mapping.direction);
        }
        if (isSynced(mapping) && mapping.direction.deviceWrites()) {
            mapping.copyBack(offset, size);
        }
    }

    void syncForDevice(int which, Part part) {
        ModelMapping mapping = pick(which);
        if (mapping == null) {
            return;
        }
        Dma dma = mapping.device.dma();
        int offset = mapping.table == null ? part.offset(mapping.sizeBytes) : 0;
        int size = mapping.table == null ? part.sizeBytes(mapping.sizeBytes) : mapping.sizeBytes;
        if (mapping.table == null) {
            dma.syncSingleForDevice(mapping.extents.get(0).dmaAddr() + offset, size, mapping.direction);
        } else {
            dma.syncSgTableForDevice(mapping.table, mapping.direction);
        }
        if (isSynced(mapping) && mapping.direction.deviceReads()) {
            mapping.copyOut(offset, size);
        }
    }

    private boolean isSynced(ModelMapping mapping) {
        boolean skipped = skips[mapping.device == narrow ? 1 : 0];
        if (skipped && mapping.isBounced()) {
            seen.add(Event.SYNC_SKIPPED);
        }
        return !skipped;
    }

    /** All devices here are coherent, so the call lets syncs be skipped until the next bounce (dma-core:MSK-8). */
    void setMaskAgain(boolean isNarrow) {
        Device device = device(isNarrow);
        assertThat(device.setMask(device.mask())).as("set_mask to what it was").isZero();
        skips[isNarrow ? 1 : 0] = true;
    }

    void advance(long nanos) {
        machine.clock().advance(nanos);
    }

    private int usedSlots() {
        return live.stream().mapToInt(ModelMapping::slots).sum();
    }

    /** Everything that can be seen is what the model says. */
    void requireAgreement() {
        memory.requireEqual();
        live.forEach(this::requireDeviceSeesTheModel);
        Map<Metric, Long> metrics = new EnumMap<>(Metric.class);
        machine.report(metrics::put);
        if (metrics.containsKey(Metric.POOL_USED_SLOTS)) {
            assertThat(metrics.get(Metric.POOL_USED_SLOTS)).as("slots in use").isEqualTo(usedSlots());
        }
        if (shape.isDirect()) {
            assertThat(metrics.get(Metric.POOL_PEAK_SLOTS))
                    .as("peak of slots in use")
                    .isEqualTo(peakSlots);
            requireSlotsApart();
        }
        assertThat(wide.skipsSync()).as("wide skips syncs").isEqualTo(skips[0]);
        assertThat(narrow.skipsSync()).as("narrow skips syncs").isEqualTo(skips[1]);
        DmaInvariants.check(machine);
    }

    private void requireDeviceSeesTheModel(ModelMapping mapping) {
        byte[] seenBytes = new byte[mapping.sizeBytes];
        int at = 0;
        for (DmaExtent extent : mapping.extents) {
            int length = (int) extent.sizeBytes();
            assertThat(mapping.device.bus().read(extent.dmaAddr(), seenBytes, at, length))
                    .as("bytes read at %s of %s", extent, mapping)
                    .isEqualTo(length);
            at += length;
        }
        int differs = Arrays.mismatch(seenBytes, mapping.view());
        assertThat(differs)
                .as("first byte that the device sees otherwise, of %s", mapping)
                .isEqualTo(-1);
        requireNothingAround(mapping);
    }

    /** What lies around a bounce in its granule is zero for an untrusted device (dma-core:SWR-8, iommu:DMAP-4). */
    private void requireNothingAround(ModelMapping mapping) {
        if (!shape.isIommu() || mapping.table != null || !mapping.isBounced()) {
            return;
        }
        DmaExtent extent = mapping.extents.get(0);
        long first = Addresses.alignDown(extent.dmaAddr(), Addresses.PAGE_SIZE);
        long end = Addresses.alignUp(extent.dmaAddr() + extent.sizeBytes(), Addresses.PAGE_SIZE);
        requireZero(mapping.device, first, extent.dmaAddr());
        requireZero(mapping.device, extent.dmaAddr() + extent.sizeBytes(), end);
    }

    private static void requireZero(Device device, long first, long end) {
        byte[] bytes = new byte[(int) (end - first)];
        assertThat(device.bus().read(first, bytes, 0, bytes.length)).isEqualTo(bytes.length);
        assertThat(Arrays.mismatch(bytes, new byte[bytes.length]))
                .as("first byte that leaks from %s", Addresses.hexRange(first, bytes.length))
                .isEqualTo(-1);
    }

    private void requireSlotsApart() {
        long[] owned = live.stream().flatMapToLong(this::firstSlots).sorted().toArray();
        for (int i = 1; i < owned.length; i++) {
            assertThat(owned[i])
                    .as("slot %s is owned twice", Addresses.hex(owned[i]))
                    .isNotEqualTo(owned[i - 1]);
        }
    }

    /** The addresses of all slots that a mapping holds. */
    private java.util.stream.LongStream firstSlots(ModelMapping mapping) {
        List<Long> slots = new ArrayList<>();
        for (int i = 0; i < mapping.elements.size(); i++) {
            long first = Addresses.alignDown(mapping.extents.get(i).dmaAddr(), SLOT);
            for (int k = 0; k < mapping.elements.get(i).slots(); k++) {
                slots.add(first + (long) k * SLOT);
            }
        }
        return slots.stream().mapToLong(Long::longValue);
    }

    /** Unmaps everything; nothing is left, and the machine is closed. */
    void finish() {
        while (!live.isEmpty()) {
            unmap(0, 1, DmaAttrs.NONE);
        }
        requireAgreement();
        DmaInvariants.checkIdle(machine);
        machine.close();
    }

    boolean saw(Event event) {
        return seen.contains(event);
    }

    @Override
    public String toString() {
        return shape + " " + live;
    }
}
