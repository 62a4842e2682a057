package io.pagewalk.dma;

import java.io.Serializable;
import java.util.List;

/**
 * Why a mapping or allocation failed, with its numbers.
 *
 * @param reason the cause
 * @param errno the positive error number
 * @param numbers the cause's numbers, unsigned, in the order of {@link FailureReason#labels()}
 * @serial exclude
 */
@SuppressWarnings("InvalidBlockTag") // javadoc wants it, or comments on the fields of the serialised form
public record DmaFailure(FailureReason reason, int errno, List<Long> numbers) implements Serializable {
    /**
     * Copies the numbers.
     *
     * @param reason the cause
     * @param errno the positive error number
     * @param numbers the cause's numbers
     */
    public DmaFailure {
        numbers = List.copyOf(numbers);
    }

    @Override
    public String toString() {
        StringBuilder text = new StringBuilder(reason.name());
        for (int i = 0; i < numbers.size(); i++) {
            text.append(i == 0 ? ": " : ", ")
                    .append(reason.labels().get(i))
                    .append(' ')
                    .append(reason.numberText(i, numbers.get(i)));
        }
        return text.append(" (")
                .append(Errno.name(errno))
                .append("; ")
                .append(reason.knob())
                .append(')')
                .toString();
    }
}
