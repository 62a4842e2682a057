package io.pagewalk.dma.debug;

/**
 * The live mapping nearest to an address.
 *
 * @param mapping the mapping
 * @param position where the address is
 * @param distanceBytes from the mapping's start when inside; from its end when above, 0 for the first byte behind it;
 *     to its start when below
 */
public record NearMapping(DebugMapping mapping, Position position, long distanceBytes) {
    /** Where an address is. */
    public enum Position {
        /** In the mapping. */
        INSIDE,
        /** Behind its end. */
        ABOVE,
        /** Before its start. */
        BELOW
    }

    /**
     * Says it in a phrase.
     *
     * @return such as {@code 16 bytes inside single mapping 0x1000+0x20 TO_DEVICE}
     */
    public String describe() {
        String where = switch (position) {
            case INSIDE -> " bytes inside ";
            case ABOVE -> " bytes past the end of ";
            case BELOW -> " bytes before ";
        };
        return Long.toUnsignedString(distanceBytes) + where + mapping.describe();
    }
}
