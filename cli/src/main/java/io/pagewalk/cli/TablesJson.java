package io.pagewalk.cli;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import io.pagewalk.backends.iommu.api.StaleUse;
import io.pagewalk.backends.iommu.api.TableImage;
import io.pagewalk.dma.Access;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.memory.PhysicalMemory;
import java.io.IOException;
import java.io.Writer;
import java.util.HexFormat;
import java.util.Iterator;
import java.util.function.LongConsumer;

/** Writes the tables of one device and what its unit answers: one JSON object on one line. */
final class TablesJson {
    private static final JsonFactory FACTORY = new JsonFactory().disable(JsonGenerator.Feature.AUTO_CLOSE_TARGET);

    private final JsonGenerator json;
    private final Writer out;

    TablesJson(Writer out) throws IOException {
        this.out = out;
        this.json = FACTORY.createGenerator(out);
        json.setRootValueSeparator(null);
    }

    /** Writes an object; {@code done} hears how many probes are. */
    void write(TableImage image, PhysicalMemory memory, TableProbes probes, LongConsumer done) throws IOException {
        json.writeStartObject();
        json.writeNumberField("sid", image.requesterId());
        json.writeNumberField("root", image.rootPhysAddr());
        json.writeNumberField("aw", image.widthBits());
        json.writeArrayFieldStart("pages");
        for (long page : image.pages()) {
            writePage(page, memory);
        }
        json.writeEndArray();
        json.writeArrayFieldStart("probes");
        long count = 0;
        for (Iterator<Long> iovas = probes.iterator(); iovas.hasNext(); ) {
            writeProbes(iovas.next(), probes);
            count++;
            done.accept(count);
        }
        json.writeEndArray();
        json.writeEndObject();
        json.flush();
        out.write("\n");
        out.flush();
    }

    private void writePage(long physAddr, PhysicalMemory memory) throws IOException {
        byte[] bytes = new byte[(int) Addresses.PAGE_SIZE];
        memory.read(physAddr, bytes, 0, bytes.length);
        json.writeStartArray();
        json.writeNumber(physAddr);
        json.writeString(HexFormat.of().formatHex(bytes));
        json.writeEndArray();
    }

    /** One probe where reads and writes get the same answer, else one for each. */
    private void writeProbes(long iova, TableProbes probes) throws IOException {
        long read = probes.answer(iova, Access.READ);
        long write = probes.answer(iova, Access.WRITE);
        if (read == write) {
            writeProbe(iova, read, "rw");
        } else {
            writeProbe(iova, read, "r");
            writeProbe(iova, write, "w");
        }
    }

    private void writeProbe(long iova, long physAddr, String access) throws IOException {
        json.writeStartArray();
        json.writeNumber(iova);
        if (physAddr == StaleUse.NOWHERE) {
            json.writeNull();
        } else {
            json.writeNumber(physAddr);
        }
        json.writeString(access);
        json.writeEndArray();
    }
}
