package io.pagewalk.conformance.adapter;

import io.pagewalk.backends.iommu.api.Iommu;
import io.pagewalk.backends.iommu.api.IommuDomainView;
import io.pagewalk.backends.iommu.api.LeafRun;
import io.pagewalk.dma.memory.Addresses;
import java.util.ArrayList;
import java.util.List;

/** The tables of a device's domain, as lines write them: iova, phys, leaf size, count, permissions. */
final class DomainDump {
    private final IommuDomainView domain;

    private DomainDump(IommuDomainView domain) {
        this.domain = domain;
    }

    /** The domain that the DMA API uses for the device. */
    static DomainDump of(RecordedMachine recorded) {
        return new DomainDump(Iommu.of(recorded.machine()).defaultDomainOf(recorded.device()));
    }

    static List<long[]> rows(List<LeafRun> runs) {
        return runs.stream()
                .map(r -> new long[] {r.iova(), r.physAddr(), r.leafBytes(), r.count(), r.perm()})
                .toList();
    }

    long iovaToPhys(long iova) {
        return domain.iovaToPhys(iova);
    }

    /** A lookup with its result. */
    long[] probe(long iova) {
        return new long[] {iova, iovaToPhys(iova)};
    }

    /** The whole table. */
    List<long[]> all() {
        return rows(domain.leaves());
    }

    /** The leaves of one mapping, from its first page to its last. */
    List<long[]> of(long dmaAddr, long sizeBytes) {
        long first = Addresses.alignDown(dmaAddr, Addresses.PAGE_SIZE);
        long end = Addresses.alignUp(dmaAddr + sizeBytes, Addresses.PAGE_SIZE);
        List<long[]> rows = new ArrayList<>();
        for (LeafRun run : domain.leaves()) {
            long skipped = Addresses.lessThan(run.iova(), first) ? leavesTo(run, first) : 0;
            long kept = Math.min(run.count(), Addresses.lessThan(run.iova(), end) ? leavesTo(run, end) : 0) - skipped;
            if (kept > 0) {
                rows.add(new long[] {
                    run.iova() + skipped * run.leafBytes(),
                    run.physAddr() + skipped * run.leafBytes(),
                    run.leafBytes(),
                    kept,
                    run.perm()
                });
            }
        }
        return rows;
    }

    /** Leaves of a run that begin below an address. */
    private static long leavesTo(LeafRun run, long iova) {
        return (iova - run.iova() + run.leafBytes() - 1) / run.leafBytes();
    }
}
