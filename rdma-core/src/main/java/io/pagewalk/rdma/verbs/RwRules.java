package io.pagewalk.rdma.verbs;

import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.KernelBugException;
import java.util.Locale;
import java.util.Set;

/**
 * When rdma_rw takes regions on a device, and how many of what it needs. The module parameter {@code ib_core.force_mr}
 * of the machine's command line makes it take them always.
 *
 * <p>Implements rdma:RW-3, RW-5 to RW-10. Immutable.
 */
public final class RwRules {
    private static final String FORCE_MR = "ib_core.force_mr";
    private static final Set<String> YES = Set.of(FORCE_MR, FORCE_MR + "=1", FORCE_MR + "=y", FORCE_MR + "=on");
    private static final int MAX_PAGES = 256;
    private static final int FACTOR_WITH_REGION = 3;
    private static final long U32 = 0xffff_ffffL;

    private final VerbsProvider provider;
    private final boolean forceMr;

    RwRules(VerbsProvider provider) {
        this.provider = provider;
        forceMr = isForced(provider.ibDevice().machine().commandLine());
    }

    private static boolean isForced(String commandLine) {
        boolean forced = false;
        for (String word : commandLine.split("\\s+", -1)) {
            String plain = word.toLowerCase(Locale.ROOT);
            if (plain.equals(FORCE_MR) || plain.startsWith(FORCE_MR + "=")) {
                forced = YES.contains(plain);
            }
        }
        return forced;
    }

    /**
     * Whether regions are taken for every transfer.
     *
     * @return the module parameter
     */
    public boolean forcesMr() {
        return forceMr;
    }

    /**
     * Whether a port speaks iWARP.
     *
     * @param port its number
     * @return what the provider says
     */
    public boolean isIwarp(int port) {
        return provider.isIwarp(port);
    }

    /**
     * {@code rdma_rw_can_use_mr}: whether transfers on a port may need regions at all (rdma:RW-5).
     *
     * @param port its number
     * @return true for iWARP, for devices that prefer regions to long reads, and when it is forced
     */
    public boolean canUseMr(int port) {
        return isIwarp(port) || provider.attributes().maxSglRd() != 0 || forceMr;
    }

    /**
     * {@code rdma_rw_io_needs_mr}: whether a transfer takes regions (rdma:RW-7).
     *
     * @param port the port
     * @param direction FROM_DEVICE for a read of the peer's memory
     * @param nents how many segments the transfer has
     * @return true for reads over iWARP or of more segments than the device likes, and for everything when it is forced
     */
    public boolean ioNeedsMr(int port, DmaDirection direction, int nents) {
        if (forceMr) {
            return true;
        }
        int maxSglRd = provider.attributes().maxSglRd();
        return direction == DmaDirection.FROM_DEVICE
                && (isIwarp(port) || (maxSglRd != 0 && Integer.compareUnsigned(nents, maxSglRd) > 0));
    }

    /**
     * {@code rdma_rw_fr_page_list_len}: how many pages a region of a pool holds (rdma:RW-6).
     *
     * @param withIntegrity whether it has signatures
     * @return what the device says, 256 at most
     */
    public int pageListLen(boolean withIntegrity) {
        DeviceAttributes attributes = provider.attributes();
        return Math.min(
                withIntegrity ? attributes.maxPiFastRegPageListLen() : attributes.maxFastRegPageListLen(), MAX_PAGES);
    }

    /**
     * {@code rdma_rw_mr_factor}: how many contexts a transfer takes (rdma:RW-8).
     *
     * @param port the port
     * @param maxPages how many pages the transfer has at most
     * @return contexts
     * @throws IllegalArgumentException when the number of pages is negative
     * @throws KernelBugException when the device has no segments, or regions of no page
     */
    public int mrFactor(int port, int maxPages) {
        if (maxPages < 0) {
            throw new IllegalArgumentException("a transfer of " + maxPages + " pages");
        }
        int each = canUseMr(port) ? pageListLen(false) : provider.attributes().maxSgeRd();
        if (each == 0) {
            throw new KernelBugException("divide error: a context moves no page on port " + port + " (rdma:RW-8)");
        }
        return (int) (((long) maxPages + each - 1) / each);
    }

    /**
     * How many places of the send queue a context takes: one for the transfer, two more where a region may be
     * invalidated and registered (rdma:RW-3).
     *
     * @param rw what the queue pair says
     * @return 1 or 3
     */
    public int sendWrFactor(RwInit rw) {
        return rw.hasIntegrity() || canUseMr(rw.portNum()) ? FACTOR_WITH_REGION : 1;
    }

    /**
     * {@code rdma_rw_max_send_wr}: how many places of the send queue all contexts take (rdma:RW-9).
     *
     * @param rw what the queue pair says
     * @return unsigned 32-bit, at most 2^32 - 1
     */
    public int maxSendWr(RwInit rw) {
        return (int) Math.min((long) sendWrFactor(rw) * rw.maxRdmaCtxs(), U32);
    }

    /** {@code rdma_rw_init_qp}: room for the contexts, as far as the device has it (rdma:RW-3). */
    QpInit withRoom(QpInit init) {
        long wanted =
                (init.maxSendWr() + (long) sendWrFactor(init.rw()) * init.rw().maxRdmaCtxs()) & U32;
        int room = (int) Math.min(wanted, provider.attributes().maxQpWr());
        return init.withSendRoom(room);
    }
}
