package io.pagewalk.conformance.adapter;

import io.pagewalk.conformance.format.Informative;
import io.pagewalk.conformance.format.LineFormat;

/** The line that opens a boot. */
final class BootFormat {
    private BootFormat() {}

    /** Of a boot with a device. */
    static LineFormat device() {
        return LineFormat.builder()
                .identity("fam", "type", "boot")
                .input("kernel", "cmdline", "iommu", "dma_mask", "coherent_mask", "bus_dma_limit", "cpu")
                .informative(Informative.LABEL, "mode")
                .exact("required_mask", "max_mapping", "opt_mapping", "max_seg_size", "seg_boundary")
                .exact("merge_boundary", "coherent")
                .object("swiotlb", pool())
                .optionalInput("pci_windows")
                .exact("domain_type", "pgsize_bitmap", "aperture", "force_aperture", "resv", "pt_levels")
                .build();
    }

    private static LineFormat pool() {
        return LineFormat.builder()
                .input("start")
                .exact("end", "nslabs", "nareas", "area_nslabs", "force", "used")
                .build();
    }

    /** Of a boot without a device. */
    static LineFormat.Builder plain() {
        return LineFormat.builder().identity("fam", "type", "boot").input("kernel", "cmdline");
    }
}
