package io.pagewalk.rdma.hostile;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.rdma.IbDevice;
import io.pagewalk.rdma.PageSetter;
import io.pagewalk.rdma.SgToPages;
import io.pagewalk.rdma.mm.AddressSpace;
import io.pagewalk.rdma.mm.Credentials;
import io.pagewalk.rdma.mm.FileKind;
import io.pagewalk.rdma.mm.Mmap;
import io.pagewalk.rdma.mm.Pins;
import io.pagewalk.rdma.mm.Process;
import io.pagewalk.rdma.mm.UserFile;
import io.pagewalk.rdma.mm.UserMemory;
import io.pagewalk.rdma.umem.BlockIterator;
import io.pagewalk.rdma.umem.MemlockBudget;
import io.pagewalk.rdma.umem.PageSizes;
import io.pagewalk.rdma.umem.PinForecast;
import io.pagewalk.rdma.umem.Preflight;
import io.pagewalk.rdma.umem.Umem;
import io.pagewalk.rdma.umem.UmemException;
import io.pagewalk.rdma.umem.UmemRegion;
import io.pagewalk.rdma.umem.UmemResult;
import io.pagewalk.rdma.umem.Umems;
import io.pagewalk.rdma.verbs.DeviceCaps;
import io.pagewalk.rdma.verbs.RegMrChecks;
import java.lang.reflect.Constructor;
import java.lang.reflect.Executable;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * User memory of a small machine under fire, with objects of a second machine among the arguments. Calls go through
 * reflection; each must answer as documented and change nothing when it refuses its arguments.
 *
 * <p>Documented exceptions: NullPointerException for a null where none may be, IllegalArgumentException and
 * IndexOutOfBoundsException for what is wrong in itself, with nothing changed; IllegalStateException for what is wrong
 * now; UmemException of {@link Umems#pin}. What the kernel trusts its callers with is left out: charges and references
 * of an address space, and unpinning what somebody else pinned.
 */
final class HostileMemory {
    private static final List<Class<?>> TYPES = List.of(
            Process.class,
            Process.class,
            Process.class,
            Process.class.getSuperclass(),
            Umems.class,
            Umems.class,
            Umem.class,
            UmemRegion.class,
            UmemResult.class,
            UserFile.class,
            UserFile.Opened.class,
            UserMemory.class,
            Pins.class,
            AddressSpace.class,
            Credentials.class,
            IbDevice.class,
            BlockIterator.class,
            PageSizes.class,
            MemlockBudget.class,
            Preflight.class,
            Preflight.Request.class,
            PinForecast.class,
            PinForecast.Range.class,
            SgToPages.class,
            RegMrChecks.class);

    private static final Set<String> LEFT_OUT = Set.of(
            "AddressSpace.addPinnedVm",
            "AddressSpace.subPinnedVm",
            "AddressSpace.grab",
            "AddressSpace.drop",
            "AddressSpace.getUser",
            "AddressSpace.putUser",
            // A moved region gives back another number than was charged (rdma:UMEM-23).
            "UmemRegion.setIova",
            "UmemRegion.findBestPgsz",
            "UmemRegion.findBestPgoff",
            "Umems.findBestPgsz");

    private static final List<List<Executable>> MEMBERS = TYPES.stream()
            .map(HostileMemory::membersOf)
            .filter(m -> !m.isEmpty())
            .toList();

    private static final long[] NUMBERS = {
        0,
        1,
        2,
        3,
        4095,
        4096,
        4097,
        8192,
        1 << 16,
        1 << 21,
        1L << 30,
        1L << 31,
        1L << 32,
        1L << 40,
        1L << 44,
        1L << 52,
        0x7fff_ffff_efffL,
        0x7fff_ffff_f000L,
        0x8000_0000_0000L,
        Long.MAX_VALUE,
        Long.MIN_VALUE,
        -1,
        -2,
        -4095,
        -4096,
        -4097,
        -(1L << 21)
    };
    private static final int[] INTS = {
        0,
        1,
        2,
        3,
        7,
        8,
        16,
        0x20,
        0x22,
        0x100,
        0x101,
        0x108,
        0x40022,
        0x40021,
        4,
        10,
        14,
        18,
        100,
        0x2022,
        0x31,
        512,
        4096,
        -1,
        -2,
        Integer.MAX_VALUE,
        Integer.MIN_VALUE
    };

    private final Map<Class<?>, List<@Nullable Object>> pool = new HashMap<>();
    private final List<Machine> machines = new ArrayList<>();
    private final List<Umem> umems = new ArrayList<>();
    private final List<String> history = new ArrayList<>();
    private final String backend;
    private long pagesAtStart;
    private int refused;
    private int answered;

    HostileMemory(String backend) {
        this.backend = backend;
        for (int i = 0; i < 2; i++) {
            Machine machine = Machine.builder()
                    .ramBytes(16L << 20)
                    .chunkBytes(1 << 16)
                    .backend(backend)
                    .build();
            machines.add(machine);
            pagesAtStart = machine.pages().allocatedPages();
            furnish(machine, IbDevice.withDmaDevice("ib", machine.addDevice(DeviceConfig.named("nic"))));
        }
        pool.put(int[].class, List.of(new int[0], new int[3]));
        pool.put(long[].class, List.of(new long[0], new long[16], new long[600]));
        pool.put(byte[].class, List.of(new byte[0], new byte[16], new byte[5000]));
        pool.put(PageSetter.class, List.of((PageSetter) page -> page % 8192 == 0 ? 0 : -12));
        pool.put(String.class, List.of("", "name"));
        pool.put(
                BlockIterator.class,
                List.of(new BlockIterator(), new BlockIterator(BlockIterator.Rule.ONE_SEGMENT_A_STEP)));
        pool.put(SgToPages.class, List.of(new SgToPages()));
        pool.put(DeviceCaps.class, List.of(new DeviceCaps(false, true, true)));
        pool.put(List.class, List.of(List.of(), List.of(1)));
        offer(new MemlockBudget(1 << 16, false, -1));
        offer(new Preflight.Request(1, 4096, 3));
        offer(new PinForecast.Range(1, 4096, 0));
    }

    private void furnish(Machine machine, IbDevice device) {
        offer(machine);
        offer(device);
        offer(IbDevice.withoutDmaDevice("rxe", machine));
        offer(Umems.of(machine));
        offer(UserMemory.of(machine));
        offer(UserMemory.of(machine).pins());
        offer(new UmemResult());
        Process process = Process.create(machine);
        offer(process);
        offer(process.addressSpace());
        offer(process.credentials());
        long touched = process.mmap(8 * 4096);
        process.writeBytes(touched, new byte[4 * 4096]);
        offerAddress(touched);
        UserFile file = UserFile.create(machine, FileKind.SHMEM, "shm", 3 * 4096 + 1);
        offer(file);
        offer(file.forReading());
        offer(file.forWriting());
        offerAddress(process.mmap(0, 4 * 4096, Mmap.PROT_READ, Mmap.MAP_SHARED, file.forReading(), 0));
        SgTable table = new SgTable(4).add(touched, 4096).add(touched, 8192);
        offer(table);
        offer(new UmemRegion(table, touched, 3 * 4096));
    }

    private void offerAddress(long address) {
        pool.computeIfAbsent(long.class, k -> new ArrayList<>()).add(address);
    }

    private void offer(Object object) {
        pool.computeIfAbsent(object.getClass(), k -> new ArrayList<>()).add(object);
    }

    static int memberCount() {
        return MEMBERS.stream().mapToInt(List::size).sum();
    }

    private static List<Executable> membersOf(Class<?> type) {
        return Stream.concat(Stream.of(type.getConstructors()), Stream.of(type.getMethods()))
                .filter(m -> m.getDeclaringClass() == type && !m.isSynthetic())
                .filter(m -> !LEFT_OUT.contains(type.getSimpleName() + "." + m.getName()))
                .map(Executable.class::cast)
                .sorted(Comparator.comparing(Executable::toString))
                .toList();
    }

    // ---- one call

    /** Makes one call, chosen by numbers: which type, which member, on what, with what. */
    void play(List<Integer> choices) {
        List<Executable> members = MEMBERS.get(choices.get(0) % MEMBERS.size());
        Executable member = members.get(choices.get(1) % members.size());
        boolean onObject = member instanceof Method && !Modifier.isStatic(member.getModifiers());
        Object subject = onObject ? valueOf(member.getDeclaringClass(), choices.get(2)) : null;
        if (onObject && subject == null) {
            return;
        }
        @Nullable Object[] arguments = new @Nullable Object[member.getParameterCount()];
        for (int i = 0; i < arguments.length; i++) {
            arguments[i] = valueOf(member.getParameterTypes()[i], choices.get(3 + i % (choices.size() - 3)));
        }
        if (isTrusted(member)) {
            arguments[arguments.length - 2] = member.getParameterTypes()[0] == long.class
                    ? (Object) Long.valueOf(-1)
                    : (Object) Integer.valueOf(-3);
        }
        if (member.getName().equals("takePagesFrom")) {
            arguments[0] = null;
        }
        history.add(describe(member, subject, arguments));
        call(member, subject, arguments);
    }

    /** Unpinning hits nobody: the number of pages is one that there cannot be. */
    private static boolean isTrusted(Executable member) {
        return member.getName().startsWith("unpin");
    }

    private void call(Executable member, @Nullable Object subject, @Nullable Object[] arguments) {
        List<Long> before = fingerprint();
        long start = System.nanoTime();
        try {
            Object result = member instanceof Method method
                    ? method.invoke(subject, arguments)
                    : ((Constructor<?>) member).newInstance(arguments);
            answered++;
            take(member, subject, arguments, result);
        } catch (InvocationTargetException e) {
            Throwable thrown = e.getCause();
            refused++;
            requireDocumented(thrown, arguments);
            if (isRefusal(thrown)) {
                assertThat(fingerprint())
                        .as("what changed although %s%s", thrown, text())
                        .isEqualTo(before);
            }
        } catch (ReflectiveOperationException | IllegalArgumentException e) {
            throw new LinkageError(text(), e);
        }
        assertThat((System.nanoTime() - start) / 1_000_000)
                .as("ms of %s", text())
                .isLessThan(10_000);
        assertThat(pinsHeld()).as("pins, like what is registered,%s", text()).isEqualTo(pagesRegistered());
    }

    /** Invalid in Java: nothing may have happened. What fails at a page may have brought those before it. */
    private static boolean isRefusal(Throwable thrown) {
        return thrown instanceof NullPointerException
                || thrown instanceof IllegalArgumentException
                || thrown instanceof IndexOutOfBoundsException;
    }

    private void requireDocumented(Throwable thrown, @Nullable Object[] arguments) {
        boolean nullGiven = Arrays.stream(arguments).anyMatch(Objects::isNull);
        boolean documented = (thrown instanceof NullPointerException && nullGiven)
                || thrown instanceof IllegalArgumentException
                || (thrown instanceof IndexOutOfBoundsException && !(thrown instanceof ArrayIndexOutOfBoundsException))
                || thrown instanceof IllegalStateException
                || thrown instanceof UmemException
                || thrown instanceof io.pagewalk.rdma.mm.MemoryFaultException
                || thrown instanceof ClassCastException; // a raw list of something else
        if (!documented) {
            throw new AssertionError("undocumented " + thrown + text(), thrown);
        }
        if (!(thrown instanceof NullPointerException)) {
            assertThat(thrown.getMessage()).as(thrown.getClass() + text()).isNotBlank();
        }
    }

    /** Keeps what a call made; what it pinned without registering is unpinned at once. */
    private void take(
            Executable member, @Nullable Object subject, @Nullable Object[] arguments, @Nullable Object result) {
        if (member.getName().equals("pinUserPagesFast") && (int) result > 0) {
            Pins pins = UserMemory.of(((Process) subject).machine()).pins();
            pins.unpinUserPagesDirtyLock((long[]) arguments[3], (int) result, false);
        } else if (member.getName().equals("get") && Objects.equals(result, 0)) {
            keep(((UmemResult) arguments[6]).umem());
        } else if (member.getName().startsWith("mmap") && (long) result > 0) {
            offerAddress((long) result);
        } else if (result instanceof Umem umem) {
            keep(umem);
        } else if (result instanceof Process child) {
            offer(child);
            offer(child.addressSpace());
        } else if (result instanceof UserFile || result instanceof UserFile.Opened) {
            offer(result);
        }
    }

    private void keep(Umem umem) {
        if (!umems.contains(umem)) {
            umems.add(umem);
            offer(umem);
        }
    }

    // ---- values

    private @Nullable Object valueOf(Class<?> type, int choice) {
        if (type.isEnum()) {
            Object[] all = type.getEnumConstants();
            return choice % (all.length + 1) == all.length ? null : all[choice % (all.length + 1)];
        }
        List<@Nullable Object> offered = pool.getOrDefault(type, List.of());
        if (type == long.class) {
            int at = choice % (NUMBERS.length + 2 * offered.size());
            return at < NUMBERS.length ? (Object) NUMBERS[at] : offered.get((at - NUMBERS.length) / 2);
        }
        if (type == int.class) {
            int at = choice % (INTS.length + offered.size());
            return at < INTS.length ? (Object) INTS[at] : offered.get(at - INTS.length);
        }
        if (type == boolean.class) {
            return choice % 2 == 0;
        }
        if (type == UmemRegion.class && choice % 2 == 0) {
            offered = pool.getOrDefault(Umem.class, List.of());
        }
        if (type == Process.class.getSuperclass()) {
            offered = pool.getOrDefault(Process.class, List.of());
        }
        return choice % 17 == 16 || offered.isEmpty() ? null : offered.get(choice % offered.size());
    }

    private static String describe(Executable member, @Nullable Object subject, @Nullable Object[] arguments) {
        String shown = Arrays.toString(Arrays.stream(arguments)
                .map(a -> a instanceof Long number ? "0x" + Long.toHexString(number) : String.valueOf(a))
                .toArray());
        return subject + " " + member.getDeclaringClass().getSimpleName() + "." + member.getName() + shown;
    }

    private String text() {
        return "\n  " + String.join("\n  ", history);
    }

    // ---- what must be right

    private long pinsHeld() {
        return machines.stream()
                .map(m -> UserMemory.of(m).pins())
                .mapToLong(p -> p.acquired() - p.released())
                .sum();
    }

    private long pagesRegistered() {
        return umems.stream()
                .filter(u -> !u.isReleased())
                .mapToLong(Umem::numPages)
                .sum();
    }

    private List<Long> fingerprint() {
        List<Long> all = new ArrayList<>();
        for (Machine machine : machines) {
            Pins pins = UserMemory.of(machine).pins();
            all.add(pins.acquired());
            all.add(pins.released());
            all.add(machine.pages().allocatedPages());
        }
        for (Object space : pool.getOrDefault(AddressSpace.class, List.of())) {
            AddressSpace each = (AddressSpace) space;
            all.add(each.pinnedVm());
            all.add(each.lockedVm());
            all.add((long) each.structureReferences());
        }
        return all;
    }

    int refused() {
        return refused;
    }

    int answered() {
        return answered;
    }

    /** Everything is given back, from whichever state: nothing is pinned, charged, listed or allocated. */
    void end() {
        umems.forEach(Umem::close);
        pool.getOrDefault(Process.class, List.of()).forEach(p -> ((Process) p).exit());
        pool.getOrDefault(UserFile.class, List.of()).forEach(f -> ((UserFile) f).close());
        assertThat(pinsHeld()).as(text()).isZero();
        for (Object space : pool.getOrDefault(AddressSpace.class, List.of())) {
            assertThat(((AddressSpace) space).pinnedVm()).as(text()).isZero();
            assertThat(((AddressSpace) space).structureReferences()).as(text()).isZero();
        }
        for (Machine machine : machines) {
            machine.quiesce();
            List<String> violations = new ArrayList<>();
            machine.checkStructure(violations::add);
            machine.checkIdle(violations::add);
            assertThat(violations).as(text()).isEmpty();
            if (!backend.startsWith("iommu")) { // whose tables keep pages
                assertThat(machine.pages().allocatedPages()).as(text()).isEqualTo(pagesAtStart);
            }
            machine.close();
        }
    }
}
