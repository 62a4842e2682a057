package io.pagewalk.kit;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.memory.CpuCache;
import io.pagewalk.dma.spi.Metric;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/**
 * A program on a machine, compared with models of all bytes. Each step is checked as it is made; at the end everything
 * is unmapped and freed, and nothing may be left.
 */
public final class DmaProgramRun {
    private static final int SLOTS_OF_A_PAGE = 2;

    private final Machine machine;
    private final Device first;
    private final Device second;
    private final List<CheckedMapping> mappings = new ArrayList<>();
    private final List<CheckedMemory> memories = new ArrayList<>();
    private final long pagesBefore;
    private final long poolSlotsBefore;
    private long salt = 1;
    private int maps;
    private int failures;
    private int merges;

    private DmaProgramRun(Machine machine, DmaProgram program) {
        this.machine = machine;
        this.first = machine.addDevice(program.first());
        this.second = machine.addDevice(program.second());
        this.pagesBefore = machine.pages().allocatedPages();
        this.poolSlotsBefore = poolSlots();
    }

    /**
     * Runs a program from beginning to end.
     *
     * @param machine a fresh machine
     * @param program the program
     * @return the run, for its counts
     * @throws AssertionError when a law is broken
     */
    public static DmaProgramRun run(Machine machine, DmaProgram program) {
        DmaProgramRun run = new DmaProgramRun(machine, program);
        for (DmaStep step : program.steps()) {
            step.play(run);
            run.requireAddressesApart();
        }
        run.finish();
        return run;
    }

    void mapPage(DmaStep.MapPage step) {
        if (isFree(new Segments(List.of(step.buffer())))) {
            add(CheckedMapping.page(device(step.second()), step.cpu(), step.buffer(), step.direction(), nextSalt()));
        }
    }

    void mapSg(DmaStep.MapSg step) {
        if (isFree(step.segments())) {
            add(CheckedMapping.sg(device(step.second()), step.cpu(), step.segments(), step.direction(), nextSalt()));
        }
    }

    private boolean isFree(Segments wanted) {
        Stream<Buffer> taken = mappings.stream().flatMap(m -> m.segments().buffers().stream());
        return taken.noneMatch(t -> wanted.buffers().stream().anyMatch(w -> touches(t, w)));
    }

    /** Two buffers must not share a cache line either: a write-back would undo what a device wrote beside it. */
    private boolean touches(Buffer one, Buffer other) {
        CpuCache cache = machine.cpuMemory().cache();
        int apart = cache == null ? 1 : cache.lineBytes();
        return wholeUnits(one, apart).overlaps(wholeUnits(other, apart));
    }

    private static Buffer wholeUnits(Buffer buffer, int unitBytes) {
        long first = Addresses.alignDown(buffer.physAddr(), unitBytes);
        return new Buffer(first, (int) (Addresses.alignUp(buffer.last() + 1, unitBytes) - first));
    }

    private void add(CheckedMapping mapping) {
        maps++;
        if (mapping.isLive()) {
            mappings.add(mapping);
            merges += mapping.extents().size() < mapping.segments().buffers().size() ? 1 : 0;
            readByDevice(mapping);
        } else {
            failures++;
            mapping.cpuReadsTheModel();
        }
    }

    private static void readByDevice(CheckedMapping mapping) {
        if (mapping.direction().deviceReads()) {
            mapping.deviceReadsTheModel();
        }
    }

    void unmap(DmaStep.Unmap step) {
        if (!mappings.isEmpty()) {
            mappings.remove(step.which() % mappings.size()).unmap(step.cpu());
        }
    }

    void cpuWrites(DmaStep.CpuWrites step) {
        if (!mappings.isEmpty()) {
            CheckedMapping mapping = mappings.get(step.which() % mappings.size());
            if (mapping.direction() != DmaDirection.FROM_DEVICE) {
                mapping.cpuWrites(step.part());
                mapping.deviceReadsTheModel();
            }
        }
    }

    void deviceWrites(DmaStep.DeviceWrites step) {
        if (!mappings.isEmpty()) {
            CheckedMapping mapping = mappings.get(step.which() % mappings.size());
            if (mapping.direction().deviceWrites()) {
                mapping.deviceWrites(step.part());
            }
        }
    }

    void alloc(DmaStep.Alloc step) {
        CheckedMemory memory = CheckedMemory.alloc(device(step.second()), step.cpu(), step.sizeBytes());
        if (memory.isLive()) {
            memory.deviceWrites(Part.ALL, nextSalt());
            memories.add(memory);
        }
    }

    void free(DmaStep.Free step) {
        if (!memories.isEmpty()) {
            CheckedMemory memory = memories.remove(step.which() % memories.size());
            memory.bothSidesSeeTheModel();
            memory.free();
        }
    }

    void advance(DmaStep.Advance step) {
        machine.clock().advance(step.nanos());
    }

    private Device device(boolean isSecond) {
        return isSecond ? second : first;
    }

    private long nextSalt() {
        salt += 1000;
        return salt;
    }

    private void requireAddressesApart() {
        if (machine.ownsAddresses()) {
            AddressLaws.requireApart(extentsOf(first));
            AddressLaws.requireApart(extentsOf(second));
        }
    }

    private List<DmaExtent> extentsOf(Device device) {
        Stream<DmaExtent> mapped =
                mappings.stream().filter(m -> m.device() == device).flatMap(m -> m.extents().stream());
        Stream<DmaExtent> coherent =
                memories.stream().filter(m -> m.device() == device).map(CheckedMemory::extent);
        return Stream.concat(mapped, coherent).toList();
    }

    private void finish() {
        mappings.forEach(DmaProgramRun::readByDevice);
        mappings.forEach(m -> m.unmap(1));
        memories.forEach(CheckedMemory::bothSidesSeeTheModel);
        memories.forEach(CheckedMemory::free);
        DmaInvariants.checkIdle(machine);
        assertThat(machine.pages().allocatedPages())
                .as("allocated pages after everything was unmapped")
                .isEqualTo(pagesBefore + (poolSlots() - poolSlotsBefore) / SLOTS_OF_A_PAGE);
    }

    /** Bounce pools may have grown, and keep what they grew by (dma-core:SWD-9). */
    private long poolSlots() {
        long[] slots = new long[1];
        machine.report((metric, value) -> slots[0] += metric == Metric.POOL_SLOTS ? value : 0);
        return slots[0];
    }

    /**
     * How many maps were tried.
     *
     * @return pages and lists
     */
    public int maps() {
        return maps;
    }

    /**
     * How many maps failed, each with a typed cause.
     *
     * @return at most {@link #maps()}
     */
    public int failures() {
        return failures;
    }

    /**
     * How many lists were mapped to fewer DMA segments than they have entries.
     *
     * @return at most {@link #maps()}
     */
    public int merges() {
        return merges;
    }
}
