package io.pagewalk.conformance.adapter;

import io.pagewalk.conformance.format.Question;
import io.pagewalk.dma.CoherentBuffer;
import io.pagewalk.dma.scatterlist.SgTable;
import java.util.ArrayList;
import java.util.List;

/** Scatterlists as lines write them: rows of address and length. */
final class Lists {
    private Lists() {}

    /** The list that a line asks to map; before that, {@code nents} of a new table is its number of entries. */
    static SgTable of(Question question) {
        List<long[]> entries = question.rows("in", 2);
        SgTable list = new SgTable(Math.max(entries.size(), 1));
        for (long[] entry : entries) {
            list.add(entry[0], entry[1]);
        }
        list.mapped(list.origNents());
        return list;
    }

    /** Whether the caller's side of a list is as it was before the map. */
    static boolean isAsAsked(SgTable list, Question question) {
        SgTable asked = of(question);
        boolean same = list.origNents() == asked.origNents();
        for (int i = 0; same && i < asked.origNents(); i++) {
            same = list.pageAddr(i) == asked.pageAddr(i)
                    && list.offset(i) == asked.offset(i)
                    && list.lengthBytes(i) == asked.lengthBytes(i);
        }
        return same;
    }

    /** The DMA side of the first entries. */
    static List<long[]> segments(SgTable list, int count) {
        List<long[]> rows = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            rows.add(new long[] {list.dmaAddr(i), list.dmaLengthBytes(i)});
        }
        return rows;
    }

    /** How many bytes of new memory are not zero. */
    static long nonzeroBytes(CoherentBuffer buffer) {
        byte[] bytes = new byte[Math.toIntExact(buffer.sizeBytes())];
        buffer.read(0, bytes, 0, bytes.length);
        long count = 0;
        for (byte b : bytes) {
            count += b == 0 ? 0 : 1;
        }
        return count;
    }
}
