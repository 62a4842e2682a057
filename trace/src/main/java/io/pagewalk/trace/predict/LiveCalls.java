package io.pagewalk.trace.predict;

import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.memory.Addresses;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The calls of one device that live, by recorded DMA address and, for lists, by the physical address of their first
 * entry, since {@code dma_unmap_sg} names no DMA address. The oldest of several comes first.
 */
final class LiveCalls {
    private final Map<Long, List<Call>> byAddress = new HashMap<>();
    private final Map<Long, List<Call>> listsByPhys = new HashMap<>();

    void add(Call call) {
        byAddress.computeIfAbsent(call.dmaAddr(), at -> new ArrayList<>(1)).add(call);
        if (isList(call)) {
            listsByPhys
                    .computeIfAbsent(call.physAddrs[0], at -> new ArrayList<>(1))
                    .add(call);
        }
    }

    private static boolean isList(Call call) {
        return call.kind == AddressKind.LIST || call.kind == AddressKind.SEGMENT;
    }

    void remove(Call call) {
        remove(byAddress, call.dmaAddr(), call);
        if (isList(call)) {
            remove(listsByPhys, call.physAddrs[0], call);
        }
    }

    private static void remove(Map<Long, List<Call>> from, long key, Call call) {
        List<Call> calls = from.get(key);
        if (calls != null) {
            calls.removeIf(live -> live == call);
            if (calls.isEmpty()) {
                from.remove(key);
            }
        }
    }

    /** The page mapping that an unmap ends: one of this size and direction if there is one. */
    @Nullable Call page(long dmaAddr, long sizeBytes, DmaDirection direction) {
        Call alike = first(
                byAddress.get(dmaAddr),
                call -> call.kind == AddressKind.PAGE && call.lengths[0] == sizeBytes && call.direction == direction);
        return alike != null ? alike : first(byAddress.get(dmaAddr), call -> call.kind == AddressKind.PAGE);
    }

    @Nullable Call coherent(long dmaAddr, long sizeBytes) {
        return first(byAddress.get(dmaAddr), call -> call.kind == AddressKind.COHERENT && call.lengths[0] == sizeBytes);
    }

    @Nullable Call list(DmaDirection direction, long[] physAddrs) {
        return first(listsByPhys.get(physAddrs[0]), call -> call.isList(direction, physAddrs));
    }

    /** The list among those of an unmap that starts on a page of DMA addresses. */
    @Nullable Call listAt(DmaDirection direction, long[] physAddrs, long pageAddr) {
        return first(
                listsByPhys.get(physAddrs[0]),
                call -> call.isList(direction, physAddrs) && (call.dmaAddr() & Addresses.PAGE_MASK) == pageAddr);
    }

    private static @Nullable Call first(@Nullable List<Call> calls, Predicate<Call> wanted) {
        if (calls != null) {
            for (Call call : calls) {
                if (wanted.test(call)) {
                    return call;
                }
            }
        }
        return null;
    }
}
