package io.pagewalk.dma;

import io.pagewalk.dma.memory.Addresses;
import java.util.BitSet;

/** Which requester ids of a machine are taken. For one thread. */
final class RequesterIds {
    /** Bus 0, device 1, function 0: below it stands the host bridge. */
    private static final int FIRST = 8;

    private static final int FUNCTIONS = 8;
    private static final int LAST = 0xffff;

    private final BitSet taken = new BitSet();

    /** The id that a device asks for, or the first free one: of function 0 while there are any. */
    int free(DeviceConfig config) {
        int wanted = config.requesterId();
        if (wanted == DeviceConfig.ANY_REQUESTER_ID) {
            return firstFree(config);
        }
        if (taken.get(wanted)) {
            throw new IllegalArgumentException(
                    "requester id " + Addresses.hex(wanted) + " of " + config.name() + " is taken");
        }
        return wanted;
    }

    private int firstFree(DeviceConfig config) {
        for (int id = FIRST; id <= LAST; id += FUNCTIONS) {
            if (!taken.get(id)) {
                return id;
            }
        }
        int otherFunction = taken.nextClearBit(FIRST);
        if (otherFunction <= LAST) {
            return otherFunction;
        }
        throw new IllegalArgumentException("no requester id is left for " + config.name() + " below 0x10000");
    }

    void take(int id) {
        taken.set(id);
    }
}
