package io.pagewalk.backends.iommu.driver.planted;

import io.pagewalk.backends.iommu.unit.VtdFaultReason;

final class KnowsTheUnitsFaults {
    Class<?> reasons() {
        return VtdFaultReason.class;
    }
}
