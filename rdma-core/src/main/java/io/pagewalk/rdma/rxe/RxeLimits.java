package io.pagewalk.rdma.rxe;

import io.pagewalk.rdma.verbs.DeviceAttributes;
import io.pagewalk.rdma.verbs.DeviceCaps;

/** The numbers of section 10.1 of the specification, for both kernels. */
final class RxeLimits {
    private static final int PAGE_SIZE_CAP = 0xfffff000;
    private static final int MAX_SGE = 32;
    private static final int MAX_FAST_REG_PAGES = 512;
    private static final int MAX_CQE = 32767;
    private static final int MAX_RD_ATOM = 128;
    static final int FIRST_QP = 16;

    private final boolean first;
    private final RxeConfig config;

    RxeLimits(boolean ofTheFirstRxe, RxeConfig config) {
        this.first = ofTheFirstRxe;
        this.config = config;
    }

    /** 6.12 flushes; a 5.x kernel does not know what that is. */
    DeviceCaps caps() {
        return new DeviceCaps(false, !first, !first);
    }

    DeviceAttributes attributes() {
        return new DeviceAttributes(
                config.maxMrSize() == 0 ? -1L : config.maxMrSize(),
                PAGE_SIZE_CAP,
                // A 5.x kernel has no windows and no flags above 32 bits; the rest is taken to be the same.
                first ? 0x203c76L : 0x1c0_0122_3c76L,
                maxMr(),
                maxMw(),
                maxPd(),
                maxQp(),
                first ? 0x4000 : 0x10_0000,
                MAX_SGE,
                MAX_SGE,
                0,
                MAX_FAST_REG_PAGES,
                0,
                maxInline(),
                maxMessageBytes(),
                first ? 16384 : 0x10_0000,
                MAX_CQE,
                MAX_RD_ATOM,
                MAX_RD_ATOM,
                0);
    }

    private int maxMr() {
        int ofTheKernel = first ? 0x40000 : 0x7ffff;
        return config.maxMr() == 0 ? ofTheKernel : Math.min(config.maxMr(), ofTheKernel);
    }

    private int maxMw() {
        return first ? 0 : 0x7ffff;
    }

    private int maxPd() {
        return first ? 0x7ffc : 0x10_0000;
    }

    private int maxQp() {
        return first ? 0x10000 : 0xffff0;
    }

    int maxInline() {
        return first ? 400 : 512;
    }

    private int maxMessageBytes() {
        return first ? 0x80_0000 : 1 << 31;
    }

    int lastMr() {
        return first ? 0x40000 : 0x80000;
    }

    int firstMw() {
        return lastMr() + 1;
    }

    int lastMw() {
        return first ? 0x60000 : 0x10_0000;
    }

    RxePool mrPool() {
        return new RxePool(1, lastMr(), maxMr(), first);
    }

    RxePool mwPool() {
        return new RxePool(firstMw(), lastMw(), Math.max(maxMw(), 1), first);
    }

    RxePool pdPool() {
        return new RxePool(1, maxPd(), maxPd(), first);
    }

    RxePool qpPool() {
        return new RxePool(FIRST_QP, FIRST_QP + maxQp() - 1, maxQp(), first);
    }
}
