package io.pagewalk.trace;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.CoherentBuffer;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.Dma;
import io.pagewalk.dma.DmaAttrs;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.Gfp;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.dma.spi.DmaPages;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;

/** What a machine writes as trace text is read back as what it did. */
class TraceTextWriterTest {
    private static final long RAM = 0x80_0000;

    private final StringWriter text = new StringWriter();
    private final Machine machine = Machine.builder()
            .ramBytes(6L << 30)
            .chunkBytes(1 << 16)
            .backend("swiotlb")
            .listener(clock -> new TraceTextWriter(clock, new PrintWriter(text)))
            .build();
    private final Dma dma =
            machine.addDevice(DeviceConfig.named("0000:00:04.0")).dma(1);

    private List<TraceEvent> events() throws IOException {
        List<TraceEvent> events = new ArrayList<>();
        byte[] bytes = text.toString().getBytes(StandardCharsets.UTF_8);
        try (TraceReader reader = TraceReader.open(new ByteArrayInputStream(bytes), "written")) {
            for (TraceEvent event = reader.next(); event != null; event = reader.next()) {
                events.add(event);
            }
            assertThat(reader.summary().badLineCount()).isZero();
        }
        return events;
    }

    @Test
    void pagesAreReadBackWithEveryField() throws IOException {
        machine.clock().advance(3_792_247_000L);
        long dmaAddr = dma.mapPage(RAM + 8, 0x123, DmaDirection.TO_DEVICE, DmaAttrs.NO_WARN | DmaAttrs.WEAK_ORDERING);
        dma.syncSingleForCpu(dmaAddr, 0x20, DmaDirection.TO_DEVICE);
        dma.syncSingleForDevice(dmaAddr, 0x21, DmaDirection.TO_DEVICE);
        dma.unmapPage(dmaAddr, 0x123, DmaDirection.TO_DEVICE, DmaAttrs.NONE);
        List<TraceEvent> events = events();

        assertThat(events).hasSize(5);
        assertThat(text.toString())
                .contains("[001] .....     3.792247: dma_map_page: 0000:00:04.0 dir=TO_DEVICE dma_addr=");
        assertThat(text.toString()).contains("size=291 phys_addr=800008 attrs=WEAK_ORDERING|NO_WARN");
        DmaEvent.MapPage map = (DmaEvent.MapPage) events.get(1);
        assertThat(map.device()).isEqualTo("0000:00:04.0");
        assertThat(map.direction()).isEqualTo(DmaDirection.TO_DEVICE);
        assertThat(map.dmaAddr()).isEqualTo(dmaAddr);
        assertThat(map.physAddr()).isEqualTo(RAM + 8);
        assertThat(map.sizeBytes()).isEqualTo(0x123);
        assertThat(map.attrs()).isEqualTo(DmaAttrs.NO_WARN | DmaAttrs.WEAK_ORDERING);
        DmaEvent.SyncSingle sync = (DmaEvent.SyncSingle) events.get(2);
        assertThat(sync.sizeBytes()).isEqualTo(0x20);
        DmaEvent.UnmapPage unmap = (DmaEvent.UnmapPage) events.get(4);
        assertThat(unmap.dmaAddr()).isEqualTo(dmaAddr);
        assertThat(unmap.sizeBytes()).isEqualTo(0x123);
    }

    @Test
    void aFailedMapHasNoAddressAndAFailedListItsErrno() throws IOException {
        assertThat(dma.mapPage(RAM, 0x10_0000, DmaDirection.TO_DEVICE, DmaAttrs.NO_WARN))
                .isEqualTo(Dma.DMA_MAPPING_ERROR);
        SgTable sg = new SgTable(1).add(RAM, 0x10_0000);
        assertThat(dma.mapSg(sg, 1, DmaDirection.TO_DEVICE, DmaAttrs.NO_WARN)).isZero();
        List<TraceEvent> events = events();

        assertThat(events)
                .filteredOn(DmaEvent.MapPage.class::isInstance)
                .singleElement()
                .satisfies(event ->
                        assertThat(((DmaEvent.MapPage) event).dmaAddr()).isEqualTo(-1L));
        assertThat(text.toString())
                .contains("dma_map_sg_err: 0000:00:04.0 dir=TO_DEVICE dma_addrs={0x800000} err=-5 attrs=NO_WARN");
    }

    @Test
    void listsAreCutAsTheKernelCutsThem() throws IOException {
        SgTable sg = new SgTable(200);
        for (int i = 0; i < 200; i++) {
            sg.add(RAM + 0x2000L * i, 0x1000);
        }
        assertThat(dma.mapSg(sg, 2, DmaDirection.FROM_DEVICE, DmaAttrs.NONE)).isEqualTo(2);
        dma.syncSgForCpu(sg, 2, DmaDirection.FROM_DEVICE);
        dma.unmapSg(sg, 2, DmaDirection.FROM_DEVICE, DmaAttrs.NONE);
        assertThat(text.toString())
                .contains("dir=FROM_DEVICE nents=2/2 ents=2/2 dma_addrs={0x")
                .contains(" sizes={0x1000,0x1000} phys_addrs={0x800000,0x802000} attrs=")
                .contains("dma_unmap_sg: 0000:00:04.0 dir=FROM_DEVICE phys_addrs={0x800000,0x802000} attrs=");
        assertThat(dma.mapSg(sg, 200, DmaDirection.FROM_DEVICE, DmaAttrs.NONE)).isEqualTo(200);
        assertThat(text.toString()).contains("nents=128/200 ents=128/200 [TRUNCATED] dma_addrs={");
        String cut = text.toString()
                .lines()
                .filter(line -> line.contains("[TRUNCATED]"))
                .findFirst()
                .orElseThrow();
        assertThat(cut.substring(cut.indexOf("phys_addrs="))
                        .chars()
                        .filter(c -> c == ',')
                        .count())
                .isEqualTo(127);
        assertThat(events()).isNotEmpty();
    }

    @Test
    void memoryIsReadBack() throws IOException {
        CoherentBuffer buffer = dma.alloc(0x1800);
        long dmaAddr = buffer.dmaAddr();
        buffer.close();
        DmaPages pages =
                Objects.requireNonNull(dma.memory().allocPages(0x2000, DmaDirection.BIDIRECTIONAL, Gfp.KERNEL));
        dma.memory().freePages(0x2000, pages.physAddr(), pages.dmaAddr(), DmaDirection.BIDIRECTIONAL);
        List<TraceEvent> events = events();

        assertThat(events)
                .filteredOn(DmaEvent.CoherentAlloc.class::isInstance)
                .singleElement()
                .satisfies(event -> {
                    DmaEvent.CoherentAlloc alloc = (DmaEvent.CoherentAlloc) event;
                    assertThat(alloc.dmaAddr()).isEqualTo(dmaAddr);
                    assertThat(alloc.sizeBytes()).isEqualTo(0x1800);
                });
        assertThat(events).filteredOn(DmaEvent.CoherentFree.class::isInstance).hasSize(1);
        assertThat(events).filteredOn(DmaEvent.AllocPages.class::isInstance).hasSize(1);
        assertThat(events).filteredOn(DmaEvent.FreePages.class::isInstance).hasSize(1);
    }
}
