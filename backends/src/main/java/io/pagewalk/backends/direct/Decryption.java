package io.pagewalk.backends.direct;

import io.pagewalk.dma.FailurePoint;
import io.pagewalk.dma.KernelLog;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.Addresses;

/**
 * Taking memory out of encryption for devices that cannot decrypt, and putting it back. Both may fail, and what is left
 * in the middle is lost.
 *
 * <p>Implements dma-core:ALC-10. Contents do not change: nobody looks at memory past its encryption here. Thread-safe.
 */
final class Decryption {
    private final boolean forced;
    private final FailurePoint decryptPoint;
    private final FailurePoint encryptPoint;
    private final KernelLog.Site leakSite;

    Decryption(Machine machine) {
        forced = machine.kernelConfig().arch().forcedDecryption();
        decryptPoint = machine.failures().point("direct.decrypt");
        encryptPoint = machine.failures().point("direct.encrypt");
        leakSite = machine.log().site("dma_set_encrypted");
    }

    /** {@code force_dma_unencrypted}. */
    boolean isForced() {
        return forced;
    }

    /** False when the memory is lost. */
    boolean decrypt() {
        return !forced || !decryptPoint.failsCall();
    }

    /** False when the memory is lost, with a message. */
    boolean encrypt(long physAddr, long sizeBytes) {
        if (!forced || !encryptPoint.fails()) {
            return true;
        }
        if (leakSite.isWithinRate()) {
            leakSite.message("leaking DMA memory at " + Addresses.hexRange(physAddr, sizeBytes)
                    + " that can't be re-encrypted (dma-core:ALC-10)");
        }
        return false;
    }
}
