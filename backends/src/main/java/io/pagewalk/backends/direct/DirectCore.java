package io.pagewalk.backends.direct;

import io.pagewalk.backends.coherent.AtomicPools;
import io.pagewalk.dma.CacheMaintenance;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.events.DmaListener;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** What all devices of a machine share that no IOMMU translates for. Thread-safe. */
public final class DirectCore {
    private final Machine machine;
    private final DirectReach reach;
    private final DirectCoherent coherent;
    private final DirectRefusal refusal;
    private final PeerPages peers;
    private final @Nullable KmallocBounce kmallocBounce;

    /**
     * Makes it.
     *
     * @param machine the machine
     */
    public DirectCore(Machine machine) {
        this.machine = machine;
        this.reach = new DirectReach(machine);
        this.coherent = new DirectCoherent(machine, reach);
        this.refusal = new DirectRefusal(machine.log());
        this.peers = new PeerPages(machine);
        this.kmallocBounce = KmallocBounce.of(machine.kernelConfig().arch());
    }

    DirectReach reach() {
        return reach;
    }

    DirectCoherent coherent() {
        return coherent;
    }

    /**
     * The pools for callers that must not wait, which devices behind an IOMMU share.
     *
     * @return null for a kernel that never remaps or decrypts
     */
    public @Nullable AtomicPools atomicPools() {
        return coherent.atomicPools();
    }

    DirectRefusal refusal() {
        return refusal;
    }

    PeerPages peers() {
        return peers;
    }

    @Nullable KmallocBounce kmallocBounce() {
        return kmallocBounce;
    }

    @Nullable CacheMaintenance cache() {
        return machine.cacheMaintenance();
    }

    @Nullable DmaListener listener() {
        return machine.listener();
    }

    /**
     * Checks that no coherent memory is held.
     *
     * @param violation takes a sentence for what is
     */
    public void checkIdle(Consumer<String> violation) {
        coherent.checkIdle(violation);
    }
}
