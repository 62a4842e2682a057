package io.pagewalk.kit.planted;

import java.util.Locale;

/** A fault, the healthy backend it is planted in, and the law that must fall. */
public enum PlantedFault {
    /** Unmap forgets to copy back from the bounce buffer. */
    DROPS_COPY_BACK("swiotlb", "theCpuReadsAfterUnmapWhatTheDeviceWroteAndOldBytesElsewhere"),
    /** A sync for the device does nothing. */
    DROPS_SYNC_FOR_DEVICE("swiotlb", "syncsHandPartsOverAndBack"),
    /** A sync for the CPU starts a byte late. */
    SYNCS_ONE_OFF("swiotlb", "syncsHandPartsOverAndBack"),
    /** The first DMA segment of a list starts a byte late. */
    SEGMENT_ONE_OFF("direct", "theDeviceReadsTheEntriesBytesInOrder"),
    /** The last DMA segment of a list is a byte short. */
    SEGMENT_SHORT("direct", "theDeviceReadsTheEntriesBytesInOrder"),
    /** The first two DMA segments of a list are swapped. */
    SEGMENTS_SWAPPED("direct", "theDeviceReadsTheEntriesBytesInOrder"),
    /** Unmap of a page does nothing. */
    LEAKS_MAPPINGS("toy", "theDeviceReadsWhatTheCpuWroteBeforeTheMap"),
    /** Freed coherent memory keeps its pages. */
    LEAKS_PAGES("direct", "freedPagesReturnAndAreZeroedForTheNextOwner"),
    /** A list that fails leaves a page allocated. */
    LEAKS_WHEN_A_LIST_FAILS("swiotlb", "aListThatFailsChangesNothing"),
    /** Coherent memory comes with what was left in it. */
    FORGETS_TO_ZERO("direct", "bothSidesSeeCoherentMemoryAlike"),
    /** The hardware remembers translations past the unmap. */
    STALE_TRANSLATIONS("toy", "anUnmappedAddressReachesNothing"),
    /** The hardware lets a device write whatever it may read. */
    IGNORES_DIRECTION("toy", "whatIsMappedToTheDeviceCannotBeWrittenByIt"),
    /** The hardware answers for addresses that nobody mapped. */
    REACHES_EVERYTHING("toy", "anAddressNeverMappedReachesNothing"),
    /** Two maps of one buffer get one address. */
    SHARES_ADDRESSES("toy", "liveMappingsOfADeviceNeverOverlap"),
    /** A device's write spills into the byte before. */
    WRITES_BEFORE_THE_START("direct", "theCpuReadsAfterUnmapWhatTheDeviceWroteAndOldBytesElsewhere"),
    /** Buffers larger than a page are refused. */
    REFUSES_LARGE_BUFFERS("direct", "aFreshMachineMapsWhateverFitsTheMaximum"),
    /** Structures that contradict each other are reported as such. */
    BROKEN_STRUCTURE("direct", "theDeviceReadsWhatTheCpuWroteBeforeTheMap");

    private final String host;
    private final String law;

    PlantedFault(String host, String law) {
        this.host = host;
        this.law = law;
    }

    /** The healthy backend. */
    String host() {
        return host;
    }

    /** The law that must fall, whichever others do. */
    public String law() {
        return law;
    }

    /** The faulty backend's name. */
    public String backend() {
        return "planted-" + name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
}
