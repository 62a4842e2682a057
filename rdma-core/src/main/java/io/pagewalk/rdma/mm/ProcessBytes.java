package io.pagewalk.rdma.mm;

import io.pagewalk.dma.memory.Addresses;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.Objects;

/**
 * The bytes of a process, which it reads and writes by virtual address alone: each page through the page table, with a
 * fault where that does not allow it. What is not RAM reads as ones and swallows writes.
 *
 * <p>Thread-safe.
 */
public abstract sealed class ProcessBytes permits Process {
    private static final int FIRST_BYTES = 1 << 20;

    private final UserMemory memory;
    private final AddressSpace space;
    private final UserAccess access;
    private long faultAddress;

    ProcessBytes(UserMemory memory, FaultHandler faults) {
        this.memory = memory;
        space = new AddressSpace(memory);
        access = new UserAccess(memory.machine().cpuMemory(), faults);
    }

    abstract Process process();

    /**
     * Its memory.
     *
     * @return the address space, its own alone
     */
    public AddressSpace addressSpace() {
        return space;
    }

    /**
     * Reads its memory.
     *
     * @param address the first byte
     * @param dst where to put them
     * @param offset the first index to fill
     * @param length how many
     * @return DONE, or what happened at {@link #faultAddress()}; bytes before it are read
     * @throws IndexOutOfBoundsException if the array has no such range; nothing is read then
     */
    public Fault read(long address, byte[] dst, int offset, int length) {
        Objects.checkFromIndexSize(offset, length, dst.length);
        synchronized (memory.lock()) {
            process().requireAlive();
            return access.read(process(), address, dst, offset, length);
        }
    }

    /**
     * Writes its memory.
     *
     * @param address the first byte
     * @param src where they are
     * @param offset the index of the first
     * @param length how many
     * @return DONE, or what happened at {@link #faultAddress()}; bytes before it are written
     * @throws IndexOutOfBoundsException if the array has no such range; nothing is written then
     */
    public Fault write(long address, byte[] src, int offset, int length) {
        Objects.checkFromIndexSize(offset, length, src.length);
        synchronized (memory.lock()) {
            process().requireAlive();
            return access.write(process(), address, src, offset, length);
        }
    }

    /**
     * Where the latest access failed.
     *
     * @return the first address that could not be accessed, 0 when none failed yet
     */
    public long faultAddress() {
        synchronized (memory.lock()) {
            return faultAddress;
        }
    }

    Fault faulted(Fault fault, long address) {
        faultAddress = address;
        return fault;
    }

    /**
     * Reads bytes.
     *
     * @param address the first
     * @param length how many
     * @return the bytes
     * @throws IllegalArgumentException if the length is negative
     * @throws MemoryFaultException if one of them cannot be read
     */
    public byte[] readBytes(long address, int length) {
        if (length < 0) {
            throw new IllegalArgumentException("cannot read " + length + " bytes");
        }
        // Grown as bytes come, so that a length beyond what is mapped faults before it takes memory.
        byte[] bytes = new byte[Math.min(length, FIRST_BYTES)];
        int done = 0;
        while (true) {
            require(read(address + done, bytes, done, bytes.length - done));
            done = bytes.length;
            if (done == length) {
                return bytes;
            }
            bytes = Arrays.copyOf(bytes, (int) Math.min(length, 2L * done));
        }
    }

    /**
     * Writes bytes.
     *
     * @param address where the first goes
     * @param bytes the bytes
     * @throws MemoryFaultException if one of them cannot be written; those before it are
     */
    public void writeBytes(long address, byte[] bytes) {
        require(write(address, bytes, 0, bytes.length));
    }

    /**
     * Reads 8 bytes.
     *
     * @param address the first
     * @return their little-endian value
     * @throws MemoryFaultException if one of them cannot be read
     */
    public long getLong(long address) {
        return ByteBuffer.wrap(readBytes(address, Long.BYTES))
                .order(ByteOrder.LITTLE_ENDIAN)
                .getLong();
    }

    /**
     * Writes 8 bytes.
     *
     * @param address where the first goes
     * @param value what they become, little-endian
     * @throws MemoryFaultException if one of them cannot be written
     */
    public void putLong(long address, long value) {
        byte[] bytes = new byte[Long.BYTES];
        ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).putLong(value);
        writeBytes(address, bytes);
    }

    private void require(Fault fault) {
        if (fault != Fault.DONE) {
            throw new MemoryFaultException(fault, faultAddress());
        }
    }

    /**
     * Finds the page behind an address, without faulting: what {@code /proc/self/pagemap} shows.
     *
     * @param address the address
     * @return the number of the page's frame, or -1 when nothing is mapped there
     */
    public long pfnOf(long address) {
        synchronized (memory.lock()) {
            if (!Addresses.lessThan(address, Mapper.TASK_SIZE)) {
                return -1;
            }
            long pte = space.table().get(address >>> Addresses.PAGE_SHIFT);
            return Pte.isMapped(pte) ? Pte.pfn(pte) : -1;
        }
    }
}
