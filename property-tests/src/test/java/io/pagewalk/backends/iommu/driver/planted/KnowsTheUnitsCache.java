package io.pagewalk.backends.iommu.driver.planted;

import io.pagewalk.backends.iommu.unit.planted.Cache;

final class KnowsTheUnitsCache {
    Class<?> cache() {
        return Cache.class;
    }
}
