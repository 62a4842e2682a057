package io.pagewalk.conformance.adapter;

import io.pagewalk.conformance.format.BadVectorException;
import io.pagewalk.rdma.AccessFlags;
import io.pagewalk.rdma.verbs.Mr;
import io.pagewalk.rdma.verbs.Mw;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * The regions and windows that the recording's work requests name by key, and what they are here. Keys differ from run
 * to run in their low byte, so a recorded key is put into ours: the region of its number, and its low byte as far from
 * the region's own as it is there.
 */
final class RecordedKeys {
    private static final int CPU = 0;
    private static final int KEY_BYTE_BITS = 8;
    private static final int KEY_BYTE = 0xff;
    private static final int FIRST_WINDOW = 0x80001;
    private static final int LW = AccessFlags.LOCAL_WRITE;
    private static final int RW = AccessFlags.REMOTE_WRITE;
    private static final int RR = AccessFlags.REMOTE_READ;
    private static final int RA = AccessFlags.REMOTE_ATOMIC;
    private static final int ALL = LW | RW | RR | RA;
    private static final int BIND = AccessFlags.MW_BIND;
    private static final long WHOLE = 0x10000;
    private static final long PAGE = 0x1000;
    private static final long FOUR = 0x4000;

    /** Buffers of the requester and of the responder in group data, memory of windows, its local buffer. */
    static final long B = 0x7f7bf80cb000L;

    static final long R = 0x7f7bf80b7000L;
    static final long W = 0x7f6d11e17000L;
    static final long W_LOCAL = 0x7f6d11e1b000L;

    /** What no line registers: keys, memory, rights, whether in the other domain, by order of their numbers. */
    private record Row(int key, long addr, long length, long iova, int access, boolean otherPd) {
        Row(int key, long addr, long length, int access) {
            this(key, addr, length, addr, access, false);
        }

        Row inOtherPd() {
            return new Row(key, addr, length, iova, access, true);
        }
    }

    static final int UNTOUCHED = 0x2f9_00;
    static final long UNTOUCHED_ADDR = 0x7f7bf80a3000L;

    private static final List<Row> DATA = List.of(
            new Row(0x2e4ff, B, WHOLE, LW),
            new Row(0x2e526, B, WHOLE, 0),
            new Row(0x2e61f, R, WHOLE, ALL),
            new Row(0x2e7b0, R, WHOLE, RR),
            new Row(0x2e83f, R, WHOLE, LW | RW),
            new Row(0x2e9ea, R, WHOLE, LW),
            new Row(0x2eaac, R, WHOLE, LW | RA),
            new Row(0x2ebf9, R, WHOLE, ALL).inOtherPd(),
            new Row(0x2ec9c, B, WHOLE, ALL).inOtherPd(),
            new Row(0x2ed62, R + 100, 1000, ALL),
            new Row(0x2eec9, R, WHOLE, LW),
            new Row(0x2ef38, R, WHOLE, RR),
            new Row(0x2f0ab, R, WHOLE, ALL),
            new Row(0x2f138, R, WHOLE, LW),
            new Row(0x2f234, R, WHOLE, ALL),
            new Row(0x2f32a, B, WHOLE, ALL),
            new Row(0x2f466, R, WHOLE, ALL),
            new Row(0x2f5fa, 0x7f7bf80b3000L, PAGE, ALL),
            new Row(0x2f6d9, 0x7f7bf80af000L, PAGE, ALL),
            new Row(0x2f760, 0x7f7bf80ab000L, PAGE, ALL),
            new Row(0x2f8af, 0x7f7bf80a7000L, PAGE, RR),
            new Row(UNTOUCHED, UNTOUCHED_ADDR, PAGE, RR),
            new Row(0x2fa73, 0x7f7bf809f000L, PAGE, RR),
            new Row(0x2fba8, 0x7f7bf809b000L, PAGE, ALL),
            new Row(0x2fce2, R, WHOLE, 0x10000, ALL, false));

    private static final List<Row> WINDOWS = List.of(
            new Row(0x2de04, W_LOCAL, FOUR, LW),
            new Row(0x2df30, W, FOUR, ALL | BIND),
            new Row(0x2e0de, W, FOUR, ALL),
            new Row(0x2e144, W, FOUR, RR | BIND),
            new Row(0x2e232, W, FOUR, ALL | BIND).inOtherPd(),
            new Row(0x2e347, W, FOUR, LW | BIND));

    private record Known(int key, int handle, int ours) {}

    private final RecordedContext context;
    private final RecordedProcess process;
    private final Map<Integer, Known> regions = new HashMap<>();
    private final Map<Integer, Integer> windows = new HashMap<>();
    private final Map<Integer, Integer> windowBytes = new HashMap<>();
    private final List<Integer> windowOrder = new ArrayList<>();
    private int otherPd = -1;

    RecordedKeys(RecordedContext context, RecordedProcess process) {
        this.context = context;
        this.process = process;
    }

    // ---- regions

    void registerForData() {
        process.map("anon rw private touched", B, WHOLE);
        process.map("anon rw private touched", R, WHOLE);
        process.map("anon rw private untouched", UNTOUCHED_ADDR, PAGE);
        process.map("ext4 file rw private", 0x7f7bf809f000L, PAGE);
        for (long addr :
                new long[] {0x7f7bf80b3000L, 0x7f7bf80af000L, 0x7f7bf80ab000L, 0x7f7bf80a7000L, 0x7f7bf809b000L}) {
            process.map("anon rw private touched", addr, PAGE);
            process.fill(addr, (int) PAGE, 0xc3);
        }
        registerAll(DATA);
    }

    void registerForWindows() {
        process.map("anon rw private touched", W, FOUR);
        process.map("anon rw private touched", W_LOCAL, FOUR);
        registerAll(WINDOWS);
    }

    int otherPd() {
        if (otherPd < 0) {
            otherPd = RecordedContext.requireHandle(context.file().allocPd());
        }
        return otherPd;
    }

    private void registerAll(List<Row> rows) {
        for (Row row : rows) {
            int pd = row.otherPd ? otherPd() : context.pd();
            int handle = RecordedContext.requireHandle(
                    context.file().regMr(CPU, process.process(), pd, row.addr, row.length, row.iova, row.access));
            int ours = Objects.requireNonNull(context.file().mr(handle)).lkey();
            regions.put(row.key >>> KEY_BYTE_BITS, new Known(row.key, handle, ours));
        }
    }

    boolean knows(int key) {
        return regions.containsKey(key >>> KEY_BYTE_BITS);
    }

    int handle(int key) {
        Known known = regions.get(key >>> KEY_BYTE_BITS);
        if (known == null) {
            throw new BadVectorException("no region has the key 0x" + Integer.toHexString(key));
        }
        return known.handle;
    }

    Mr region(int key) {
        return Objects.requireNonNull(context.file().mr(handle(key)));
    }

    // ---- windows

    /** Makes a window; its number is its place in the recording too. */
    Mw makeWindow(int type) {
        int handle = RecordedContext.requireHandle(context.file().allocMw(context.pd(), type));
        return noteWindow(handle);
    }

    Mw noteWindow(int handle) {
        Mw mw = Objects.requireNonNull(context.file().mw(handle));
        int index = mw.rkey() >>> KEY_BYTE_BITS;
        windows.put(index, handle);
        windowOrder.add(index);
        return mw;
    }

    void freeWindow(Mw mw) {
        int index = mw.rkey() >>> KEY_BYTE_BITS;
        context.file().deallocMw(windowHandle(index));
        windows.remove(index);
    }

    /** The window whose key it is, made if there is none of its number yet. */
    Mw windowToBind(int newKey) {
        Integer handle = windows.get(newKey >>> KEY_BYTE_BITS);
        Mw mw = handle == null
                ? makeWindow(Mw.TYPE_2)
                : Objects.requireNonNull(context.file().mw(handle));
        windowBytes.putIfAbsent(newKey >>> KEY_BYTE_BITS, newKey - mw.rkey() - 1);
        return mw;
    }

    /** The n-th window that is alive since the group began. */
    Mw window(int n) {
        return Objects.requireNonNull(context.file().mw(windowHandle(windowOrder.get(n))));
    }

    int latestWindowHandle() {
        return windowHandle(windowOrder.get(windowOrder.size() - 1));
    }

    private int windowHandle(int index) {
        Integer handle = windows.get(index);
        if (handle == null) {
            throw new BadVectorException("no window has the number " + index);
        }
        return handle;
    }

    // ---- keys

    int ours(int key) {
        int index = key >>> KEY_BYTE_BITS;
        if (index >= FIRST_WINDOW) {
            return oursOfWindow(key, index);
        }
        Known known = regions.get(index);
        return known == null ? key : known.ours ^ ((key ^ known.key) & KEY_BYTE);
    }

    /** The first key of a window that a line names is the one that it has then. */
    private int oursOfWindow(int key, int index) {
        Integer handle = windows.get(index);
        if (handle == null) {
            return key;
        }
        Mw mw = Objects.requireNonNull(context.file().mw(handle));
        int apart = windowBytes.computeIfAbsent(index, i -> key - mw.rkey());
        return (mw.rkey() & ~KEY_BYTE) | ((key - apart) & KEY_BYTE);
    }
}
