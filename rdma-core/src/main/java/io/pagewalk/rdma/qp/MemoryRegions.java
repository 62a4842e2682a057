package io.pagewalk.rdma.qp;

import io.pagewalk.rdma.verbs.Mr;
import io.pagewalk.rdma.verbs.Pd;
import io.pagewalk.rdma.verbs.Qp;
import org.jspecify.annotations.Nullable;

/**
 * The keys of a provider, as the data path asks for them: the second half of the provider SPI, beside
 * {@link io.pagewalk.rdma.verbs.VerbsProvider}. A provider that models an adapter has stags and page lists of its own
 * behind it, and regions that reach memory through the device's bus.
 *
 * <p>Thread-safe; lookups take no lock and allocate nothing.
 */
public interface MemoryRegions {
    /**
     * Looks up a local key.
     *
     * @param pd the domain of the queue pair
     * @param lkey the key
     * @param access rights that are needed, of {@link io.pagewalk.rdma.AccessFlags}; 0 to read
     * @return the region, held; null when key, domain, rights or state do not fit
     */
    @Nullable Region lookupLocal(Pd pd, int lkey, int access);

    /**
     * Looks up a remote key, of a region or a window.
     *
     * @param qp the queue pair that was asked
     * @param rkey the key
     * @param access rights that are needed
     * @param into takes the region, held
     * @return whether key, domain, rights and state fit; nothing is held when not
     */
    boolean lookupRemote(Qp qp, int rkey, int access, RemoteRef into);

    /**
     * Looks up a remote key again while a read goes on: only key and state count (rdma:DP-25).
     *
     * @param rkey the key
     * @param into takes the region, held
     * @return whether the key still leads to a region in use; nothing is held when not
     */
    boolean lookupAgain(int rkey, RemoteRef into);

    /**
     * Puts a mapped region to use, as REG_MR asks.
     *
     * @param qp the queue pair
     * @param mr the region
     * @param key the key that it gets
     * @param access the rights that it gets
     * @return 0 or a negated errno with nothing changed
     */
    int registerFast(Qp qp, Mr mr, int key, int access);

    /**
     * Takes a key out of use, as LOCAL_INV or the peer's SEND_WITH_INV asks.
     *
     * @param qp the queue pair
     * @param key the key, of a region or a window
     * @return 0 or a negated errno with nothing changed
     */
    int invalidate(Qp qp, int key);

    /**
     * Binds a window, as BIND_MW asks.
     *
     * @param qp the queue pair
     * @param mwRkey the window's present key
     * @param newRkey the key that it gets, of which the low byte counts
     * @param mrLkey the region's local key
     * @param addr where the window begins
     * @param lengthBytes how long it is, unsigned
     * @param access rights that it gives
     * @return 0 or a negated errno with nothing changed
     */
    int bindWindow(Qp qp, int mwRkey, int newRkey, int mrLkey, long addr, long lengthBytes, int access);

    /**
     * Whether the provider knows RDMA_READ_WITH_INV: when the bytes are there, the key of the request's segment goes
     * out of use, whatever key the request says (rdma:RW-17, RW-18).
     *
     * @return false where such a request fails (rdma:DP-6)
     */
    default boolean invalidatesReadSinks() {
        return false;
    }
}
