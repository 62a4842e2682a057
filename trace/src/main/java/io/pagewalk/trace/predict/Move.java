package io.pagewalk.trace.predict;

import io.pagewalk.dma.memory.Addresses;

/**
 * A call that was made earlier than its line stands, since an interrupt came between the moment when it took its
 * address and its line.
 *
 * @param lineNumber the call's first line
 * @param beforeLine the line of the interrupt's unmap that it was moved before
 * @param task name and pid of the task that was interrupted
 * @param device name of the device
 * @param recorded the call's recorded address
 */
public record Move(long lineNumber, long beforeLine, String task, String device, long recorded) {
    /**
     * Says it in a line.
     *
     * @return the sentence
     */
    public String message() {
        return "line " + lineNumber + " before line " + beforeLine + ": " + task + ": " + device + " has "
                + Addresses.hex(recorded) + ", not what the interrupt gave back";
    }
}
