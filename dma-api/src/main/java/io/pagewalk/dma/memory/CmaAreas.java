package io.pagewalk.dma.memory;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The contiguous memory areas of a machine: a default one, one for each NUMA node, and those that single devices name
 * (dma-core:ALC-9). Areas are added before the machine is built, and not after; then it is thread-safe.
 */
public final class CmaAreas {
    private @Nullable CmaArea defaultArea;
    private final Map<Integer, CmaArea> byNode = new LinkedHashMap<>();
    private final Map<String, CmaArea> byName = new LinkedHashMap<>();

    /** Makes an empty list of areas. */
    public CmaAreas() {}

    /**
     * Adds the default area, {@code cma=}.
     *
     * @param range whole pages of RAM
     * @return this
     */
    public CmaAreas withDefault(PhysRange range) {
        defaultArea = new CmaArea("reserved", range);
        return this;
    }

    /**
     * Adds a node's area, {@code numa_cma=}.
     *
     * @param node the NUMA node, from 0
     * @param range whole pages of RAM
     * @return this
     */
    public CmaAreas withNode(int node, PhysRange range) {
        if (node < 0) {
            throw new IllegalArgumentException("there is no NUMA node " + node);
        }
        byNode.put(node, new CmaArea("numa" + node, range));
        return this;
    }

    /**
     * Adds an area for devices that name it.
     *
     * @param name its name
     * @param range whole pages of RAM
     * @return this
     */
    public CmaAreas with(String name, PhysRange range) {
        byName.put(name, new CmaArea(name, range));
        return this;
    }

    /**
     * Makes areas in the same places, of which nothing is taken.
     *
     * @return the areas
     */
    public CmaAreas copy() {
        CmaAreas copy = new CmaAreas();
        if (defaultArea != null) {
            copy.withDefault(defaultArea.range());
        }
        byNode.forEach((node, area) -> copy.withNode(node, area.range()));
        byName.forEach((name, area) -> copy.with(name, area.range()));
        return copy;
    }

    /**
     * The area for everybody.
     *
     * @return the area, or null
     */
    public @Nullable CmaArea defaultArea() {
        return defaultArea;
    }

    /**
     * A node's area.
     *
     * @param node the NUMA node, negative for none
     * @return the area, or null
     */
    public @Nullable CmaArea ofNode(int node) {
        return byNode.get(node);
    }

    /**
     * An area by name.
     *
     * @param name the name
     * @return the area
     * @throws IllegalArgumentException when there is none
     */
    public CmaArea named(String name) {
        CmaArea area = byName.get(name);
        if (area == null) {
            throw new IllegalArgumentException("there is no CMA area " + name + " among " + byName.keySet());
        }
        return area;
    }

    /**
     * All areas.
     *
     * @return default, nodes', named ones
     */
    public List<CmaArea> all() {
        List<CmaArea> all = new ArrayList<>();
        if (defaultArea != null) {
            all.add(defaultArea);
        }
        all.addAll(byNode.values());
        all.addAll(byName.values());
        return all;
    }
}
