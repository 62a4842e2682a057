package io.pagewalk.dma;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.memory.PhysRange;
import io.pagewalk.dma.memory.ZoneLimits;
import java.util.Set;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class ArchConfigTest {
    @Test
    void pcHasNothingOfThat() {
        ArchConfig x86 = ArchConfig.x86();
        assertThat(x86.cacheMaintenance()).isNull();
        assertThat(x86.dmaAlloc()).isNull();
        assertThat(x86.zones()).isSameAs(ZoneLimits.PC);
        assertThat(x86.remap() || x86.setUncached() || x86.globalPool()).isFalse();
        assertThat(x86.bouncesUnalignedKmalloc() || x86.forcedDecryption()).isFalse();
        assertThat(x86.encryptionMask()).isZero();
        assertThat(KernelConfig.distribution().arch()).isSameAs(x86);
        assertThat(KernelConfig.distribution().cacheMaintenance()).isNull();
    }

    @Test
    void changesKeepEachOther() {
        ZoneLimits zones = ZoneLimits.of(false, true, 0xff_ffffL);
        ArchConfig arch = ArchConfig.x86()
                .withZones(zones)
                .withRemap(true)
                .withSetUncached(true)
                .withGlobalPool(true)
                .withCacheAlignment(128, 64)
                .withBouncesUnalignedKmalloc(true)
                .withEncryptionMask(1L << 51)
                .withForcedDecryption(true);
        assertThat(arch.zones()).isSameAs(zones);
        assertThat(arch.remap() && arch.setUncached() && arch.globalPool()).isTrue();
        assertThat(arch.dmaMinAlign()).isEqualTo(128);
        assertThat(arch.bouncesUnalignedKmalloc() && arch.forcedDecryption()).isTrue();
        assertThat(arch.encryptionMask()).isEqualTo(1L << 51);
        assertThat(arch.withRemap(false).setUncached()).isTrue();
    }

    @Test
    @DisplayName("MSK-16: the machine's own alignment, else the architecture's, else 1")
    void cacheAlignmentFallsBack() {
        assertThat(ArchConfig.x86().cacheAlignment()).isEqualTo(1);
        assertThat(ArchConfig.x86().withCacheAlignment(128, 0).cacheAlignment()).isEqualTo(128);
        assertThat(ArchConfig.x86().withCacheAlignment(128, 64).cacheAlignment())
                .isEqualTo(64);
        assertThat(ArchConfig.x86().withCacheAlignment(0, 64).dmaMinAlign()).isZero();
        assertThatThrownBy(() -> ArchConfig.x86().withCacheAlignment(96, 64))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("a cache alignment of 96 is no power of two");
        assertThatThrownBy(() -> ArchConfig.x86().withCacheAlignment(64, -1))
                .isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    @DisplayName("SWX-1: a restricted pool has a name and a slot")
    void restrictedPoolHasANameAndASlot() {
        RestrictedPool pool = RestrictedPool.of("wifi", PhysRange.ofSize(0x1000, 0x800));
        assertThat(pool.properties()).isEmpty();
        assertThat(pool.range().first()).isEqualTo(0x1000);
        assertThatThrownBy(() -> RestrictedPool.of(" ", PhysRange.ofSize(0x1000, 0x800)))
                .isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> RestrictedPool.of("wifi", PhysRange.ofSize(0x1000, 0x7ff)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("a restricted pool needs a name and a slot, not wifi [0x1000, 0x17fe]");
        assertThat(new RestrictedPool("x", pool.range(), Set.of(RestrictedPool.Property.NO_MAP)).properties())
                .containsExactly(RestrictedPool.Property.NO_MAP);
    }

    @Test
    void machineReservesRegionsOfRamOnly() {
        assertThatThrownBy(() -> Machine.builder()
                        .ramBytes(64 << 20)
                        .restrictedPools(RestrictedPool.of("far", PhysRange.ofSize(1L << 40, 0x1000)))
                        .build())
                .isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void encryptionBitLiesOutsideThePage() {
        assertThatThrownBy(() -> ArchConfig.x86().withEncryptionMask(1))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("an encryption mask of 0x1 has bits of an offset in a page");
        assertThat(ArchConfig.x86().withEncryptionMask(0x1000).encryptionMask()).isEqualTo(0x1000);
    }
}
