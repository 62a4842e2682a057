package io.pagewalk.rdma;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** Laws of the rights of a registration (rdma:ACC-1, rdma:UMEM-2). */
class AccessFlagsTest {

    // rdma:UMEM-2
    @Test
    void localWriteRemoteWriteAtomicsAndWindowsMakeARegistrationWritable() {
        int writable = 0;
        for (int bit = 0; bit < Integer.SIZE; bit++) {
            writable |= AccessFlags.writable(1 << bit) ? 1 << bit : 0;
        }

        assertThat(writable).isEqualTo(0x1b);
        assertThat(AccessFlags.writable(0)).isFalse();
        assertThat(AccessFlags.writable(~0x1b)).isFalse();
        assertThat(AccessFlags.writable(-1)).isTrue();
    }
}
