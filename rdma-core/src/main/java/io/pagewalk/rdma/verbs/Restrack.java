package io.pagewalk.rdma.verbs;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.function.BiConsumer;
import java.util.function.LongSupplier;

/**
 * The live table of a device's objects: what {@code rdma resource} shows, and who holds how many pins, regions and
 * keys. Implements rdma:MR-7. Thread-safe. Differs from Linux: windows are listed too, as they have keys.
 */
public final class Restrack {
    /** Kinds of objects. */
    public enum Kind {
        /** Protection domains. */
        PD,
        /** Completion queues. */
        CQ,
        /** Queue pairs. */
        QP,
        /** Memory regions. */
        MR,
        /** Memory windows. */
        MW
    }

    /**
     * One object of the table.
     *
     * @param kind its kind
     * @param id its number: the next of 32 bits for its kind, from 0
     * @param owner who holds it
     * @param pins asks how many pages it keeps pinned
     */
    public record Entry(Kind kind, int id, Owner owner, LongSupplier pins) {}

    /**
     * What one owner holds.
     *
     * @param owner who
     * @param pds domains
     * @param cqs completion queues
     * @param qps queue pairs
     * @param mrs regions
     * @param mws windows
     * @param pinnedPages pages that its regions keep pinned, each as often as it is registered
     */
    public record Holding(Owner owner, int pds, int cqs, int qps, int mrs, int mws, long pinnedPages) {
        /**
         * How many keys are taken: one for each region and each window.
         *
         * @return keys
         */
        public int keys() {
            return mrs + mws;
        }
    }

    /** The objects of one kind. */
    private static final class Table {
        private final NavigableMap<Integer, Entry> entries = new TreeMap<>(Integer::compareUnsigned);
        private final Map<Integer, Object> objects = new HashMap<>();
        private int next;

        int nextId() {
            while (entries.containsKey(next)) {
                next++;
            }
            return next++;
        }
    }

    /** One owner's row while it is counted. */
    private static final class Counts {
        private final Map<Kind, Integer> objects = new EnumMap<>(Kind.class);
        private long pins;

        void count(Entry entry) {
            objects.merge(entry.kind(), 1, Integer::sum);
            pins += entry.pins().getAsLong();
        }

        int of(Kind kind) {
            return objects.getOrDefault(kind, 0);
        }
    }

    private final Table pds = new Table();
    private final Table cqs = new Table();
    private final Table qps = new Table();
    private final Table mrs = new Table();
    private final Table mws = new Table();

    Restrack() {}

    private Table table(Kind kind) {
        return switch (kind) {
            case PD -> pds;
            case CQ -> cqs;
            case QP -> qps;
            case MR -> mrs;
            case MW -> mws;
        };
    }

    synchronized Entry add(Kind kind, Owner owner, LongSupplier pins) {
        Table table = table(kind);
        Entry entry = new Entry(kind, table.nextId(), owner, pins);
        table.entries.put(entry.id(), entry);
        return entry;
    }

    /** A region, of which more is told than that it is there. */
    synchronized Entry add(Mr mr) {
        Entry entry = add(Kind.MR, mr.pd().owner(), mr::pinnedPages);
        mrs.objects.put(entry.id(), mr);
        return entry;
    }

    /** A window, likewise. */
    synchronized Entry add(Mw mw) {
        Entry entry = add(Kind.MW, mw.pd().owner(), () -> 0);
        mws.objects.put(entry.id(), mw);
        return entry;
    }

    /** Asks what was added; in the order of their numbers. */
    synchronized <T> void forEach(Kind kind, Class<T> type, BiConsumer<Entry, T> visitor) {
        Table table = table(kind);
        table.entries.forEach((id, entry) -> visitor.accept(entry, type.cast(table.objects.get(id))));
    }

    synchronized void restore(Entry entry) {
        table(entry.kind()).entries.put(entry.id(), entry);
    }

    synchronized void remove(Entry entry) {
        Table table = table(entry.kind());
        table.entries.remove(entry.id());
        table.objects.remove(entry.id());
    }

    /**
     * The objects of a kind.
     *
     * @param kind the kind
     * @return a copy, by number
     */
    public synchronized List<Entry> entries(Kind kind) {
        return List.copyOf(table(kind).entries.values());
    }

    /**
     * How many objects of a kind there are.
     *
     * @param kind the kind
     * @return objects
     */
    public synchronized int count(Kind kind) {
        return table(kind).entries.size();
    }

    /**
     * Who holds what.
     *
     * @return one row for each owner, in the order in which they appear among domains, queues, regions and windows
     */
    public synchronized List<Holding> holdings() {
        Map<Owner, Counts> counts = new LinkedHashMap<>();
        for (Kind kind : Kind.values()) {
            for (Entry entry : table(kind).entries.values()) {
                counts.computeIfAbsent(entry.owner(), o -> new Counts()).count(entry);
            }
        }
        List<Holding> rows = new ArrayList<>();
        counts.forEach((owner, n) -> rows.add(
                new Holding(owner, n.of(Kind.PD), n.of(Kind.CQ), n.of(Kind.QP), n.of(Kind.MR), n.of(Kind.MW), n.pins)));
        return rows;
    }
}
