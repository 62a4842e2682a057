package io.pagewalk.dma.scatterlist;

import io.pagewalk.dma.Errno;
import io.pagewalk.dma.FailurePoint;
import io.pagewalk.dma.KernelBugException;
import io.pagewalk.dma.KernelConfig;
import org.jspecify.annotations.Nullable;

/** Copies parts of a list into lists of their own. Implements dma-core:SGH-4. Thread-safe as its parts are. */
final class SgSplitter {
    private final KernelConfig config;
    private final FailurePoint point;
    private final SgChunks chunks;

    SgSplitter(KernelConfig config, FailurePoint point, SgChunks chunks) {
        this.config = config;
        this.point = point;
        this.chunks = chunks;
    }

    int split(SgTable in, int mappedNents, long skipBytes, long[] sizes, @Nullable SgTable[] out) {
        if (point.fails()) {
            return -Errno.ENOMEM;
        }
        SplitPlan plan = new SplitPlan(in, SgWalk.nents(in), false, sizes.length);
        if (!plan.cut(skipBytes, sizes)) {
            return -Errno.EINVAL;
        }
        SgTable[] parts = new SgTable[sizes.length];
        int error = copyParts(in, plan, parts);
        if (error == 0 && mappedNents != 0) {
            error = mapParts(in, mappedNents, skipBytes, sizes, parts);
        }
        if (error != 0) {
            freeParts(parts);
            return error;
        }
        System.arraycopy(parts, 0, out, 0, parts.length);
        return 0;
    }

    private int copyParts(SgTable in, SplitPlan plan, @Nullable SgTable[] parts) {
        for (int part = 0; part < parts.length; part++) {
            SgChunk chunk = chunks.allocate(plan.count(part));
            if (chunk == null) {
                return -Errno.ENOMEM;
            }
            parts[part] = copyPart(in, plan, part, chunk);
        }
        return 0;
    }

    private SgTable copyPart(SgTable in, SplitPlan plan, int part, SgChunk chunk) {
        SgTable copy = new SgTable(chunk.entries());
        copy.startChain(chunk, config.sgDmaFlags());
        copy.count(chunk.entries());
        copy.mapped(0);
        int first = plan.first(part);
        copy.markBounced(first == 0 && in.isBounced());
        for (int i = 0; i < chunk.entries(); i++) {
            copy.setPage(i, in.pageAddr(first + i), in.offset(first + i), 0);
            copy.resize(i, in.offset(first + i) + plan.skipIn(part, i), plan.lengthIn(part, i));
            copy.setBusAddress(i, in.isBusAddress(first + i));
        }
        return copy;
    }

    private static int mapParts(SgTable in, int mappedNents, long skipBytes, long[] sizes, SgTable[] parts) {
        SplitPlan plan = new SplitPlan(in, mappedNents, true, sizes.length);
        if (!plan.cut(skipBytes, sizes)) {
            return -Errno.EINVAL;
        }
        for (int part = 0; part < parts.length; part++) {
            mapPart(in, plan, part, parts[part]);
        }
        return 0;
    }

    private static void mapPart(SgTable in, SplitPlan plan, int part, SgTable copy) {
        int count = plan.count(part);
        if (count > copy.entries()) {
            throw new KernelBugException("part " + part + " has " + copy.entries() + " entries, too few for its "
                    + count + " DMA segments (dma-core:SGH-4)");
        }
        for (int i = 0; i < count; i++) {
            copy.setDma(i, in.dmaAddr(plan.first(part) + i) + plan.skipIn(part, i), plan.lengthIn(part, i));
        }
        copy.mapped(count);
    }

    private void freeParts(@Nullable SgTable[] parts) {
        for (SgTable part : parts) {
            if (part != null) {
                chunks.freeOne(part);
            }
        }
    }
}
