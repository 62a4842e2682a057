package io.pagewalk.rdma.verbs;

import io.pagewalk.dma.held.HeldSection;
import io.pagewalk.dma.held.HeldSource;
import io.pagewalk.dma.memory.Addresses;
import java.util.ArrayList;
import java.util.List;

/**
 * What a device holds, as tables: who has how many objects, keys and pins, and each region and window with its keys. A
 * device without objects says so with empty tables. Devices of one machine have tables of the same names, each row with
 * its device. What {@link Restrack} does not list is not told of: the regions of all memory that go with domains
 * (rdma:PD-4), and regions that could not be destroyed (rdma:MR-4).
 */
final class HeldVerbs implements HeldSource {
    private static final long U32 = 0xffff_ffffL;
    private static final List<String> OWNERS =
            List.of("device", "owner", "pds", "cqs", "qps", "regions", "windows", "keys", "pinned pages");
    private static final List<String> REGIONS =
            List.of("device", "id", "owner", "type", "address", "bytes", "lkey", "rkey", "pinned pages");
    private static final List<String> WINDOWS = List.of("device", "id", "owner", "type", "rkey");

    private final String device;
    private final Restrack restrack;

    HeldVerbs(String device, Restrack restrack) {
        this.device = device;
        this.restrack = restrack;
    }

    @Override
    public List<HeldSection> held() {
        List<List<String>> owners = new ArrayList<>();
        restrack.holdings().forEach(holding -> owners.add(row(holding)));
        List<List<String>> regions = new ArrayList<>();
        restrack.forEach(Restrack.Kind.MR, Mr.class, (entry, mr) -> regions.add(row(entry, mr)));
        List<List<String>> windows = new ArrayList<>();
        restrack.forEach(Restrack.Kind.MW, Mw.class, (entry, mw) -> windows.add(row(entry, mw)));
        return List.of(
                new HeldSection("owners of verbs objects", OWNERS, owners),
                new HeldSection("memory regions", REGIONS, regions),
                new HeldSection("memory windows", WINDOWS, windows));
    }

    private List<String> row(Restrack.Holding holding) {
        return List.of(
                device,
                holding.owner().toString(),
                Integer.toString(holding.pds()),
                Integer.toString(holding.cqs()),
                Integer.toString(holding.qps()),
                Integer.toString(holding.mrs()),
                Integer.toString(holding.mws()),
                Integer.toString(holding.keys()),
                Long.toString(holding.pinnedPages()));
    }

    private List<String> row(Restrack.Entry entry, Mr mr) {
        return List.of(
                device,
                Integer.toUnsignedString(entry.id()),
                entry.owner().toString(),
                mr.type().name(),
                Addresses.hex(mr.iova()),
                Long.toUnsignedString(mr.lengthBytes()),
                Addresses.hex(mr.lkey() & U32),
                Addresses.hex(mr.rkey() & U32),
                Long.toString(mr.pinnedPages()));
    }

    private List<String> row(Restrack.Entry entry, Mw mw) {
        return List.of(
                device,
                Integer.toUnsignedString(entry.id()),
                entry.owner().toString(),
                Integer.toString(mw.type()),
                Addresses.hex(mw.rkey() & U32));
    }
}
