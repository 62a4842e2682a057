package io.pagewalk.rdma.mm.planted;

import io.pagewalk.rdma.AccessFlags;

final class KnowsRegistrations {
    boolean writable(int access) {
        return AccessFlags.writable(access);
    }
}
