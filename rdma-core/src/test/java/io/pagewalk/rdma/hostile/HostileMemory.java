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
import java.lang.reflect.Executable;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
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
final class HostileMemory extends HostileCalls {
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

    private static final List<List<Executable>> MEMBERS = membersOf(TYPES, LEFT_OUT);

    private final List<Machine> machines = new ArrayList<>();
    private final List<Umem> umems = new ArrayList<>();
    private final String backend;
    private long pagesAtStart;

    HostileMemory(String backend) {
        super(MEMBERS);
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
        offerAll(PageSetter.class, (PageSetter) page -> page % 8192 == 0 ? 0 : -12);
        offer(new BlockIterator());
        offer(new BlockIterator(BlockIterator.Rule.ONE_SEGMENT_A_STEP));
        offer(new SgToPages());
        offer(new DeviceCaps(false, true, true));
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
        offerAll(long.class, touched);
        UserFile file = UserFile.create(machine, FileKind.SHMEM, "shm", 3 * 4096 + 1);
        offer(file);
        offer(file.forReading());
        offer(file.forWriting());
        offerAll(long.class, process.mmap(0, 4 * 4096, Mmap.PROT_READ, Mmap.MAP_SHARED, file.forReading(), 0));
        SgTable table = new SgTable(4).add(touched, 4096).add(touched, 8192);
        offer(table);
        offer(new UmemRegion(table, touched, 3 * 4096));
    }

    static int memberCount() {
        return MEMBERS.stream().mapToInt(List::size).sum();
    }

    /** Unpinning hits nobody: the number of pages is one that there cannot be. */
    @Override
    boolean prepare(Executable member, @Nullable Object subject, @Nullable Object[] arguments) {
        if (member.getName().startsWith("unpin")) {
            arguments[arguments.length - 2] = member.getParameterTypes()[0] == long.class
                    ? (Object) Long.valueOf(-1)
                    : (Object) Integer.valueOf(-3);
        }
        if (member.getName().equals("takePagesFrom")) {
            arguments[0] = null;
        }
        return true;
    }

    @Override
    boolean isDocumented(Throwable thrown) {
        return thrown instanceof UmemException
                || thrown instanceof io.pagewalk.rdma.mm.MemoryFaultException
                || thrown instanceof ClassCastException; // a raw list of something else
    }

    @Override
    void check() {
        assertThat(pinsHeld()).as("pins, like what is registered,%s", text()).isEqualTo(pagesRegistered());
    }

    /** Keeps what a call made; what it pinned without registering is unpinned at once. */
    @Override
    void take(Executable member, @Nullable Object subject, @Nullable Object[] arguments, @Nullable Object result) {
        if (member.getName().equals("pinUserPagesFast") && (int) result > 0) {
            Pins pins = UserMemory.of(((Process) subject).machine()).pins();
            pins.unpinUserPagesDirtyLock((long[]) arguments[3], (int) result, false);
        } else if (member.getName().equals("get") && Objects.equals(result, 0)) {
            keep(((UmemResult) arguments[6]).umem());
        } else if (member.getName().startsWith("mmap") && (long) result > 0) {
            offerAll(long.class, (long) result);
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

    @Override
    Class<?> standIn(Class<?> type, int choice) {
        if (type == UmemRegion.class && choice % 2 == 0) {
            return Umem.class;
        }
        return type == Process.class.getSuperclass() ? Process.class : type;
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

    @Override
    List<Long> fingerprint() {
        List<Long> all = new ArrayList<>();
        for (Machine machine : machines) {
            Pins pins = UserMemory.of(machine).pins();
            all.add(pins.acquired());
            all.add(pins.released());
            all.add(machine.pages().allocatedPages());
        }
        for (Object space : offered(AddressSpace.class)) {
            AddressSpace each = (AddressSpace) space;
            all.add(each.pinnedVm());
            all.add(each.lockedVm());
            all.add((long) each.structureReferences());
        }
        return all;
    }

    /** Everything is given back, from whichever state: nothing is pinned, charged, listed or allocated. */
    void end() {
        umems.forEach(Umem::close);
        offered(Process.class).forEach(p -> ((Process) p).exit());
        offered(UserFile.class).forEach(f -> ((UserFile) f).close());
        assertThat(pinsHeld()).as(text()).isZero();
        for (Object space : offered(AddressSpace.class)) {
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
