package io.pagewalk.backends.direct;

import static io.pagewalk.backends.direct.DirectWorld.HIGH;
import static io.pagewalk.backends.direct.DirectWorld.MASK_32;
import static io.pagewalk.backends.direct.DirectWorld.POOL_BASE;
import static io.pagewalk.dma.DmaDirection.TO_DEVICE;
import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.DmaRange;
import io.pagewalk.dma.events.DmaListener;
import io.pagewalk.dma.scatterlist.SgTable;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** The kernel's trace event of a bounce, as its traces show it. */
class BouncedEventTest {
    private final List<String> heard = new ArrayList<>();

    private final class Listener implements DmaListener {
        @Override
        public void mappedPage(
                Device device,
                int cpu,
                long physAddr,
                long sizeBytes,
                DmaDirection direction,
                int attrs,
                long dmaAddr) {
            heard.add("mapped " + Long.toHexString(dmaAddr));
        }

        @Override
        public void bounced(Device device, int cpu, long dmaMask, long dmaAddr, long sizeBytes, boolean force) {
            heard.add(String.format(
                    "bounced %s cpu=%d dma_mask=%x dev_addr=%x size=%d %s",
                    device, cpu, dmaMask, dmaAddr, sizeBytes, force ? "FORCE" : "NORMAL"));
        }
    }

    private DirectWorld world(String backend) {
        return DirectWorld.of(b -> b.backend(backend).listener(clock -> new Listener()));
    }

    @Test
    @DisplayName("the event comes before the map, with the address that the buffer itself would have")
    void eventComesBeforeTheMap() {
        Device device = world("direct").device(c -> c.withMask(MASK_32));
        device.dma(1).mapPage(HIGH, 1522, TO_DEVICE, 0);
        device.dma(1).mapPage(0x5000, 1522, TO_DEVICE, 0);
        assertThat(heard)
                .containsExactly(
                        "bounced dev0 cpu=1 dma_mask=ffffffff dev_addr=100010000 size=1522 NORMAL",
                        "mapped " + Long.toHexString(POOL_BASE),
                        "mapped 5000");
    }

    @Test
    @DisplayName("a forced bounce says so, and a list says it for each entry")
    void forcedBounceSaysSo() {
        Device device = world("swiotlb").device(c -> c);
        device.dma().mapSg(new SgTable(2).add(0x5000, 8).add(0x6000, 16), 2, TO_DEVICE, 0);
        assertThat(heard)
                .containsExactly(
                        "bounced dev0 cpu=0 dma_mask=ffffffffffffffff dev_addr=5000 size=8 FORCE",
                        "bounced dev0 cpu=0 dma_mask=ffffffffffffffff dev_addr=6000 size=16 FORCE");
    }

    @Test
    @DisplayName("the event comes also when the pool turns out to be full, and where no range translates")
    void eventComesForFailuresToo() {
        Device device = world("direct").device(c -> c.withRanges(new DmaRange(0x1000_0000, 0x1000_0000, 0x1000_0000)));
        device.dma().mapPage(0x5000, 0x8_0000, TO_DEVICE, 0);
        assertThat(heard)
                .containsExactly(
                        "bounced dev0 cpu=0 dma_mask=ffffffffffffffff dev_addr=ffffffffffffffff size=524288 NORMAL",
                        "mapped ffffffffffffffff");
    }
}
