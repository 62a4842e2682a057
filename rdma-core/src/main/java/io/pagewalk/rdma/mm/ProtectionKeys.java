package io.pagewalk.rdma.mm;

/**
 * A thread's register of protection keys, PKRU of x86: two bits for each of 16 keys, the lower of which denies every
 * access and the higher writes.
 *
 * @param pkru the register, 0 when everything is allowed
 */
record ProtectionKeys(int pkru) {
    static final int KEYS = 16;

    boolean allow(int key, boolean write) {
        int denied = (pkru >>> (2 * key)) & 3;
        return write ? denied == 0 : (denied & 1) == 0;
    }
}
