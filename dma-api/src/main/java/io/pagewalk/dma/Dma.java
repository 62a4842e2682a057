package io.pagewalk.dma;

import io.pagewalk.dma.events.DmaListener;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.memory.KernelLayout;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.dma.spi.DmaOps;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The driver's DMA API for one device on one CPU, allocated once for each.
 *
 * <p>Two tiers with one set of semantics: primitives named as in the kernel, which allocate nothing and return
 * {@link #DMA_MAPPING_ERROR}, counts and negated errnos; and scoped handles ({@link #map}, {@link #alloc}), which throw
 * {@link DmaException} with the cause. All addresses and sizes are unsigned.
 *
 * <p>Implements dma-core:FE-1 to FE-4, FE-10 to FE-15, FE-20, FE-21, FE-40 to FE-43. Calls may come from several
 * threads, but {@link #lastFailure()} is the latest of all of them.
 */
public final class Dma {
    /** What a failed mapping returns: all ones. 0 is a legal DMA address (dma-core:TYP-2). */
    public static final long DMA_MAPPING_ERROR = -1L;

    private final Device device;
    private final int cpu;
    private final DmaOps ops;
    private final KernelLayout layout;
    private final @Nullable DmaListener listener;
    private final FailureSlot failure;
    private final DmaChecks checks;
    private final DmaMemory memory;

    Dma(Device device, int cpu, DmaOps ops) {
        this.device = device;
        this.cpu = cpu;
        this.ops = ops;
        this.failure = new FailureSlot(device.machine().failures());
        this.checks = new DmaChecks(device, failure);
        this.layout = device.machine().layout();
        this.listener = device.machine().listener();
        this.memory = new DmaMemory(this, ops, checks);
    }

    /**
     * The device.
     *
     * @return whose handle this is
     */
    public Device device() {
        return device;
    }

    /**
     * The CPU.
     *
     * @return from 0
     */
    public int cpu() {
        return cpu;
    }

    /**
     * Why the latest failing call on this handle failed.
     *
     * @return a copy; {@link FailureReason#UNSPECIFIED} before the first failure
     */
    public DmaFailure lastFailure() {
        return failure.snapshot();
    }

    /**
     * The calls that allocate memory and map it in one.
     *
     * @return always the same
     */
    public DmaMemory memory() {
        return memory;
    }

    /**
     * Says who a live mapping or allocation is for: the machine's {@link Machine#ledger() ledger} and dma-debug tell
     * from now on. Nothing happens without them, or when there is no such mapping.
     *
     * @param dmaAddr where it begins; of several the latest
     * @param owner a word for the owner
     */
    public void tag(long dmaAddr, String owner) {
        device.machine().tag(device, dmaAddr, owner);
    }

    /**
     * Says who a mapped list is for: {@link #tag(long, String)} of each segment.
     *
     * @param sg a mapped list
     * @param owner a word for the owner
     */
    public void tag(SgTable sg, String owner) {
        Objects.requireNonNull(owner, "owner");
        for (int i = 0; i < sg.nents(); i++) {
            tag(sg.dmaAddr(i), owner);
        }
    }

    FailureSlot failureSlot() {
        return failure;
    }

    /**
     * {@code dma_map_page}: maps a run of physical memory.
     *
     * @param physAddr first byte; RAM or not, as the kernel does not ask
     * @param sizeBytes length; not checked (dma-core:FE-2)
     * @param direction who moves the bytes
     * @param attrs bits of {@link DmaAttrs}
     * @return the DMA address, or {@link #DMA_MAPPING_ERROR} with the cause in {@link #lastFailure()}
     * @throws KernelBugException for {@link DmaDirection#NONE} (dma-core:TYP-6)
     */
    public long mapPage(long physAddr, long sizeBytes, DmaDirection direction, int attrs) {
        DmaChecks.requireDirection(direction);
        if (!device.hasStreamingMask()) {
            return checks.withoutMask("dma_map_page");
        }
        long dmaAddr = ops.mapPage(device, cpu, physAddr, sizeBytes, direction, attrs);
        if (listener != null) {
            listener.mappedPage(device, cpu, physAddr, sizeBytes, direction, attrs, dmaAddr);
        }
        return dmaAddr;
    }

    /**
     * {@code dma_map_single}: maps memory by its kernel virtual address.
     *
     * @param virtAddr an address of the direct map; a vmalloc address is refused (dma-core:FE-3)
     * @param sizeBytes length
     * @param direction who moves the bytes
     * @param attrs bits of {@link DmaAttrs}
     * @return the DMA address, or {@link #DMA_MAPPING_ERROR}
     */
    public long mapSingle(long virtAddr, long sizeBytes, DmaDirection direction, int attrs) {
        if (layout.isVmalloc(virtAddr)) {
            return checks.vmallocAddress(virtAddr);
        }
        if (listener != null) {
            listener.mappingSingle(device, cpu, virtAddr, sizeBytes);
        }
        return mapPage(layout.virtToPhys(virtAddr), sizeBytes, direction, attrs);
    }

    /**
     * {@code dma_unmap_page} and {@code dma_unmap_single}.
     *
     * @param dmaAddr what map returned
     * @param sizeBytes what was mapped
     * @param direction the direction of the map
     * @param attrs bits of {@link DmaAttrs}
     * @throws KernelBugException for {@link DmaDirection#NONE}
     */
    public void unmapPage(long dmaAddr, long sizeBytes, DmaDirection direction, int attrs) {
        DmaChecks.requireDirection(direction);
        if (listener != null) {
            listener.unmappingPage(device, cpu, dmaAddr, sizeBytes, direction);
        }
        ops.unmapPage(device, cpu, dmaAddr, sizeBytes, direction, attrs);
        if (listener != null) {
            listener.unmappedPage(device, cpu, dmaAddr, sizeBytes, direction);
        }
    }

    /**
     * {@code dma_mapping_error}.
     *
     * @param dmaAddr what a map returned
     * @return -ENOMEM for {@link #DMA_MAPPING_ERROR}, else 0 (dma-core:TYP-3)
     */
    public int mappingError(long dmaAddr) {
        if (listener != null) {
            listener.checkingError(device, cpu, dmaAddr);
        }
        return dmaAddr == DMA_MAPPING_ERROR ? -Errno.ENOMEM : 0;
    }

    /**
     * {@code dma_map_sg}: maps the first entries of a list.
     *
     * @param sg the list
     * @param nents how many entries, not negative and at most the list's
     * @param direction who moves the bytes
     * @param attrs bits of {@link DmaAttrs}
     * @return the number of DMA segments, 0 for any error (dma-core:FE-12)
     * @throws KernelBugException for {@link DmaDirection#NONE}
     */
    public int mapSg(SgTable sg, int nents, DmaDirection direction, int attrs) {
        int result = mapSgCommon(sg, nents, direction, attrs);
        sg.mapped(Math.max(result, 0));
        return Math.max(result, 0);
    }

    /**
     * {@code dma_map_sgtable}: maps a whole list.
     *
     * @param sg the list; {@code nents} is set on success and kept on error
     * @param direction who moves the bytes
     * @param attrs bits of {@link DmaAttrs}
     * @return 0, or a negated errno; 0 with {@code nents} 0 when the device has no mask (dma-core:FE-13); -EOPNOTSUPP
     *     from a kernel without DMA (FE-14)
     * @throws KernelBugException for {@link DmaDirection#NONE}
     */
    public int mapSgTable(SgTable sg, DmaDirection direction, int attrs) {
        int result = mapSgCommon(sg, sg.origNents(), direction, attrs);
        if (result < 0) {
            return result;
        }
        sg.mapped(result);
        return 0;
    }

    private int mapSgCommon(SgTable sg, int nents, DmaDirection direction, int attrs) {
        DmaChecks.requireDirection(direction);
        DmaChecks.requireEntries(sg, nents);
        if (!device.hasStreamingMask()) {
            return checks.sgWithoutMask();
        }
        int result = checkedResult(nents, ops.mapSg(device, cpu, sg, nents, direction, attrs));
        if (listener != null) {
            listener.mappedSg(device, cpu, sg, nents, direction, attrs, result);
        }
        return result;
    }

    private int checkedResult(int nents, int result) {
        return switch (result) {
            case -Errno.EINVAL, -Errno.ENOMEM, -Errno.EIO -> result;
            default -> result > 0 || checks.isRemoteError(result) ? result : checks.unexpectedResult(nents, result);
        };
    }

    /**
     * {@code dma_unmap_sg}.
     *
     * @param sg the list
     * @param nents the count given to map, not what map returned
     * @param direction the direction of the map
     * @param attrs bits of {@link DmaAttrs}
     * @throws KernelBugException for {@link DmaDirection#NONE}
     */
    public void unmapSg(SgTable sg, int nents, DmaDirection direction, int attrs) {
        DmaChecks.requireDirection(direction);
        DmaChecks.requireEntries(sg, nents);
        if (listener != null) {
            listener.unmappingSg(device, cpu, sg, nents, direction);
        }
        ops.unmapSg(device, cpu, sg, nents, direction, attrs);
    }

    /**
     * {@code dma_unmap_sgtable}; {@code nents} keeps its value (dma-core:FE-15).
     *
     * @param sg the list
     * @param direction the direction of the map
     * @param attrs bits of {@link DmaAttrs}
     */
    public void unmapSgTable(SgTable sg, DmaDirection direction, int attrs) {
        unmapSg(sg, sg.origNents(), direction, attrs);
    }

    /**
     * {@code dma_map_resource}: maps device memory, never bounced (dma-core:FE-20).
     *
     * @param physAddr first byte
     * @param sizeBytes length
     * @param direction who moves the bytes
     * @param attrs bits of {@link DmaAttrs}
     * @return the DMA address, or {@link #DMA_MAPPING_ERROR}
     */
    public long mapResource(long physAddr, long sizeBytes, DmaDirection direction, int attrs) {
        DmaChecks.requireDirection(direction);
        if (!device.hasStreamingMask()) {
            return checks.withoutMask("dma_map_resource");
        }
        long dmaAddr = ops.mapResource(device, cpu, physAddr, sizeBytes, direction, attrs);
        if (listener != null) {
            listener.mappedResource(device, cpu, physAddr, sizeBytes, direction, attrs, dmaAddr);
        }
        return dmaAddr;
    }

    /**
     * {@code dma_unmap_resource}.
     *
     * @param dmaAddr what map returned
     * @param sizeBytes what was mapped
     * @param direction the direction of the map
     * @param attrs bits of {@link DmaAttrs}
     */
    public void unmapResource(long dmaAddr, long sizeBytes, DmaDirection direction, int attrs) {
        DmaChecks.requireDirection(direction);
        if (listener != null) {
            listener.unmappingResource(device, cpu, dmaAddr, sizeBytes, direction);
        }
        ops.unmapResource(device, cpu, dmaAddr, sizeBytes, direction, attrs);
        if (listener != null) {
            listener.unmappedResource(device, cpu, dmaAddr, sizeBytes, direction);
        }
    }

    /**
     * {@code dma_sync_single_for_cpu}.
     *
     * @param dmaAddr first byte of the part
     * @param sizeBytes length of the part
     * @param direction the direction
     */
    public void syncSingleForCpu(long dmaAddr, long sizeBytes, DmaDirection direction) {
        if (!device.skipsSyncCalls()) {
            DmaChecks.requireDirection(direction);
            ops.syncForCpu(device, cpu, dmaAddr, sizeBytes, direction);
            if (listener != null) {
                listener.syncedSingle(device, cpu, dmaAddr, sizeBytes, direction, true);
            }
        }
    }

    /**
     * {@code dma_sync_single_for_device}.
     *
     * @param dmaAddr first byte of the part
     * @param sizeBytes length of the part
     * @param direction the direction
     */
    public void syncSingleForDevice(long dmaAddr, long sizeBytes, DmaDirection direction) {
        if (!device.skipsSyncCalls()) {
            DmaChecks.requireDirection(direction);
            ops.syncForDevice(device, cpu, dmaAddr, sizeBytes, direction);
            if (listener != null) {
                listener.syncedSingle(device, cpu, dmaAddr, sizeBytes, direction, false);
            }
        }
    }

    /**
     * {@code dma_sync_single_range_for_cpu}: {@link #syncSingleForCpu} of a part (dma-core:FE-42).
     *
     * @param dmaAddr what a map returned
     * @param offset where the part begins
     * @param sizeBytes length of the part
     * @param direction the direction
     */
    public void syncSingleRangeForCpu(long dmaAddr, long offset, long sizeBytes, DmaDirection direction) {
        syncSingleForCpu(dmaAddr + offset, sizeBytes, direction);
    }

    /**
     * {@code dma_sync_single_range_for_device}: {@link #syncSingleForDevice} of a part (dma-core:FE-42).
     *
     * @param dmaAddr what a map returned
     * @param offset where the part begins
     * @param sizeBytes length of the part
     * @param direction the direction
     */
    public void syncSingleRangeForDevice(long dmaAddr, long offset, long sizeBytes, DmaDirection direction) {
        syncSingleForDevice(dmaAddr + offset, sizeBytes, direction);
    }

    /**
     * {@code dma_sync_sg_for_cpu}.
     *
     * @param sg the list
     * @param nents the count given to map
     * @param direction the direction
     */
    public void syncSgForCpu(SgTable sg, int nents, DmaDirection direction) {
        DmaChecks.requireEntries(sg, nents);
        if (!device.skipsSyncCalls()) {
            DmaChecks.requireDirection(direction);
            ops.syncSgForCpu(device, cpu, sg, nents, direction);
            if (listener != null) {
                listener.syncedSg(device, cpu, sg, nents, direction, true);
            }
        }
    }

    /**
     * {@code dma_sync_sg_for_device}.
     *
     * @param sg the list
     * @param nents the count given to map
     * @param direction the direction
     */
    public void syncSgForDevice(SgTable sg, int nents, DmaDirection direction) {
        DmaChecks.requireEntries(sg, nents);
        if (!device.skipsSyncCalls()) {
            DmaChecks.requireDirection(direction);
            ops.syncSgForDevice(device, cpu, sg, nents, direction);
            if (listener != null) {
                listener.syncedSg(device, cpu, sg, nents, direction, false);
            }
        }
    }

    /**
     * {@code dma_sync_sgtable_for_cpu}: the whole list, by the CPU's entries (dma-core:FE-42).
     *
     * @param sg the list
     * @param direction the direction
     */
    public void syncSgTableForCpu(SgTable sg, DmaDirection direction) {
        syncSgForCpu(sg, sg.origNents(), direction);
    }

    /**
     * {@code dma_sync_sgtable_for_device}: the whole list, by the CPU's entries (dma-core:FE-42).
     *
     * @param sg the list
     * @param direction the direction
     */
    public void syncSgTableForDevice(SgTable sg, DmaDirection direction) {
        syncSgForDevice(sg, sg.origNents(), direction);
    }

    /**
     * {@code dma_need_sync}: whether sync calls for an address have work to do (dma-core:FE-43).
     *
     * @param dmaAddr what a map returned
     * @return false when the driver may leave them out
     */
    public boolean needSync(long dmaAddr) {
        return !device.skipsSyncCalls() && ops.needsSync(device, dmaAddr);
    }

    /**
     * {@code dma_dev_need_sync}: whether sync calls of the device do anything at all (dma-core:FE-43). True before the
     * first successful set_mask.
     *
     * @return false when the driver may leave them out
     */
    public boolean devNeedSync() {
        return !device.skipsSyncCalls();
    }

    /**
     * {@code dma_max_mapping_size}.
     *
     * @return bytes, all ones when unlimited (dma-core:MSK-11)
     */
    public long maxMappingSize() {
        return ops.maxMappingSize(device);
    }

    /**
     * {@code dma_opt_mapping_size} (dma-core:MSK-12).
     *
     * @return bytes, at most {@link #maxMappingSize()}; all ones when nothing is better than anything else
     */
    public long optMappingSize() {
        return Addresses.min(ops.maxMappingSize(device), ops.optMappingSize(device));
    }

    /**
     * {@code dma_get_required_mask}.
     *
     * @return the mask that reaches all memory (dma-core:MSK-2)
     */
    public long requiredMask() {
        return ops.requiredMask(device);
    }

    /**
     * {@code dma_get_merge_boundary}.
     *
     * @return granule - 1, or 0 when segments never merge (dma-core:MSK-13)
     */
    public long mergeBoundary() {
        return ops.mergeBoundary(device);
    }

    /**
     * Maps a run of physical memory for the time of a {@code try} block.
     *
     * @param physAddr first byte
     * @param sizeBytes length
     * @param direction who moves the bytes
     * @return the mapping; closing it unmaps
     * @throws DmaException with the cause when it cannot be mapped
     */
    public DmaMapping map(long physAddr, long sizeBytes, DmaDirection direction) {
        return map(physAddr, sizeBytes, direction, MapPolicy.FAIL);
    }

    /**
     * Maps a run of RAM for the time of a {@code try} block, or lets other memory stand in for it.
     *
     * @param physAddr first byte
     * @param sizeBytes length
     * @param direction who moves the bytes
     * @param policy what to do when it cannot be mapped
     * @return the mapping; {@link DmaMapping#isStandIn} tells whether the policy was needed
     * @throws DmaException with the cause when it cannot be mapped, and there was no memory to stand in either
     * @throws IllegalArgumentException when it cannot be mapped and is not RAM, so that nothing can stand in for it;
     *     nothing changes then
     */
    public DmaMapping map(long physAddr, long sizeBytes, DmaDirection direction, MapPolicy policy) {
        Objects.requireNonNull(policy, "policy");
        failure.clear();
        long dmaAddr = mapPage(physAddr, sizeBytes, direction, DmaAttrs.NONE);
        if (mappingError(dmaAddr) == 0) {
            return new DmaMapping(this, dmaAddr, sizeBytes, direction);
        }
        DmaException refused = failed("map " + Addresses.hex(physAddr) + "+" + Addresses.hex(sizeBytes));
        StandIn standIn = StandIn.of(this, policy, physAddr, sizeBytes, direction);
        if (standIn == null) {
            throw policy == MapPolicy.FAIL ? refused : withoutStandIn(refused, policy);
        }
        return new DmaMapping(this, standIn, sizeBytes, direction);
    }

    /** The cause is that of the map; why nothing could stand in is suppressed. */
    private DmaException withoutStandIn(DmaException refused, MapPolicy policy) {
        refused.addSuppressed(failed("take memory to stand in for it (policy " + policy + ")"));
        return refused;
    }

    /**
     * {@code dma_alloc_attrs} of memory that the caller may wait for, such as {@code dma_alloc_coherent} asks for
     * (dma-core:FE-50 to FE-52). {@link #memory} has all calls that allocate.
     *
     * @param sizeBytes length in bytes
     * @param attrs bits of {@link DmaAttrs}
     * @return the buffer, or null with the cause in {@link #lastFailure()}
     */
    public @Nullable CoherentBuffer allocCoherent(long sizeBytes, int attrs) {
        return memory.allocAttrs(sizeBytes, Gfp.KERNEL, attrs);
    }

    /**
     * {@link #allocCoherent} for a {@code try} block.
     *
     * @param sizeBytes length in bytes
     * @return the buffer; closing it frees
     * @throws DmaException with the cause when there is no memory
     */
    public CoherentBuffer alloc(long sizeBytes) {
        failure.clear();
        CoherentBuffer buffer = allocCoherent(sizeBytes, DmaAttrs.NONE);
        if (buffer == null) {
            throw failed("allocate " + Long.toUnsignedString(sizeBytes) + " coherent bytes");
        }
        return buffer;
    }

    private DmaException failed(String what) {
        return new DmaException(device.name() + " cannot " + what, failure.snapshot());
    }
}
