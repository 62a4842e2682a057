package io.pagewalk.trace.workload;

import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.memory.Addresses;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** What one device has live, found by DMA address and, for lists, by physical addresses. */
final class DeviceLive {
    /*
     * Two books. By DMA address: a tree, since a sync may name any address inside a mapping. A list stands there under its
     * first segment only. By first physical address: lists, since dma_unmap_sg names no DMA address. Either holds chains,
     * oldest first: dma-direct gives one address to every mapping of a buffer, and a list may be mapped twice.
     */

    /** How far below an address a sync looks for the mapping that holds it, where mappings may overlap. */
    private static final int NEIGHBOURS = 64;

    private final TreeMap<Long, LiveEntry> byAddress = new TreeMap<>(Long::compareUnsigned);
    private final Map<Long, LiveEntry> listsByPhys = new HashMap<>();

    void add(LiveEntry entry) {
        LiveEntry oldest = byAddress.putIfAbsent(entry.dmaAddr, entry);
        if (oldest != null) {
            lastAtAddress(oldest).nextAtAddress = entry;
        }
        if (entry.kind == LiveEntry.Kind.SG) {
            addList(entry);
        }
    }

    private void addList(LiveEntry entry) {
        LiveEntry oldest = listsByPhys.putIfAbsent(entry.physAddrs[0], entry);
        if (oldest != null) {
            lastAtPhys(oldest).nextAtPhys = entry;
        }
    }

    private static LiveEntry lastAtAddress(LiveEntry entry) {
        LiveEntry last = entry;
        for (LiveEntry next = last.nextAtAddress; next != null; next = last.nextAtAddress) {
            last = next;
        }
        return last;
    }

    private static LiveEntry lastAtPhys(LiveEntry entry) {
        LiveEntry last = entry;
        for (LiveEntry next = last.nextAtPhys; next != null; next = last.nextAtPhys) {
            last = next;
        }
        return last;
    }

    void remove(LiveEntry entry) {
        unlinkFromAddress(entry);
        if (entry.kind == LiveEntry.Kind.SG) {
            unlinkFromPhys(entry);
        }
    }

    private void unlinkFromAddress(LiveEntry entry) {
        LiveEntry before = null;
        for (LiveEntry at = byAddress.get(entry.dmaAddr); at != null && at != entry; at = at.nextAtAddress) {
            before = at;
        }
        if (before != null) {
            before.nextAtAddress = entry.nextAtAddress;
        } else if (entry.nextAtAddress == null) {
            byAddress.remove(entry.dmaAddr);
        } else {
            byAddress.put(entry.dmaAddr, entry.nextAtAddress);
        }
        entry.nextAtAddress = null;
    }

    private void unlinkFromPhys(LiveEntry entry) {
        LiveEntry before = null;
        for (LiveEntry at = listsByPhys.get(entry.physAddrs[0]); at != null && at != entry; at = at.nextAtPhys) {
            before = at;
        }
        if (before != null) {
            before.nextAtPhys = entry.nextAtPhys;
        } else if (entry.nextAtPhys == null) {
            listsByPhys.remove(entry.physAddrs[0]);
        } else {
            listsByPhys.put(entry.physAddrs[0], entry.nextAtPhys);
        }
        entry.nextAtPhys = null;
    }

    /** The oldest one that starts at an address; its chain leads to the younger ones. */
    @Nullable LiveEntry oldestAt(long dmaAddr) {
        return byAddress.get(dmaAddr);
    }

    /**
     * The one to end: the oldest of its kind at the address that has this size and direction, else the oldest of its
     * kind.
     */
    @Nullable LiveEntry toEnd(LiveEntry.Kind kind, long dmaAddr, long sizeBytes, DmaDirection direction) {
        LiveEntry oldest = null;
        for (LiveEntry at = byAddress.get(dmaAddr); at != null; at = at.nextAtAddress) {
            if (at.isLike(kind, sizeBytes, direction)) {
                return at;
            }
            oldest = oldest == null && at.kind == kind ? at : oldest;
        }
        return oldest;
    }

    /**
     * The list that a {@code dma_unmap_sg} ends.
     *
     * <p>Several may have the same device, direction and physical addresses; the oldest is taken. Which one it really
     * was matters little: candidates that are equal in all this stand for calls with equal arguments, so whichever ends
     * first, the same calls follow each other in a replay.
     */
    @Nullable LiveEntry listToEnd(DmaDirection direction, long[] physAddrs) {
        LiveEntry at = listsByPhys.get(physAddrs[0]);
        while (at != null && !(at.direction == direction && isListOf(at, physAddrs))) {
            at = at.nextAtPhys;
        }
        return at;
    }

    /** The unmap line has all entries, the map line perhaps only the first ones. */
    private static boolean isListOf(LiveEntry entry, long[] physAddrs) {
        if (!entry.isTruncated) {
            return Arrays.equals(entry.physAddrs, physAddrs);
        }
        int common = Math.min(entry.physAddrs.length, physAddrs.length);
        return Arrays.equals(entry.physAddrs, 0, common, physAddrs, 0, common);
    }

    /** The mapping of which a range is part: the one that starts nearest below it, the youngest of those. */
    @Nullable LiveEntry holderOf(long dmaAddr, long sizeBytes) {
        Map.Entry<Long, LiveEntry> below = byAddress.floorEntry(dmaAddr);
        for (int i = 0; below != null && i < NEIGHBOURS; i++) {
            LiveEntry holder = youngestHolder(below.getValue(), dmaAddr, sizeBytes);
            if (holder != null) {
                return holder;
            }
            below = byAddress.lowerEntry(below.getKey());
        }
        return null;
    }

    private static @Nullable LiveEntry youngestHolder(LiveEntry oldest, long dmaAddr, long sizeBytes) {
        LiveEntry holder = null;
        for (LiveEntry at = oldest; at != null; at = at.nextAtAddress) {
            boolean mapping = at.kind != LiveEntry.Kind.ALLOC;
            if (mapping && Addresses.contains(at.dmaAddr, at.sizeBytes, dmaAddr, sizeBytes)) {
                holder = at;
            }
        }
        return holder;
    }

    /** The list whose first DMA segment starts at an address. */
    @Nullable LiveEntry listAt(long dmaAddr) {
        LiveEntry at = byAddress.get(dmaAddr);
        while (at != null && at.kind != LiveEntry.Kind.SG) {
            at = at.nextAtAddress;
        }
        return at;
    }

    int size() {
        int count = 0;
        for (LiveEntry oldest : byAddress.values()) {
            for (LiveEntry at = oldest; at != null; at = at.nextAtAddress) {
                count++;
            }
        }
        return count;
    }
}
