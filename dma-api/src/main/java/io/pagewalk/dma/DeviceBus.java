package io.pagewalk.dma;

import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.memory.PhysicalMemory;
import io.pagewalk.dma.spi.BusPort;
import java.util.Arrays;
import java.util.Objects;

/**
 * A device's half: memory by DMA address, through exactly what that address would reach on the machine.
 *
 * <p>The wires come first (address lines and bus limit), then the translation of the backend's hardware, then memory.
 * What is not reached is a fault in the machine's {@link FaultLog}: a write is dropped from there on, a read returns
 * all ones, and the call returns how many bytes were done before. Accesses allocate nothing. Thread-safe.
 */
public final class DeviceBus {
    /** Fault code of an address beyond the wires. */
    public static final int BEYOND_WIRES = 0x100;
    /** Fault code of a physical address that is not RAM. */
    public static final int NOT_RAM = 0x101;

    private static final byte ALL_ONES = -1;

    private final Device device;
    private final BusPort port;
    private final PhysicalMemory memory;
    private final FaultLog faults;
    private final long reach;

    DeviceBus(Device device, BusPort port, PhysicalMemory memory, FaultLog faults) {
        this.device = device;
        this.port = port;
        this.memory = memory;
        this.faults = faults;
        long wires = Addresses.minNotZero(
                Addresses.bitMask(device.config().addressBits()),
                device.config().busLimit());
        this.reach = port.onWires() ? wires : -1L;
    }

    /**
     * Reads memory.
     *
     * @param dmaAddr first byte
     * @param dst where to put the bytes
     * @param dstOffset index of the first one
     * @param lengthBytes how many
     * @return bytes read before a fault; the rest of the range in {@code dst} is all ones
     */
    public int read(long dmaAddr, byte[] dst, int dstOffset, int lengthBytes) {
        Objects.checkFromIndexSize(dstOffset, lengthBytes, dst.length);
        int done = 0;
        while (done < lengthBytes) {
            int moved = readSpan(dmaAddr + done, dst, dstOffset + done, lengthBytes - done);
            if (moved == 0) {
                Arrays.fill(dst, dstOffset + done, dstOffset + lengthBytes, ALL_ONES);
                return done;
            }
            done += moved;
        }
        return done;
    }

    /**
     * Writes memory.
     *
     * @param dmaAddr first byte
     * @param src the bytes
     * @param srcOffset index of the first one
     * @param lengthBytes how many
     * @return bytes written before a fault; the rest is dropped
     */
    public int write(long dmaAddr, byte[] src, int srcOffset, int lengthBytes) {
        Objects.checkFromIndexSize(srcOffset, lengthBytes, src.length);
        int done = 0;
        while (done < lengthBytes) {
            int moved = writeSpan(dmaAddr + done, src, srcOffset + done, lengthBytes - done);
            if (moved == 0) {
                return done;
            }
            done += moved;
        }
        return done;
    }

    private int readSpan(long dmaAddr, byte[] dst, int dstOffset, int lengthBytes) {
        long token = port.beginAccess();
        try {
            long physAddr = resolve(dmaAddr, Access.READ);
            if (BusPort.isFault(physAddr)) {
                return 0;
            }
            int span = span(dmaAddr, physAddr, lengthBytes);
            memory.read(physAddr, dst, dstOffset, span);
            return span;
        } finally {
            port.endAccess(token);
        }
    }

    private int writeSpan(long dmaAddr, byte[] src, int srcOffset, int lengthBytes) {
        long token = port.beginAccess();
        try {
            long physAddr = resolve(dmaAddr, Access.WRITE);
            if (BusPort.isFault(physAddr)) {
                return 0;
            }
            int span = span(dmaAddr, physAddr, lengthBytes);
            memory.write(physAddr, src, srcOffset, span);
            return span;
        } finally {
            port.endAccess(token);
        }
    }

    /** How many bytes from here on are reached with this one translation: at least 1. */
    private int span(long dmaAddr, long physAddr, int lengthBytes) {
        long span = Addresses.min(lengthBytes, port.spanBytes(dmaAddr));
        if (!Addresses.lessOrEqual(Addresses.last(dmaAddr, span), reach)) {
            span = reach - dmaAddr + 1;
        }
        return (int) Addresses.min(span, memory.ram().bytesFrom(physAddr));
    }

    /** The physical address of one reachable byte of RAM, or a fault that is recorded by then. */
    private long resolve(long dmaAddr, Access access) {
        if (Addresses.lessThan(reach, dmaAddr)) {
            return faulted(dmaAddr, access, BEYOND_WIRES);
        }
        long physAddr = port.translate(dmaAddr, access);
        if (BusPort.isFault(physAddr)) {
            return faulted(dmaAddr, access, BusPort.faultCode(physAddr));
        }
        if (!memory.isRam(physAddr, 1)) {
            return faulted(dmaAddr, access, NOT_RAM);
        }
        return physAddr;
    }

    private long faulted(long dmaAddr, Access access, int code) {
        faults.record(device, dmaAddr, access, code);
        return BusPort.fault(code);
    }

    /**
     * Reads eight little-endian bytes at any alignment.
     *
     * @param dmaAddr first byte
     * @return the word, all ones after a fault, as the bus completes a read that nobody answers
     */
    public long readLong(long dmaAddr) {
        if ((dmaAddr & 7) != 0) {
            return readLongBytewise(dmaAddr);
        }
        long token = port.beginAccess();
        try {
            long physAddr = resolve(dmaAddr, Access.READ);
            return BusPort.isFault(physAddr) ? -1L : memory.getLong(physAddr);
        } finally {
            port.endAccess(token);
        }
    }

    private long readLongBytewise(long dmaAddr) {
        long value = 0;
        for (int i = 0; i < Long.BYTES; i++) {
            value |= (long) readByte(dmaAddr + i) << (8 * i);
        }
        return value;
    }

    private int readByte(long dmaAddr) {
        long token = port.beginAccess();
        try {
            long physAddr = resolve(dmaAddr, Access.READ);
            return BusPort.isFault(physAddr) ? 0xff : memory.getByte(physAddr) & 0xff;
        } finally {
            port.endAccess(token);
        }
    }

    /**
     * Writes eight little-endian bytes at any alignment.
     *
     * @param dmaAddr first byte
     * @param value the word
     * @return bytes written before a fault
     */
    public int writeLong(long dmaAddr, long value) {
        if ((dmaAddr & 7) != 0) {
            return writeLongBytewise(dmaAddr, value);
        }
        long token = port.beginAccess();
        try {
            long physAddr = resolve(dmaAddr, Access.WRITE);
            if (BusPort.isFault(physAddr)) {
                return 0;
            }
            memory.putLong(physAddr, value);
            return Long.BYTES;
        } finally {
            port.endAccess(token);
        }
    }

    private int writeLongBytewise(long dmaAddr, long value) {
        for (int i = 0; i < Long.BYTES; i++) {
            if (!writeByte(dmaAddr + i, (byte) (value >>> (8 * i)))) {
                return i;
            }
        }
        return Long.BYTES;
    }

    private boolean writeByte(long dmaAddr, byte value) {
        long token = port.beginAccess();
        try {
            long physAddr = resolve(dmaAddr, Access.WRITE);
            if (BusPort.isFault(physAddr)) {
                return false;
            }
            memory.putByte(physAddr, value);
            return true;
        } finally {
            port.endAccess(token);
        }
    }

    /**
     * Adds to eight bytes atomically.
     *
     * @param dmaAddr first byte, 8-byte aligned
     * @param addend what to add, wrapping
     * @param old takes what stood there, all ones after a fault
     * @return 8, or 0 after a fault with nothing changed
     * @throws IllegalArgumentException when the address is not aligned
     */
    public int fetchAdd(long dmaAddr, long addend, BusWord old) {
        requireAligned(dmaAddr);
        long token = port.beginAccess();
        try {
            long physAddr = resolve(dmaAddr, Access.ATOMIC);
            if (BusPort.isFault(physAddr)) {
                old.set(-1L);
                return 0;
            }
            old.set(memory.getAndAddLong(physAddr, addend));
            return Long.BYTES;
        } finally {
            port.endAccess(token);
        }
    }

    /**
     * Replaces eight bytes atomically if they hold an expected value.
     *
     * @param dmaAddr first byte, 8-byte aligned
     * @param expected what must stand there
     * @param replacement what to put there
     * @param old takes what stood there, all ones after a fault
     * @return 8, or 0 after a fault with nothing changed
     * @throws IllegalArgumentException when the address is not aligned
     */
    public int compareAndSwap(long dmaAddr, long expected, long replacement, BusWord old) {
        requireAligned(dmaAddr);
        long token = port.beginAccess();
        try {
            long physAddr = resolve(dmaAddr, Access.ATOMIC);
            if (BusPort.isFault(physAddr)) {
                old.set(-1L);
                return 0;
            }
            old.set(memory.compareAndExchangeLong(physAddr, expected, replacement));
            return Long.BYTES;
        } finally {
            port.endAccess(token);
        }
    }

    private static void requireAligned(long dmaAddr) {
        if ((dmaAddr & 7) != 0) {
            throw new IllegalArgumentException("an atomic at " + Addresses.hex(dmaAddr) + " is not 8-byte aligned");
        }
    }

    /**
     * Says a fault code in words.
     *
     * @param code of a {@link BusFault} of this device
     * @return a short phrase
     */
    String faultText(int code) {
        return switch (code) {
            case BEYOND_WIRES -> "beyond the wires, which reach " + Addresses.hex(reach);
            case NOT_RAM -> "no RAM at that physical address";
            default -> port.faultText(code);
        };
    }
}
