package io.pagewalk.dma;

import io.pagewalk.dma.events.StrayAccesses;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.memory.BusMemory;
import io.pagewalk.dma.memory.CpuMemory;
import io.pagewalk.dma.memory.PhysicalMemory;
import io.pagewalk.dma.memory.RamMap;
import io.pagewalk.dma.spi.BusPort;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

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
    /** Fault code of an atomic whose eight bytes are not one aligned word of memory. */
    public static final int SPLIT_ATOMIC = 0x102;

    private static final byte ALL_ONES = -1;

    private final Device device;
    private final BusPort port;
    private final BusMemory memory;
    private final RamMap ram;
    private final FaultLog faults;
    private final long reach;
    private final @Nullable StrayAccesses strays;

    DeviceBus(Device device, BusPort port, PhysicalMemory memory, CpuMemory caches, FaultLog faults) {
        this.device = device;
        this.port = port;
        this.ram = memory.ram();
        this.memory = new BusMemory(memory, snoops(device, port) ? caches.cache() : null);
        this.faults = faults;
        this.strays = device.machine().strayAccesses();
        long wires = Addresses.minNotZero(
                Addresses.bitMask(device.config().addressBits()),
                device.config().busLimit());
        this.reach = port.onWires() ? wires : -1L;
    }

    /** A device that is software on the CPU sees what the CPU sees. */
    private static boolean snoops(Device device, BusPort port) {
        return device.isCoherent() || !port.onWires();
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
                break;
            }
            done += moved;
        }
        return checked(dmaAddr, done, Access.READ);
    }

    /** Looks, on a machine that checks to the byte, whether an access stayed in its mapping. */
    private int checked(long dmaAddr, int done, Access access) {
        if (strays != null) {
            strays.check(device, dmaAddr, done, access);
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
                break;
            }
            done += moved;
        }
        return checked(dmaAddr, done, Access.WRITE);
    }

    private int readSpan(long dmaAddr, byte[] dst, int dstOffset, int lengthBytes) {
        long token = port.beginAccess();
        long physAddr;
        try {
            physAddr = resolve(dmaAddr, Access.READ);
            if (!BusPort.isFault(physAddr)) {
                int span = span(dmaAddr, physAddr, lengthBytes);
                memory.read(physAddr, dst, dstOffset, span);
                return span;
            }
        } finally {
            port.endAccess(token);
        }
        return blocked(dmaAddr, Access.READ, physAddr);
    }

    private int writeSpan(long dmaAddr, byte[] src, int srcOffset, int lengthBytes) {
        long token = port.beginAccess();
        long physAddr;
        try {
            physAddr = resolve(dmaAddr, Access.WRITE);
            if (!BusPort.isFault(physAddr)) {
                int span = span(dmaAddr, physAddr, lengthBytes);
                memory.write(physAddr, src, srcOffset, span);
                return span;
            }
        } finally {
            port.endAccess(token);
        }
        return blocked(dmaAddr, Access.WRITE, physAddr);
    }

    /** How many bytes from here on are reached with this one translation: at least 1. */
    private int span(long dmaAddr, long physAddr, int lengthBytes) {
        long span = Addresses.min(lengthBytes, port.spanBytes(dmaAddr));
        if (!Addresses.lessOrEqual(Addresses.last(dmaAddr, span), reach)) {
            span = reach - dmaAddr + 1;
        }
        return (int) Addresses.min(span, ram.bytesFrom(physAddr));
    }

    /** The physical address of one reachable byte of RAM, or a fault. */
    private long resolve(long dmaAddr, Access access) {
        if (Addresses.lessThan(reach, dmaAddr)) {
            return BusPort.fault(BEYOND_WIRES);
        }
        long physAddr = port.translate(dmaAddr, access);
        if (BusPort.isFault(physAddr)) {
            return physAddr;
        }
        return ram.contains(physAddr, 1) ? physAddr : BusPort.fault(NOT_RAM);
    }

    /** Records a fault, after the access's window was closed: who handles it may unmap and wait for accesses. */
    private int blocked(long dmaAddr, Access access, long fault) {
        faults.record(device, dmaAddr, access, BusPort.faultCode(fault));
        port.afterBlocked();
        return 0;
    }

    /**
     * Reads eight little-endian bytes at any alignment.
     *
     * @param dmaAddr first byte
     * @return the word; from the byte of a fault on all ones, as the bus completes a read that nobody answers
     */
    public long readLong(long dmaAddr) {
        if (strays != null) {
            byte[] word = new byte[Long.BYTES];
            read(dmaAddr, word, 0, Long.BYTES);
            return ByteBuffer.wrap(word).order(ByteOrder.LITTLE_ENDIAN).getLong();
        }
        long value = 0;
        for (int done = 0; done < Long.BYTES; ) {
            long token = port.beginAccess();
            long physAddr;
            int span = 0;
            try {
                physAddr = resolve(dmaAddr + done, Access.READ);
                if (!BusPort.isFault(physAddr)) {
                    span = span(dmaAddr + done, physAddr, Long.BYTES - done);
                    if (span == Long.BYTES) {
                        return memory.getLong(physAddr);
                    }
                    value |= getPart(physAddr, span) << (8 * done);
                }
            } finally {
                port.endAccess(token);
            }
            if (span == 0) {
                blocked(dmaAddr + done, Access.READ, physAddr);
                return value | (-1L << (8 * done));
            }
            done += span;
        }
        return value;
    }

    private long getPart(long physAddr, int lengthBytes) {
        long part = 0;
        for (int i = 0; i < lengthBytes; i++) {
            part |= (memory.getByte(physAddr + i) & 0xffL) << (8 * i);
        }
        return part;
    }

    /**
     * Writes eight little-endian bytes at any alignment.
     *
     * @param dmaAddr first byte
     * @param value the word
     * @return bytes written before a fault
     */
    public int writeLong(long dmaAddr, long value) {
        int done = 0;
        while (done < Long.BYTES) {
            int moved = writeLongSpan(dmaAddr + done, value >>> (8 * done), Long.BYTES - done);
            if (moved == 0) {
                break;
            }
            done += moved;
        }
        return checked(dmaAddr, done, Access.WRITE);
    }

    private int writeLongSpan(long dmaAddr, long value, int lengthBytes) {
        long token = port.beginAccess();
        long physAddr;
        try {
            physAddr = resolve(dmaAddr, Access.WRITE);
            if (!BusPort.isFault(physAddr)) {
                int span = span(dmaAddr, physAddr, lengthBytes);
                putPart(physAddr, value, span);
                return span;
            }
        } finally {
            port.endAccess(token);
        }
        return blocked(dmaAddr, Access.WRITE, physAddr);
    }

    private void putPart(long physAddr, long value, int lengthBytes) {
        if (lengthBytes == Long.BYTES) {
            memory.putLong(physAddr, value);
            return;
        }
        for (int i = 0; i < lengthBytes; i++) {
            memory.putByte(physAddr + i, (byte) (value >>> (8 * i)));
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
        old.set(-1L);
        long token = port.beginAccess();
        long physAddr;
        try {
            physAddr = resolveWord(dmaAddr);
            if (!BusPort.isFault(physAddr)) {
                old.set(memory.getAndAddLong(physAddr, addend));
            }
        } finally {
            port.endAccess(token);
        }
        return atomicDone(dmaAddr, physAddr);
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
        old.set(-1L);
        long token = port.beginAccess();
        long physAddr;
        try {
            physAddr = resolveWord(dmaAddr);
            if (!BusPort.isFault(physAddr)) {
                old.set(memory.compareAndExchangeLong(physAddr, expected, replacement));
            }
        } finally {
            port.endAccess(token);
        }
        return atomicDone(dmaAddr, physAddr);
    }

    private int atomicDone(long dmaAddr, long physAddr) {
        return BusPort.isFault(physAddr)
                ? blocked(dmaAddr, Access.ATOMIC, physAddr)
                : checked(dmaAddr, Long.BYTES, Access.ATOMIC);
    }

    /** The physical address of a word that can be changed in one step, or a fault. */
    private long resolveWord(long dmaAddr) {
        long physAddr = resolve(dmaAddr, Access.ATOMIC);
        if (BusPort.isFault(physAddr)) {
            return physAddr;
        }
        boolean whole = span(dmaAddr, physAddr, Long.BYTES) == Long.BYTES && Addresses.isAligned(physAddr, Long.BYTES);
        return whole ? physAddr : BusPort.fault(SPLIT_ATOMIC);
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
            case SPLIT_ATOMIC -> "the eight bytes are not one aligned word of memory";
            default -> port.faultText(code);
        };
    }
}
