package io.pagewalk.backends.iommu.unit.planted;

/** Stands for what a unit keeps to itself. */
public final class Cache {}
