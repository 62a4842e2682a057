package io.pagewalk.conformance.format;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** How keys of a replay may lie to each other (rdma:RXE-2, RXE-6, RXE-7). */
class KeyCheckTest {
    private final KeyCheck keys = new KeyCheck();
    private final LineFormat format = LineFormat.builder()
            .identity("group")
            .key("lkey", keys)
            .key("rkey", keys)
            .key("rkey_before", keys)
            .key("rkey_after", keys)
            .build();

    private Comparison compare(String line, Answers answers) {
        VectorLine vector = VectorLine.parse(line);
        return vector.compare(format, vector.question(format), answers);
    }

    private Comparison region(String group, String recorded, String ours) {
        return compare(
                "{\"group\":\"%s\",\"lkey\":\"%s\"}".formatted(group, recorded), new Answers().text("lkey", ours));
    }

    private static void assertAgrees(Comparison comparison) {
        assertThat(comparison.differences()).isEmpty();
    }

    private static void assertDiffers(Comparison comparison, String why) {
        assertThat(comparison.differences())
                .singleElement()
                .extracting(Difference::why)
                .isEqualTo(why);
    }

    @Test
    void aKeyIsThereOnBothSidesOrOnNeither() {
        Comparison both = region("maps", "0x2e5ff", "0x100");
        assertAgrees(both);
        assertThat(both.byRule()).isEqualTo(1);
        assertThat(both.informative()).containsOnlyKeys(Informative.KEY);
        assertThat(compare("{\"group\":\"maps\"}", new Answers()).byRule()).isZero();
        String why = "a key on both sides or on neither";
        assertDiffers(compare("{\"group\":\"maps\"}", new Answers().text("lkey", "0x100")), why);
        Comparison missing = compare("{\"group\":\"maps\",\"lkey\":\"0x2e5ff\"}", new Answers());
        assertDiffers(missing, why);
        assertThat(missing.informative()).isEmpty();
        assertDiffers(compare("{\"group\":\"maps\",\"lkey\":5}", new Answers().text("lkey", "0x100")), why);
    }

    @Test
    void numbersGrowByAsMuchOrMoreWhereLinesWereLeftOut() {
        assertAgrees(region("maps", "0x2e5ff", "0x100"));
        assertAgrees(region("maps", "0x2e700", "0x3aa"));
        assertAgrees(region("maps", "0x2f0bb", "0x4aa"));
        assertDiffers(region("maps", "0x2f1bb", "0x6aa"), "a number that has grown by 1 or less, not by 2");
    }

    @Test
    void numbersGrowByTheSameWhereNoLineWasLeftOut() {
        assertAgrees(region("maps", "0x2e5ff", "0x100"));
        assertAgrees(region("keys", "0x2f0ff", "0x200"));
        assertAgrees(region("keys", "0x2f100", "0x300"));
        assertDiffers(region("keys", "0x2f300", "0x400"), "a number that has grown by 2, not by 1");
    }

    @Test
    void numbersGoRound() {
        assertAgrees(region("maxmr", "0x2fd64", "0x2fd11"));
        assertAgrees(region("maxmr", "0x2fb66", "0x2fb22"));
        assertDiffers(region("maxmr", "0x2fc66", "0x2fe22"), "a number that has grown by 1 or less, not by 3");
    }

    @Test
    void bothKeysOfARegionAreEqualOnBothSides() {
        String line = "{\"group\":\"maps\",\"lkey\":\"0x2e5ff\",\"rkey\":\"0x2e5ff\"}";
        assertAgrees(compare(line, new Answers().text("lkey", "0x1aa").text("rkey", "0x1aa")));
        String why = "a key that lies to the one before it as in the recording";
        assertDiffers(compare(line, new Answers().text("lkey", "0x1aa").text("rkey", "0x1ab")), why);
        assertDiffers(compare(line, new Answers().text("lkey", "0x1aa").text("rkey", "0x2aa")), why);
    }

    @Test
    void aBindMovesTheKeyAsFarAndNumbersOfWindowsGrowByTheSame() {
        String line = "{\"group\":\"mw\",\"rkey_before\":\"0x80006e4\",\"rkey_after\":\"0x80006e5\"}";
        assertAgrees(
                compare(line, new Answers().text("rkey_before", "0x80001ff").text("rkey_after", "0x8000100")));
        assertDiffers(
                compare(line, new Answers().text("rkey_before", "0x8000111").text("rkey_after", "0x8000111")),
                "a key that lies to the one before it as in the recording");
        String window = "{\"group\":\"mw\",\"rkey\":\"0x8000811\"}";
        assertDiffers(
                compare(window, new Answers().text("rkey", "0x8000222")), "a number that has grown by 2, not by 1");
        assertDiffers(
                compare(window, new Answers().text("rkey", "0x222")), "a key of a window on both sides or on neither");
        assertAgrees(compare("{\"group\":\"mw\",\"rkey\":\"0x8000911\"}", new Answers().text("rkey", "0x8000322")));
    }
}
