package io.pagewalk.rdma.verbs;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
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

    private final Map<Kind, TreeMap<Integer, Entry>> entries = new EnumMap<>(Kind.class);
    private final int[] next = new int[Kind.values().length];

    Restrack() {
        for (Kind kind : Kind.values()) {
            entries.put(kind, new TreeMap<>(Integer::compareUnsigned));
        }
    }

    synchronized Entry add(Kind kind, Owner owner, LongSupplier pins) {
        TreeMap<Integer, Entry> ofKind = ofKind(kind);
        int id = next[kind.ordinal()];
        while (ofKind.containsKey(id)) {
            id++;
        }
        next[kind.ordinal()] = id + 1;
        Entry entry = new Entry(kind, id, owner, pins);
        ofKind.put(id, entry);
        return entry;
    }

    synchronized void restore(Entry entry) {
        ofKind(entry.kind()).put(entry.id(), entry);
    }

    synchronized void remove(Entry entry) {
        ofKind(entry.kind()).remove(entry.id());
    }

    private TreeMap<Integer, Entry> ofKind(Kind kind) {
        return entries.getOrDefault(kind, new TreeMap<>());
    }

    /**
     * The objects of a kind.
     *
     * @param kind the kind
     * @return a copy, by number
     */
    public synchronized List<Entry> entries(Kind kind) {
        return List.copyOf(ofKind(kind).values());
    }

    /**
     * How many objects of a kind there are.
     *
     * @param kind the kind
     * @return objects
     */
    public synchronized int count(Kind kind) {
        return ofKind(kind).size();
    }

    /**
     * Who holds what.
     *
     * @return one row for each owner, in the order in which they appear among domains, queues, regions and windows
     */
    public synchronized List<Holding> holdings() {
        Map<Owner, int[]> counts = new LinkedHashMap<>();
        Map<Owner, Long> pins = new LinkedHashMap<>();
        for (Kind kind : Kind.values()) {
            for (Entry entry : ofKind(kind).values()) {
                counts.computeIfAbsent(entry.owner(), o -> new int[Kind.values().length])[kind.ordinal()]++;
                pins.merge(entry.owner(), entry.pins().getAsLong(), Long::sum);
            }
        }
        List<Holding> rows = new ArrayList<>();
        counts.forEach((owner, n) -> rows.add(holding(owner, n, pins.getOrDefault(owner, 0L))));
        return rows;
    }

    private static Holding holding(Owner owner, int[] n, long pinnedPages) {
        return new Holding(
                owner,
                n[Kind.PD.ordinal()],
                n[Kind.CQ.ordinal()],
                n[Kind.QP.ordinal()],
                n[Kind.MR.ordinal()],
                n[Kind.MW.ordinal()],
                pinnedPages);
    }
}
