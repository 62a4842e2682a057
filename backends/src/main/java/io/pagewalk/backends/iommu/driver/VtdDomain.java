package io.pagewalk.backends.iommu.driver;

import io.pagewalk.backends.iommu.pgtable.VtdSecondStage;

/** A domain as the driver knows it. For one thread at a time. */
final class VtdDomain {
    static final int NO_ID = 0;

    private final VtdSecondStage table;
    private int id = NO_ID;

    VtdDomain(VtdSecondStage table) {
        this.table = table;
    }

    VtdSecondStage table() {
        return table;
    }

    int id() {
        return id;
    }

    void setId(int newId) {
        id = newId;
    }
}
