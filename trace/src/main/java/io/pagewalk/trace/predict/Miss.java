package io.pagewalk.trace.predict;

import io.pagewalk.dma.Dma;
import io.pagewalk.dma.memory.Addresses;
import java.util.Objects;

/**
 * A recorded address that did not come out.
 *
 * @param order in which order the calls were made
 * @param lineNumber line of the trace that tells the address (of a failed list: its last bounce)
 * @param task name and pid of the task
 * @param cpu the CPU
 * @param device name of the device
 * @param kind what the address was given out for
 * @param recorded the recorded address, {@link Dma#DMA_MAPPING_ERROR} for a mapping that failed
 * @param predicted what came out instead, {@link Dma#DMA_MAPPING_ERROR} for a mapping that failed
 * @param remark what more is known, possibly empty
 */
public record Miss(
        Order order,
        long lineNumber,
        String task,
        int cpu,
        String device,
        AddressKind kind,
        long recorded,
        long predicted,
        String remark) {

    /** In which order the calls of a trace were made. */
    public enum Order {
        /** That of the trace's lines. */
        OF_LINES("in line order"),
        /** That of the lines, but for the calls that an interrupt overlapped. */
        OVERLAPPED_MOVED("overlapped calls moved");

        private final String label;

        Order(String label) {
            this.label = label;
        }

        /**
         * Says it in words.
         *
         * @return a short phrase
         */
        public String label() {
            return label;
        }
    }

    /**
     * Says it in a line.
     *
     * @return the sentence, without the order
     */
    public String message() {
        String same = recorded == predicted ? "" : ", predicted " + address(predicted);
        return "line " + lineNumber + ": " + task + " on CPU " + cpu + ": " + device + ": " + kind.singular()
                + " recorded at " + address(recorded) + same + (remark.isEmpty() ? "" : ": " + remark);
    }

    private static String address(long dmaAddr) {
        return dmaAddr == Dma.DMA_MAPPING_ERROR ? "no address: failed" : Addresses.hex(dmaAddr);
    }

    /** Checks that nothing is missing. */
    public Miss {
        Objects.requireNonNull(order, "order");
        Objects.requireNonNull(kind, "kind");
    }
}
