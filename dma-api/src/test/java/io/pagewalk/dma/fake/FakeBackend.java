package io.pagewalk.dma.fake;

import static io.pagewalk.dma.memory.Addresses.hex;
import static io.pagewalk.dma.memory.Addresses.hexRange;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.FailureSlot;
import io.pagewalk.dma.Gfp;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.PageProtection;
import io.pagewalk.dma.UserMapping;
import io.pagewalk.dma.UserVma;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.memory.PageAllocator;
import io.pagewalk.dma.memory.Zone;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.dma.spi.CoherentPages;
import io.pagewalk.dma.spi.DmaBackend;
import io.pagewalk.dma.spi.DmaOps;
import io.pagewalk.dma.spi.DmaPages;
import io.pagewalk.dma.spi.Metric;
import io.pagewalk.dma.spi.MetricSink;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.IntUnaryOperator;
import java.util.function.LongFunction;
import java.util.function.LongPredicate;
import java.util.function.LongUnaryOperator;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** A backend that writes down what it is asked, in order, and answers as a test has scripted. */
public final class FakeBackend implements DmaBackend, DmaOps {
    /** Finds the backend of a machine, which keeps it to itself: a report asks for it. */
    private static final class Finder implements MetricSink {
        private @Nullable FakeBackend found;

        @Override
        public void put(Metric metric, long value) {
            throw new AssertionError("a fake counts nothing");
        }
    }

    /** What was asked, such as {@code mapPage cpu 0 0x1000+0x20 TO_DEVICE attrs 0x0}. */
    public final List<String> calls = new ArrayList<>();

    public LongUnaryOperator onMap = physAddr -> physAddr;
    public LongUnaryOperator onMapResource = physAddr -> physAddr;
    public IntUnaryOperator onMapSg = nents -> nents;
    public Consumer<FailureSlot> cause = slot -> {};
    public LongFunction<@Nullable CoherentPages> onAlloc = size -> CoherentPages.contiguous(0x4000, size, 0x4000);
    public LongPredicate supportsMask = mask -> true;
    public boolean mayNeedSync;
    public LongPredicate needsSync = dmaAddr -> true;
    public boolean refusesDevices;
    /** What devices are attached to, instead of the fake itself. */
    public @Nullable DmaOps attached;
    /** The direct path of devices that have another. */
    public @Nullable DmaOps direct;

    public boolean isDmaIommu;
    public boolean canMmap;
    public Consumer<CoherentPages> onFree = pages -> {};
    public LongFunction<@Nullable DmaPages> onAllocPages = size -> new DmaPages(0x5000, 0x9_5000, size);
    public @Nullable Supplier<@Nullable SgTable> onAllocNoncontiguous;
    public int getSgTableResult;

    private final boolean onWires;
    private final Map<Device, FakePort> ports = new HashMap<>();

    FakeBackend(boolean onWires) {
        this.onWires = onWires;
    }

    public static FakeBackend of(Machine machine) {
        Finder finder = new Finder();
        machine.report(finder);
        if (finder.found == null) {
            throw new AssertionError("the machine's backend is no fake");
        }
        return finder.found;
    }

    @Override
    public DmaOps attach(Device device) {
        if (refusesDevices) {
            throw new IllegalArgumentException("no " + device.name());
        }
        return attached == null ? this : attached;
    }

    @Override
    public DmaOps directOps(Device device, DmaOps ops) {
        return direct == null ? ops : direct;
    }

    /** Coherent memory and pages come from the machine's page allocator, at DMA address physical + 0x70000000. */
    public void allocateFrom(PageAllocator pages) {
        onAlloc = size -> {
            long physAddr = pages.allocPages(Zone.NORMAL, Addresses.order(size));
            return physAddr == PageAllocator.NO_PAGE
                    ? null
                    : CoherentPages.contiguous(physAddr + 0x7000_0000L, size, physAddr);
        };
        onFree = coherent -> pages.freePages(coherent.pagePhysAddr(0), Addresses.order(coherent.sizeBytes()));
    }

    @Override
    public FakePort port(Device device) {
        return ports.computeIfAbsent(device, d -> new FakePort(onWires));
    }

    @Override
    public long mapPage(Device device, int cpu, long physAddr, long sizeBytes, DmaDirection direction, int attrs) {
        note("mapPage", cpu, physAddr, sizeBytes, direction, attrs);
        return failing(device, cpu, onMap.applyAsLong(physAddr));
    }

    private long failing(Device device, int cpu, long result) {
        if (result < 0) {
            cause.accept(device.failure(cpu));
        }
        return result;
    }

    @Override
    public void unmapPage(Device device, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction, int attrs) {
        note("unmapPage", cpu, dmaAddr, sizeBytes, direction, attrs);
    }

    @Override
    public int mapSg(Device device, int cpu, SgTable sg, int nents, DmaDirection direction, int attrs) {
        calls.add(
                "mapSg cpu " + cpu + " " + nents + " of " + sg.origNents() + " " + direction + " attrs " + hex(attrs));
        int result = onMapSg.applyAsInt(nents);
        for (int i = 0; i < nents; i++) {
            boolean used = i < result;
            sg.setDma(i, used ? sg.physAddr(i) : -1L, used ? sg.lengthBytes(i) : 0);
        }
        return (int) failing(device, cpu, result);
    }

    @Override
    public void unmapSg(Device device, int cpu, SgTable sg, int nents, DmaDirection direction, int attrs) {
        calls.add("unmapSg cpu " + cpu + " " + nents + " of " + sg.origNents() + " " + direction + " attrs "
                + hex(attrs));
    }

    @Override
    public long mapResource(Device device, int cpu, long physAddr, long sizeBytes, DmaDirection direction, int attrs) {
        note("mapResource", cpu, physAddr, sizeBytes, direction, attrs);
        return failing(device, cpu, onMapResource.applyAsLong(physAddr));
    }

    @Override
    public void unmapResource(Device device, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction, int attrs) {
        note("unmapResource", cpu, dmaAddr, sizeBytes, direction, attrs);
    }

    @Override
    public void syncForCpu(Device device, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction) {
        calls.add("syncForCpu cpu " + cpu + " " + hexRange(dmaAddr, sizeBytes) + " " + direction);
    }

    @Override
    public void syncForDevice(Device device, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction) {
        calls.add("syncForDevice cpu " + cpu + " " + hexRange(dmaAddr, sizeBytes) + " " + direction);
    }

    @Override
    public void syncSgForCpu(Device device, int cpu, SgTable sg, int nents, DmaDirection direction) {
        calls.add("syncSgForCpu cpu " + cpu + " " + nents + " of " + sg.origNents() + " " + direction);
    }

    @Override
    public void syncSgForDevice(Device device, int cpu, SgTable sg, int nents, DmaDirection direction) {
        calls.add("syncSgForDevice cpu " + cpu + " " + nents + " of " + sg.origNents() + " " + direction);
    }

    @Override
    public @Nullable CoherentPages allocCoherent(Device device, int cpu, long sizeBytes, int gfp, int attrs) {
        String flags = gfp == Gfp.KERNEL ? "" : " gfp " + hex(gfp);
        calls.add("alloc cpu " + cpu + " " + hex(sizeBytes) + flags + " attrs " + hex(attrs));
        CoherentPages pages = onAlloc.apply(sizeBytes);
        if (pages == null) {
            cause.accept(device.failure(cpu));
        }
        return pages;
    }

    @Override
    public void freeCoherent(Device device, int cpu, CoherentPages pages, int attrs) {
        calls.add("free cpu " + cpu + " " + hexRange(pages.dmaAddr(), pages.sizeBytes()) + " attrs " + hex(attrs));
        onFree.accept(pages);
    }

    @Override
    public @Nullable DmaPages allocPages(Device device, int cpu, long sizeBytes, DmaDirection direction, int gfp) {
        calls.add("allocPages cpu " + cpu + " " + hex(sizeBytes) + " " + direction + " gfp " + hex(gfp));
        return onAllocPages.apply(sizeBytes);
    }

    @Override
    public void freePages(Device device, int cpu, DmaPages pages, DmaDirection direction) {
        calls.add("freePages cpu " + cpu + " " + hexRange(pages.physAddr(), pages.sizeBytes()) + " at "
                + hex(pages.dmaAddr()) + " " + direction);
    }

    @Override
    public @Nullable SgTable allocNoncontiguous(
            Device device, int cpu, long sizeBytes, DmaDirection direction, int gfp, int attrs) {
        if (onAllocNoncontiguous == null) {
            return DmaOps.super.allocNoncontiguous(device, cpu, sizeBytes, direction, gfp, attrs);
        }
        calls.add("allocNoncontiguous cpu " + cpu + " " + hex(sizeBytes) + " " + direction + " gfp " + hex(gfp)
                + " attrs " + hex(attrs));
        return onAllocNoncontiguous.get();
    }

    @Override
    public void freeNoncontiguous(Device device, int cpu, long sizeBytes, SgTable sg, DmaDirection direction) {
        if (onAllocNoncontiguous == null) {
            DmaOps.super.freeNoncontiguous(device, cpu, sizeBytes, sg, direction);
        } else {
            calls.add("freeNoncontiguous cpu " + cpu + " " + hexRange(sg.dmaAddr(0), sizeBytes) + " " + direction);
        }
    }

    @Override
    public int getSgTable(Device device, SgTable sg, CoherentPages pages, long sizeBytes, int attrs) {
        calls.add("getSgTable " + hexRange(pages.dmaAddr(), sizeBytes) + " attrs " + hex(attrs));
        if (getSgTableResult == 0) {
            sg.add(pages.pagePhysAddr(0), sizeBytes);
        }
        return getSgTableResult;
    }

    @Override
    public UserMapping mmap(Device device, UserVma vma, CoherentPages pages, long sizeBytes, int attrs) {
        calls.add("mmap " + vma.pages() + " pages from " + vma.pgoff() + " of " + hexRange(pages.dmaAddr(), sizeBytes)
                + " attrs " + hex(attrs));
        return UserMapping.ofPages(vma, pages.pagePhysAddrs(), PageProtection.of(device, attrs));
    }

    @Override
    public boolean canMmap(Device device) {
        return canMmap;
    }

    @Override
    public boolean isDmaIommu(Device device) {
        return isDmaIommu;
    }

    private void note(String call, int cpu, long address, long sizeBytes, DmaDirection direction, int attrs) {
        calls.add(call + " cpu " + cpu + " " + hexRange(address, sizeBytes) + " " + direction + " attrs " + hex(attrs));
    }

    @Override
    public boolean isMaskSupported(Device device, long mask) {
        return supportsMask.test(mask);
    }

    @Override
    public boolean mayNeedSync(Device device) {
        return mayNeedSync;
    }

    @Override
    public boolean needsSync(Device device, long dmaAddr) {
        return needsSync.test(dmaAddr);
    }

    @Override
    public long maxMappingSize(Device device) {
        return -1L;
    }

    @Override
    public long requiredMask(Device device) {
        return 0xffff_ffffL;
    }

    @Override
    public void report(MetricSink sink) {
        if (sink instanceof Finder finder) {
            finder.found = this;
        }
    }

    @Override
    public void checkStructure(Consumer<String> violation) {
        violation.accept("structure");
    }

    @Override
    public void checkIdle(Consumer<String> violation) {
        violation.accept("idle");
    }

    @Override
    public void quiesce() {
        calls.add("quiesce");
    }

    @Override
    public void close() {
        calls.add("close");
    }
}
