package io.pagewalk.trace.check;

import static io.pagewalk.dma.DmaDirection.FROM_DEVICE;
import static io.pagewalk.dma.DmaDirection.TO_DEVICE;
import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.debug.Segment;
import io.pagewalk.trace.check.ListBook.MappedList;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Which list an unmap means that shows physical addresses alone. */
class ListBookTest {
    private final ListBook book = new ListBook();

    private MappedList add(DmaDirection direction, int nents, long... physAddrs) {
        List<Segment> segments = new ArrayList<>();
        for (long physAddr : physAddrs) {
            segments.add(new Segment(physAddr, 8, physAddr, 8));
        }
        MappedList list = new MappedList(direction, nents, physAddrs, segments);
        book.add("nic", list);
        return list;
    }

    @Test
    void theOldestWithTheSameEntriesAndDirectionComesFirst() {
        MappedList longer = add(TO_DEVICE, 3, 1, 2, 3);
        MappedList other = add(FROM_DEVICE, 2, 1, 2);
        MappedList oldest = add(TO_DEVICE, 2, 1, 2);
        MappedList youngest = add(TO_DEVICE, 2, 1, 2);
        assertThat(book.end("nic", TO_DEVICE, new long[] {1, 2})).isSameAs(oldest);
        assertThat(book.end("nic", TO_DEVICE, new long[] {1, 2})).isSameAs(youngest);
        assertThat(book.end("nic", TO_DEVICE, new long[] {1, 2}))
                .as("same entries")
                .isSameAs(other);
        assertThat(book.end("nic", TO_DEVICE, new long[] {1, 2}))
                .as("same beginning")
                .isSameAs(longer);
        assertThat(book.end("nic", TO_DEVICE, new long[] {1, 2}))
                .as("unmapped twice: the latest with the same entries and direction")
                .isSameAs(youngest);
    }

    @Test
    void aListThatDiffersOrIsAnotherDevicesIsNotMeant() {
        add(TO_DEVICE, 2, 1, 2);
        assertThat(book.end("nic", TO_DEVICE, new long[] {1, 3})).isNull();
        assertThat(book.end("disk", TO_DEVICE, new long[] {1, 2})).isNull();
        assertThat(book.end("nic", TO_DEVICE, new long[0])).isNull();
        book.forget();
        assertThat(book.end("nic", TO_DEVICE, new long[] {1, 2})).isNull();
    }

    @Test
    void aListThatWasCutIsMeantByItsBeginning() {
        MappedList cut = add(TO_DEVICE, 4, 1, 2);
        assertThat(book.end("nic", TO_DEVICE, new long[] {1, 2, 3, 4})).isSameAs(cut);
        assertThat(cut.first(4)).hasSize(2);
        assertThat(cut.first(1)).hasSize(1);
    }

    @Test
    void aFewEndedListsAreRemembered() {
        MappedList first = add(TO_DEVICE, 2, 1, 2);
        book.end("nic", TO_DEVICE, new long[] {1, 2});
        assertThat(book.end("nic", TO_DEVICE, new long[] {1, 2})).isSameAs(first);
        for (int i = 0; i < ListBook.REMEMBERED; i++) {
            add(TO_DEVICE, 2, 1, 100 + i);
            book.end("nic", TO_DEVICE, new long[] {1, 100 + i});
        }
        assertThat(book.end("nic", TO_DEVICE, new long[] {1, 2})).isNull();
        assertThat(book.end("nic", TO_DEVICE, new long[] {1, 100})).isNotNull();
    }
}
