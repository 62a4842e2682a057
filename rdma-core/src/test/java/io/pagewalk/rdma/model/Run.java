package io.pagewalk.rdma.model;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.Errno;
import io.pagewalk.dma.KernelBugException;
import io.pagewalk.rdma.AccessFlags;
import io.pagewalk.rdma.model.Program.Kind;
import io.pagewalk.rdma.model.Program.Piece;
import io.pagewalk.rdma.model.Program.Step;
import io.pagewalk.rdma.verbs.FastReg;
import io.pagewalk.rdma.verbs.MrType;
import io.pagewalk.rdma.verbs.QpState;
import io.pagewalk.rdma.verbs.RecvWr;
import io.pagewalk.rdma.verbs.SendWr;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntSupplier;
import org.jspecify.annotations.Nullable;

/** Runs a program on a device and on its model, and compares what can be seen after each step. */
final class Run {
    private static final long A_WHILE = 50_000_000;

    private final DataWorld world;
    private final DataModel model;
    private final Choices choices;
    private long nextId;

    private Run(DataWorld world) {
        this.world = world;
        model = world.model;
        choices = new Choices(model);
    }

    /** Runs a program to its end, or to the kernel's. */
    static void of(DataWorld world, List<Step> steps) {
        Run run = new Run(world);
        try {
            steps.forEach(run::step);
        } catch (ModelBug bug) {
            Meets.met("BUG");
            return;
        }
        assertThat(world.finish()).isEmpty();
    }

    private void step(Step step) {
        boolean broken = model.qps[0].error || model.qps[1].error;
        if (step.kind() == Kind.RECONNECT || (broken && step.value() % 4 != 0) || bothWait()) {
            world.reconnect();
            compare("reconnect");
        }
        switch (step.kind()) {
            case RECONNECT -> {}
            case RECV -> postRecv(step.side(), step.near(), 0);
            case MAP -> map(step);
            case DEREG -> dereg(step);
            default -> request(step);
        }
        compare(step.toString());
    }

    /** Each side asks for a receive of the other again and again: which is first to be heard is a matter of time. */
    private boolean bothWait() {
        return !model.qps[0].sends.isEmpty() && !model.qps[1].sends.isEmpty();
    }

    // ---- steps

    /** Posts a request, behind a receive on the other side if there is one. */
    private void request(Step step) {
        long total = choices.total(step);
        if (!step.sink().isEmpty() && choices.isReceived(step.kind())) {
            postRecv(1 - step.side(), step.sink(), step.room() ? total : 0);
        }
        @Nullable SendWr wr = choices.request(step, ++nextId);
        if (wr == null) {
            return;
        }
        if (step.value() % 16 != 1) {
            wr.signaled();
        }
        int expected =
                both(step.toString(), () -> model.postSend(step.side(), wr), () -> world.qps[step.side()].postSend(wr));
        assertThat(world.qps[step.side()].badSendWr()).isSameAs(expected == 0 ? null : wr);
        if (expected != 0) {
            Meets.met("posting " + Errno.name(expected));
        }
    }

    /** Does the same to both, and lets time pass; throws when it is the kernel's end. */
    private int both(String what, IntSupplier onModel, IntSupplier onDevice) {
        int expected;
        try {
            expected = onModel.getAsInt();
        } catch (ModelBug bug) {
            assertThatThrownBy(() -> {
                        int unused = onDevice.getAsInt();
                        world.machine.clock().advance(A_WHILE);
                    })
                    .isInstanceOf(KernelBugException.class);
            throw bug;
        }
        assertThat(onDevice.getAsInt()).as(what).isEqualTo(expected);
        world.machine.clock().advance(A_WHILE);
        return expected;
    }

    private void postRecv(int side, List<Piece> pieces, long atLeast) {
        List<Piece> all = new ArrayList<>(pieces);
        long sum = pieces.stream().mapToLong(Piece::length).sum();
        if (sum < atLeast) {
            Piece last = all.remove(all.size() - 1);
            all.add(new Piece(last.place(), last.length() + (int) (atLeast - sum)));
        }
        RecvWr wr = new RecvWr().reset(++nextId);
        for (Piece piece : all) {
            choices.near(wr.segments(), model.qps[side].pd, piece, AccessFlags.LOCAL_WRITE);
        }
        both("receive", () -> model.postRecv(side, wr), () -> world.qps[side].postRecv(wr));
    }

    /** rdma:RXE-27: also a region in use is changed at once. */
    private void map(Step step) {
        ModelRegion region = choices.fast(step.far().pick());
        int pageBytes = step.value() % 3 == 1 ? 512 : DataWorld.PAGE;
        int offset = step.value() % 2 == 0 ? 0 : step.value() % DataWorld.RUN;
        assertThat(world.map(region, offset, pageBytes))
                .isEqualTo(world.listOf(region).nents());
        assertThat(region.mr.iova()).isEqualTo(region.iova);
        assertThat(region.mr.lengthBytes()).isEqualTo(region.length);
    }

    /** rdma:RXE-22: a key that is gone leads nowhere. */
    private void dereg(Step step) {
        ModelRegion region = choices.any(step.far().pick());
        if (region.type == MrType.MEM_REG) {
            FastReg.updateFastRegKey(region.mr, step.value() & 0xff);
            return;
        }
        int expected = region.windows > 0 ? -Errno.EINVAL : 0;
        assertThat(world.device.deregMr(region.mr, 0)).isEqualTo(expected);
        if (expected == 0) {
            model.keys.regions.remove(region);
        }
    }

    // ---- what is seen

    private void compare(String step) {
        world.machine.clock().advance(A_WHILE);
        model.settle();
        for (int side = 0; side < 2; side++) {
            ModelQp qp = model.qps[side];
            List<Done> sent = world.sent(side);
            assertThat(sent).as("sends of side %d: %s", side, step).isEqualTo(qp.sent);
            List<Done> received = world.received(side);
            assertThat(received).as("receives of side %d: %s", side, step).isEqualTo(qp.received);
            assertThat(world.qps[side].state())
                    .as("state of side %d: %s", side, step)
                    .isEqualTo(qp.error ? QpState.ERR : QpState.RTS);
            assertThat(world.qps[side].postedSends()).isEqualTo(qp.sends.size());
            assertThat(world.qps[side].postedReceives()).isEqualTo(qp.receives.size());
            sent.forEach(done -> Meets.met(Meets.name(done, false)));
            received.forEach(done -> Meets.met(Meets.name(done, true)));
            qp.sent.clear();
            qp.received.clear();
        }
        for (ModelWindow window : model.keys.windows) {
            assertThat(window.mw.rkey()).as(step).isEqualTo(window.rkey);
        }
        assertThat(world.difference()).as(step).isEmpty();
    }
}
