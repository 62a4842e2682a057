package io.pagewalk.dma.planted;

import io.pagewalk.backends.direct.DirectProvider;

final class KnowsABackend {
    DirectProvider provider() {
        return new DirectProvider();
    }
}
