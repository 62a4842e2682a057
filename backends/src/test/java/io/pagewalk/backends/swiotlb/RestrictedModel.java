package io.pagewalk.backends.swiotlb;

/** A {@link ModelPool} of a restricted pool, for one device. */
public final class RestrictedModel {
    private final ModelPool pool;
    private final long minAlign;
    private final long boundary;

    public RestrictedModel(long start, int slots, long minAlign, long boundary) {
        this.pool = new ModelPool(new byte[(int) start + slots * (int) ModelPool.SLOT + 0x1000], start, slots, 1);
        this.minAlign = minAlign;
        this.boundary = boundary;
    }

    public int used() {
        return pool.used();
    }

    public long map(long orig, long size) {
        return pool.map(0, orig, size, 0, minAlign, boundary, 0);
    }

    public long alloc(long size) {
        return pool.alloc(0, size, minAlign, boundary, 0);
    }

    public void release(long tlb) {
        pool.live().stream().filter(mapping -> mapping.tlb() == tlb).findFirst().ifPresent(pool::unmap);
    }
}
