package io.pagewalk.kit;

import io.pagewalk.kit.planted.PlantedFault;

/** The contract for each planted fault: three lines for each backend that nobody has seen before. */
final class PlantedContracts {
    private PlantedContracts() {}

    static class DropsCopyBack implements DmaBackendContract {
        @Override
        public String backend() {
            return PlantedFault.DROPS_COPY_BACK.backend();
        }
    }

    static class DropsSyncForDevice implements DmaBackendContract {
        @Override
        public String backend() {
            return PlantedFault.DROPS_SYNC_FOR_DEVICE.backend();
        }
    }

    static class SyncsOneOff implements DmaBackendContract {
        @Override
        public String backend() {
            return PlantedFault.SYNCS_ONE_OFF.backend();
        }
    }

    static class SegmentOneOff implements DmaBackendContract {
        @Override
        public String backend() {
            return PlantedFault.SEGMENT_ONE_OFF.backend();
        }
    }

    static class SegmentShort implements DmaBackendContract {
        @Override
        public String backend() {
            return PlantedFault.SEGMENT_SHORT.backend();
        }
    }

    static class SegmentsSwapped implements DmaBackendContract {
        @Override
        public String backend() {
            return PlantedFault.SEGMENTS_SWAPPED.backend();
        }
    }

    static class LeaksMappings implements DmaBackendContract {
        @Override
        public String backend() {
            return PlantedFault.LEAKS_MAPPINGS.backend();
        }
    }

    static class LeaksPages implements DmaBackendContract {
        @Override
        public String backend() {
            return PlantedFault.LEAKS_PAGES.backend();
        }
    }

    static class LeaksWhenAListFails implements DmaBackendContract {
        @Override
        public String backend() {
            return PlantedFault.LEAKS_WHEN_A_LIST_FAILS.backend();
        }
    }

    static class ForgetsToZero implements DmaBackendContract {
        @Override
        public String backend() {
            return PlantedFault.FORGETS_TO_ZERO.backend();
        }
    }

    static class StaleTranslations implements DmaBackendContract {
        @Override
        public String backend() {
            return PlantedFault.STALE_TRANSLATIONS.backend();
        }
    }

    static class IgnoresDirection implements DmaBackendContract {
        @Override
        public String backend() {
            return PlantedFault.IGNORES_DIRECTION.backend();
        }
    }

    static class ReachesEverything implements DmaBackendContract {
        @Override
        public String backend() {
            return PlantedFault.REACHES_EVERYTHING.backend();
        }
    }

    static class SharesAddresses implements DmaBackendContract {
        @Override
        public String backend() {
            return PlantedFault.SHARES_ADDRESSES.backend();
        }
    }

    static class WritesBeforeTheStart implements DmaBackendContract {
        @Override
        public String backend() {
            return PlantedFault.WRITES_BEFORE_THE_START.backend();
        }
    }

    static class RefusesLargeBuffers implements DmaBackendContract {
        @Override
        public String backend() {
            return PlantedFault.REFUSES_LARGE_BUFFERS.backend();
        }
    }

    static class BrokenStructure implements DmaBackendContract {
        @Override
        public String backend() {
            return PlantedFault.BROKEN_STRUCTURE.backend();
        }
    }

    /** The contract of a fault, by the fault's name. */
    static Class<?> of(PlantedFault fault) {
        return switch (fault) {
            case DROPS_COPY_BACK -> DropsCopyBack.class;
            case DROPS_SYNC_FOR_DEVICE -> DropsSyncForDevice.class;
            case SYNCS_ONE_OFF -> SyncsOneOff.class;
            case SEGMENT_ONE_OFF -> SegmentOneOff.class;
            case SEGMENT_SHORT -> SegmentShort.class;
            case SEGMENTS_SWAPPED -> SegmentsSwapped.class;
            case LEAKS_MAPPINGS -> LeaksMappings.class;
            case LEAKS_PAGES -> LeaksPages.class;
            case LEAKS_WHEN_A_LIST_FAILS -> LeaksWhenAListFails.class;
            case FORGETS_TO_ZERO -> ForgetsToZero.class;
            case STALE_TRANSLATIONS -> StaleTranslations.class;
            case IGNORES_DIRECTION -> IgnoresDirection.class;
            case REACHES_EVERYTHING -> ReachesEverything.class;
            case SHARES_ADDRESSES -> SharesAddresses.class;
            case WRITES_BEFORE_THE_START -> WritesBeforeTheStart.class;
            case REFUSES_LARGE_BUFFERS -> RefusesLargeBuffers.class;
            case BROKEN_STRUCTURE -> BrokenStructure.class;
        };
    }
}
