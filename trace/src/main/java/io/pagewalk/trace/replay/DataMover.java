package io.pagewalk.trace.replay;

import io.pagewalk.dma.BusFault;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.memory.CpuMemory;
import java.util.List;

/** Moves the bytes of mappings on one machine, as CPU and as device, and compares what arrives. */
final class DataMover {
    /*
     * When to compare. Buffers of live mappings may overlap: a page mapped twice, or two requests on one buffer. On a backend that
     * bounces, an unmap copies a whole slot back over memory that another mapping wrote meanwhile, and rightly so; on a real
     * machine, too, such bytes are undefined. So nothing is compared that has waited: the CPU writes right before a map and the
     * device reads right after it; the device writes right before an unmap and the CPU compares right after it. In between no
     * other mapping comes, on any backend.
     */
    private final Machine machine;
    private final CpuMemory memory;
    private final TouchWalk walk;
    private final Findings findings;
    private final byte[] expected = new byte[TouchWalk.WINDOW_BYTES];
    private final byte[] actual = new byte[TouchWalk.WINDOW_BYTES];

    DataMover(Machine machine, TouchWalk walk, Findings findings) {
        this.machine = machine;
        this.memory = machine.cpuMemory();
        this.walk = walk;
        this.findings = findings;
    }

    /** The CPU writes the mapping's bytes. */
    void cpuWrites(LiveMapping live, long offset, long sizeBytes) {
        walk.cpuSide(live, offset, sizeBytes);
        while (walk.next()) {
            Pattern.fill(expected, walk.lengthBytes(), walk.physAddr(), live.salt());
            memory.write(walk.physAddr(), expected, 0, walk.lengthBytes());
        }
    }

    /** The CPU reads and compares; true when all was right. */
    boolean cpuReads(LiveMapping live, long offset, long sizeBytes, TallyCounter tally) {
        long wrongBefore = tally.mismatchedBytes;
        walk.cpuSide(live, offset, sizeBytes);
        while (walk.next()) {
            int length = walk.lengthBytes();
            Pattern.fill(expected, length, walk.physAddr(), live.salt());
            if (memory.mismatch(walk.physAddr(), expected, 0, length) < 0) {
                tally.bytesVerified += length;
            } else {
                memory.read(walk.physAddr(), actual, 0, length);
                compare(live, length, tally, "the CPU reads");
            }
        }
        return tally.mismatchedBytes == wrongBefore;
    }

    /** The device reads and compares; true when all was right. */
    boolean deviceReads(LiveMapping live, int backend, long offset, long sizeBytes, Device device, TallyCounter tally) {
        long wrongBefore = tally.mismatchedBytes;
        walk.bothSides(live, backend, offset, sizeBytes);
        while (walk.next()) {
            int length = walk.lengthBytes();
            if (!walk.isReached()) {
                unreached(live, length, tally);
                continue;
            }
            int done = device.bus().read(walk.dmaAddr(), actual, 0, length);
            if (done < length) {
                faulted(live, "read", done, tally);
                tally.mismatchedBytes += length - done;
            }
            Pattern.fill(expected, done, walk.physAddr(), live.salt());
            compare(live, done, tally, "the device reads");
        }
        return tally.mismatchedBytes == wrongBefore;
    }

    /** The device writes the mapping's bytes; false when it could not. */
    boolean deviceWrites(
            LiveMapping live, int backend, long offset, long sizeBytes, Device device, TallyCounter tally) {
        boolean fine = true;
        walk.bothSides(live, backend, offset, sizeBytes);
        while (walk.next()) {
            int length = walk.lengthBytes();
            if (!walk.isReached()) {
                unreached(live, 0, tally);
                fine = false;
                continue;
            }
            Pattern.fill(expected, length, walk.physAddr(), live.salt());
            int done = device.bus().write(walk.dmaAddr(), expected, 0, length);
            if (done < length) {
                faulted(live, "write", done, tally);
                fine = false;
            }
        }
        return fine;
    }

    private void compare(LiveMapping live, int length, TallyCounter tally, String who) {
        int wrong = 0;
        int first = -1;
        for (int i = 0; i < length; i++) {
            if (expected[i] != actual[i]) {
                first = wrong == 0 ? i : first;
                wrong++;
            }
        }
        tally.bytesVerified += length - wrong;
        tally.mismatchedBytes += wrong;
        if (wrong > 0) {
            String detail = wrong + " of " + length + " bytes wrong, the first at physical "
                    + Addresses.hex(walk.physAddr() + first) + ": " + Addresses.hex(actual[first] & 0xff) + " for "
                    + Addresses.hex(expected[first] & 0xff);
            findings.add(() -> describe(live) + ": " + who + " " + detail);
        }
    }

    private void unreached(LiveMapping live, int lengthBytes, TallyCounter tally) {
        tally.mismatchedBytes += lengthBytes;
        long physAddr = walk.physAddr();
        findings.add(() -> describe(live) + ": no DMA segment for physical " + Addresses.hex(physAddr));
    }

    private void faulted(LiveMapping live, String access, int done, TallyCounter tally) {
        tally.faults++;
        String where = Addresses.hex(walk.dmaAddr() + done);
        findings.add(
                () -> describe(live) + ": device " + access + " at " + where + " of a live mapping: " + latestFault());
    }

    private String latestFault() {
        List<BusFault> recent = machine.faults().recent();
        return recent.isEmpty()
                ? "cut short without a fault"
                : recent.get(recent.size() - 1).toString();
    }

    private static String describe(LiveMapping live) {
        return "line " + live.map.origin().lineNumber() + ": " + live.map.device() + " " + live.map.kind() + " "
                + live.map.direction() + " of " + live.sizeBytes + " bytes";
    }
}
