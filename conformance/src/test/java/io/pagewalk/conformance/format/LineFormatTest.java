package io.pagewalk.conformance.format;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** A question holds what is asked and nothing of what was answered; each field of a line is accounted for. */
class LineFormatTest {
    private static final LineFormat CALL =
            LineFormat.builder().input("a").exact("r").build();

    private static Question ask(LineFormat format, String line) {
        return VectorLine.parse(line).question(format);
    }

    private static Comparison compare(LineFormat format, String line, Answers answers) {
        VectorLine vector = VectorLine.parse(line);
        return vector.compare(format, vector.question(format), answers);
    }

    @Test
    void answersAreNotAsked() {
        LineFormat format = LineFormat.builder()
                .identity("id")
                .input("in")
                .optionalInput("maybe", "never")
                .exact("out")
                .rule("log", Rule.LOG)
                .informative(Informative.COST, "cost")
                .object("nested", CALL)
                .objects("calls", CALL)
                .operations("ops", Map.of("A", new int[] {2, 1}, "f", new int[] {1, 0}))
                .probes("probe", "out")
                .exactWhereWanted("leaves")
                .ruleWhereWanted("touched", Rule.TOUCHED_BYTES)
                .build();
        Question question = ask(
                format,
                "{\"id\":1,\"in\":2,\"maybe\":3,\"out\":[[4096,5000],[12288,0],[16384,100]],\"log\":[\"x\"],\"cost\":9,"
                        + "\"nested\":{\"a\":4,\"r\":5},\"calls\":[{\"a\":6,\"r\":7}],\"ops\":[[\"A\",1,2,77],[\"f\",8]],"
                        + "\"probe\":[[4096,1],[4106,2],[9095,3],[12288,4],[16384,5],[16391,6],[16483,7],[20480,0]],"
                        + "\"leaves\":[]}");
        assertThat(question)
                .hasToString("{\"id\":1,\"in\":2,\"maybe\":3,\"nested\":{\"a\":4},\"calls\":[{\"a\":6}],"
                        + "\"ops\":[[\"A\",1,2],[\"f\",8]],\"probe\":[10,0,7,0,0,0,0,0,0,0,0,0],"
                        + "\"leaves\":true,\"touched\":false}");
        assertThatThrownBy(() -> question.number("out"))
                .isInstanceOf(BadVectorException.class)
                .hasMessage("field \"out\" is missing");
    }

    @Test
    void aStateIsAskedWhereItIsThereAndComparedAllTheSame() {
        LineFormat format = LineFormat.builder().exactAndAsked("state").build();
        assertThat(ask(format, "{\"state\":5}")).hasToString("{\"state\":5}");
        assertThat(ask(format, "{}")).hasToString("{}");
        Comparison same = compare(format, "{\"state\":5}", new Answers().signed("state", 5));
        assertThat(same.differences()).isEmpty();
        assertThat(same.exact()).isEqualTo(1);
        assertThat(compare(format, "{\"state\":5}", new Answers().signed("state", 6))
                        .differences())
                .containsExactly(new Difference("state", "5", "6", ""));
        assertThat(compare(format, "{\"state\":5}", new Answers()).differences())
                .hasSize(1);
    }

    @Test
    void aWordMayStandWhereANumberDoes() {
        LineFormat format = LineFormat.builder().input("limit").build();
        assertThat(ask(format, "{\"limit\":0}").isNumber("limit")).isTrue();
        assertThat(ask(format, "{\"limit\":\"unlimited\"}").isNumber("limit")).isFalse();
    }

    @Test
    void everyFieldCountsOnceByHowItIsChecked() {
        LineFormat format = LineFormat.builder()
                .input("in")
                .exact("out", "empty")
                .informative(Informative.COST, "cost")
                .build();
        Comparison comparison = compare(
                format, "{\"in\":2,\"out\":[1,[2,3]],\"empty\":[],\"cost\":[7,8]}", new Answers().list("empty"));
        assertThat(comparison.exact()).isEqualTo(4);
        assertThat(comparison.byRule()).isZero();
        assertThat(comparison.informative()).containsExactly(Map.entry(Informative.COST, 2));
        assertThat(comparison.differences()).containsExactly(new Difference("out", "[1,[2,3]]", "nothing", ""));
    }

    @Test
    void aDifferenceInARowIsNamedByItsPlace() {
        LineFormat format = LineFormat.builder().exact("out").build();
        String line = "{\"out\":[[1,2],[3,4]]}";
        assertThat(compare(format, line, new Answers().rows("out", List.of(new long[] {1, 2}, new long[] {3, 5})))
                        .differences())
                .containsExactly(new Difference("out[1][1]", "4", "5", ""));
        assertThat(compare(format, line, new Answers().rows("out", List.of(new long[] {1, 2})))
                        .differences())
                .containsExactly(new Difference("out", "[[1,2],[3,4]]", "[[1,2]]", ""));
    }

    @Test
    void numbersCompareByValueAndSign() {
        LineFormat format = LineFormat.builder().exact("n").build();
        assertThat(compare(format, "{\"n\":18446744073709551615}", new Answers().unsigned("n", -1))
                        .differences())
                .isEmpty();
        assertThat(compare(format, "{\"n\":18446744073709551615}", new Answers().signed("n", -1))
                        .differences())
                .containsExactly(new Difference("n", "18446744073709551615", "-1", ""));
        assertThat(compare(format, "{\"n\":1}", new Answers().flag("n", true)).differences())
                .hasSize(1);
        assertThat(compare(format, "{\"n\":1}", new Answers().bit("n", true)).differences())
                .isEmpty();
        assertThat(compare(format, "{\"n\":null}", new Answers().none("n")).differences())
                .isEmpty();
        assertThat(compare(format, "{\"n\":null}", new Answers()).differences())
                .containsExactly(new Difference("n", "null", "nothing", ""));
        assertThat(compare(format, "{\"n\":1.0}", new Answers().unsigned("n", 1))
                        .differences())
                .hasSize(1);
    }

    @Test
    void nestedAnswersAreComparedWithTheirPlace() {
        LineFormat format =
                LineFormat.builder().object("o", CALL).objects("calls", CALL).build();
        String line = "{\"o\":{\"a\":1,\"r\":2},\"calls\":[{\"a\":3,\"r\":4},{\"a\":5,\"r\":6}]}";
        Answers answers = new Answers()
                .object("o", new Answers().unsigned("r", 9))
                .objects("calls", List.of(new Answers().unsigned("r", 4), new Answers().unsigned("r", 8)));
        assertThat(compare(format, line, answers).differences())
                .containsExactly(new Difference("o.r", "2", "9", ""), new Difference("calls[1].r", "6", "8", ""));
        assertThat(compare(format, line, new Answers().object("o", new Answers().unsigned("r", 2)))
                        .differences())
                .singleElement()
                .satisfies(d -> assertThat(d.path()).isEqualTo("calls"));
        assertThat(compare(format, "{\"calls\":[]}", new Answers().objects("calls", List.of()))
                        .differences())
                .isEmpty();
    }

    @Test
    void resultsOfOperationsAreCompared() {
        LineFormat format = LineFormat.builder()
                .operations("ops", Map.of("A", new int[] {1, 1}, "f", new int[] {1, 0}))
                .build();
        String line = "{\"ops\":[[\"A\",1,10],[\"f\",2],[\"A\",3,30]]}";
        List<long[]> right = List.of(new long[] {10}, new long[] {}, new long[] {30});
        assertThat(compare(format, line, new Answers().signedRows("ops", right)).differences())
                .isEmpty();
        assertThat(compare(format, line, new Answers().signedRows("ops", right)).exact())
                .isEqualTo(2);
        List<long[]> wrong = List.of(new long[] {10}, new long[] {}, new long[] {-30});
        assertThat(compare(format, line, new Answers().signedRows("ops", wrong)).differences())
                .containsExactly(new Difference("ops[2]", "[\"A\",3,30]", "[-30]", ""));
        assertThat(compare(format, line, new Answers().signedRows("ops", right.subList(0, 2)))
                        .differences())
                .containsExactly(new Difference("ops[2]", "[\"A\",3,30]", "nothing", ""));
        List<long[]> more = List.of(new long[] {10}, new long[] {}, new long[] {30}, new long[] {});
        assertThat(compare(format, line, new Answers().signedRows("ops", more)).differences())
                .hasSize(1);
    }

    @Test
    void anAdapterMayNotAnswerWhatNoLineHas() {
        assertThatThrownBy(() -> compare(CALL, "{\"a\":1,\"r\":2}", new Answers().unsigned("q", 2)))
                .isInstanceOf(IllegalStateException.class)
                .hasMessage("an adapter answered \"q\", which no line has");
    }

    @Test
    void aFieldIsListedOnce() {
        assertThatThrownBy(() -> LineFormat.builder().input("a").exact("a"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("field a is listed twice");
    }

    @Test
    void opsChooseTheirFormat() {
        LineFormat format = LineFormat.builder()
                .objectsByOp(
                        "ops",
                        Map.of(
                                "m",
                                LineFormat.builder().identity("op").exact("r").build()))
                .build();
        assertThat(compare(
                                format,
                                "{\"ops\":[{\"op\":\"m\",\"r\":1}]}",
                                new Answers().objects("ops", List.of(new Answers().unsigned("r", 1))))
                        .differences())
                .isEmpty();
        assertThatThrownBy(() -> ask(format, "{\"ops\":[{\"op\":\"q\"}]}"))
                .isInstanceOf(BadVectorException.class)
                .hasMessage("unknown op in \"ops[0]\": {\"op\":\"q\"}");
        assertThatThrownBy(() -> ask(format, "{\"ops\":7}")).hasMessageContaining("not a list");
    }

    @Test
    void linesSayWhichTheyAre() {
        VectorLine line = VectorLine.parse("{\"fam\":\"f\",\"id\":7,\"fn\":\"g\"}");
        assertThat(List.of(line.family() + "", line.id() + "", line.kind())).containsExactly("f", "7", "g");
        assertThat(line.isBoot()).isFalse();
        VectorLine boot = VectorLine.parse("{\"fam\":\"f\",\"type\":\"boot\",\"boot\":\"b\",\"op\":\"x\"}");
        assertThat(boot.isBoot()).isTrue();
        assertThat(boot.kind()).isEqualTo("boot");
        assertThat(boot.label("boot")).isEqualTo("b");
        assertThat(boot.id()).isNull();
        VectorLine verb = VectorLine.parse("{\"dev\":\"rxe\",\"group\":\"g\",\"op\":\"o\"}");
        assertThat(verb.family()).isEqualTo("rdma-rxe");
        assertThat(verb.kind()).isEqualTo("o");
        assertThat(VectorLine.parse("{}").kind()).isEqualTo("script");
        assertThat(VectorLine.parse("{\"dev\":\"rxe\"}").family()).isNull();
    }

    @Test
    void questionsReadNumbersOfBothSigns() {
        LineFormat format = LineFormat.builder().input("n", "rows", "small").build();
        Question question = ask(format, "{\"n\":18446744073709551615,\"rows\":[[1,2]],\"small\":-3}");
        assertThat(question.number("n")).isEqualTo(-1);
        assertThat(question.integer("small")).isEqualTo(-3);
        assertThat(question.rows("rows", 2)).singleElement().isEqualTo(new long[] {1, 2});
        assertThatThrownBy(() -> question.rows("rows", 3))
                .hasMessage("field \"rows\" is [1,2], not a row of 3 numbers");
        assertThatThrownBy(() -> question.integer("n")).hasMessageContaining("not a small integer");
        assertThatThrownBy(() -> question.text("n")).hasMessageContaining("not a text");
        assertThatThrownBy(() -> question.object("n")).hasMessageContaining("not an object");
        assertThat(question.has("small")).isTrue();
        assertThat(question.has("none")).isFalse();
    }
}
