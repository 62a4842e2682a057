package io.pagewalk.observed;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.CoherentBuffer;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.Dma;
import io.pagewalk.dma.DmaAttrs;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.events.JfrListener;
import io.pagewalk.dma.memory.Zone;
import io.pagewalk.dma.scatterlist.SgTable;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a Flight Recorder recording shows of a machine. */
class JfrListenerTest {
    private static final long RAM = 0x80_0000;
    private static final long HIGH = 0x1_4000_0000L;

    @TempDir
    private Path folder;

    private static Machine machine() {
        return Machine.builder()
                .ramBytes(6L << 30)
                .chunkBytes(1 << 16)
                .backend("swiotlb")
                .listener(clock -> new JfrListener())
                .build();
    }

    @Test
    void aPageThatIsFreedWhileMappedIsAnEventThatNamesTheMapping() throws IOException {
        Machine machine = Machine.builder()
                .ramBytes(16L << 20)
                .chunkBytes(1 << 16)
                .ledger()
                .listener(clock -> new JfrListener())
                .build();
        Dma dma = machine.addDevice(DeviceConfig.named("nic").withMask(-1L)).dma(1);
        long page = machine.pages().allocPages(Zone.NORMAL, 0);
        long other = machine.pages().allocPages(Zone.NORMAL, 0);
        SgTable sg = new SgTable(1).add(other, 0x20);
        List<RecordedEvent> events = recorded("io.pagewalk.FreedWhileMapped", () -> {
            long dmaAddr = dma.mapPage(page + 0x40, 0x123, DmaDirection.TO_DEVICE, DmaAttrs.NONE);
            dma.tag(dmaAddr, "tx ring");
            dma.mapSg(sg, 1, DmaDirection.FROM_DEVICE, DmaAttrs.NONE);
            machine.clock().advance(77);
            machine.pages().freePages(page, 0);
            machine.pages().freePages(other, 0);
        });
        assertThat(events).hasSize(2);
        RecordedEvent event = events.get(0);
        assertThat(event.getString("device")).isEqualTo("nic");
        assertThat(event.getInt("cpu")).isZero();
        assertThat(event.getString("kind")).isEqualTo("page");
        assertThat(event.getLong("dmaAddr")).isEqualTo(page + 0x40);
        assertThat(event.getLong("sizeBytes")).isEqualTo(0x123);
        assertThat(event.getString("direction")).isEqualTo("TO_DEVICE");
        assertThat(event.getLong("physAddr")).isEqualTo(page);
        assertThat(event.getString("owner")).isEqualTo("tx ring");
        assertThat(event.getLong("ageNanos")).isEqualTo(77);
        assertThat(events.get(1).getString("kind")).isEqualTo("sg");
        assertThat(events.get(1).getString("owner")).isEmpty();
    }

    private List<RecordedEvent> recorded(String name, Runnable program) throws IOException {
        Path file = folder.resolve("pagewalk.jfr");
        try (Recording recording = new Recording()) {
            recording.enable(name).withoutStackTrace();
            recording.start();
            program.run();
            recording.stop();
            recording.dump(file);
        }
        return RecordingFile.readAllEvents(file).stream()
                .filter(event -> event.getEventType().getName().equals(name))
                .toList();
    }

    @Test
    void mapsOfEveryKindAreEvents() throws IOException {
        Machine machine = machine();
        Dma dma = machine.addDevice(DeviceConfig.named("nic")).dma(1);
        long[] dmaAddrs = new long[3];
        List<RecordedEvent> events = recorded("io.pagewalk.Map", () -> {
            dmaAddrs[0] = dma.mapPage(RAM, 0x123, DmaDirection.TO_DEVICE, DmaAttrs.NONE);
            SgTable sg = new SgTable(2).add(RAM, 0x1000).add(RAM + 0x4000, 0x800);
            assertThat(dma.mapSg(sg, 2, DmaDirection.FROM_DEVICE, DmaAttrs.NONE))
                    .isEqualTo(2);
            dmaAddrs[1] = sg.dmaAddr(0);
            dmaAddrs[2] = dma.alloc(0x2000).dmaAddr();
        });

        assertThat(events).hasSize(3);
        RecordedEvent page = events.get(0);
        assertThat(page.getString("device")).isEqualTo("nic");
        assertThat(page.getInt("cpu")).isEqualTo(1);
        assertThat(page.getString("kind")).isEqualTo("page");
        assertThat(page.getLong("physAddr")).isEqualTo(RAM);
        assertThat(page.getLong("dmaAddr")).isEqualTo(dmaAddrs[0]);
        assertThat(page.getLong("sizeBytes")).isEqualTo(0x123);
        assertThat(page.getString("direction")).isEqualTo("TO_DEVICE");
        assertThat(page.getInt("segments")).isEqualTo(1);
        RecordedEvent list = events.get(1);
        assertThat(list.getString("kind")).isEqualTo("sg");
        assertThat(list.getInt("nents")).isEqualTo(2);
        assertThat(list.getInt("segments")).isEqualTo(2);
        assertThat(list.getLong("sizeBytes")).isEqualTo(0x1800);
        assertThat(list.getLong("dmaAddr")).isEqualTo(dmaAddrs[1]);
        RecordedEvent coherent = events.get(2);
        assertThat(coherent.getString("kind")).isEqualTo("coherent");
        assertThat(coherent.getLong("dmaAddr")).isEqualTo(dmaAddrs[2]);
        assertThat(coherent.getString("direction")).isEqualTo("BIDIRECTIONAL");
    }

    @Test
    void unmapsSyncsAndBouncesAreEvents() throws IOException {
        Machine machine = machine();
        Dma dma = machine.addDevice(DeviceConfig.named("nic")).dma();
        Runnable program = () -> {
            long dmaAddr = dma.mapPage(HIGH, 0x400, DmaDirection.BIDIRECTIONAL, DmaAttrs.NONE);
            dma.syncSingleForCpu(dmaAddr + 0x100, 0x80, DmaDirection.BIDIRECTIONAL);
            dma.syncSingleForDevice(dmaAddr, 0x400, DmaDirection.TO_DEVICE);
            dma.unmapPage(dmaAddr, 0x400, DmaDirection.BIDIRECTIONAL, DmaAttrs.NONE);
            CoherentBuffer buffer = dma.alloc(0x1000);
            buffer.close();
        };

        List<RecordedEvent> unmaps = recorded("io.pagewalk.Unmap", program);
        assertThat(unmaps).extracting(e -> e.getString("kind")).containsExactly("page", "coherent");
        assertThat(unmaps).extracting(e -> e.getLong("sizeBytes")).containsExactly(0x400L, 0x1000L);
        List<RecordedEvent> syncs = recorded("io.pagewalk.Sync", program);
        assertThat(syncs).extracting(e -> e.getBoolean("forCpu")).containsExactly(true, false);
        assertThat(syncs).extracting(e -> e.getLong("sizeBytes")).containsExactly(0x80L, 0x400L);
        List<RecordedEvent> bounces = recorded("io.pagewalk.Bounce", program);
        assertThat(bounces).hasSize(1);
        assertThat(bounces.get(0).getLong("dmaAddr")).isEqualTo(HIGH);
        assertThat(bounces.get(0).getBoolean("force")).isTrue();
    }

    @Test
    void failuresCarryTheirCauseAndFaultsTheirReason() throws IOException {
        Machine machine = machine();
        machine.faults().onFault(new JfrListener());
        Device device = machine.addDevice(DeviceConfig.named("nic"));
        List<RecordedEvent> failures = recorded(
                "io.pagewalk.Failure",
                () -> device.dma().mapPage(HIGH, 0x10_0000, DmaDirection.TO_DEVICE, DmaAttrs.NONE));
        List<RecordedEvent> faults =
                recorded("io.pagewalk.Fault", () -> device.bus().readLong(1L << 40));

        assertThat(failures).hasSize(1);
        assertThat(failures.get(0).getLong("sizeBytes")).isEqualTo(0x10_0000);
        assertThat(failures.get(0).getString("cause")).contains("EXCEEDS_MAX_MAPPING");
        assertThat(faults).hasSize(1);
        assertThat(faults.get(0).getLong("dmaAddr")).isEqualTo(1L << 40);
        assertThat(faults.get(0).getString("access")).isEqualTo("READ");
        assertThat(faults.get(0).getString("text")).isEqualTo("no RAM at that physical address");
    }

    @Test
    void nothingIsRecordedOfWhatIsNotAskedFor() throws IOException {
        Machine machine = machine();
        Dma dma = machine.addDevice(DeviceConfig.named("nic")).dma();

        assertThat(recorded("io.pagewalk.Failure", () -> {
                    long dmaAddr = dma.mapPage(RAM, 64, DmaDirection.TO_DEVICE, DmaAttrs.NONE);
                    dma.unmapPage(dmaAddr, 64, DmaDirection.TO_DEVICE, DmaAttrs.NONE);
                }))
                .isEmpty();
    }
}
