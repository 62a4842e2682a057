package io.pagewalk.rdma.planted;

import io.pagewalk.backends.direct.DirectProvider;

final class KnowsABackend {
    DirectProvider provider() {
        return new DirectProvider();
    }
}
