/** The backends of the DMA API: dma-direct, swiotlb, the IOMMU, virt-dma. */
module io.pagewalk.backends {
    requires transitive io.pagewalk.dma;
    requires static transitive org.jspecify;

    exports io.pagewalk.backends.iommu.api;
    exports io.pagewalk.backends.iommu.iova;
    exports io.pagewalk.backends.swiotlb;

    provides io.pagewalk.dma.spi.DmaBackendProvider with
            io.pagewalk.backends.direct.DirectProvider,
            io.pagewalk.backends.iommu.IommuProvider,
            io.pagewalk.backends.virt.VirtProvider;
}
