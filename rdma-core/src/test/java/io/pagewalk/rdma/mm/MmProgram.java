package io.pagewalk.rdma.mm;

import static io.pagewalk.rdma.mm.World.PAGE;
import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.Errno;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Runs a program of processes that map, write, fork, pin and exit, beside a naive model: each process has a number for
 * each of eight pages, and a pin is a promise that the device and the process see the same number.
 */
final class MmProgram {
    static final int PAGES = 8;
    private static final int MAX_PROCESSES = 4;
    private static final long BASE = 0x7000_0000_0000L - 4 * PAGE;

    enum Kind {
        MAP,
        UNMAP,
        WRITE,
        READ,
        PROTECT,
        UNPROTECT,
        DROP,
        FORK,
        EXIT,
        PIN_WRITE,
        PIN_READ,
        PIN_SHORT,
        UNPIN,
        DEVICE_WRITE
    }

    record Step(Kind kind, int who, int page, int count) {}

    /** A process and what it should see. */
    private static final class Actor {
        final Process process;
        final long[] values = new long[PAGES];
        final boolean[] mapped = new boolean[PAGES];
        final boolean[] writable = new boolean[PAGES];

        Actor(Process process) {
            this.process = process;
        }

        Actor child(Process newProcess) {
            Actor child = new Actor(newProcess);
            System.arraycopy(values, 0, child.values, 0, PAGES);
            System.arraycopy(mapped, 0, child.mapped, 0, PAGES);
            System.arraycopy(writable, 0, child.writable, 0, PAGES);
            return child;
        }
    }

    /** A pinned page; without an owner its process has given it up, and only the device sees it. */
    private static final class Pin {
        final long pfn;
        final int page;

        @org.jspecify.annotations.Nullable Actor owner;

        long value;

        Pin(long pfn, int page, Actor owner) {
            this.pfn = pfn;
            this.page = page;
            this.owner = owner;
        }
    }

    private final World world;
    private final boolean mayFail;
    private final List<Actor> actors = new ArrayList<>();
    private final List<Pin> pins = new ArrayList<>();
    private long nextValue = 1;

    MmProgram(World world, boolean mayFail) {
        this.world = world;
        this.mayFail = mayFail;
        actors.add(new Actor(world.process));
    }

    void run(List<Step> steps) {
        for (Step step : steps) {
            if (!actors.isEmpty()) {
                run(step, actors.get(step.who() % actors.size()));
                check();
            }
        }
        while (!actors.isEmpty()) {
            exit(actors.get(0));
            check();
        }
        while (!pins.isEmpty()) {
            unpin(0);
            check();
        }
        assertThat(world.pins.released()).isEqualTo(world.pins.acquired());
        assertThat(world.machine.pages().allocatedPages()).isZero();
    }

    private void run(Step step, Actor actor) {
        int page = step.page();
        int end = Math.min(PAGES, page + step.count());
        switch (step.kind()) {
            case MAP -> map(actor, page, end);
            case UNMAP -> unmap(actor, page, end);
            case WRITE -> write(actor, page);
            case READ -> read(actor, page);
            case PROTECT -> protect(actor, page, false);
            case UNPROTECT -> protect(actor, page, true);
            case DROP -> drop(actor, page, end);
            case FORK -> fork(actor);
            case EXIT -> exit(actor);
            case PIN_WRITE -> pin(actor, page, end, World.LONG_WRITE);
            case PIN_READ -> pin(actor, page, end, World.LONGTERM);
            case PIN_SHORT -> pin(actor, page, end, 0);
            case UNPIN -> {
                if (!pins.isEmpty()) {
                    unpin(page * step.count() % pins.size());
                }
            }
            case DEVICE_WRITE -> {
                if (!pins.isEmpty()) {
                    deviceWrite(pins.get(page * step.count() % pins.size()));
                }
            }
        }
    }

    private static long at(int page) {
        return BASE + page * PAGE;
    }

    private void map(Actor actor, int page, int end) {
        int flags = Mmap.MAP_PRIVATE | Mmap.MAP_ANONYMOUS | Mmap.MAP_FIXED;
        // What a mapping that fails for want of memory had to make room for is gone all the same.
        if (!unmap(actor, page, end)) {
            return;
        }
        long mapped = actor.process.mmap(at(page), (end - page) * PAGE, World.RW, flags, null, 0);
        if (mayFail && mapped == -Errno.ENOMEM) {
            return;
        }
        assertThat(mapped).isEqualTo(at(page));
        for (int i = page; i < end; i++) {
            actor.mapped[i] = true;
            actor.writable[i] = true;
        }
    }

    private boolean unmap(Actor actor, int page, int end) {
        int result = actor.process.munmap(at(page), (end - page) * PAGE);
        if (mayFail && result == -Errno.ENOMEM) {
            return false;
        }
        assertThat(result).isZero();
        for (int i = page; i < end; i++) {
            giveUp(actor, i);
            actor.mapped[i] = false;
        }
        return true;
    }

    /** The process's page is another from now on; pins keep the old one. */
    private void giveUp(Actor actor, int page) {
        for (Pin pin : pins) {
            if (pin.owner == actor && pin.page == page) {
                pin.value = actor.values[page];
                pin.owner = null;
            }
        }
        actor.values[page] = 0;
    }

    private void write(Actor actor, int page) {
        long value = nextValue++;
        byte[] bytes = java.nio.ByteBuffer.allocate(8)
                .order(java.nio.ByteOrder.LITTLE_ENDIAN)
                .putLong(value)
                .array();
        Fault fault = actor.process.write(at(page), bytes, 0, 8);
        if (mayFail && fault == Fault.OOM) {
            return;
        }
        assertThat(fault).isEqualTo(actor.mapped[page] && actor.writable[page] ? Fault.DONE : Fault.SEGV);
        if (fault == Fault.DONE) {
            actor.values[page] = value;
        }
    }

    private void read(Actor actor, int page) {
        byte[] bytes = new byte[8];
        Fault fault = actor.process.read(at(page), bytes, 0, 8);
        if (mayFail && fault == Fault.OOM) {
            return;
        }
        assertThat(fault).isEqualTo(actor.mapped[page] ? Fault.DONE : Fault.SEGV);
        assertThat(java.nio.ByteBuffer.wrap(bytes)
                        .order(java.nio.ByteOrder.LITTLE_ENDIAN)
                        .getLong())
                .isEqualTo(actor.values[page]);
    }

    private void protect(Actor actor, int page, boolean writable) {
        int result = actor.process.mprotect(at(page), PAGE, writable ? World.RW : World.R);
        if (mayFail && result == -Errno.ENOMEM) {
            return;
        }
        assertThat(result).isEqualTo(actor.mapped[page] ? 0 : -Errno.ENOMEM);
        actor.writable[page] = writable;
    }

    private void drop(Actor actor, int page, int end) {
        actor.process.madvise(at(page), (end - page) * PAGE, Mmap.MADV_DONTNEED);
        for (int i = page; i < end; i++) {
            giveUp(actor, i);
        }
    }

    private void fork(Actor actor) {
        if (actors.size() == MAX_PROCESSES) {
            return;
        }
        Process child = actor.process.fork();
        assertThat(child != null || mayFail).isTrue();
        if (child != null) {
            actors.add(actor.child(child));
        }
    }

    private void exit(Actor actor) {
        actor.process.exit();
        for (int i = 0; i < PAGES; i++) {
            giveUp(actor, i);
        }
        actors.remove(actor);
    }

    private void pin(Actor actor, int page, int end, int flags) {
        boolean write = (flags & GupFlags.WRITE) != 0;
        int can = page;
        while (can < end && actor.mapped[can] && (!write || actor.writable[can])) {
            can++;
        }
        long[] pfns = new long[end - page];
        int result = actor.process.pinUserPagesFast(at(page), end - page, flags, pfns);
        if (mayFail) {
            assertThat(result).isLessThanOrEqualTo(can - page);
        } else {
            assertThat(result).isEqualTo(can == page ? -Errno.EFAULT : can - page);
        }
        for (int i = 0; i < result; i++) {
            pins.add(new Pin(pfns[i], page + i, actor));
        }
    }

    private void unpin(int index) {
        Pin pin = pins.remove(index);
        world.pins.unpinUserPageRangeDirtyLock(pin.pfn, 1, true);
    }

    private void deviceWrite(Pin pin) {
        if (world.memory.isZeroPage(pin.pfn)) {
            return;
        }
        long value = nextValue++;
        world.machine.memory().putLong(pin.pfn * PAGE, value);
        if (pin.owner != null) {
            pin.owner.values[pin.page] = value;
        }
        for (Pin other : pins) {
            if (other.pfn == pin.pfn) {
                other.value = value;
            }
        }
    }

    // ---- what holds after every step

    private void check() {
        Map<Long, Integer> references = new HashMap<>();
        for (Actor actor : actors) {
            for (int page = 0; page < PAGES; page++) {
                checkPage(actor, page, references);
            }
        }
        for (Pin pin : pins) {
            checkPin(pin, references);
        }
        references.forEach((pfn, count) -> assertThat(world.frames.refCount(pfn))
                .as("references of 0x%x", pfn)
                .isEqualTo(count));
        assertThat(world.machine.pages().allocatedPages()).isEqualTo(references.size());
        assertThat(world.frames.refCount(world.memory.zeroPfn())).isEqualTo(1);
    }

    private void checkPage(Actor actor, int page, Map<Long, Integer> references) {
        long pfn = actor.process.pfnOf(at(page));
        if (pfn < 0) {
            assertThat(actor.values[page]).isZero();
            return;
        }
        assertThat(actor.mapped[page]).isTrue();
        assertThat(world.deviceReads(pfn)).as("page %d", page).isEqualTo(actor.values[page]);
        if (!world.memory.isZeroPage(pfn)) {
            references.merge(pfn, 1, Integer::sum);
        }
    }

    private void checkPin(Pin pin, Map<Long, Integer> references) {
        if (world.memory.isZeroPage(pin.pfn)) {
            return;
        }
        references.merge(pin.pfn, Pins.GUP_PIN_COUNTING_BIAS, Integer::sum);
        long seen = world.deviceReads(pin.pfn);
        Set<Actor> others = new HashSet<>(actors);
        if (pin.owner == null) {
            assertThat(seen).as("a pin of a page that was given up").isEqualTo(pin.value);
        } else {
            assertThat(pin.owner.process.pfnOf(at(pin.page))).isEqualTo(pin.pfn);
            assertThat(seen).isEqualTo(pin.owner.values[pin.page]);
            others.remove(pin.owner);
        }
        for (Actor other : others) {
            for (int page = 0; page < PAGES; page++) {
                assertThat(other.process.pfnOf(at(page)))
                        .as("only the owner sees a pinned page")
                        .isNotEqualTo(pin.pfn);
            }
        }
    }
}
