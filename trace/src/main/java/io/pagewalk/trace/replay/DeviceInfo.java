package io.pagewalk.trace.replay;

/**
 * A device of a replay.
 *
 * @param name its name
 * @param mask its streaming DMA mask
 * @param maskSource who says so
 */
public record DeviceInfo(String name, long mask, MaskSource maskSource) {

    /** Where a mask is known from. */
    public enum MaskSource {
        /** The machine file. */
        MACHINE_FILE("machine file"),
        /** A {@code swiotlb_bounced} line of the trace. */
        TRACE("from trace"),
        /** Nowhere: 64 bits. */
        ASSUMED("assumed");

        private final String label;

        MaskSource(String label) {
            this.label = label;
        }

        /**
         * Says it in words.
         *
         * @return a short phrase
         */
        public String label() {
            return label;
        }
    }
}
