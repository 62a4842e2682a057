package io.pagewalk.rdma.umem;

import io.pagewalk.dma.Errno;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.scatterlist.SgAppendTable;
import io.pagewalk.dma.scatterlist.SgBuffers;
import io.pagewalk.rdma.AccessFlags;
import io.pagewalk.rdma.IbDevice;
import io.pagewalk.rdma.mm.AddressSpace;
import java.util.Objects;

/**
 * Memory of a process, pinned and mapped for a device: the kernel's {@code struct ib_umem}. {@link Umems} makes and
 * releases it. Implements rdma:UMEM-1, UMEM-27. Not thread-safe.
 */
public final class Umem extends UmemRegion implements AutoCloseable {
    private final Umems umems;
    private final IbDevice device;
    private final int cpu;
    private final AddressSpace owner;
    private final boolean writable;
    private final SgAppendTable append;
    private boolean released;

    Umem(
            Umems umems,
            IbDevice device,
            int cpu,
            AddressSpace owner,
            long userAddr,
            long lengthBytes,
            int access,
            SgAppendTable append) {
        super(append.table(), userAddr, lengthBytes);
        this.umems = umems;
        this.device = device;
        this.cpu = cpu;
        this.owner = owner;
        this.writable = AccessFlags.writable(access);
        this.append = append;
    }

    /**
     * The device.
     *
     * @return for which it is mapped
     */
    public IbDevice device() {
        return device;
    }

    /**
     * The address space that is charged for the pages, {@code owning_mm}.
     *
     * @return that of the process that registered
     */
    public AddressSpace owner() {
        return owner;
    }

    /**
     * Whether the device may write.
     *
     * @return what the rights at registration said (rdma:UMEM-2); releasing dirties the pages then
     */
    public boolean isWritable() {
        return writable;
    }

    /**
     * Whether it was released.
     *
     * @return true once its pages are nobody's any more
     */
    public boolean isReleased() {
        return released;
    }

    int cpu() {
        return cpu;
    }

    SgAppendTable append() {
        return append;
    }

    void markReleased() {
        if (released) {
            throw new IllegalStateException("umem " + this + " of " + device + " is released twice");
        }
        released = true;
    }

    /**
     * {@code ib_umem_copy_from}: copies bytes out of the registered pages, as the CPU does.
     *
     * @param dst takes the bytes
     * @param dstOffset where the first one goes
     * @param offset of the first byte from {@link #userAddr()}, unsigned
     * @param length how many, unsigned
     * @return 0, or -EINVAL, with a message logged when the range is not inside the region
     * @throws IndexOutOfBoundsException when the range is inside and {@code dst} has no room for it
     * @throws IllegalStateException when it was released
     */
    public int copyFrom(byte[] dst, int dstOffset, long offset, long length) {
        if (released) {
            throw new IllegalStateException("umem " + this + " of " + device + " is released");
        }
        if (Addresses.lessThan(lengthBytes(), offset) || Addresses.lessThan(lengthBytes() - offset, length)) {
            device.machine()
                    .log()
                    .message(
                            "ib_umem_copy_from",
                            Addresses.hexRange(offset, length) + " is not in range of a umem of "
                                    + Addresses.hex(lengthBytes()) + " bytes (rdma:UMEM-27)");
            return -Errno.EINVAL;
        }
        Objects.checkFromIndexSize(dstOffset, length, dst.length);
        int copied = SgBuffers.copyToBuffer(
                device.machine().cpuMemory(),
                table(),
                table().origNents(),
                dst,
                dstOffset,
                (int) length,
                offset + offset());
        return copied == length ? 0 : -Errno.EINVAL;
    }

    /** Releases it, unless that was done. */
    @Override
    public void close() {
        if (!released) {
            umems.release(this);
        }
    }
}
