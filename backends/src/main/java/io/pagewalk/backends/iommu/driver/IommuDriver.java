package io.pagewalk.backends.iommu.driver;

import io.pagewalk.backends.iommu.api.IommuDomainType;
import io.pagewalk.backends.iommu.api.TableImage;
import io.pagewalk.backends.iommu.pgtable.PageTable;
import io.pagewalk.backends.iommu.pgtable.TablePageList;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.spi.BusPort;
import io.pagewalk.dma.spi.MetricSink;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * What the mapping layer asks of the driver of an IOMMU. The driver reaches its hardware through emulated memory and
 * registers only.
 *
 * <p>Thread-safe, but for making, attaching, detaching and destroying.
 */
public interface IommuDriver extends AutoCloseable {
    /**
     * The default domain that a device needs, {@code def_domain_type} (iommu:CORE-4, CORE-7).
     *
     * @param device the device
     * @return {@link IommuDomainType#DMA} or {@link IommuDomainType#IDENTITY}, or null for either
     */
    default @Nullable IommuDomainType preferredType(Device device) {
        return null;
    }

    /**
     * Whether unmaps had better be strict, whatever the default (iommu:CORE-3).
     *
     * @return true where flushing together would gain nothing
     */
    default boolean wantsStrict() {
        return false;
    }

    /**
     * Whether unmaps of a device may wait for a flush, {@code IOMMU_CAP_DEFERRED_FLUSH} (iommu:DINIT-6).
     *
     * @param device the device
     * @return false where they may not
     */
    default boolean canDeferFlush(Device device) {
        return true;
    }

    /**
     * Whether a flush costs so much that all CPUs had better share one large queue, {@code shadow_on_flush}
     * (iommu:FQ-1).
     *
     * @param device the first device of the domain
     * @return true on s390
     */
    default boolean shadowsOnFlush(Device device) {
        return false;
    }

    /**
     * Makes the tables of a new domain: an empty root.
     *
     * @return the tables
     */
    PageTable newTable();

    /**
     * Puts a device behind a domain (iommu:VTD-4, VTD-8, CTX-3): narrows the tables to what the unit can do, takes a
     * domain id, programs the context entry.
     *
     * @param device the device
     * @param table the domain's tables
     * @return the domain's number, 1 or more, by which the driver knows it from now on, whatever ids hardware has it
     *     under; or a negated errno
     */
    int attach(Device device, PageTable table);

    /**
     * Lets a device's addresses pass as they are (iommu:CTX-3).
     *
     * @param device the device
     * @return 0, or a negated errno
     */
    int attachIdentity(Device device);

    /**
     * Blocks a device (iommu:CTX-6, CTX-8).
     *
     * @param device the device; nothing happens when it is blocked already
     */
    void detach(Device device);

    /**
     * Gives back a domain without devices: its tables and its id (iommu:VTD-27).
     *
     * @param table the domain's tables, made by {@link #newTable}
     */
    void destroy(PageTable table);

    /**
     * The hardware between a device and memory.
     *
     * @param device a device of the machine
     * @return its port, always the same
     */
    BusPort port(Device device);

    /**
     * Which pages the hardware reads for a device.
     *
     * @param device a device of the machine
     * @return their addresses
     */
    TableImage image(Device device);

    /**
     * Says to hardware that keeps what is not mapped in mind that a range is mapped now, {@code iotlb_sync_map}
     * (iommu:CORE-17).
     *
     * @param domainNumber what {@link #attach} answered
     * @param iova first device address
     * @param sizeBytes length
     * @return 0, or a negated errno that undoes the mapping
     */
    default int syncMap(int domainNumber, long iova, long sizeBytes) {
        return 0;
    }

    /**
     * Makes the hardware forget a range of one domain, and waits for accesses in flight (iommu:INV-9 to INV-11).
     *
     * @param domainNumber what {@link #attach} answered
     * @param firstIova first byte
     * @param lastIova last byte
     * @param leafOnly whether only leaf entries changed (IH = 1)
     */
    void invalidateRange(int domainNumber, long firstIova, long lastIova, boolean leafOnly);

    /**
     * Makes the hardware forget one domain, and waits for accesses in flight (iommu:INV-12).
     *
     * @param domainNumber what {@link #attach} answered
     */
    void invalidateDomain(int domainNumber);

    /**
     * Gives back table pages, last one first (iommu:DALLOC-6), and empties the list.
     *
     * @param freed pages that the hardware has forgotten
     */
    void freeTablePages(TablePageList freed);

    /**
     * Sets who is told of what the hardware blocked.
     *
     * @param reports runs on the thread of the access, after it
     */
    void passFaultsTo(FaultReports reports);

    /**
     * Sets who is told of accesses that went by a translation that the tables do not hold, where the hardware is
     * audited.
     *
     * @param listener runs inside the access: it must not map, unmap or invalidate
     */
    default void passStaleUsesTo(StaleUseReports listener) {}

    /**
     * Finds a part of the driver or its hardware by its type.
     *
     * @param <T> the type
     * @param type a type that the driver documents
     * @return the part, or null when there is none of that type
     */
    default <T> @Nullable T part(Class<T> type) {
        return null;
    }

    /**
     * Reports table pages, IOTLB, invalidations and faults.
     *
     * @param sink takes the numbers
     */
    void report(MetricSink sink);

    /**
     * Checks the driver's and the hardware's structures.
     *
     * @param violation takes a sentence for each broken invariant
     */
    void checkStructure(Consumer<String> violation);

    @Override
    void close();
}
