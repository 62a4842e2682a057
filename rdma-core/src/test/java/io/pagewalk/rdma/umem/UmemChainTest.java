package io.pagewalk.rdma.umem;

import static io.pagewalk.rdma.umem.UmemWorld.PAGE;
import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.rdma.AccessFlags;
import java.util.Arrays;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The whole chain on every backend: what the device reads and writes at the DMA address of a process's address are that
 * process's bytes (rdma:UMEM-15, UMEM-17, UMEM-31, DMA-5, DMA-20).
 */
class UmemChainTest {
    private static final int PAGES = 37;

    private static byte[] pattern(int seed) {
        byte[] bytes = new byte[PAGES * PAGE];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = (byte) (i * 31 + (i >> 12) * 7 + seed);
        }
        return bytes;
    }

    @ParameterizedTest
    @ValueSource(strings = {"direct", "swiotlb", "iommu-strict", "iommu-lazy", "virt", "software"})
    @DisplayName("rdma:UMEM-31: the device reads and writes the process's bytes")
    void theDeviceReadsAndWritesTheProcessesBytes(String backend) {
        UmemWorld world = Worlds.on(backend);
        long addr = world.scattered(PAGES);
        byte[] before = pattern(1);
        world.process.writeBytes(addr, before);
        int size = PAGES * PAGE - 0x321;
        Umem umem = world.umems.pin(world.device, world.process, addr + 0x123, size, AccessFlags.LOCAL_WRITE);

        byte[] seen = new byte[size];
        byte[] after = pattern(99);
        for (int done = 0; done < size; ) {
            long userAddr = addr + 0x123 + done;
            int length = (int) Math.min(size - done, PAGE - (userAddr & (PAGE - 1)));
            world.deviceRead(umem.dmaAddr(userAddr), seen, done, length);
            world.deviceWrite(umem.dmaAddr(userAddr), after, 0x123 + done, length);
            done += length;
        }
        assertThat(seen).isEqualTo(Arrays.copyOfRange(before, 0x123, 0x123 + size));
        long lastDmaAddr = umem.dmaAddr(addr + 0x123 + size - 1);
        umem.close();

        byte[] expected = before.clone();
        System.arraycopy(after, 0x123, expected, 0x123, size);
        assertThat(world.process.readBytes(addr, PAGES * PAGE)).isEqualTo(expected);
        assertThat(world.pinsHeld()).isZero();
        if (world.machine.blocksAfterUnmap() && world.device.dmaDevice() != null) {
            assertThat(world.busDevice().bus().read(lastDmaAddr, seen, 0, 1)).isZero();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"direct", "iommu-strict", "iommu-lazy", "virt", "software"})
    @DisplayName("rdma:MM-12: memory mapped anew at the address never becomes the device's")
    void theDeviceNeverReachesTheNewPage(String backend) {
        UmemWorld world = Worlds.on(backend);
        long addr = world.anon(1);
        world.process.putLong(addr, 0x1111);
        Umem umem = world.umems.pin(world.device, world.process, addr, PAGE, AccessFlags.LOCAL_WRITE);
        world.process.munmap(addr, PAGE);
        assertThat(world.process.mmap(addr, PAGE, 3, 0x32, null, 0)).isEqualTo(addr);
        world.process.putLong(addr, 0x2222);

        byte[] seen = new byte[2];
        world.deviceRead(umem.dmaAddr(addr), seen, 0, 2);
        assertThat(seen).containsExactly(0x11, 0x11);
        world.deviceWrite(umem.dmaAddr(addr), new byte[] {0x33, 0x33}, 0, 2);
        assertThat(world.process.getLong(addr)).isEqualTo(0x2222);
        umem.close();
        assertThat(world.process.getLong(addr)).isEqualTo(0x2222);
    }
}
