package io.pagewalk.backends.direct;

import static io.pagewalk.backends.direct.DirectWorld.HIGH;
import static io.pagewalk.backends.direct.DirectWorld.MASK_32;
import static io.pagewalk.backends.direct.DirectWorld.POOL_BASE;
import static io.pagewalk.dma.DmaDirection.BIDIRECTIONAL;
import static io.pagewalk.dma.DmaDirection.TO_DEVICE;
import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.ArchConfig;
import io.pagewalk.dma.CoherentBuffer;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.DmaAttrs;
import io.pagewalk.dma.DmaRange;
import io.pagewalk.dma.FailureReason;
import io.pagewalk.dma.Gfp;
import io.pagewalk.dma.KernelConfig;
import java.util.Objects;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Memory encryption (dma-core:DIR-1, DIR-2, DIR-9, MSK-1, MSK-4, ALC-4, ALC-5, ALC-10). */
class EncryptionTest {
    private static final long C_BIT = 1L << 47;
    private static final long GIB = 1L << 30;
    private static final int EIO = 5;

    private static DirectWorld world(UnaryOperator<ArchConfig> change) {
        ArchConfig arch = change.apply(ArchConfig.x86());
        return DirectWorld.of(b -> b.kernelConfig(KernelConfig.distribution().withArch(arch)));
    }

    private static DirectWorld encrypted() {
        return world(arch -> arch.withEncryptionMask(C_BIT));
    }

    private static DirectWorld decrypting() {
        return world(arch -> arch.withEncryptionMask(C_BIT).withForcedDecryption(true));
    }

    @Test
    @DisplayName("DIR-1, DIR-2: a DMA address carries the encryption bit, and a physical one does not")
    void addressesCarryTheBit() {
        Device device = encrypted().device(c -> c);
        assertThat(device.physToDma(HIGH)).isEqualTo(HIGH | C_BIT);
        assertThat(device.physToDmaUnencrypted(HIGH)).isEqualTo(HIGH);
        assertThat(device.dmaToPhys(HIGH | C_BIT)).isEqualTo(HIGH);
        assertThat(device.dmaToPhys(HIGH)).isEqualTo(HIGH);
        assertThat(device.dmaToPhys(-1L)).isEqualTo(~C_BIT);
    }

    @Test
    @DisplayName("DIR-1, DIR-2: dma-ranges come before the bit both ways, so they do not find it again")
    void rangesDoNotKnowTheBit() {
        Device device = encrypted().device(c -> c.withRanges(new DmaRange(0x8000_0000L, 0, 0x4000_0000L)));
        assertThat(device.physToDma(0x8000_1000L)).isEqualTo(0x1000 | C_BIT);
        assertThat(device.physToDma(0)).isEqualTo(-1L);
        assertThat(device.dmaToPhys(0x1000)).isEqualTo(0x8000_1000L);
        assertThat(device.dmaToPhys(0x1000 | C_BIT)).isEqualTo(~C_BIT);
    }

    @Test
    @DisplayName("DIR-7: the bit counts when reach is judged: who has not so many bits bounces, at a plain address")
    void narrowDeviceBouncesAtAPlainAddress() {
        DirectWorld world = encrypted();
        Device wide = world.device(c -> c);
        assertThat(wide.dma().mapPage(0x5000, 0x100, TO_DEVICE, 0)).isEqualTo(0x5000 | C_BIT);
        wide.dma().unmapPage(0x5000 | C_BIT, 0x100, TO_DEVICE, 0);
        Device narrow = world.device(c -> c.withMask(MASK_32));
        long dmaAddr = narrow.dma().mapPage(0x5000, 0x100, TO_DEVICE, 0);
        assertThat(dmaAddr).isEqualTo(POOL_BASE);
        narrow.dma().unmapPage(dmaAddr, 0x100, TO_DEVICE, 0);
        world.assertIdle();
    }

    @Test
    @DisplayName("the memory controller takes the bit for itself")
    void deviceReachesMemoryWithAndWithoutTheBit() {
        DirectWorld world = encrypted();
        Device device = world.device(c -> c);
        device.bus().writeLong(0x5000 | C_BIT, 42);
        assertThat(device.bus().readLong(0x5000)).isEqualTo(42);
        assertThat(world.machine.cpuMemory().getLong(0x5000)).isEqualTo(42);
    }

    @Test
    @DisplayName("MSK-1, MSK-4: the required mask has the bit unless decryption is forced; support never asks for it")
    void masksAskForTheBit() {
        assertThat(encrypted().device(c -> c).dma().requiredMask()).isEqualTo((C_BIT << 1) - 1);
        assertThat(decrypting().device(c -> c).dma().requiredMask()).isEqualTo(0x1_ffff_ffffL);
        assertThat(encrypted().device(c -> c).setMask(0xff_ffffL)).isZero();
        assertThat(encrypted().device(c -> c).setMask(0xff_fffeL)).isEqualTo(-EIO);
    }

    @Test
    @DisplayName("ALC-5, DIR-9: coherent memory carries the bit, and a mask must have it")
    void coherentMemoryCarriesTheBit() {
        DirectWorld world = encrypted();
        try (CoherentBuffer buffer = world.device(c -> c).dma().alloc(0x1000)) {
            assertThat(buffer.dmaAddr()).isEqualTo(4 * GIB | C_BIT);
            assertThat(buffer.physAddr(0)).isEqualTo(4 * GIB);
        }
        assertThat(world.device(c -> c.withMask(MASK_32)).dma().allocCoherent(0x1000, 0))
                .isNull();
        world.assertIdle();
    }

    @Test
    @DisplayName("ALC-5: decrypted memory has a plain address, which a mask may reach")
    void decryptedMemoryHasAPlainAddress() {
        DirectWorld world = decrypting();
        try (CoherentBuffer buffer =
                world.device(c -> c.withMask(MASK_32)).dma().alloc(0x1000)) {
            assertThat(buffer.dmaAddr()).isEqualTo(buffer.physAddr(0)).isLessThan(4 * GIB);
        }
        world.assertIdle();
    }

    @Test
    @DisplayName("ALC-2: NO_KERNEL_MAPPING has no meaning when memory must be decrypted")
    void cookieIsNotForDecryptedMemory() {
        DirectWorld world = decrypting();
        Device device = world.device(c -> c);
        CoherentBuffer buffer = Objects.requireNonNull(
                device.dma().memory().allocAttrs(0x1000, Gfp.KERNEL, DmaAttrs.NO_KERNEL_MAPPING));
        assertThat(world.machine.layout().isDirectMap(buffer.cpuAddr())).isTrue();
        assertThat(buffer.getLong(0)).isZero();
        buffer.close();
        world.assertIdle();
    }

    @Test
    @DisplayName("ALC-10: memory that cannot be decrypted is lost, and null is the answer")
    void memoryThatCannotBeDecryptedIsLost() {
        DirectWorld world = decrypting();
        Device device = world.device(c -> c);
        long before = world.machine.pages().freeBytes();
        world.machine.failures().failNth("direct.decrypt", 1);
        assertThat(device.dma().allocCoherent(0x3000, 0)).isNull();
        assertThat(device.dma().lastFailure().reason()).isEqualTo(FailureReason.INJECTED);
        assertThat(world.machine.pages().freeBytes()).isEqualTo(before - 0x4000);
        world.machine.failures().failNth("direct.decrypt", 1);
        assertThat(device.dma().memory().allocPages(0x1000, BIDIRECTIONAL, Gfp.KERNEL))
                .isNull();
        assertThat(world.machine.pages().freeBytes()).isEqualTo(before - 0x5000);
        world.assertIdle();
    }

    @Test
    @DisplayName("ALC-10: memory that cannot be encrypted again is lost, with a message at a limited rate")
    void memoryThatCannotBeEncryptedIsLost() {
        DirectWorld world = decrypting();
        Device device = world.device(c -> c);
        CoherentBuffer buffer = device.dma().alloc(0x1000);
        var pages = Objects.requireNonNull(device.dma().memory().allocPages(0x1000, BIDIRECTIONAL, Gfp.KERNEL));
        long before = world.machine.pages().freeBytes();
        world.machine.failures().failNth("direct.encrypt", 1);
        long physAddr = buffer.physAddr(0);
        buffer.close();
        world.machine.failures().failNth("direct.encrypt", 1);
        device.dma().memory().freePages(0x1000, pages.physAddr(), pages.dmaAddr(), BIDIRECTIONAL);
        assertThat(world.machine.pages().freeBytes()).isEqualTo(before);
        assertThat(world.complaints())
                .containsExactly(
                        "leaking DMA memory at 0x" + Long.toHexString(physAddr)
                                + "+0x1000 that can't be re-encrypted (dma-core:ALC-10)",
                        "leaking DMA memory at 0x" + Long.toHexString(pages.physAddr())
                                + "+0x1000 that can't be re-encrypted (dma-core:ALC-10)");
        world.assertIdle();
    }

    @Test
    @DisplayName("ALC-10: memory that was never decrypted needs no encryption")
    void plainMemoryIsNeverLost() {
        DirectWorld world = encrypted();
        Device device = world.device(c -> c);
        long before = world.machine.pages().freeBytes();
        world.machine.failures().failNth(Long.MAX_VALUE);
        device.dma().alloc(0x1000).close();
        assertThat(world.machine.failures().passed()).as("the pages alone").isEqualTo(1);
        assertThat(world.machine.pages().freeBytes()).isEqualTo(before);
    }
}
