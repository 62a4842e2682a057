package io.pagewalk.dma.scatterlist;

import io.pagewalk.dma.Errno;
import io.pagewalk.dma.KernelBugException;
import io.pagewalk.dma.memory.Addresses;

/** Walks that count entries from the head of a list to its END. Implements dma-core:SG-8 and SG-9. */
public final class SgWalk {
    private SgWalk() {}

    /**
     * {@code sg_nents}: counts the entries up to END (dma-core:SG-8).
     *
     * @param sg the list
     * @return the count, 0 when the list is null
     */
    public static int nents(SgTable sg) {
        int count = 0;
        for (int i = head(sg); i >= 0; i = sg.next(i)) {
            count++;
        }
        return count;
    }

    /**
     * {@code sg_nents_for_len}: counts the entries that so many bytes need (dma-core:SG-8).
     *
     * @param sg the list
     * @param lengthBytes how many bytes, unsigned
     * @return the least count whose lengths reach them, 0 for no bytes; -EINVAL when the list is too short
     */
    public static int nentsForLen(SgTable sg, long lengthBytes) {
        if (lengthBytes == 0) {
            return 0;
        }
        int count = 0;
        long total = 0;
        for (int i = head(sg); i >= 0; i = sg.next(i)) {
            count++;
            total += sg.lengthBytes(i);
            if (Addresses.lessOrEqual(lengthBytes, total)) {
                return count;
            }
        }
        return -Errno.EINVAL;
    }

    /**
     * {@code sg_last}: finds the last of so many entries (dma-core:SG-9).
     *
     * @param sg the list
     * @param nents how many entries it should have
     * @return the index of that entry
     * @throws KernelBugException when the list has fewer entries, or that one does not end it
     */
    public static int last(SgTable sg, int nents) {
        int entry = -1;
        int next = head(sg);
        for (int i = 0; i < nents && next >= 0; i++) {
            entry = next;
            next = sg.next(entry);
        }
        if (entry != nents - 1 || next >= 0 || nents < 1) {
            throw new KernelBugException("entry " + nents + " is not the one that ends the list (dma-core:SG-9)");
        }
        return entry;
    }

    private static int head(SgTable sg) {
        return sg.entries() == 0 ? -1 : 0;
    }
}
