package io.pagewalk.conformance.format;

/**
 * The kinds of values in vectors that nothing can be held to. Each is named once, with its reason, in
 * {@code docs/decisions/0004-what-a-vector-does-not-decide.md}.
 */
public enum Informative {
    /** Source line and function offsets in the header of a kernel WARN. */
    WARN_PLACE,
    /** What follows from how the recording module filled its buffers. */
    FILL_PATTERN,
    /** Where the recording machine's page allocator put things. */
    PAGE_ALLOCATOR,
    /** Device addresses that depend on when the recording machine's timer fired. */
    TIMER,
    /** What the device model does with a transfer that the IOMMU blocks. */
    DEVICE,
    /** What a call cost the recording machine. */
    COST,
    /** Sizes of C structures. */
    C_LAYOUT,
    /** What the driver did to memory after it walked through a superpage, and all that follows in that script. */
    AFTER_HAZARD,
    /** Keys that the recording machine drew, which are random in part. */
    KEY,
    /** Limits of a device that the specification does not list. */
    OTHER_LIMIT,
    /** What the library of user space decided without asking the kernel. */
    USER_LIBRARY,
    /** Asynchronous events of a device, of which the library has none. */
    NO_EVENTS,
    /** How long a recording took, and what memory its machine had left. */
    RECORDING,
    /** Names of scripts, modes and drivers. */
    LABEL
}
