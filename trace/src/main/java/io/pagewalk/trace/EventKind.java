package io.pagewalk.trace;

import io.pagewalk.trace.IommuEvent.GroupChange;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The events this package reads: their system, their name, and a parser for each form of their text. */
@SuppressWarnings("ImmutableEnumChecker") // the parsers hold nothing but constants and constructors
enum EventKind {
    MAP_PAGE("dma_map_page", DmaText.printedMap(DmaEvent.MapPage::new), DmaText.namedMap(DmaEvent.MapPage::new)),
    UNMAP_PAGE(
            "dma_unmap_page",
            DmaText.printedUnmap(DmaEvent.UnmapPage::new),
            DmaText.namedUnmap(DmaEvent.UnmapPage::new)),
    MAP_RESOURCE(
            "dma_map_resource",
            DmaText.printedMap(DmaEvent.MapResource::new),
            DmaText.namedMap(DmaEvent.MapResource::new)),
    UNMAP_RESOURCE(
            "dma_unmap_resource",
            DmaText.printedUnmap(DmaEvent.UnmapResource::new),
            DmaText.namedUnmap(DmaEvent.UnmapResource::new)),
    MAP_SG("dma_map_sg", SgText::printedMap, SgText::namedMap),
    UNMAP_SG("dma_unmap_sg", SgText::printedUnmap, SgText::namedUnmap),
    MAP_SG_ERR("dma_map_sg_err", SgText::printedMapError, SgText::namedMapError),
    SYNC_SINGLE_FOR_CPU("dma_sync_single_for_cpu", DmaText.printedSync(true), DmaText.namedSync(true)),
    SYNC_SINGLE_FOR_DEVICE("dma_sync_single_for_device", DmaText.printedSync(false), DmaText.namedSync(false)),
    SYNC_SG_FOR_CPU("dma_sync_sg_for_cpu", SgText.printedSync(true), SgText.namedSync(true)),
    SYNC_SG_FOR_DEVICE("dma_sync_sg_for_device", SgText.printedSync(false), SgText.namedSync(false)),
    ALLOC("dma_alloc", DmaText.printedAlloc(DmaText::coherentAlloc), DmaText.namedAlloc(DmaText::coherentAlloc)),
    FREE("dma_free", DmaText.printedFree(DmaText::coherentFree), DmaText.namedFree(DmaText::coherentFree)),
    ALLOC_PAGES(
            "dma_alloc_pages",
            DmaText.printedAlloc(DmaEvent.AllocPages::new),
            DmaText.namedAlloc(DmaEvent.AllocPages::new)),
    FREE_PAGES(
            "dma_free_pages", DmaText.printedFree(DmaEvent.FreePages::new), DmaText.namedFree(DmaEvent.FreePages::new)),
    ALLOC_SGT("dma_alloc_sgt", SgText::printedAlloc, SgText::namedAlloc),
    ALLOC_SGT_ERR(
            "dma_alloc_sgt_err",
            DmaText.printedAlloc(DmaEvent.AllocSgtError::new),
            DmaText.namedAlloc(DmaEvent.AllocSgtError::new)),
    FREE_SGT("dma_free_sgt", SgText::printedFree, SgText::namedFree),
    BOUNCED("swiotlb", "swiotlb_bounced", OtherText::printedBounce, "dev_name=", OtherText::namedBounce),
    IOMMU_MAP("iommu", "map", IommuText::printedMap, "iova=", IommuText::namedMap),
    IOMMU_UNMAP("iommu", "unmap", IommuText::printedUnmap, "iova=", IommuText::namedUnmap),
    ADD_TO_GROUP(
            "iommu",
            "add_device_to_group",
            IommuText.printedGroup(GroupChange.ADD),
            "gid=",
            IommuText.namedGroup(GroupChange.ADD)),
    REMOVE_FROM_GROUP(
            "iommu",
            "remove_device_from_group",
            IommuText.printedGroup(GroupChange.REMOVE),
            "gid=",
            IommuText.namedGroup(GroupChange.REMOVE)),
    ATTACH("iommu", "attach_device_to_domain", IommuText::printedAttach, "device=", IommuText::namedAttach),
    FAULT("iommu", "io_page_fault", IommuText::printedFault, "device=", IommuText::namedFault),
    MARK("ftrace", "tracing_mark_write", OtherText::mark, "ip=", OtherText::mark),
    PRINT("ftrace", "print", OtherText::printedPrint, "ip=", OtherText::namedPrint);

    private static final Map<String, EventKind> BY_NAME = byName();

    private final String system;
    private final String eventName;
    private final BodyParser printed;
    private final String namedStart;
    private final BodyParser named;

    EventKind(String eventName, BodyParser printed, BodyParser named) {
        this("dma", eventName, printed, "device=", named);
    }

    EventKind(String system, String eventName, BodyParser printed, String namedStart, BodyParser named) {
        this.system = system;
        this.eventName = eventName;
        this.printed = printed;
        this.namedStart = namedStart;
        this.named = named;
    }

    private static Map<String, EventKind> byName() {
        Map<String, EventKind> kinds = new HashMap<>();
        for (EventKind kind : values()) {
            kinds.put(kind.eventName, kind);
            kinds.put(kind.system + ":" + kind.eventName, kind);
        }
        return kinds;
    }

    /** Finds a kind by {@code event} or {@code system:event}. */
    static @Nullable EventKind of(String name) {
        return BY_NAME.get(name);
    }

    /** Returns the name under which the event is counted: that of tracefs. */
    String countedAs() {
        return this == PRINT ? MARK.eventName : eventName;
    }

    boolean isMark() {
        return this == MARK || this == PRINT;
    }

    /** Says whether the text at the cursor is of the named form. */
    boolean isNamed(LineCursor cursor) {
        return cursor.startsWith(namedStart);
    }

    BodyParser parser(boolean namedForm) {
        return namedForm ? named : printed;
    }
}
