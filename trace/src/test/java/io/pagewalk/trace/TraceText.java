package io.pagewalk.trace;

import io.pagewalk.dma.DmaDirection;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import java.util.stream.LongStream;

/** Writes events as the tools print them: the reader's other half, for tests. */
final class TraceText {
    private static final String[] ATTR_NAMES = {
        null,
        "WEAK_ORDERING",
        "WRITE_COMBINE",
        null,
        "NO_KERNEL_MAPPING",
        "SKIP_CPU_SYNC",
        "FORCE_CONTIGUOUS",
        "ALLOC_SINGLE_PAGES",
        "NO_WARN",
        "PRIVILEGED"
    };

    private TraceText() {}

    /** What a tool makes of an event. */
    enum Dialect {
        TRACEFS,
        REPORT,
        RAW,
        LATENCY,
        PERF;

        boolean hasFlags() {
            return this == TRACEFS || this == LATENCY;
        }

        boolean hasMarks() {
            return this != PERF;
        }

        int longestTask() {
            return this == LATENCY ? 8 : 15;
        }

        long tickNanos() {
            return this == LATENCY ? 1 : 1000;
        }
    }

    static String line(TraceEvent event, Dialect dialect) {
        String name = name(event, dialect);
        return prefix(event.header(), dialect) + padded(name, dialect) + body(event, dialect);
    }

    private static String prefix(TraceHeader h, Dialect dialect) {
        long micros = h.timestampNanos() / 1000;
        String flags = h.flags().isEmpty() ? "....." : h.flags();
        String time = String.format("%d.%06d", micros / 1_000_000, micros % 1_000_000);
        return switch (dialect) {
            case TRACEFS -> String.format("%16s-%-7d [%03d] %s %12s: ", h.task(), h.pid(), h.cpu(), flags, time);
            case REPORT, RAW -> String.format("%16s-%-5d [%03d] %12s: ", h.task(), h.pid(), h.cpu(), time);
            case LATENCY ->
                String.format(
                        "%8s-%-5d %3d%s %5d.%09d: ",
                        h.task(),
                        h.pid(),
                        h.cpu(),
                        flags,
                        h.timestampNanos() / 1_000_000_000,
                        h.timestampNanos() % 1_000_000_000);
            case PERF -> String.format("%16s %5d [%03d] %12s: ", h.task(), h.pid(), h.cpu(), time);
        };
    }

    private static String padded(String name, Dialect dialect) {
        return switch (dialect) {
            case TRACEFS -> name + ": ";
            case REPORT, LATENCY -> String.format("%-20s ", name + ":");
            case RAW -> String.format("%-20s  ", name + ":");
            case PERF -> String.format("%30s: ", name);
        };
    }

    private static String name(TraceEvent event, Dialect dialect) {
        String name = tracefsName(event);
        if (event instanceof TraceEvent.Mark) {
            return dialect == Dialect.TRACEFS ? name : "print";
        }
        return dialect == Dialect.PERF ? system(event) + ":" + name : name;
    }

    private static String system(TraceEvent event) {
        if (event instanceof DmaEvent) {
            return "dma";
        }
        return event instanceof IommuEvent ? "iommu" : "swiotlb";
    }

    private static String tracefsName(TraceEvent event) {
        if (event instanceof DmaEvent.SyncSingle e) {
            return "dma_sync_single_for_" + (e.forCpu() ? "cpu" : "device");
        } else if (event instanceof SgEvent.SyncSg e) {
            return "dma_sync_sg_for_" + (e.forCpu() ? "cpu" : "device");
        } else if (event instanceof IommuEvent.DeviceGroup e) {
            return switch (e.kind()) {
                case ADD -> "add_device_to_group";
                case ATTACH -> "attach_device_to_domain";
                case REMOVE -> "remove_device_from_group";
            };
        }
        return switch (event.getClass().getSimpleName()) {
            case "CoherentAlloc" -> "dma_alloc";
            case "CoherentFree" -> "dma_free";
            case "MapSgError" -> "dma_map_sg_err";
            case "AllocSgtError" -> "dma_alloc_sgt_err";
            case "SwiotlbBounced" -> "swiotlb_bounced";
            case "IommuMap" -> "map";
            case "IommuUnmap" -> "unmap";
            case "IommuFault" -> "io_page_fault";
            case "Mark" -> "tracing_mark_write";
            default ->
                "dma"
                        + event.getClass()
                                .getSimpleName()
                                .replaceAll("([A-Z])", "_$1")
                                .toLowerCase(Locale.ROOT);
        };
    }

    private static String body(TraceEvent event, Dialect dialect) {
        if (event instanceof TraceEvent.Mark mark) {
            return switch (dialect) {
                case TRACEFS -> mark.text();
                case RAW -> "ip=tracing_mark_write buf=" + mark.text();
                default -> "tracing_mark_write: " + mark.text();
            };
        }
        if (dialect == Dialect.RAW) {
            return named(event);
        }
        boolean fails = event instanceof SgEvent && dialect != Dialect.TRACEFS;
        return fails ? "[FAILED TO PARSE] " + named(event) : printed(event, dialect);
    }

    private static String printed(TraceEvent event, Dialect dialect) {
        String virt = dialect == Dialect.TRACEFS ? "000000006a508419" : "0xff5486ef80071000";
        if (event instanceof DmaEvent.MapPage e) {
            return range(e.device(), e.direction(), e.dmaAddr(), e.sizeBytes()) + " phys_addr=" + hex(e.physAddr())
                    + attrs(e.attrs());
        } else if (event instanceof DmaEvent.MapResource e) {
            return range(e.device(), e.direction(), e.dmaAddr(), e.sizeBytes()) + " phys_addr=" + hex(e.physAddr())
                    + attrs(e.attrs());
        } else if (event instanceof DmaEvent.UnmapPage e) {
            return range(e.device(), e.direction(), e.dmaAddr(), e.sizeBytes()) + attrs(e.attrs());
        } else if (event instanceof DmaEvent.UnmapResource e) {
            return range(e.device(), e.direction(), e.dmaAddr(), e.sizeBytes()) + attrs(e.attrs());
        } else if (event instanceof DmaEvent.SyncSingle e) {
            return range(e.device(), e.direction(), e.dmaAddr(), e.sizeBytes());
        } else if (event instanceof DmaEvent.CoherentAlloc e) {
            return range(e.device(), DmaDirection.BIDIRECTIONAL, e.dmaAddr(), e.sizeBytes()) + " virt_addr=" + virt
                    + " flags=GFP_KERNEL|__GFP_ZERO" + attrs(e.attrs());
        } else if (event instanceof DmaEvent.CoherentFree e) {
            return range(e.device(), DmaDirection.BIDIRECTIONAL, e.dmaAddr(), e.sizeBytes()) + " virt_addr=" + virt
                    + attrs(e.attrs());
        } else if (event instanceof DmaEvent.AllocPages e) {
            return range(e.device(), e.direction(), e.dmaAddr(), e.sizeBytes()) + " virt_addr=" + virt + " flags=none"
                    + attrs(e.attrs());
        } else if (event instanceof DmaEvent.AllocSgtError e) {
            return range(e.device(), e.direction(), e.dmaAddr(), e.sizeBytes()) + " virt_addr=(nil) flags=none"
                    + attrs(e.attrs());
        } else if (event instanceof DmaEvent.FreePages e) {
            return range(e.device(), e.direction(), e.dmaAddr(), e.sizeBytes()) + " virt_addr=" + virt
                    + attrs(e.attrs());
        }
        return event instanceof SgEvent sg ? printedList(sg) : printedOther(event);
    }

    private static String printedList(SgEvent event) {
        String start = event.device() + " dir=" + event.direction();
        if (event instanceof SgEvent.MapSg e) {
            return String.format(
                    "%s nents=%d/%d ents=%d/%d%s dma_addrs=%s sizes=%s phys_addrs=%s%s",
                    start,
                    e.physAddrs().length,
                    e.fullNents(),
                    e.dmaAddrs().length,
                    e.fullEnts(),
                    e.truncated() ? " [TRUNCATED]" : "",
                    braces(e.dmaAddrs()),
                    braces(e.lengths()),
                    braces(e.physAddrs()),
                    attrs(e.attrs()));
        } else if (event instanceof SgEvent.UnmapSg e) {
            return start + " phys_addrs=" + braces(e.physAddrs()) + attrs(e.attrs());
        } else if (event instanceof SgEvent.MapSgError e) {
            return start + " dma_addrs=" + braces(e.physAddrs()) + " err=" + e.errno() + attrs(e.attrs());
        } else if (event instanceof SgEvent.SyncSg e) {
            return start + " dma_addrs=" + braces(e.dmaAddrs()) + " sizes=" + braces(e.lengths());
        } else if (event instanceof SgEvent.AllocSgt e) {
            return range(e.device(), e.direction(), e.dmaAddr(), e.sizeBytes()) + " phys_addrs=" + braces(e.physAddrs())
                    + " flags=GFP_KERNEL" + attrs(e.attrs());
        }
        SgEvent.FreeSgt e = (SgEvent.FreeSgt) event;
        return range(e.device(), e.direction(), e.dmaAddr(), e.sizeBytes()) + " phys_addrs=" + braces(e.physAddrs());
    }

    private static String printedOther(TraceEvent event) {
        if (event instanceof TraceEvent.SwiotlbBounced e) {
            return String.format(
                    "dev_name: %s dma_mask=%x dev_addr=%x size=%s %s",
                    e.device(), e.dmaMask(), e.devAddr(), decimal(e.sizeBytes()), e.forced() ? "FORCE" : "NORMAL");
        } else if (event instanceof IommuEvent.IommuMap e) {
            return String.format(
                    "IOMMU: iova=0x%016x - 0x%016x paddr=0x%016x size=%s",
                    e.iova(), e.iova() + e.sizeBytes(), e.physAddr(), decimal(e.sizeBytes()));
        } else if (event instanceof IommuEvent.IommuUnmap e) {
            return String.format(
                    "IOMMU: iova=0x%016x - 0x%016x size=%s unmapped_size=%s",
                    e.iova(), e.iova() + e.sizeBytes(), decimal(e.sizeBytes()), decimal(e.unmappedBytes()));
        } else if (event instanceof IommuEvent.DeviceGroup e) {
            String group = e.kind() == IommuEvent.GroupChange.ATTACH ? "" : "groupID=" + e.groupId() + " ";
            return "IOMMU: " + group + "device=" + e.device();
        }
        IommuEvent.IommuFault e = (IommuEvent.IommuFault) event;
        return String.format("IOMMU:%s %s iova=0x%016x flags=0x%04x", e.driver(), e.device(), e.iova(), e.flags());
    }

    private static String named(TraceEvent event) {
        if (event instanceof DmaEvent.MapPage e) {
            return "device=" + e.device() + " phys_addr=" + hex(e.physAddr()) + " dma_addr=" + hex(e.dmaAddr())
                    + sizeDirAttrs(e.sizeBytes(), e.direction(), e.attrs());
        } else if (event instanceof DmaEvent.MapResource e) {
            return "device=" + e.device() + " phys_addr=" + hex(e.physAddr()) + " dma_addr=" + hex(e.dmaAddr())
                    + sizeDirAttrs(e.sizeBytes(), e.direction(), e.attrs());
        } else if (event instanceof DmaEvent.UnmapPage e) {
            return "device=" + e.device() + " addr=" + hex(e.dmaAddr())
                    + sizeDirAttrs(e.sizeBytes(), e.direction(), e.attrs());
        } else if (event instanceof DmaEvent.UnmapResource e) {
            return "device=" + e.device() + " addr=" + hex(e.dmaAddr())
                    + sizeDirAttrs(e.sizeBytes(), e.direction(), e.attrs());
        } else if (event instanceof DmaEvent.SyncSingle e) {
            return "device=" + e.device() + " dma_addr=" + hex(e.dmaAddr()) + sizeDir(e.sizeBytes(), e.direction());
        } else if (event instanceof DmaEvent.CoherentAlloc e) {
            return namedAlloc(e.device(), e.dmaAddr(), e.sizeBytes(), DmaDirection.BIDIRECTIONAL, e.attrs());
        } else if (event instanceof DmaEvent.AllocPages e) {
            return namedAlloc(e.device(), e.dmaAddr(), e.sizeBytes(), e.direction(), e.attrs());
        } else if (event instanceof DmaEvent.AllocSgtError e) {
            return namedAlloc(e.device(), e.dmaAddr(), e.sizeBytes(), e.direction(), e.attrs());
        } else if (event instanceof DmaEvent.CoherentFree e) {
            return "device=" + e.device() + " virt_addr=(nil) dma_addr=" + hex(e.dmaAddr())
                    + sizeDirAttrs(e.sizeBytes(), DmaDirection.BIDIRECTIONAL, e.attrs());
        } else if (event instanceof DmaEvent.FreePages e) {
            return "device=" + e.device() + " virt_addr=0xff5486ef80071000 dma_addr=" + hex(e.dmaAddr())
                    + sizeDirAttrs(e.sizeBytes(), e.direction(), e.attrs());
        }
        return event instanceof SgEvent sg ? namedList(sg) : namedOther(event);
    }

    private static String namedAlloc(String device, long dmaAddr, long sizeBytes, DmaDirection direction, long attrs) {
        return "device=" + device + " virt_addr=0xff5486ef80071000 dma_addr=" + hex(dmaAddr) + " size="
                + decimal(sizeBytes) + " flags=3264 dir=" + number(direction) + " attrs=0x" + hex(attrs);
    }

    private static String namedList(SgEvent event) {
        String start = "device=" + event.device();
        String dir = " dir=" + number(event.direction());
        if (event instanceof SgEvent.MapSg e) {
            return start + " full_nents=" + e.fullNents() + " full_ents=" + e.fullEnts() + " truncated="
                    + (e.truncated() ? 1 : 0) + " phys_addrs=" + bytes(e.physAddrs(), 8) + " dma_addrs="
                    + bytes(e.dmaAddrs(), 8) + " lengths=" + bytes(e.lengths(), 4) + dir + " attrs=0x"
                    + hex(e.attrs());
        } else if (event instanceof SgEvent.UnmapSg e) {
            return start + " addrs=" + bytes(e.physAddrs(), 8) + dir + " attrs=0x" + hex(e.attrs());
        } else if (event instanceof SgEvent.MapSgError e) {
            return start + " phys_addrs=" + bytes(e.physAddrs(), 8) + " err=" + e.errno() + dir + " attrs=0x"
                    + hex(e.attrs());
        } else if (event instanceof SgEvent.SyncSg e) {
            return start + " dma_addrs=" + bytes(e.dmaAddrs(), 8) + " lengths=" + bytes(e.lengths(), 4) + dir;
        } else if (event instanceof SgEvent.AllocSgt e) {
            return start + " phys_addrs=" + bytes(e.physAddrs(), 8) + " dma_addr=" + hex(e.dmaAddr()) + " size="
                    + decimal(e.sizeBytes()) + dir + " flags=3264 attrs=0x" + hex(e.attrs());
        }
        SgEvent.FreeSgt e = (SgEvent.FreeSgt) event;
        return start + " phys_addrs=" + bytes(e.physAddrs(), 8) + " dma_addr=" + hex(e.dmaAddr()) + " size="
                + decimal(e.sizeBytes()) + dir;
    }

    private static String namedOther(TraceEvent event) {
        if (event instanceof TraceEvent.SwiotlbBounced e) {
            return "dev_name=" + e.device() + " dma_mask=" + hex(e.dmaMask()) + " dev_addr=" + hex(e.devAddr())
                    + " size=" + decimal(e.sizeBytes()) + " force=" + (e.forced() ? 1 : 0);
        } else if (event instanceof IommuEvent.IommuMap e) {
            return String.format("iova=0x%016x paddr=0x%016x size=%s", e.iova(), e.physAddr(), decimal(e.sizeBytes()));
        } else if (event instanceof IommuEvent.IommuUnmap e) {
            return String.format(
                    "iova=0x%016x size=%s unmapped_size=%s",
                    e.iova(), decimal(e.sizeBytes()), decimal(e.unmappedBytes()));
        } else if (event instanceof IommuEvent.DeviceGroup e) {
            String group = e.kind() == IommuEvent.GroupChange.ATTACH ? "" : "gid=" + e.groupId() + " ";
            return group + "device=" + e.device();
        }
        IommuEvent.IommuFault e = (IommuEvent.IommuFault) event;
        return String.format(
                "device=%s driver=%s iova=0x%016x flags=0x%04x", e.device(), e.driver(), e.iova(), e.flags());
    }

    private static String range(String device, DmaDirection direction, long dmaAddr, long sizeBytes) {
        return device + " dir=" + direction + " dma_addr=" + hex(dmaAddr) + " size=" + decimal(sizeBytes);
    }

    private static String sizeDir(long sizeBytes, DmaDirection direction) {
        return " size=" + decimal(sizeBytes) + " dir=" + number(direction);
    }

    private static String sizeDirAttrs(long sizeBytes, DmaDirection direction, long attrs) {
        return sizeDir(sizeBytes, direction) + " attrs=0x" + hex(attrs);
    }

    private static String attrs(long attrs) {
        List<String> names = new ArrayList<>();
        long unnamed = attrs;
        for (int bit = 0; bit < ATTR_NAMES.length; bit++) {
            if (ATTR_NAMES[bit] != null && (attrs & 1L << bit) != 0) {
                names.add(ATTR_NAMES[bit]);
                unnamed &= ~(1L << bit);
            }
        }
        if (unnamed != 0) {
            names.add("0x" + hex(unnamed));
        }
        return " attrs=" + String.join("|", names);
    }

    private static String braces(long[] values) {
        return LongStream.of(values).mapToObj(value -> "0x" + hex(value)).collect(Collectors.joining(",", "{", "}"));
    }

    private static String bytes(long[] values, int elementBytes) {
        List<String> bytes = new ArrayList<>();
        for (long value : values) {
            for (int i = 0; i < elementBytes; i++) {
                bytes.add(String.format("%02x", value >>> (8 * i) & 0xff));
            }
        }
        return "ARRAY[" + String.join(", ", bytes) + "]";
    }

    private static int number(DmaDirection direction) {
        return switch (direction) {
            case BIDIRECTIONAL -> 0;
            case TO_DEVICE -> 1;
            case FROM_DEVICE -> 2;
            case NONE -> 3;
        };
    }

    private static String hex(long value) {
        return Long.toHexString(value);
    }

    private static String decimal(long value) {
        return Long.toUnsignedString(value);
    }
}
