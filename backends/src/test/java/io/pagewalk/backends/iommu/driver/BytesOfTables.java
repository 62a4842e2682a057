package io.pagewalk.backends.iommu.driver;

import io.pagewalk.backends.iommu.unit.RegisterFile;
import io.pagewalk.backends.iommu.unit.VtdRegisters;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.PhysicalMemory;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/** Reads a domain's tables byte by byte, knowing nothing but where the root lies and what the format is. */
public final class BytesOfTables {
    private BytesOfTables() {}

    /** The leaves of three levels below the context entry of a device, in order. */
    public static List<String> leaves(PhysicalMemory memory, Machine machine, Device device) {
        List<String> all = new ArrayList<>();
        long root = rootOf(memory, machine, device);
        collect(memory, root, 3, 0, all);
        return all;
    }

    private static long rootOf(PhysicalMemory memory, Machine machine, Device device) {
        long rootTable =
                Objects.requireNonNull(machine.part(RegisterFile.class)).read64(VtdRegisters.RTADDR);
        long contextTable = word(memory, rootTable + (device.requesterId() >> 8) * 16L) / 4096 * 4096;
        return word(memory, contextTable + (device.requesterId() & 0xff) * 16L) / 4096 * 4096;
    }

    private static void collect(PhysicalMemory memory, long table, int level, long base, List<String> all) {
        long span = 4096;
        for (int i = 1; i < level; i++) {
            span *= 512;
        }
        for (int i = 0; i < 512; i++) {
            long entry = word(memory, table + 8L * i);
            long address = entry / 4096 * 4096;
            if (entry % 4 == 0) {
                continue;
            }
            if (level == 1 || entry / 128 % 2 == 1) {
                all.add(text(base + i * span, address, span, (int) (entry % 4)));
            } else {
                collect(memory, address, level - 1, base + i * span, all);
            }
        }
    }

    /** One leaf in words. */
    public static String text(long iova, long phys, long bytes, int perm) {
        return Long.toHexString(iova) + ">" + Long.toHexString(phys) + "+" + Long.toHexString(bytes) + ":" + perm;
    }

    private static long word(PhysicalMemory memory, long physAddr) {
        long value = 0;
        for (int i = 7; i >= 0; i--) {
            value = value * 256 + (memory.getByte(physAddr + i) & 0xff);
        }
        return value;
    }
}
