package io.pagewalk.conformance.adapter;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** All families there are, in the order in which they are reported. */
public final class Families {
    private final Map<String, Family> byName = new LinkedHashMap<>();

    private Families(List<Family> families) {
        families.forEach(f -> byName.put(f.name(), f));
    }

    /**
     * Lists them.
     *
     * @return new families
     */
    public static Families all() {
        return new Families(List.of(
                SwiotlbAdapter.family(),
                DirectAdapter.family(),
                MasksAdapter.family("masks"),
                MasksAdapter.family("iommu_masks"),
                EduAdapter.family(),
                IovaAdapter.family(),
                IommuMapAdapter.family(),
                IommuLiveAdapter.family(),
                IommuUntrustedAdapter.family(),
                IommuFqAdapter.family(),
                IommuApiAdapter.family(),
                SgAdapter.family(),
                UmemAdapter.family(),
                RxeFamily.family(),
                CostAdapter.family()));
    }

    /**
     * Finds a family.
     *
     * @param name what its lines call it
     * @return the family, or null
     */
    public @Nullable Family find(String name) {
        return byName.get(name);
    }

    /**
     * Their names.
     *
     * @return in the order of the report
     */
    public List<String> names() {
        return List.copyOf(byName.keySet());
    }
}
