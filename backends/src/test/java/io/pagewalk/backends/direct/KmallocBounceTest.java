package io.pagewalk.backends.direct;

import static io.pagewalk.backends.direct.DirectWorld.POOL_BASE;
import static io.pagewalk.dma.DmaDirection.BIDIRECTIONAL;
import static io.pagewalk.dma.DmaDirection.FROM_DEVICE;
import static io.pagewalk.dma.DmaDirection.TO_DEVICE;
import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.backends.RecordingCache;
import io.pagewalk.dma.ArchConfig;
import io.pagewalk.dma.Dma;
import io.pagewalk.dma.FailureReason;
import io.pagewalk.dma.KernelConfig;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** dma-core:DIR-12. */
class KmallocBounceTest {
    private static KernelConfig kernel(int minAlign, int alignment) {
        ArchConfig arch = new RecordingCache().arch();
        return KernelConfig.distribution()
                .withArch(arch.withCacheAlignment(minAlign, alignment).withBouncesUnalignedKmalloc(true));
    }

    private static DirectWorld world() {
        return DirectWorld.of(b -> b.kernelConfig(kernel(128, 64)));
    }

    /** With lines of 64 bytes and ARCH_DMA_MINALIGN of 128. */
    @ParameterizedTest
    @CsvSource({
        "0, false",
        "1, true",
        "8, true",
        "9, true",
        "32, true",
        "33, false",
        "64, false",
        "65, true",
        "96, true",
        "97, false",
        "128, false",
        "129, false",
        "192, false",
        "193, false",
        "255, false",
        "256, false",
        "257, false"
    })
    void bucketOfTheSizeDecides(long sizeBytes, boolean bounced) {
        DirectWorld world = world();
        Dma dma = world.device(c -> c.withCoherent(false)).dma();
        assertThat(dma.mapPage(0x5000, sizeBytes, FROM_DEVICE, 0)).isEqualTo(bounced ? POOL_BASE : 0x5000);
    }

    @ParameterizedTest
    @CsvSource({
        "0, 0",
        "1, 8",
        "8, 8",
        "9, 16",
        "16, 16",
        "17, 32",
        "33, 64",
        "48, 64",
        "64, 64",
        "65, 96",
        "96, 96",
        "97, 128",
        "128, 128",
        "129, 192",
        "192, 192",
        "193, 256",
        "257, 512",
        "384, 512",
        "4096, 4096"
    })
    void bucketsArePowersOfTwoAndTwoOthers(long sizeBytes, long bucket) {
        assertThat(KmallocBounce.bucketBytes(sizeBytes)).isEqualTo(bucket);
    }

    @Test
    @DisplayName("lines of 128 bytes need the bucket of 192 bounced too, below twice ARCH_DMA_MINALIGN")
    void widerLinesBounceMore() {
        DirectWorld world = DirectWorld.of(b -> b.kernelConfig(kernel(128, 0)));
        Dma dma = world.device(c -> c.withCoherent(false)).dma();
        assertThat(dma.mapPage(0x5000, 192, BIDIRECTIONAL, 0)).isEqualTo(POOL_BASE);
        assertThat(dma.mapPage(0x5000, 193, BIDIRECTIONAL, 0)).isEqualTo(0x5000);
        assertThat(dma.mapPage(0x5000, 128, BIDIRECTIONAL, 0)).isEqualTo(0x5000);
    }

    @Test
    void buffersThatTheDeviceOnlyReadsStay() {
        DirectWorld world = world();
        Dma dma = world.device(c -> c.withCoherent(false)).dma();
        assertThat(dma.mapPage(0x5001, 8, TO_DEVICE, 0)).isEqualTo(0x5001);
    }

    @Test
    void buffersOfCoherentDevicesStay() {
        DirectWorld world = world();
        assertThat(world.device(c -> c).dma().mapPage(0x5001, 8, FROM_DEVICE, 0))
                .isEqualTo(0x5001);
    }

    @Test
    void kernelWithoutTheOptionNeverBouncesForSize() {
        DirectWorld world = DirectWorld.of(b -> b.kernelConfig(new RecordingCache().kernel()));
        Dma dma = world.device(c -> c.withCoherent(false)).dma();
        assertThat(dma.mapPage(0x5001, 8, FROM_DEVICE, 0)).isEqualTo(0x5001);
    }

    @Test
    @DisplayName("DIR-10: without a pool it is an overflow like any other")
    void withoutAPoolTheMappingFails() {
        DirectWorld world = DirectWorld.of(b -> b.kernelConfig(kernel(128, 64)).commandLine("swiotlb=noforce"));
        Dma dma = world.device(c -> c.withCoherent(false)).dma();
        assertThat(dma.mapPage(0x5000, 8, FROM_DEVICE, 0)).isEqualTo(Dma.DMA_MAPPING_ERROR);
        assertThat(dma.lastFailure().reason()).isEqualTo(FailureReason.NO_POOL);
        assertThat(dma.lastFailure().numbers()).containsExactly(0x5000L, 8L);
        assertThat(world.complaints())
                .singleElement()
                .asString()
                .contains("0x0000000000005000+8", "mask 0xffffffffffffffff", "bus limit 0x0");
    }
}
