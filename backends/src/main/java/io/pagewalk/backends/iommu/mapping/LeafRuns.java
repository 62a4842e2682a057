package io.pagewalk.backends.iommu.mapping;

import io.pagewalk.backends.iommu.api.LeafRun;
import io.pagewalk.backends.iommu.pgtable.LeafVisitor;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Run-length codes leaves that come in ascending order. For one thread. */
final class LeafRuns implements LeafVisitor {
    private final List<LeafRun> runs = new ArrayList<>();
    private @Nullable LeafRun latest;

    @Override
    public void leaf(long iova, long physAddr, long sizeBytes, int perm) {
        LeafRun run = latest;
        if (run != null && run.continuesWith(iova, physAddr, sizeBytes, perm)) {
            latest = run.longer();
            runs.set(runs.size() - 1, latest);
        } else {
            latest = new LeafRun(iova, physAddr, sizeBytes, 1, perm);
            runs.add(latest);
        }
    }

    List<LeafRun> runs() {
        return List.copyOf(runs);
    }
}
