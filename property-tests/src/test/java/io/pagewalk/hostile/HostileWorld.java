package io.pagewalk.hostile;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.BusWord;
import io.pagewalk.dma.CoherentBuffer;
import io.pagewalk.dma.CoherentRegion;
import io.pagewalk.dma.CoherentRegions;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceBus;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.Dma;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.DmaException;
import io.pagewalk.dma.DmaMapping;
import io.pagewalk.dma.DmaMemory;
import io.pagewalk.dma.DmaRange;
import io.pagewalk.dma.FailureInjection;
import io.pagewalk.dma.FaultLog;
import io.pagewalk.dma.Gfp;
import io.pagewalk.dma.Interrupts;
import io.pagewalk.dma.KernelBugException;
import io.pagewalk.dma.KernelConfig;
import io.pagewalk.dma.KernelHazardException;
import io.pagewalk.dma.KernelLog;
import io.pagewalk.dma.KernelTimer;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.MachineBuilder;
import io.pagewalk.dma.ManagedMemory;
import io.pagewalk.dma.NoncoherentMemory;
import io.pagewalk.dma.NoncontiguousMemory;
import io.pagewalk.dma.RestrictedPool;
import io.pagewalk.dma.UserMapping;
import io.pagewalk.dma.UserVma;
import io.pagewalk.dma.VirtualClock;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.memory.CpuMemory;
import io.pagewalk.dma.memory.DevicePages;
import io.pagewalk.dma.memory.KernelLayout;
import io.pagewalk.dma.memory.PageAllocator;
import io.pagewalk.dma.memory.PageFrames;
import io.pagewalk.dma.memory.PhysRange;
import io.pagewalk.dma.memory.PhysicalMemory;
import io.pagewalk.dma.memory.RamMap;
import io.pagewalk.dma.memory.VirtRange;
import io.pagewalk.dma.pool.DmaPool;
import io.pagewalk.dma.pool.PoolBlock;
import io.pagewalk.dma.scatterlist.Scatterlists;
import io.pagewalk.dma.scatterlist.SgAppendTable;
import io.pagewalk.dma.scatterlist.SgMappingIter;
import io.pagewalk.dma.scatterlist.SgPageIter;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.dma.spi.BackendOptions;
import io.pagewalk.dma.spi.DmaBackends;
import io.pagewalk.dma.spi.DmaPages;
import io.pagewalk.dma.spi.Metric;
import io.pagewalk.kit.DmaInvariants;
import io.pagewalk.kit.SmallWorld;
import java.lang.reflect.Constructor;
import java.lang.reflect.Executable;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.ReadOnlyBufferException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.zip.CRC32;
import org.jspecify.annotations.Nullable;

/**
 * A machine under fire. Calls go through reflection; each must answer as documented, leave the structures sound, and
 * change nothing when it refuses its arguments.
 *
 * <p>What a driver must not do and the kernel does not notice breaks structures by the specification: unmapping half a
 * mapping, or what another call owns. Such calls get arguments that are right, or that hit nobody.
 */
final class HostileWorld implements AutoCloseable {
    /** The classes whose members are called; what matters most stands more than once. */
    static final List<Class<?>> TYPES = List.of(
            Dma.class,
            Dma.class,
            Dma.class,
            Dma.class,
            Device.class,
            Device.class,
            DeviceBus.class,
            DeviceBus.class,
            DmaMapping.class,
            CoherentBuffer.class,
            CoherentBuffer.class,
            SgTable.class,
            SgTable.class,
            DeviceConfig.class,
            Machine.class,
            MachineBuilder.class,
            PhysicalMemory.class,
            CpuMemory.class,
            PageAllocator.class,
            PageFrames.class,
            RamMap.class,
            PhysRange.class,
            VirtRange.class,
            DmaRange.class,
            KernelLayout.class,
            KernelConfig.class,
            KernelLog.class,
            FaultLog.class,
            VirtualClock.class,
            KernelTimer.class,
            FailureInjection.class,
            BusWord.class,
            Addresses.class,
            BackendOptions.class,
            DmaBackends.class,
            DmaMemory.class,
            DmaMemory.class,
            DmaPool.class,
            DmaPool.class,
            PoolBlock.class,
            ManagedMemory.class,
            NoncontiguousMemory.class,
            NoncoherentMemory.class,
            CoherentRegions.class,
            CoherentRegion.class,
            Interrupts.class,
            UserVma.class,
            UserMapping.class,
            RestrictedPool.class,
            Scatterlists.class,
            SgAppendTable.class,
            SgPageIter.class,
            SgMappingIter.class);

    /** Made anew at will, and not worth keeping. */
    private static final List<Class<?>> NOT_OFFERED = List.of(PhysicalMemory.class, CpuMemory.class, Machine.class);

    static final ApiMembers MEMBERS = new ApiMembers(TYPES);

    /** A mapping that a call made and nobody has unmapped. */
    private record Live(Dma dma, long dmaAddr, long sizeBytes, DmaDirection direction, String call) {}

    /** Addresses that some mapping or memory has or had. */
    private record Span(long dmaAddr, long sizeBytes) {}

    /** A list that is mapped, and how many entries of it. */
    private record LiveList(Dma dma, SgTable table, int nents, DmaDirection direction) {}

    /** A table of memory, who allocated it, and how much was asked for. */
    private record LiveTable(NoncontiguousMemory owner, SgTable table, long sizeBytes, DmaDirection direction) {}

    private final Machine machine;
    private final HostileValues values = new HostileValues();
    private final Deque<Live> live = new ArrayDeque<>();
    private final Deque<LiveList> liveLists = new ArrayDeque<>();
    private final Deque<LiveTable> liveTables = new ArrayDeque<>();
    private final List<Span> everMapped = new ArrayList<>();
    private final List<String> history = new ArrayList<>();
    private int refused;
    private int answered;

    HostileWorld(String backend) {
        machine = SmallWorld.of(backend).builder().build();
        Device wide = machine.addDevice(DeviceConfig.named("wide"));
        Device narrow = machine.addDevice(DeviceConfig.named("narrow").withMask(0xffff_ffffL));
        Device blind = machine.addDevice(DeviceConfig.named("blind").withStreamingMask(null));
        for (Device device : List.of(wide, narrow, blind)) {
            offer(device);
            offer(device.dma());
            offer(device.dma(1));
            offer(device.bus());
            offer(device.config());
            offer(device.dma().memory());
        }
        DmaPool pool = Objects.requireNonNull(DmaPool.create("kit", wide.dma(), 64, 8, 0));
        offer(pool);
        offer(Objects.requireNonNull(pool.alloc(Gfp.KERNEL)));
        offer(DeviceConfig.named("late"));
        values.offer(DevicePages.class, machine.devicePages());
        List.of(
                        machine,
                        machine.memory(),
                        machine.cpuMemory(),
                        new PageFrames(), // a pin of a page of tables would stop the close of the machine
                        machine.pages(),
                        machine.layout(),
                        machine.log(),
                        machine.faults(),
                        machine.clock(),
                        machine.failures(),
                        machine.ram(),
                        machine.kernelConfig(),
                        new BusWord(),
                        new SgTable(4),
                        new SgTable(1).add(SmallWorld.ARENAS.get(0).first(), 5000),
                        SmallWorld.ARENAS.get(0),
                        new VirtRange(0x1000, 0x1fff),
                        new DmaRange(0, 0x1000, 0x1000),
                        BackendOptions.NONE,
                        Machine.builder(),
                        SmallWorld.of(backend).builder())
                .forEach(this::offer);
    }

    private void offer(Object value) {
        values.offer(value.getClass(), value);
    }

    /** Makes a call, if there is an object to make it on, and checks all that must hold afterwards. */
    void play(HostileCall call) {
        Executable member = MEMBERS.choose(call);
        @Nullable Object subject = values.subject(member.getDeclaringClass(), call.subject());
        if (ApiMembers.needsSubject(member) && subject == null) {
            return;
        }
        @Nullable Object[] arguments = new Object[member.getParameterCount()];
        for (int i = 0; i < arguments.length; i++) {
            arguments[i] = values.argument(member, i, call.argument(i));
        }
        Object tamed = subject instanceof Dma ? tame(member.getName(), arguments, call) : null;
        if (subject instanceof NoncontiguousMemory && member.getName().equals("free")) {
            tamed = tameFree(arguments);
        }
        if (tamed != null) {
            subject = tamed;
        } else if (isTooWild(subject, member.getName(), arguments)) {
            return;
        }
        invoke(member, subject, arguments);
    }

    /** Gives an unmap, half of the time, a mapping that is live; null when the arguments stay as they are. */
    private @Nullable Dma tame(String name, @Nullable Object[] arguments, HostileCall call) {
        if (call.argument(arguments.length) % 2 != 0) {
            return null;
        }
        if ((name.equals("unmapPage") || name.equals("unmapResource")) && !live.isEmpty()) {
            boolean isResource = live.getFirst().call().equals("mapResource");
            if (isResource != name.equals("unmapResource")) {
                live.add(live.remove()); // another one's turn
                return null;
            }
            Live mapping = live.remove();
            arguments[0] = mapping.dmaAddr();
            arguments[1] = mapping.sizeBytes();
            arguments[2] = mapping.direction();
            return mapping.dma();
        }
        if (name.equals("unmapSg") && !liveLists.isEmpty()) {
            LiveList list = liveLists.remove();
            arguments[0] = list.table();
            arguments[1] = list.nents();
            arguments[2] = list.direction();
            offer(list.table());
            return list.dma();
        }
        if (name.startsWith("syncSg") && !liveLists.isEmpty()) {
            arguments[0] = liveLists.getFirst().table();
        }
        return null;
    }

    /** Gives the free of a table one that is allocated; null if there is none. */
    private @Nullable NoncontiguousMemory tameFree(@Nullable Object[] arguments) {
        if (liveTables.isEmpty()) {
            return null;
        }
        LiveTable table = liveTables.remove();
        arguments[0] = table.sizeBytes();
        arguments[1] = table.table();
        arguments[2] = table.direction();
        return table.owner();
    }

    private boolean isTooWild(@Nullable Object subject, String name, @Nullable Object[] arguments) {
        if (subject instanceof NoncontiguousMemory) {
            return name.equals("free") && arguments[1] != null;
        }
        if (!(subject instanceof Dma) && !(subject instanceof DmaMemory)) {
            return false;
        }
        return switch (name) {
            case "unmapPage" -> hitsSomebody((long) arguments[0]);
            case "freePages", "freeNoncoherent" -> hitsSomebody((long) arguments[2]);
            case "unmapResource" -> machine.ownsAddresses(); // not checked at all (iommu:DMAP-10)
            case "unmapSg", "unmapSgTable" -> arguments[0] instanceof SgTable table && hasDmaSide(table);
            default -> false;
        };
    }

    private boolean hitsSomebody(long dmaAddr) {
        return everMapped.stream().anyMatch(span -> pages(span, dmaAddr));
    }

    private static boolean pages(Span span, long dmaAddr) {
        long first = Addresses.alignDown(span.dmaAddr(), Addresses.PAGE_SIZE);
        return Addresses.lessOrEqual(dmaAddr - first, (span.dmaAddr() - first) + span.sizeBytes() + 0xfff);
    }

    private static boolean hasDmaSide(SgTable table) {
        for (int i = 0; i < table.origNents(); i++) {
            if (table.dmaAddr(i) != 0 || table.dmaLengthBytes(i) != 0) {
                return true;
            }
        }
        return false;
    }

    private void invoke(Executable member, @Nullable Object subject, @Nullable Object[] arguments) {
        String before = fingerprint();
        history.add(describe(member, subject, arguments));
        long start = System.nanoTime();
        try {
            @Nullable Object result = call(member, subject, arguments);
            answered++;
            take(member, subject, arguments, result);
        } catch (InvocationTargetException e) {
            refused++;
            Throwable thrown = Objects.requireNonNull(e.getCause());
            requireDocumented(thrown, arguments);
            if (isRefusal(thrown)) {
                assertThat(fingerprint())
                        .as("what the last call changed although it refused (%s)%s", thrown, historyText())
                        .isEqualTo(before);
            }
        } catch (ReflectiveOperationException e) {
            throw new LinkageError(last(), e);
        }
        assertThat((System.nanoTime() - start) / 1_000_000)
                .as("milliseconds of %s", last())
                .isLessThan(5_000);
        try {
            DmaInvariants.check(machine);
        } catch (AssertionError broken) {
            throw new AssertionError("after" + historyText(), broken);
        }
    }

    private String historyText() {
        return "\n  " + String.join("\n  ", history);
    }

    private String last() {
        return history.get(history.size() - 1);
    }

    /** The calls that answer although an argument is null that may not be: what they keep would fail much later. */
    List<String> keptNulls() {
        List<String> kept = new ArrayList<>();
        for (Executable member : MEMBERS.all()) {
            @Nullable Object subject = values.subject(member.getDeclaringClass(), 0);
            if ((ApiMembers.needsSubject(member) && subject == null)
                    || member.getName().equals("equals")) {
                continue;
            }
            for (int i = 0; i < member.getParameterCount(); i++) {
                if (ApiMembers.mayNotBeNull(member, i) && answersNullAt(member, subject, i)) {
                    kept.add(member + " at " + i);
                }
            }
        }
        return kept;
    }

    private boolean answersNullAt(Executable member, @Nullable Object subject, int index) {
        @Nullable Object[] arguments = new Object[member.getParameterCount()];
        for (int i = 0; i < arguments.length; i++) {
            arguments[i] = i == index ? null : values.argument(member, i, 0);
        }
        try {
            call(member, subject, arguments);
            return true;
        } catch (InvocationTargetException refused) {
            return false;
        } catch (ReflectiveOperationException e) {
            throw new LinkageError(member.toString(), e);
        }
    }

    private static @Nullable Object call(Executable member, @Nullable Object subject, @Nullable Object[] arguments)
            throws ReflectiveOperationException {
        return member instanceof Constructor<?> constructor
                ? constructor.newInstance(arguments)
                : ((Method) member).invoke(subject, arguments);
    }

    private static String describe(Executable member, @Nullable Object subject, @Nullable Object[] arguments) {
        StringBuilder text = new StringBuilder();
        text.append(subject == null ? "" : subject + " ")
                .append(member.getDeclaringClass().getSimpleName())
                .append('.');
        text.append(member.getName()).append('(');
        for (int i = 0; i < arguments.length; i++) {
            text.append(i == 0 ? "" : ", ").append(show(arguments[i]));
        }
        return text.append(')').toString();
    }

    private static String show(@Nullable Object argument) {
        if (argument instanceof Long number) {
            return Addresses.hex(number);
        }
        return argument instanceof Object[] array ? Arrays.toString(array) : String.valueOf(argument);
    }

    /** Keeps what a call gave, for the calls to come. */
    private void take(
            Executable member, @Nullable Object subject, @Nullable Object[] arguments, @Nullable Object result) {
        if (subject instanceof Dma dma) {
            takeMapping(dma, member.getName(), arguments, result);
        }
        takeMemory(result);
        if (subject instanceof NoncontiguousMemory owner && result instanceof SgTable table) {
            liveTables.add(new LiveTable(owner, table, (long) arguments[0], (DmaDirection) arguments[1]));
            return; // nobody else may write to it
        }
        if (result instanceof Machine built && built != machine) {
            built.close();
        } else if (result != null && TYPES.contains(result.getClass()) && !NOT_OFFERED.contains(result.getClass())) {
            offer(result);
        }
    }

    private void takeMapping(Dma dma, String name, @Nullable Object[] arguments, @Nullable Object result) {
        if (name.startsWith("map") && result instanceof Long dmaAddr && dmaAddr != Dma.DMA_MAPPING_ERROR) {
            Live mapping = new Live(dma, dmaAddr, (long) arguments[1], (DmaDirection) arguments[2], name);
            everMapped.add(new Span(dmaAddr, mapping.sizeBytes()));
            live.add(mapping);
            values.offerAddress(dmaAddr);
        } else if (name.equals("mapSg") && !Objects.equals(result, 0)) {
            takeList(dma, (SgTable) arguments[0], (int) arguments[1], (DmaDirection) arguments[2]);
        } else if (name.equals("mapSgTable") && Objects.equals(result, 0)) {
            SgTable table = (SgTable) arguments[0];
            takeList(dma, table, table.origNents(), (DmaDirection) arguments[1]);
        }
    }

    private void takeMemory(@Nullable Object result) {
        if (result instanceof DmaMapping mapping) {
            everMapped.add(new Span(mapping.dmaAddr(), mapping.sizeBytes()));
        } else if (result instanceof CoherentBuffer buffer) {
            everMapped.add(new Span(buffer.dmaAddr(), buffer.sizeBytes()));
            values.offerAddress(buffer.dmaAddr());
        } else if (result instanceof DmaPages pages) {
            everMapped.add(new Span(pages.dmaAddr(), pages.sizeBytes()));
        } else if (result instanceof NoncoherentMemory memory) {
            everMapped.add(new Span(memory.dmaAddr(), memory.sizeBytes()));
        }
    }

    private void takeList(Dma dma, SgTable table, int nents, DmaDirection direction) {
        if (table.nents() == 0) {
            return; // a device without a mask (dma-core:FE-13)
        }
        liveLists.add(new LiveList(dma, table, nents, direction));
        values.remove(table);
        for (int i = 0; i < table.nents(); i++) {
            everMapped.add(new Span(table.dmaAddr(i), table.dmaLengthBytes(i)));
        }
    }

    /** Invalid in Java: nothing may have happened. */
    private static boolean isRefusal(Throwable thrown) {
        return thrown instanceof NullPointerException
                || thrown instanceof IllegalArgumentException
                || thrown instanceof IndexOutOfBoundsException;
    }

    private void requireDocumented(Throwable thrown, @Nullable Object[] arguments) {
        if (thrown instanceof NullPointerException) {
            if (Arrays.stream(arguments).noneMatch(HostileValues::holdsNull)) {
                throw new AssertionError("NullPointerException without a null: " + last(), thrown);
            }
            return;
        }
        boolean documented = thrown instanceof IllegalArgumentException
                || thrown instanceof IndexOutOfBoundsException
                || thrown instanceof IllegalStateException
                || thrown instanceof ReadOnlyBufferException
                || thrown instanceof KernelBugException
                || thrown instanceof KernelHazardException
                || thrown instanceof DmaException;
        if (!documented) {
            throw new AssertionError("undocumented " + thrown + ": " + last(), thrown);
        }
        // A JIT may leave out the message of an array's exception; a read-only buffer needs none.
        if (!(thrown instanceof ArrayIndexOutOfBoundsException || thrown instanceof ReadOnlyBufferException)) {
            assertThat(thrown.getMessage())
                    .as("message of %s for %s", thrown.getClass(), last())
                    .isNotBlank();
        }
    }

    /** All that a refused call could have changed. */
    private String fingerprint() {
        Map<Metric, Long> metrics = new EnumMap<>(Metric.class);
        machine.report(metrics::put);
        StringBuilder text = new StringBuilder(metrics.toString())
                .append(machine.pages().allocatedPages())
                .append(' ')
                .append(machine.pages().freeBytes())
                .append(' ')
                .append(machine.faults().count())
                .append(' ')
                .append(machine.clock().nowNanos())
                .append(' ')
                .append(machine.devices())
                .append(bytes());
        for (Device device : machine.devices()) {
            text.append(device.streamingMask()).append(device.coherentMask()).append(device.busLimit());
            text.append(device.skipsSync()).append(device.maxSegmentBytes()).append(device.segmentBoundaryMask());
            text.append(device.minAlignMask());
        }
        values.all(SgTable.class).forEach(text::append);
        return text.toString();
    }

    private long bytes() {
        CRC32 sum = new CRC32();
        byte[] bytes = new byte[0x2000];
        machine.memory().read(SmallWorld.ARENAS.get(0).first(), bytes, 0, bytes.length);
        sum.update(bytes);
        machine.memory().read(SmallWorld.ARENAS.get(1).last() + 1 - bytes.length, bytes, 0, bytes.length);
        sum.update(bytes);
        return sum.getValue();
    }

    int refused() {
        return refused;
    }

    int answered() {
        return answered;
    }

    @Override
    public void close() {
        machine.close();
    }
}
