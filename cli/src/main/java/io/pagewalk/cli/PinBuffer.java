package io.pagewalk.cli;

import io.pagewalk.rdma.umem.Preflight;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Buffers as the command line names them: {@code [ADDRESS+]SIZE[xCOUNT]}.
 *
 * @param text what was written
 * @param request what it means
 */
record PinBuffer(String text, Preflight.Request request) {
    private static final Pattern FORM = Pattern.compile("(?:([^+]+)\\+)?([^+]+?)(?:x([0-9]+))?");
    /** Where processes have their heap or their maps; only the offset in the page matters. */
    private static final long SOMEWHERE = 0x7f00_0000_0000L;

    private static final long PAGE_BYTES = 4096;

    /**
     * Reads a buffer; without an address it lies where an allocator's alignment is worst.
     *
     * @throws NumberFormatException when the text has another form
     */
    static PinBuffer parse(String text, long alignBytes) {
        Matcher m = FORM.matcher(text);
        if (!m.matches()) {
            throw new NumberFormatException("'" + text + "' is no buffer, such as 64K, 4096x9 or 0x7f0000001000+1M");
        }
        long userAddr = m.group(1) == null
                ? SOMEWHERE + (PAGE_BYTES - alignBytes & PAGE_BYTES - 1)
                : ByteSize.parse(m.group(1));
        long count = m.group(3) == null ? 1 : count(text, m.group(3));
        return new PinBuffer(text, new Preflight.Request(userAddr, ByteSize.parse(m.group(2)), count));
    }

    private static long count(String text, String digits) {
        if (digits.matches("0+")) {
            throw new NumberFormatException("'" + text + "' asks for no buffer: COUNT is 1 at least");
        }
        try {
            return Long.parseLong(digits);
        } catch (NumberFormatException tooLarge) {
            throw new NumberFormatException("'" + text + "' asks for 2^63 buffers or more");
        }
    }
}
