package io.pagewalk.backends.iommu.mapping.planted;

import io.pagewalk.backends.iommu.unit.VtdUnit;

final class KnowsTheUnit {
    Class<?> unit() {
        return VtdUnit.class;
    }
}
