package io.pagewalk.conformance.format;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * The keys of one replay of verbs. Their low byte is random, and how many were drawn before the first line is not in
 * the lines; what follows rules is how the numbers that they begin with lie to each other (rdma:RXE-2, RXE-6, RXE-7):
 * between two lines a number of the recording has grown as much as ours, or more where lines were left out. A region's
 * two keys are equal on both sides or on neither, and a key that a bind made lies as far from the one before.
 *
 * <p>Holds what it saw last, so that each replay needs one of its own. Not thread-safe.
 */
public final class KeyCheck {
    private static final int KEY_BYTE_BITS = 8;
    private static final int FIRST_WINDOW = 0x80001;
    private static final Pattern KEY = Pattern.compile("0x[0-9a-f]{1,8}");

    /** Numbers of regions go round. */
    private static final int REGION_NUMBERS = 0x80000;

    /** Groups of which no line was left out. */
    private static final Set<String> WHOLE_GROUPS = Set.of("rlimit", "keys");

    private final Last regions = new Last();
    private final Last windows = new Last();
    private int recordedKey;
    private int ourKey;

    /** What the latest line said of one kind of object. */
    private static final class Last {
        private boolean any;
        private int recorded;
        private int ours;
        private String group = "";
    }

    /** Starts with no keys seen. */
    public KeyCheck() {}

    /** The check of a field: one that repeats the key before it, in another role, or a new one. */
    Check of(String name) {
        boolean repeats = name.equals("rkey_after");
        boolean second = name.equals("rkey");
        return (path, expected, got, question, into) -> {
            if (expected.isMissingNode() && got.isMissingNode()) {
                return;
            }
            into.byRule(1);
            if (!isKey(expected) || !isKey(got)) {
                into.differ(path, expected, got, "a key on both sides or on neither");
                return;
            }
            into.informative(Informative.KEY, 1);
            String why = repeats || (second && !isWindow(key(expected)))
                    ? beside(key(expected), key(got))
                    : grown(key(expected), key(got), question);
            if (!why.isEmpty()) {
                into.differ(path, expected, got, why);
            }
        };
    }

    private static boolean isKey(JsonNode node) {
        return node.isTextual() && KEY.matcher(node.textValue()).matches();
    }

    private static int key(JsonNode node) {
        return (int) Long.parseLong(node.textValue().substring(2), 16);
    }

    private static boolean isWindow(int key) {
        return key >>> KEY_BYTE_BITS >= FIRST_WINDOW;
    }

    /** The second key of a line lies to the first as it does in the recording. */
    private String beside(int recorded, int ours) {
        int sign = (recorded - recordedKey) & 0xff;
        boolean sameNumber = recorded >>> KEY_BYTE_BITS == recordedKey >>> KEY_BYTE_BITS;
        boolean agrees =
                ((ours - ourKey) & 0xff) == sign && (ours >>> KEY_BYTE_BITS == ourKey >>> KEY_BYTE_BITS) == sameNumber;
        return agrees ? "" : "a key that lies to the one before it as in the recording";
    }

    private String grown(int recorded, int ours, Question question) {
        recordedKey = recorded;
        ourKey = ours;
        boolean window = isWindow(recorded);
        if (window != isWindow(ours)) {
            return "a key of a window on both sides or on neither";
        }
        Last last = window ? windows : regions;
        int byRecorded = (recorded >>> KEY_BYTE_BITS) - last.recorded;
        int byOurs = (ours >>> KEY_BYTE_BITS) - last.ours;
        boolean whole = window || (last.group.equals(group(question)) && WHOLE_GROUPS.contains(last.group));
        boolean agrees = whole
                ? byRecorded == byOurs
                : Math.floorMod(byRecorded, REGION_NUMBERS) >= Math.floorMod(byOurs, REGION_NUMBERS);
        boolean first = !last.any;
        last.any = true;
        last.recorded = recorded >>> KEY_BYTE_BITS;
        last.ours = ours >>> KEY_BYTE_BITS;
        last.group = group(question);
        return first || agrees
                ? ""
                : "a number that has grown by " + byRecorded + (whole ? "" : " or less") + ", not by " + byOurs;
    }

    private static String group(Question question) {
        return question.text("group");
    }
}
