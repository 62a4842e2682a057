package io.pagewalk.rdma.umem;

import io.pagewalk.dma.DmaFailure;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.memory.Addresses;
import java.io.Serializable;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Why memory could not be registered, with its numbers.
 *
 * @param reason the cause
 * @param errno the positive error number
 * @param numbers the cause's numbers, unsigned, in the order of {@link UmemFailureReason#labels()}
 * @param dmaFailure why the device could not map the pages, where that is the cause and it said why
 * @serial exclude
 */
@SuppressWarnings("InvalidBlockTag") // javadoc wants it, or comments on the fields of the serialised form
public record UmemFailure(
        UmemFailureReason reason,
        int errno,
        List<Long> numbers,
        @Nullable DmaFailure dmaFailure) implements Serializable {
    /**
     * Copies the numbers.
     *
     * @param reason the cause
     * @param errno the positive error number
     * @param numbers the cause's numbers
     * @param dmaFailure why the device could not map the pages
     */
    public UmemFailure {
        numbers = List.copyOf(numbers);
    }

    @Override
    public String toString() {
        StringBuilder text = new StringBuilder(reason.name());
        for (int i = 0; i < numbers.size(); i++) {
            text.append(i == 0 ? ": " : ", ").append(number(reason.labels().get(i), numbers.get(i)));
        }
        text.append(" (").append(Errno.name(errno)).append("; ").append(reason.knob());
        if (dmaFailure != null) {
            text.append(": ").append(dmaFailure);
        }
        return text.append(')').toString();
    }

    private static String number(String label, long value) {
        return label + " " + (label.equals("address") ? Addresses.hex(value) : Long.toUnsignedString(value));
    }
}
