package io.pagewalk.rdma.mm;

import io.pagewalk.dma.Errno;
import io.pagewalk.dma.memory.Addresses;

/**
 * Where pinning pages stops, and why (rdma:GUP-3, GUP-8, GUP-15, GUP-16, MM-11).
 *
 * @param address the first byte of the first page that cannot be pinned; of pages outside what a process can have, of
 *     the batch that reaches there
 * @param cause why
 */
public record PinRefusal(long address, Cause cause) {
    /** Why a page cannot be pinned, in the order in which it is found out. */
    public enum Cause {
        /** The pages end above what a process can have (rdma:GUP-3). */
        ABOVE_TASK_SIZE(Errno.EFAULT),
        /** Nothing is mapped there (rdma:GUP-8). */
        NOT_MAPPED(Errno.EFAULT),
        /** Registers or memory of a device, without pages: IO or PFNMAP (rdma:GUP-8.1). */
        DEVICE_MEMORY(Errno.EFAULT),
        /** Anonymous memory is asked for, and this is not (rdma:GUP-8.2). */
        NOT_ANONYMOUS(Errno.EFAULT),
        /** A file in persistent memory cannot be pinned for long (rdma:GUP-8.3). */
        FSDAX(Errno.EOPNOTSUPP),
        /** Secret memory (rdma:GUP-8.4). */
        SECRETMEM(Errno.EFAULT),
        /** A file system has to hear of writes to it (rdma:GUP-8.5a). */
        TRACKED_FILE(Errno.EFAULT),
        /** The process may not write there (rdma:GUP-8.5b). */
        NOT_WRITABLE(Errno.EFAULT),
        /** The process may not read there (rdma:GUP-8.6). */
        NOT_READABLE(Errno.EFAULT),
        /** A protection key denies it (rdma:GUP-8.7). */
        PROTECTION_KEY(Errno.EFAULT),
        /** The process is killed (rdma:GUP-16). */
        KILLED(Errno.EINTR),
        /** The file ends before it, or its page was lost, or none was ever there (rdma:MM-11). */
        NO_PAGE(Errno.EFAULT),
        /** Memory of a peer on the bus (rdma:GUP-15). */
        PEER_MEMORY(Errno.EREMOTEIO);

        private final int errno;

        Cause(int errno) {
            this.errno = errno;
        }

        /**
         * What a call that begins at the page answers.
         *
         * @return the error number, positive
         */
        public int errno() {
            return errno;
        }
    }

    @Override
    public String toString() {
        return cause + " at " + Addresses.hex(address) + " (" + Errno.name(cause.errno) + ')';
    }
}
