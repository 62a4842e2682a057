package io.pagewalk.backends.iommu.driver;

import io.pagewalk.dma.DmaException;
import io.pagewalk.dma.DmaFailure;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.FailureReason;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.memory.PageAllocator;
import io.pagewalk.dma.memory.PhysicalMemory;
import io.pagewalk.dma.memory.Zone;
import java.util.ArrayList;
import java.util.List;

/** Single zeroed pages that the driver holds until it closes: root and context tables, the queue. For one thread. */
final class KernelPages {
    private final PhysicalMemory memory;
    private final PageAllocator pages;
    private final List<Long> taken = new ArrayList<>();

    KernelPages(PhysicalMemory memory, PageAllocator pages) {
        this.memory = memory;
        this.pages = pages;
    }

    /**
     * Takes a page.
     *
     * @return its address
     * @throws DmaException when there is none
     */
    long take() {
        long physAddr = pages.allocPages(Zone.NORMAL, 0);
        if (physAddr == PageAllocator.NO_PAGE) {
            throw outOfMemory("the IOMMU driver's own page");
        }
        memory.zero(physAddr, Addresses.PAGE_SIZE);
        taken.add(physAddr);
        return physAddr;
    }

    static DmaException outOfMemory(String what) {
        return new DmaException(
                what, new DmaFailure(FailureReason.NO_MEMORY, Errno.ENOMEM, List.of(Addresses.PAGE_SIZE, -1L)));
    }

    void giveBackAll() {
        taken.forEach(physAddr -> pages.freePages(physAddr, 0));
        taken.clear();
    }
}
