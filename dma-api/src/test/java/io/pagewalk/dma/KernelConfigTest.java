package io.pagewalk.dma;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.fake.NoCaches;
import io.pagewalk.dma.fake.World;
import io.pagewalk.dma.spi.DmaOps;
import io.pagewalk.dma.spi.DummyOps;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Options of the kernel's build, each by itself. */
class KernelConfigTest {
    private static final DmaOps OPS = new DummyOps();
    private static final ArchMapDirect ESCAPE = new ArchMapDirect() {
        @Override
        public boolean mapsPage(Device device, long endPhysAddr) {
            return false;
        }

        @Override
        public boolean unmapsPage(Device device, long endDmaAddr) {
            return false;
        }
    };

    private static Map<String, Function<KernelConfig, @Nullable Object>> getters() {
        Map<String, Function<KernelConfig, @Nullable Object>> all = new LinkedHashMap<>();
        all.put("sgChain", KernelConfig::sgChain);
        all.put("dmaOps", KernelConfig::dmaOps);
        all.put("writeCombine", KernelConfig::writeCombine);
        all.put("nonCoherentMmap", KernelConfig::nonCoherentMmap);
        all.put("dmaOpsBypass", KernelConfig::dmaOpsBypass);
        all.put("archDmaOps", KernelConfig::archDmaOps);
        all.put("archMapDirect", KernelConfig::archMapDirect);
        all.put("hasDma", KernelConfig::hasDma);
        all.put("dmaNeedSync", KernelConfig::dmaNeedSync);
        all.put("dmaApiDebug", KernelConfig::dmaApiDebug);
        all.put("slubDebug", KernelConfig::slubDebug);
        all.put("swiotlbDynamic", KernelConfig::swiotlbDynamic);
        all.put("infinibandUserMem", KernelConfig::infinibandUserMem);
        all.put("infinibandVirtDma", KernelConfig::infinibandVirtDma);
        return all;
    }

    private static Map<String, UnaryOperator<KernelConfig>> changes() {
        Map<String, UnaryOperator<KernelConfig>> all = new LinkedHashMap<>();
        all.put("sgChain", config -> config.withSgChain(false));
        all.put("dmaOps", config -> config.withDmaOps(false));
        all.put("writeCombine", config -> config.withWriteCombine(true));
        all.put("nonCoherentMmap", config -> config.withNonCoherentMmap(true));
        all.put("dmaOpsBypass", config -> config.withDmaOpsBypass(true));
        all.put("archDmaOps", config -> config.withArchDmaOps(OPS));
        all.put("archMapDirect", config -> config.withArchMapDirect(ESCAPE));
        all.put("hasDma", config -> config.withHasDma(false));
        all.put("dmaNeedSync", config -> config.withDmaNeedSync(false));
        all.put("dmaApiDebug", config -> config.withDmaApiDebug(true));
        all.put("slubDebug", config -> config.withSlubDebug(true));
        all.put("swiotlbDynamic", config -> config.withSwiotlbDynamic(true));
        all.put("infinibandUserMem", config -> config.withInfinibandUserMem(false));
        all.put("infinibandVirtDma", config -> config.withInfinibandVirtDma(false));
        return all;
    }

    private static Map<String, @Nullable Object> read(KernelConfig config) {
        Map<String, @Nullable Object> values = new LinkedHashMap<>();
        getters().forEach((name, getter) -> values.put(name, getter.apply(config)));
        return values;
    }

    @Test
    void aDistributionChainsListsAndHasDmaWithSyncs() {
        Map<String, @Nullable Object> values = read(KernelConfig.distribution());

        assertThat(values)
                .containsEntry("sgChain", true)
                .containsEntry("dmaOps", true)
                .containsEntry("hasDma", true)
                .containsEntry("dmaNeedSync", true)
                .containsEntry("archDmaOps", null)
                .containsEntry("archMapDirect", null);
        assertThat(values.values().stream().filter(Boolean.FALSE::equals)).hasSize(6);
    }

    @Test
    void eachChangeChangesOneOptionOfACopy() {
        KernelConfig before = KernelConfig.distribution();
        changes().forEach((name, change) -> {
            Map<String, @Nullable Object> expected = read(before);
            Map<String, @Nullable Object> after = read(change.apply(before));
            assertThat(after.get(name)).as(name).isNotEqualTo(expected.put(name, after.get(name)));
            assertThat(after).as(name).isEqualTo(expected);
        });
        assertThat(read(before)).isEqualTo(read(KernelConfig.distribution()));
    }

    @Test
    void changesAddUp() {
        KernelConfig config = KernelConfig.distribution();
        for (UnaryOperator<KernelConfig> change : changes().values()) {
            config = change.apply(config);
        }
        Map<String, @Nullable Object> all = read(config);

        changes()
                .forEach((name, change) -> assertThat(all.get(name))
                        .as(name)
                        .isEqualTo(
                                read(change.apply(KernelConfig.distribution())).get(name)));
    }

    @Test
    void aDeviceKeepsItsOperationsThroughOtherChanges() {
        DeviceConfig config =
                DeviceConfig.named("nic").withDmaOps(OPS).withDmaOpsBypass().withoutDmaParms();
        DeviceConfig changed = config.withMask(1).withNumaNode(2);

        assertThat(changed.dmaOps()).isSameAs(OPS);
        assertThat(changed.dmaOpsBypass()).isTrue();
        assertThat(changed.hasDmaParms()).isFalse();
        assertThat(DeviceConfig.named("nic").dmaOps()).isNull();
        assertThat(DeviceConfig.named("nic").dmaOpsBypass()).isFalse();
        assertThat(DeviceConfig.named("nic").hasDmaParms()).isTrue();
        assertThat(config.withDmaOps(null).dmaOps()).isNull();
    }

    @Test
    void theCacheAlignmentIsTheArchitectures() { // dma-core:MSK-16
        assertThat(ArchConfig.x86().cacheAlignment()).isEqualTo(1);
        assertThat(ArchConfig.x86().withCacheAlignment(128, 0).cacheAlignment()).isEqualTo(128);
        assertThat(ArchConfig.x86().withCacheAlignment(128, 64).cacheAlignment())
                .isEqualTo(64);
        assertThat(ArchConfig.x86().withCacheAlignment(0, 64).cacheAlignment()).isEqualTo(64);
    }

    @Test
    void withoutCacheHooksEveryDeviceIsCoherent() { // dma-core:DEV-7
        Device device = World.make(config -> config.withCoherent(false)).device;
        Device hooked = World.make(
                        World.builder().kernelConfig(NoCaches.kernel()), config -> config.withCoherent(false))
                .device;

        assertThat(device.isCoherent()).isTrue();
        assertThat(hooked.isCoherent()).isFalse();
    }
}
