package io.pagewalk.rdma;

import io.pagewalk.dma.Dma;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.DmaFailure;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.memory.KernelLayout;
import io.pagewalk.dma.scatterlist.SgTable;
import org.jspecify.annotations.Nullable;

/**
 * The DMA wrappers of the RDMA core, {@code ib_dma_*}, for one device on one CPU: virtual DMA when the device has no
 * DMA device, else the DMA API of that device. All addresses and sizes are unsigned; calls allocate nothing.
 *
 * <p>Virtual DMA hands out kernel virtual addresses, cannot fail, looks neither at masks nor at directions, and has
 * nothing to unmap or to sync.
 *
 * <p>Implements rdma:DMA-4 to DMA-11, DMA-15 to DMA-17, DMA-20. Thread-safe as {@link Dma} is.
 */
public final class IbDma {
    /** What a failed mapping of a real device returns: all ones. */
    public static final long DMA_MAPPING_ERROR = Dma.DMA_MAPPING_ERROR;

    /** The largest segment of virtual DMA, {@code UINT_MAX}. */
    static final long VIRT_MAX_SEGMENT_BYTES = 0xffff_ffffL;

    private final KernelLayout layout;
    private final @Nullable Dma real;

    IbDma(KernelLayout layout, @Nullable Dma real) {
        this.layout = layout;
        this.real = real;
    }

    /**
     * Why the latest failing call of the DMA device failed on this CPU.
     *
     * @return the cause, or null with virtual DMA, which does not fail
     */
    public @Nullable DmaFailure lastFailure() {
        return real == null ? null : real.lastFailure();
    }

    /**
     * {@code ib_dma_mapping_error}.
     *
     * @param dmaAddr what a map returned
     * @return -ENOMEM for {@link #DMA_MAPPING_ERROR} of a real device, else 0
     */
    public int mappingError(long dmaAddr) {
        return real == null ? 0 : real.mappingError(dmaAddr);
    }

    /**
     * {@code ib_dma_map_single}.
     *
     * @param virtAddr kernel virtual address of the buffer; a real device refuses one of the vmalloc area (rdma:DMA-17)
     * @param sizeBytes length
     * @param direction who moves the bytes
     * @return the DMA address, or {@link #DMA_MAPPING_ERROR} from a real device
     */
    public long mapSingle(long virtAddr, long sizeBytes, DmaDirection direction) {
        return real == null ? virtAddr : real.mapSingle(virtAddr, sizeBytes, direction, 0);
    }

    /**
     * {@code ib_dma_unmap_single}.
     *
     * @param dmaAddr what map returned
     * @param sizeBytes what was mapped
     * @param direction the direction of the map
     */
    public void unmapSingle(long dmaAddr, long sizeBytes, DmaDirection direction) {
        if (real != null) {
            real.unmapPage(dmaAddr, sizeBytes, direction, 0);
        }
    }

    /**
     * {@code ib_dma_map_page}.
     *
     * @param physAddr first byte: the page's address plus the offset in it
     * @param sizeBytes length
     * @param direction who moves the bytes
     * @return the DMA address, or {@link #DMA_MAPPING_ERROR} from a real device
     */
    public long mapPage(long physAddr, long sizeBytes, DmaDirection direction) {
        return real == null ? layout.physToVirt(physAddr) : real.mapPage(physAddr, sizeBytes, direction, 0);
    }

    /**
     * {@code ib_dma_unmap_page}.
     *
     * @param dmaAddr what map returned
     * @param sizeBytes what was mapped
     * @param direction the direction of the map
     */
    public void unmapPage(long dmaAddr, long sizeBytes, DmaDirection direction) {
        if (real != null) {
            real.unmapPage(dmaAddr, sizeBytes, direction, 0);
        }
    }

    /**
     * {@code ib_dma_map_sg} and {@code ib_dma_map_sg_attrs}.
     *
     * @param sg the list
     * @param nents how many of its entries
     * @param direction who moves the bytes
     * @param attrs bits of {@link io.pagewalk.dma.DmaAttrs}
     * @return the number of DMA segments; 0 for any error of a real device (rdma:DMA-11)
     */
    public int mapSg(SgTable sg, int nents, DmaDirection direction, int attrs) {
        return real == null ? virtMapSg(sg, nents) : real.mapSg(sg, nents, direction, attrs);
    }

    /** {@code ib_dma_virt_map_sg} (rdma:DMA-5). */
    private int virtMapSg(SgTable sg, int nents) {
        if (nents < 0 || nents > sg.entries()) {
            throw new IllegalArgumentException(nents + " entries of a list of " + sg.entries());
        }
        for (int i = 0; i < nents; i++) {
            sg.setDma(i, layout.physToVirt(sg.physAddr(i)), sg.lengthBytes(i));
        }
        sg.mapped(nents);
        return nents;
    }

    /**
     * {@code ib_dma_unmap_sg} and {@code ib_dma_unmap_sg_attrs}.
     *
     * @param sg the list
     * @param nents the count given to map
     * @param direction the direction of the map
     * @param attrs bits of {@link io.pagewalk.dma.DmaAttrs}
     */
    public void unmapSg(SgTable sg, int nents, DmaDirection direction, int attrs) {
        if (real != null) {
            real.unmapSg(sg, nents, direction, attrs);
        }
    }

    /**
     * {@code ib_dma_map_sgtable_attrs}: maps a whole list, all {@link SgTable#origNents()} entries of it.
     *
     * @param sg the list; {@link SgTable#nents()} is set on success and kept on error
     * @param direction who moves the bytes
     * @param attrs bits of {@link io.pagewalk.dma.DmaAttrs}
     * @return 0; -EIO for an empty list; what {@link Dma#mapSgTable} says of a real device, which is 0 with no segments
     *     when it has no mask (rdma:DMA-7 to DMA-10)
     */
    public int mapSgTable(SgTable sg, DmaDirection direction, int attrs) {
        if (real != null) {
            return real.mapSgTable(sg, direction, attrs);
        }
        if (sg.origNents() == 0) {
            return -Errno.EIO;
        }
        virtMapSg(sg, sg.origNents());
        return 0;
    }

    /**
     * {@code ib_dma_unmap_sgtable_attrs}.
     *
     * @param sg the list
     * @param direction the direction of the map
     * @param attrs bits of {@link io.pagewalk.dma.DmaAttrs}
     */
    public void unmapSgTable(SgTable sg, DmaDirection direction, int attrs) {
        if (real != null) {
            real.unmapSgTable(sg, direction, attrs);
        }
    }

    /**
     * {@code ib_dma_sync_single_for_cpu}.
     *
     * @param dmaAddr first byte of the part
     * @param sizeBytes length of the part
     * @param direction the direction
     */
    public void syncSingleForCpu(long dmaAddr, long sizeBytes, DmaDirection direction) {
        if (real != null) {
            real.syncSingleForCpu(dmaAddr, sizeBytes, direction);
        }
    }

    /**
     * {@code ib_dma_sync_single_for_device}.
     *
     * @param dmaAddr first byte of the part
     * @param sizeBytes length of the part
     * @param direction the direction
     */
    public void syncSingleForDevice(long dmaAddr, long sizeBytes, DmaDirection direction) {
        if (real != null) {
            real.syncSingleForDevice(dmaAddr, sizeBytes, direction);
        }
    }

    /**
     * {@code ib_dma_max_seg_size}.
     *
     * @return bytes, unsigned 32-bit: all of 2^32 - 1 with virtual DMA, else the DMA device's (rdma:DMA-16)
     */
    public long maxSegmentBytes() {
        return real == null ? VIRT_MAX_SEGMENT_BYTES : real.device().maxSegmentBytes();
    }

    /**
     * {@code ib_dma_pci_p2p_dma_supported}.
     *
     * @return false with virtual DMA, else what the DMA device says
     */
    public boolean isPciP2pSupported() {
        return real != null && real.device().isPciP2pdmaSupported();
    }

    /**
     * {@code ib_virt_dma_to_ptr}: the kernel virtual address behind an address of virtual DMA, which is the same.
     *
     * @param dmaAddr an address that virtual DMA gave
     * @return the kernel virtual address
     */
    public static long virtDmaToPtr(long dmaAddr) {
        return dmaAddr;
    }

    /**
     * {@code ib_virt_dma_to_page}: the page behind an address of virtual DMA.
     *
     * @param dmaAddr an address that virtual DMA gave
     * @return the physical address of the page that contains it
     */
    public long virtDmaToPage(long dmaAddr) {
        return layout.virtToPhys(dmaAddr) & Addresses.PAGE_MASK;
    }
}
