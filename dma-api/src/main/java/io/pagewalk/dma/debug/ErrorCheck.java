package io.pagewalk.dma.debug;

/** Whether {@code dma_mapping_error} was asked about a mapping (dma-core:DBG-2, DBG-30). */
public enum ErrorCheck {
    /** Nobody has to ask: lists and allocations, and all of a recorded trace, which has no such calls. */
    NOT_APPLICABLE("dma map error check not applicable"),
    /** The driver has not asked. */
    NOT_CHECKED("dma map error not checked"),
    /** The driver has asked. */
    CHECKED("dma map error checked");

    private final String text;

    ErrorCheck(String text) {
        this.text = text;
    }

    /**
     * How the dump says it (dma-core:DBG-76).
     *
     * @return a phrase
     */
    public String text() {
        return text;
    }
}
