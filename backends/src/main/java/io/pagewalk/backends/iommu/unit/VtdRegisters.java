package io.pagewalk.backends.iommu.unit;

/** Offsets and bits of the registers of a VT-d unit. Implements iommu:INV-18 and iommu:FLT-2. */
public final class VtdRegisters {
    /** Version, 32 bits. */
    public static final int VER = 0x00;
    /** Capabilities, 64 bits; see {@link VtdCapability}. */
    public static final int CAP = 0x08;
    /** Extended capabilities, 64 bits. */
    public static final int ECAP = 0x10;
    /** Global command, 32 bits, written only. */
    public static final int GCMD = 0x18;
    /** Global status, 32 bits: what of {@link #GCMD} is in force. */
    public static final int GSTS = 0x1c;
    /** Root table address, 64 bits. */
    public static final int RTADDR = 0x20;
    /** Context command, 64 bits: invalidation without the queue. */
    public static final int CCMD = 0x28;
    /** Fault status, 32 bits. */
    public static final int FSTS = 0x34;
    /** Fault event control, 32 bits. */
    public static final int FECTL = 0x38;
    /** Invalidation queue head, 64 bits. */
    public static final int IQH = 0x80;
    /** Invalidation queue tail, 64 bits. */
    public static final int IQT = 0x88;
    /** Invalidation queue address, 64 bits. */
    public static final int IQA = 0x90;
    /** Invalidation queue error record, 64 bits. */
    public static final int IQER = 0xb0;
    /** Address of a register-based IOTLB invalidation, 64 bits: at IRO of {@link #ECAP}. */
    public static final int IVA = 0xf0;
    /** Register-based IOTLB invalidation, 64 bits. */
    public static final int IOTLB = 0xf8;
    /** The first fault record, 16 bytes each: at FRO of {@link #CAP}. */
    public static final int FRCD = 0x220;

    /** GCMD and GSTS: translation enable. */
    public static final int GCMD_TE = 1 << 31;
    /** GCMD and GSTS: set root table pointer. */
    public static final int GCMD_SRTP = 1 << 30;
    /** GCMD: write buffer flush. */
    public static final int GCMD_WBF = 1 << 27;
    /** GCMD and GSTS: queued invalidation enable. */
    public static final int GCMD_QIE = 1 << 26;

    /** CCMD: invalidate context cache; stays set until done. */
    public static final long CCMD_ICC = 1L << 63;
    /** IOTLB: invalidate; stays set until done. */
    public static final long IOTLB_IVT = 1L << 63;

    /** FSTS: a fault was lost because its record was still in use. */
    public static final int FSTS_PFO = 1;
    /** FSTS: some record is in use. */
    public static final int FSTS_PPF = 1 << 1;
    /** FSTS: a descriptor was invalid; the queue stands still until this is written with 1. */
    public static final int FSTS_IQE = 1 << 4;
    /** FSTS: a device answered an invalidation wrongly; cleared by writing 1. */
    public static final int FSTS_ICE = 1 << 5;
    /** FSTS: a device did not answer an invalidation; the queue stands still until this is written with 1. */
    public static final int FSTS_ITE = 1 << 6;
    /** FECTL: the fault interrupt is masked. */
    public static final int FECTL_IM = 1 << 31;

    private VtdRegisters() {}
}
