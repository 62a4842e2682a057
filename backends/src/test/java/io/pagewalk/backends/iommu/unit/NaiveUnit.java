package io.pagewalk.backends.iommu.unit;

import io.pagewalk.dma.Access;
import io.pagewalk.dma.memory.PhysicalMemory;

/**
 * An oracle: a unit without caches that reads bytes one by one, after the tables of the specification (iommu:CTX-1,
 * CTX-2, VTD-9, FLT-4, FLT-5, FLT-7, FLT-8). It shares no code with the real one.
 */
final class NaiveUnit {
    private final PhysicalMemory memory;
    private final long ramBytes;
    private final int widthBits;
    private final int largeSizes;
    private final int hostBits;
    private final boolean snoops;

    NaiveUnit(PhysicalMemory memory, long ramBytes, int widthBits, int largeSizes, int hostBits, boolean snoops) {
        this.memory = memory;
        this.ramBytes = ramBytes;
        this.widthBits = widthBits;
        this.largeSizes = largeSizes;
        this.hostBits = hostBits;
        this.snoops = snoops;
    }

    /** A fault is its reason, negated; an address is itself. */
    long translate(long root, int requester, long iova, Access access) {
        if (iova >>> 20 == 0xfee) {
            return access == Access.WRITE ? -0x200 : -0xe;
        }
        long rootSlot = root + requester / 256 * 16L;
        if (!isRam(rootSlot)) {
            return -8;
        }
        long rootLow = word(rootSlot);
        if (bit(rootLow, 0) == 0) {
            return -1;
        }
        if (bits(rootLow, 1, 11) != 0 || bits(rootLow, hostBits, 63) != 0 || word(rootSlot + 8) != 0) {
            return -0xa;
        }
        long slot = bits(rootLow, 12, 63) * 4096 + requester % 256 * 16L;
        return isRam(slot) ? translateIn(word(slot), word(slot + 8), iova, access) : -9;
    }

    private long translateIn(long low, long high, long iova, Access access) {
        if (bit(low, 0) == 0) {
            return -2;
        }
        if (bits(low, 4, 11) != 0 || bits(low, hostBits, 63) != 0 || bits(high, 24, 63) != 0 || bit(high, 7) != 0) {
            return -0xb;
        }
        long type = bits(low, 2, 3);
        int levels = (int) bits(high, 0, 2) + 2;
        if ((type != 0 && type != 2) || levels != levels()) {
            return -3;
        }
        if (iova >>> Math.min(widthBits, 12 + 9 * levels) != 0) {
            return -4;
        }
        if (type == 2) {
            return iova;
        }
        long found = walk(bits(low, 12, 63) * 4096, levels, iova, access, 3);
        return found >>> 20 == 0xfee ? -0xe : found;
    }

    private int levels() {
        return widthBits <= 39 ? 3 : widthBits <= 48 ? 4 : 5;
    }

    private long walk(long table, int level, long iova, Access access, long allowedAbove) {
        long span = 1L << (12 + 9 * (level - 1));
        long slot = table + Long.divideUnsigned(iova, span) % 512 * 8;
        if (!isRam(slot)) {
            return -7;
        }
        long entry = word(slot);
        long allowed = allowedAbove & bits(entry, 0, 1);
        if (access != Access.READ && allowed < 2) {
            return -5;
        }
        if (access != Access.WRITE && allowed % 2 == 0) {
            return -6;
        }
        boolean large = level > 1 && bit(entry, 7) == 1;
        if (hostBits < 52 && bits(entry, hostBits, 51) != 0) {
            return -0xc;
        }
        long address = bits(entry, 12, 51) * 4096;
        if (level > 1 && !large) {
            return walk(address, level - 1, iova, access, allowed);
        }
        if (!snoops && bit(entry, 11) == 1) {
            return -0xc;
        }
        if (large && (level - 1 > largeSizes || address % span != 0)) {
            return -0xc;
        }
        return address + iova % span;
    }

    private boolean isRam(long address) {
        return address >= 0 && address + 8 <= ramBytes;
    }

    private static long bit(long word, int index) {
        return bits(word, index, index);
    }

    private static long bits(long word, int from, int to) {
        return from > to ? 0 : word << (63 - to) >>> (63 - to + from);
    }

    private long word(long physAddr) {
        long value = 0;
        for (int i = 7; i >= 0; i--) {
            value = (value << 8) | (memory.getByte(physAddr + i) & 0xff);
        }
        return value;
    }
}
