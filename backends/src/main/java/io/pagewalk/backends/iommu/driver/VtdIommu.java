package io.pagewalk.backends.iommu.driver;

import io.pagewalk.backends.iommu.api.TableImage;
import io.pagewalk.backends.iommu.pgtable.TableMemory;
import io.pagewalk.backends.iommu.unit.ContextLayout;
import io.pagewalk.backends.iommu.unit.InvalidationLayout;
import io.pagewalk.backends.iommu.unit.RegisterFile;
import io.pagewalk.backends.iommu.unit.VtdCapability;
import io.pagewalk.backends.iommu.unit.VtdFeatures;
import io.pagewalk.backends.iommu.unit.VtdRegisters;
import io.pagewalk.backends.iommu.unit.VtdUnit;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.spi.BusPort;
import io.pagewalk.dma.spi.MetricSink;
import java.util.BitSet;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.IntPredicate;

/**
 * One unit as the driver programs it: capabilities, root and context tables, queue, fault handler, domain ids.
 * Implements iommu:VTD-3, VTD-8, CTX-3 and CTX-5 to CTX-8.
 *
 * <p>Invalidating is thread-safe; the rest is for one thread at a time.
 */
final class VtdIommu {
    /** Of pass-through entries (iommu:VTD-8, CTX-3). */
    private static final int IDENTITY_DOMAIN_ID = 1;

    /** Ids 0 and 1 have a meaning of their own (iommu:VTD-8). */
    private static final int FIRST_DOMAIN_ID = 2;

    /** Of what caching mode remembers of context entries that are not present (iommu:INV-1). */
    private static final int NOT_PRESENT_ID = 0;

    private final VtdUnit unit;
    private final RegisterFile registers;
    private final ContextTables contexts;
    private final InvalidationQueue queue;
    private final VtdFaultHandler faults;
    private final long cap;
    private final long ecap;
    private final int agaw;
    private final boolean cachesNotPresent;
    private final BitSet domainIds = new BitSet();

    /**
     * Sets a unit up and turns translation on, with every device blocked.
     *
     * @param machine the machine
     * @param features what the unit can do
     * @param pages where the driver's pages come from
     * @param isPresent whether there is a device of a requester id
     */
    VtdIommu(Machine machine, VtdFeatures features, KernelPages pages, IntPredicate isPresent) {
        unit = new VtdUnit(machine.memory(), features);
        registers = unit;
        contexts = new ContextTables(machine.memory(), pages);
        queue = new InvalidationQueue(registers, machine.memory(), pages.take(), pages.take(), isPresent);
        faults = new VtdFaultHandler(registers, machine.log());
        cap = registers.read64(VtdRegisters.CAP);
        ecap = registers.read64(VtdRegisters.ECAP);
        agaw = VtdCapability.highestAgaw(cap);
        cachesNotPresent = VtdCapability.cachingMode(cap);
        domainIds.set(0, FIRST_DOMAIN_ID);
        unit.onFaultEvent(faults::handle);
        registers.write32(VtdRegisters.FECTL, 0);
        queue.enable();
        setRootTable();
        command(VtdRegisters.GCMD_TE);
    }

    /** The caches are emptied after a new root pointer (iommu:CTX-7). */
    private void setRootTable() {
        registers.write64(VtdRegisters.RTADDR, contexts.rootTable());
        command(VtdRegisters.GCMD_SRTP);
        queue.submit(InvalidationLayout.context(InvalidationLayout.GLOBAL, 0, 0), 0);
        queue.submit(InvalidationLayout.iotlb(InvalidationLayout.GLOBAL, 0), 0);
    }

    private void command(int bit) {
        registers.write32(VtdRegisters.GCMD, (registers.read32(VtdRegisters.GSTS) & ~VtdRegisters.GCMD_SRTP) | bit);
    }

    // ---- what it can do

    long cap() {
        return cap;
    }

    boolean hasPassThrough() {
        return VtdCapability.passThrough(ecap);
    }

    /** Levels of the tables that software makes for it (iommu:VTD-3). */
    int levels() {
        return VtdCapability.levelsOfAgaw(agaw);
    }

    boolean walks(int levels) {
        return VtdCapability.supportsAgaw(cap, levels - 2);
    }

    /** Address bits of a domain behind it that has tables of these levels (iommu:VTD-4). */
    int widthOf(int levels) {
        return Math.min(VtdCapability.widthOfAgaw(levels - 2), VtdCapability.mgaw(cap));
    }

    /** Caching mode. */
    boolean cachesNotPresent() {
        return cachesNotPresent;
    }

    // ---- domain ids

    /** The lowest free id, or -ENOSPC (iommu:VTD-8). */
    int takeDomainId() {
        int id = domainIds.nextClearBit(FIRST_DOMAIN_ID);
        if (id >= VtdCapability.domainIds(cap)) {
            return -Errno.ENOSPC;
        }
        domainIds.set(id);
        return id;
    }

    void giveDomainId(int id) {
        domainIds.clear(id);
    }

    // ---- context entries

    /** Lets a requester through tables. */
    void enter(int requesterId, int domainId, long rootPhysAddr, int levels) {
        enter(
                requesterId,
                ContextLayout.contextLow(rootPhysAddr, ContextLayout.TT_TABLES),
                ContextLayout.contextHigh(domainId, levels - 2));
    }

    /** Lets a requester's addresses pass: no tables, and an id of their own (iommu:VTD-8, CTX-3). */
    void enterIdentity(int requesterId) {
        enter(
                requesterId,
                ContextLayout.contextLow(0, ContextLayout.TT_PASS_THROUGH),
                ContextLayout.contextHigh(IDENTITY_DOMAIN_ID, agaw));
    }

    /** An entry that stands there already is left alone. */
    private void enter(int requesterId, long low, long high) {
        if (contexts.isPresent(requesterId)) {
            if (contexts.low(requesterId) == low && contexts.high(requesterId) == high) {
                return;
            }
            leave(requesterId);
        }
        contexts.enter(requesterId, low, high);
        if (cachesNotPresent) {
            queue.submit(InvalidationLayout.context(InvalidationLayout.DEVICE, NOT_PRESENT_ID, requesterId), 0);
            invalidateDomain(ContextLayout.domainId(high));
        }
    }

    /** The entry is erased only when the hardware has forgotten it (iommu:CTX-6). */
    void leave(int requesterId) {
        if (contexts.isPresent(requesterId)) {
            int oldId = ContextLayout.domainId(contexts.high(requesterId));
            contexts.clearPresent(requesterId);
            queue.submit(InvalidationLayout.context(InvalidationLayout.DEVICE, oldId, requesterId), 0);
            invalidateDomain(oldId);
            contexts.erase(requesterId);
        }
    }

    // ---- invalidating

    InvalidationQueue queue() {
        return queue;
    }

    private void invalidateDomain(int domainId) {
        queue.submit(InvalidationLayout.iotlb(InvalidationLayout.DOMAIN, domainId), 0);
    }

    /** Adds to the open batch: 2^order pages, or the domain where that cannot be said (iommu:INV-10). */
    void addInvalidation(int domainId, int order, long iova, boolean leafOnly) {
        if (order > VtdCapability.maxAddressMask(cap) || !VtdCapability.pageSelective(cap)) {
            queue.add(InvalidationLayout.iotlb(InvalidationLayout.DOMAIN, domainId), 0);
        } else {
            queue.add(
                    InvalidationLayout.iotlb(InvalidationLayout.PAGES, domainId),
                    InvalidationLayout.pages(iova, order, leafOnly));
        }
    }

    // ---- the rest

    BusPort port(int requesterId, TableMemory tables) {
        return unit.port(requesterId, tables);
    }

    TableImage image(int requesterId, TableMemory tables) {
        List<Long> read = new TablePages(tables).of(contexts.rootTable(), requesterId);
        return new TableImage(requesterId, contexts.rootTable(), widthOf(levels()), read);
    }

    RegisterFile registers() {
        return registers;
    }

    /** Has ports made from now on audited. */
    void auditTo(StaleUseReports reports) {
        unit.audit((requesterId, iova, access, used, fresh) ->
                reports.staleUse(requesterId, iova, access, addressOf(used), addressOf(fresh)));
    }

    private static long addressOf(long result) {
        return BusPort.isFault(result) ? StaleUseReports.NOWHERE : result;
    }

    void passFaultsTo(FaultReports reports) {
        faults.passTo(reports);
    }

    void report(MetricSink sink) {
        unit.report(sink);
    }

    void checkStructure(Consumer<String> violation) {
        if (registers.read64(VtdRegisters.IQH) != registers.read64(VtdRegisters.IQT)) {
            violation.accept("the invalidation queue stands at " + Addresses.hex(registers.read64(VtdRegisters.IQH))
                    + ", not at its tail " + Addresses.hex(registers.read64(VtdRegisters.IQT)));
        }
        if (unit.accessesInFlight() != 0) {
            violation.accept(unit.accessesInFlight() + " accesses have begun and not ended");
        }
    }

    /** Turns translation off, and the queue for good. */
    void close() {
        queue.close();
        registers.write32(VtdRegisters.GCMD, 0);
    }
}
