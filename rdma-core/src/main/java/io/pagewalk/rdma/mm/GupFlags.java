package io.pagewalk.rdma.mm;

/** How pages are asked for when they are pinned: bits with the kernel's values (rdma:GUP-1). */
public final class GupFlags {

    /** Pages must be writable by the device. */
    public static final int WRITE = 0x1;

    /** Plain references instead of pins. */
    public static final int GET = 0x2;

    /** Break copy-on-write, and read what the process itself may not. */
    public static final int FORCE = 0x8;

    /** Take only what is present. */
    public static final int NOFAULT = 0x20;

    /** Anonymous memory alone. */
    public static final int ANON = 0x80;

    /** The pins stay for as long as a user likes. */
    public static final int LONGTERM = 0x100;

    /** Pages of peer devices are welcome. */
    public static final int PCI_P2PDMA = 0x400;

    private GupFlags() {}
}
