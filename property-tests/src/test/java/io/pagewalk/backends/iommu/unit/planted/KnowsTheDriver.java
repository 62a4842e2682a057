package io.pagewalk.backends.iommu.unit.planted;

import io.pagewalk.backends.iommu.driver.IommuDriver;

final class KnowsTheDriver {
    void close(IommuDriver driver) {
        driver.close();
    }
}
