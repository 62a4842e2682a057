package io.pagewalk.rdma.model;

import io.pagewalk.rdma.AccessFlags;
import io.pagewalk.rdma.model.Program.Kind;
import io.pagewalk.rdma.model.Program.Piece;
import io.pagewalk.rdma.model.Program.Place;
import io.pagewalk.rdma.model.Program.Spot;
import io.pagewalk.rdma.model.Program.Step;
import io.pagewalk.rdma.model.Program.Twist;
import io.pagewalk.rdma.verbs.FastReg;
import io.pagewalk.rdma.verbs.MrType;
import io.pagewalk.rdma.verbs.PostChecks;
import io.pagewalk.rdma.verbs.SendWr;
import io.pagewalk.rdma.verbs.SgeList;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** What the choices of a program mean at the moment: keys, addresses, work requests. */
final class Choices {
    private static final int REMOTE = AccessFlags.REMOTE_READ | AccessFlags.REMOTE_WRITE | AccessFlags.REMOTE_ATOMIC;
    private static final int[] FAST_RIGHTS = {
        AccessFlags.LOCAL_WRITE | REMOTE | AccessFlags.MW_BIND,
        AccessFlags.LOCAL_WRITE | REMOTE,
        AccessFlags.LOCAL_WRITE,
        REMOTE,
        AccessFlags.REMOTE_READ | AccessFlags.MW_BIND,
        0
    };
    private static final int[] WINDOW_RIGHTS = {
        REMOTE,
        AccessFlags.REMOTE_READ,
        REMOTE | AccessFlags.ZERO_BASED,
        AccessFlags.REMOTE_WRITE,
        REMOTE,
        AccessFlags.REMOTE_WRITE | AccessFlags.ZERO_BASED,
        AccessFlags.REMOTE_ATOMIC,
        AccessFlags.HUGETLB
    };

    private final DataModel model;

    Choices(DataModel model) {
        this.model = model;
    }

    /** Something that has a key: a region or a window. */
    private record Target(int key, long addr, long length) {}

    // ---- picking

    private static <T> T pick(List<T> all, int pick, boolean fitting, Predicate<T> fits) {
        List<T> some = fitting ? all.stream().filter(fits).toList() : all;
        List<T> from = some.isEmpty() ? all : some;
        return from.get(pick % from.size());
    }

    ModelRegion any(int pick) {
        return model.keys.regions.get(pick % model.keys.regions.size());
    }

    ModelRegion fast(int pick) {
        List<ModelRegion> fast = model.keys.regions.stream()
                .filter(r -> r.type == MrType.MEM_REG)
                .toList();
        return fast.get(pick % fast.size());
    }

    private int twisted(int key, Twist twist) {
        return switch (twist) {
            case NONE -> key;
            case OTHER_BYTE -> key ^ 0x55;
            case OTHER_INDEX -> key + 0x3000;
            case ZERO -> model.keys.rules == ModelRules.STAGS ? key + 0x5000 : 0;
        };
    }

    private static long address(long first, long room, Place place, long length) {
        return switch (place.spot()) {
            case START -> first;
            case INSIDE -> first + (room <= length ? 0 : (place.pick() * 1000L % (room - length) & -8));
            case END -> first + room - length;
            case ONE_PAST_END -> first + room - length + 1;
            case ONE_BEFORE -> first - 1;
            case TOP_OF_ALL -> -8L;
        };
    }

    /** Adds a segment of this side. */
    void near(SgeList segments, int pd, Piece piece, int access) {
        ModelRegion region = pick(
                model.keys.regions,
                piece.place().pick(),
                piece.place().fitting(),
                r -> model.keys.local(pd, r.mr.lkey(), access) == r && r.length >= piece.length());
        long addr = address(region.iova, region.length, piece.place(), piece.length());
        segments.add(
                addr, piece.length(), twisted(region.mr.lkey(), piece.place().twist()));
    }

    private void near(SendWr wr, ModelQp qp, List<Piece> pieces, int access) {
        pieces.forEach(piece -> near(wr.segments(), qp.pd, piece, access));
    }

    /** A place on the other side. */
    private Target far(ModelQp peer, Place place, int access, long length) {
        List<Target> all = new ArrayList<>();
        for (ModelWindow window : model.keys.windows) {
            ModelRegion behind = window.region == null ? any(place.pick()) : window.region;
            long offset = (window.access & AccessFlags.ZERO_BASED) == 0 ? 0 : window.addr;
            all.add(new Target(window.mw.rkey(), behind.iova - offset, behind.length));
        }
        for (ModelRegion region : model.keys.regions) {
            all.add(new Target(region.mr.rkey(), region.iova, region.length));
        }
        Target found = pick(
                all,
                place.pick(),
                place.fitting(),
                t -> t.length >= length && model.keys.remote(peer, t.key, access) != null);
        return new Target(
                twisted(found.key, place.twist()), address(found.addr, found.length, place, length), found.length);
    }

    // ---- requests

    boolean isReceived(Kind kind) {
        return switch (kind) {
            case SEND, SEND_IMM, SEND_INV, WRITE_IMM, INLINE_SEND -> true;
            default -> false;
        };
    }

    private static boolean isInline(Kind kind) {
        return kind == Kind.INLINE_SEND || kind == Kind.INLINE_WRITE;
    }

    /** How many bytes a step moves. */
    long total(Step step) {
        long sum = step.near().stream().mapToLong(Piece::length).sum();
        return isInline(step.kind()) ? inlineBytes(step) : sum;
    }

    private int inlineBytes(Step step) {
        int room = model.qps[step.side()].init.maxInlineBytes();
        int most = step.value() % 4 == 1 ? room + 1 : room;
        return step.value() % 3 == 0 ? most : step.value() % (most + 1);
    }

    /** The request of a step; null when there is nothing for it. */
    @Nullable SendWr request(Step step, long id) {
        ModelQp qp = model.qps[step.side()];
        ModelQp peer = model.qps[1 - step.side()];
        SendWr wr = new SendWr();
        switch (step.kind()) {
            case SEND, INLINE_SEND -> wr.send(id);
            case SEND_IMM -> wr.sendWithImm(id, step.value());
            case SEND_INV -> wr.sendWithInv(id, invalidated(step));
            case WRITE, WRITE_IMM, INLINE_WRITE -> write(wr, peer, step, id);
            case READ, READ_INV, INLINE_READ -> read(wr, peer, step, id);
            case FETCH_ADD, COMPARE_SWAP -> atomic(wr, qp, peer, step, id);
            case LOCAL_INV -> wr.localInv(id, invalidated(step));
            case REG_MR -> regMr(wr, step, id);
            case BIND -> {
                return model.keys.windows.isEmpty() ? null : bind(wr, qp, step, id);
            }
            default -> throw new IllegalArgumentException(step + " is no request");
        }
        if (isInline(step.kind())) {
            byte[] bytes = new byte[inlineBytes(step)];
            java.util.Arrays.fill(bytes, (byte) step.value());
            return wr.inline(bytes, 0, bytes.length);
        }
        if (!wr.opcode().isLocal() && !wr.opcode().isAtomic()) {
            boolean sink = wr.remoteAddr() != 0 && !wr.opcode().isWrite();
            near(wr, qp, step.near(), sink ? AccessFlags.LOCAL_WRITE : 0);
        }
        return wr;
    }

    private void write(SendWr wr, ModelQp peer, Step step, long id) {
        Target to = far(peer, step.far(), AccessFlags.REMOTE_WRITE, total(step));
        if (step.kind() == Kind.WRITE_IMM) {
            wr.writeWithImm(id, to.addr, to.key, step.value());
        } else {
            wr.write(id, to.addr, to.key);
        }
    }

    private void read(SendWr wr, ModelQp peer, Step step, long id) {
        Target from = far(peer, step.far(), AccessFlags.REMOTE_READ, total(step));
        if (step.kind() == Kind.READ_INV) {
            wr.readWithInv(id, from.addr, from.key);
        } else {
            wr.read(id, from.addr, from.key);
        }
        if (step.kind() == Kind.INLINE_READ && peer.init.checks() == PostChecks.KERNEL) {
            wr.inline(new byte[8], 0, 8);
        }
    }

    private void atomic(SendWr wr, ModelQp qp, ModelQp peer, Step step, long id) {
        Target at = far(peer, step.far(), AccessFlags.REMOTE_ATOMIC, Long.BYTES);
        long addr = step.value() % 8 == 1 ? at.addr : at.addr & -8;
        if (step.kind() == Kind.FETCH_ADD) {
            wr.fetchAdd(id, addr, at.key, step.value() * 0x1_0001_0001L);
        } else {
            wr.compareAndSwap(id, addr, at.key, expected(peer, addr, at.key, step.value()), step.value() * 3L);
        }
        for (Piece piece : step.near().isEmpty()
                ? List.of(new Piece(step.far(), 8))
                : step.near().subList(0, 1)) {
            int length = step.value() % 16 == 2 ? piece.length() : Long.BYTES;
            near(wr.segments(), qp.pd, new Piece(piece.place(), length), AccessFlags.LOCAL_WRITE);
        }
    }

    /** Mostly what is there. */
    private long expected(ModelQp peer, long addr, int key, int value) {
        ModelKeys.Found found = model.keys.remote(peer, key, AccessFlags.REMOTE_ATOMIC);
        if (found == null || value % 3 == 0 || !found.region().holds(addr + found.offset(), Long.BYTES)) {
            return value;
        }
        return java.nio.ByteBuffer.wrap(found.region().bytes)
                .order(java.nio.ByteOrder.LITTLE_ENDIAN)
                .getLong(found.region().at(addr + found.offset()));
    }

    /** A key to take out of use. */
    private int invalidated(Step step) {
        List<Integer> all = new ArrayList<>();
        List<Integer> good = new ArrayList<>();
        for (ModelRegion region : model.keys.regions) {
            int key = (region.access & REMOTE) != 0 ? region.mr.rkey() : region.mr.lkey();
            all.add(key);
            if (region.type == MrType.MEM_REG && region.windows == 0) {
                good.add(key);
            }
        }
        for (ModelWindow window : model.keys.windows) {
            if (!window.valid && step.value() % 8 != 1) {
                continue;
            }
            all.add(window.mw.rkey());
            if (!window.isType1()) {
                good.add(window.mw.rkey());
            }
        }
        return twisted(
                pick(all, step.far().pick(), step.far().fitting() && step.value() % 4 != 1, good::contains),
                step.value() % 8 == 3 ? Twist.OTHER_INDEX : step.far().twist());
    }

    private void regMr(SendWr wr, Step step, long id) {
        ModelRegion region = pick(
                model.keys.regions, step.far().pick(), step.far().fitting(), r -> r.type == MrType.MEM_REG && !r.valid);
        if (region.type == MrType.MEM_REG && step.value() % 2 == 0) {
            FastReg.updateFastRegKey(region.mr, FastReg.incRkey(region.mr.rkey()) & 0xff);
        }
        int access = FAST_RIGHTS[step.value() / 2 % FAST_RIGHTS.length];
        wr.regMr(id, region.mr, twisted(region.mr.lkey(), step.far().twist()), access);
    }

    private SendWr bind(SendWr wr, ModelQp qp, Step step, long id) {
        ModelWindow window =
                pick(model.keys.windows, step.far().pick(), step.far().fitting(), w -> w.isType1() || !w.valid);
        Piece piece = step.near().isEmpty()
                ? new Piece(step.far(), step.value() % 4096)
                : step.near().get(0);
        int access = WINDOW_RIGHTS[step.value() / 2 % WINDOW_RIGHTS.length];
        ModelRegion region = pick(
                model.keys.regions,
                piece.place().pick(),
                piece.place().fitting(),
                r -> r.pd == qp.pd && (r.access & AccessFlags.MW_BIND) != 0 && r.length >= piece.length());
        Spot spot = piece.place().spot();
        long addr = (access & AccessFlags.ZERO_BASED) != 0 && spot == Spot.INSIDE
                ? step.value() % 512 & -8
                : address(region.iova, region.length, piece.place(), piece.length());
        return wr.bindMw(
                id,
                twisted(window.mw.rkey(), step.far().twist()),
                FastReg.incRkey(window.mw.rkey()),
                twisted(region.mr.lkey(), piece.place().twist()),
                addr,
                piece.length(),
                access);
    }
}
