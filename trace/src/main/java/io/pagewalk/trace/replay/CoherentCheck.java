package io.pagewalk.trace.replay;

import io.pagewalk.dma.CoherentBuffer;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.memory.Addresses;
import java.util.Arrays;

/** Sees whether CPU and device have the same bytes in a coherent allocation: its first and last few. */
final class CoherentCheck {
    private final byte[] expected = new byte[Touch.EDGE_BYTES];
    private final byte[] actual = new byte[Touch.EDGE_BYTES];
    private final Findings findings;

    CoherentCheck(Findings findings) {
        this.findings = findings;
    }

    /** Exchanges bytes both ways; true when all were right. */
    boolean exchange(CoherentBuffer buffer, Device device, long salt, TallyCounter tally) {
        int length = (int) Addresses.min(buffer.sizeBytes(), Touch.EDGE_BYTES);
        long last = buffer.sizeBytes() - length;
        boolean first = exchange(buffer, 0, length, device, salt, tally);
        boolean rest = last == 0 || exchange(buffer, last, length, device, salt + 1, tally);
        return first && rest;
    }

    private boolean exchange(
            CoherentBuffer buffer, long offset, int length, Device device, long salt, TallyCounter tally) {
        boolean there = toDevice(buffer, offset, length, device, salt, tally);
        boolean back = fromDevice(buffer, offset, length, device, ~salt, tally);
        return there && back;
    }

    private boolean toDevice(
            CoherentBuffer buffer, long offset, int length, Device device, long salt, TallyCounter tally) {
        Pattern.fill(expected, length, offset, salt);
        buffer.write(offset, expected, 0, length);
        int done = device.bus().read(buffer.dmaAddr() + offset, actual, 0, length);
        return isSame(buffer, offset, length, done, device, "device read", tally);
    }

    private boolean fromDevice(
            CoherentBuffer buffer, long offset, int length, Device device, long salt, TallyCounter tally) {
        Pattern.fill(expected, length, offset, salt);
        int done = device.bus().write(buffer.dmaAddr() + offset, expected, 0, length);
        buffer.read(offset, actual, 0, length);
        return isSame(buffer, offset, length, done, device, "device write", tally);
    }

    private boolean isSame(
            CoherentBuffer buffer,
            long offset,
            int length,
            int done,
            Device device,
            String access,
            TallyCounter tally) {
        if (done < length) {
            tally.faults++;
        }
        if (done == length && Arrays.equals(expected, 0, length, actual, 0, length)) {
            return true;
        }
        String where = Addresses.hex(buffer.dmaAddr() + offset);
        findings.add(() -> device.name() + ": coherent memory, " + access + " of " + length + " bytes at " + where
                + ": " + done + " bytes done, contents differ or were not reached");
        return false;
    }
}
