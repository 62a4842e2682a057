package io.pagewalk.conformance.planted;

import io.pagewalk.kit.CheckedMemory;

final class KnowsTheKit {
    Class<?> kit() {
        return CheckedMemory.class;
    }
}
