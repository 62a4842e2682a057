package io.pagewalk.conformance;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is no vector is a failure with a name, and the lines around it still have their say. */
class BadVectorsTest {
    private static final String SCRIPT =
            "{\"fam\":\"iova\",\"id\":0,\"name\":\"x\",\"granule\":4096,\"start_pfn\":1,\"rcache\":false,\"ops\":[%s],"
                    + "\"tree\":[],\"max32\":1048576,\"dma32_pfn\":1048576,\"cached\":\"anchor\",\"cached32\":\"anchor\"}";

    @TempDir
    private Path folder;

    private static String boot() {
        return Vectors.shipped("iova").get(0);
    }

    private static String script() {
        return String.format(SCRIPT, "");
    }

    private ConformanceResult run(String... lines) throws UnusableVectorsException {
        return Vectors.run(Vectors.write(folder, "bad.jsonl", List.of(lines)));
    }

    /** Replays a boot line, the bad line and a good one; the bad one fails with a message, the others pass. */
    private Disagreement onlyFailure(String bad, String... message) throws UnusableVectorsException {
        ConformanceResult result = run(boot(), bad, script());
        assertThat(result.failures()).isEqualTo(1);
        Disagreement failed = result.disagreements().get(0);
        assertThat(failed.line()).isEqualTo(2);
        assertThat(failed.differences()).singleElement().satisfies(d -> {
            assertThat(d.path()).isEmpty();
            assertThat(d.expected()).isEqualTo("a vector");
            assertThat(d.got()).contains(message);
        });
        assertThat(result.families().stream().mapToLong(FamilyResult::passed).sum())
                .isEqualTo(2);
        return failed;
    }

    @Test
    void theGoodLinesAreGood() throws UnusableVectorsException {
        assertThat(run(boot(), script()).disagreements()).isEmpty();
    }

    @Test
    void whatIsNotOneJsonObjectIsMalformed() throws UnusableVectorsException {
        Disagreement failed = onlyFailure("{\"fam\":", "malformed");
        assertThat(failed.family()).isEqualTo(ConformanceResult.UNKNOWN);
        assertThat(failed.input()).isEqualTo("{\"fam\":");
        onlyFailure("[1,2]", "malformed", "not a JSON object");
        onlyFailure(script() + " {}", "malformed");
        onlyFailure("nonsense", "malformed");
    }

    @Test
    void aFieldThatIsThereTwiceIsMalformed() throws UnusableVectorsException {
        onlyFailure(script().replace("\"id\":0", "\"id\":0,\"id\":1"), "malformed", "id");
    }

    @Test
    void aLineWithoutAFamilyOrOfAnUnknownOneIsNamed() throws UnusableVectorsException {
        onlyFailure("{\"id\":0}", "no family");
        onlyFailure("{\"fam\":\"iowa\",\"id\":0}", "unknown family \"iowa\"");
        onlyFailure("{\"dev\":\"siw\",\"group\":\"mw\",\"op\":\"SEND\"}", "unknown family \"rdma-siw\"");
    }

    @Test
    void anUnknownOperationIsNamed() throws UnusableVectorsException {
        Disagreement op = onlyFailure("{\"fam\":\"iova\",\"id\":0,\"op\":\"shake\"}", "unknown op \"shake\"", "iova");
        assertThat(op.family()).isEqualTo("iova");
        onlyFailure("{\"fam\":\"sg\",\"id\":0,\"fn\":\"shake\"}", "unknown fn \"shake\"", "sg");
        onlyFailure(String.format(SCRIPT, "[\"X\",1]"), "unknown operation [\"X\",1]", "ops[0]");
        onlyFailure(String.format(SCRIPT, "[\"f\",1],[\"f\",1,2]"), "ops[1]", "has 2 numbers, not 1");
        onlyFailure(String.format(SCRIPT, "7"), "unknown operation 7");
    }

    @Test
    void anUnknownFieldIsNamed() throws UnusableVectorsException {
        onlyFailure(script().replace("\"id\":0", "\"id\":0,\"color\":1"), "unknown field \"color\"");
    }

    @Test
    void anUnknownNestedFieldIsNamedWithItsPlace() throws UnusableVectorsException {
        List<String> lines = new ArrayList<>(Vectors.shipped("swiotlb").subList(0, 1));
        lines.set(0, lines.get(0).replace("\"nareas\"", "\"narrow\":1,\"nareas\""));
        ConformanceResult result = Vectors.run(Vectors.write(folder, "nested.jsonl", lines));
        assertThat(result.disagreements().get(0).differences().get(0).got())
                .contains("unknown field \"swiotlb.narrow\"");
    }

    @Test
    void anInputThatIsMissingOrOfAWrongTypeIsNamed() throws UnusableVectorsException {
        onlyFailure(script().replace("\"granule\":4096,", ""), "field \"granule\" is missing");
        onlyFailure(script().replace("\"granule\":4096", "\"granule\":\"4k\""), "granule", "\"4k\"", "not an integer");
        onlyFailure(
                script().replace("\"granule\":4096", "\"granule\":18446744073709551616"),
                "granule",
                "not an integer of 64 bits");
        onlyFailure(script().replace("\"rcache\":false", "\"rcache\":0"), "rcache", "not true or false");
        onlyFailure(script().replace("\"ops\":[]", "\"ops\":{}"), "ops", "not a list");
    }

    @Test
    void anAnswerThatIsMissingIsADisagreement() throws UnusableVectorsException {
        ConformanceResult result = run(boot(), script().replace("\"max32\":1048576,", ""));
        assertThat(result.disagreements().get(0).differences())
                .containsExactly(new FieldDifference("max32", "nothing", "1048576", ""));
    }

    @Test
    void aLineBeforeAnyBootOfItsFamilyIsNamed() throws UnusableVectorsException {
        ConformanceResult result = run(script(), boot(), script());
        assertThat(result.failures()).isEqualTo(1);
        assertThat(result.disagreements().get(0).differences().get(0).got())
                .isEqualTo("no boot line of family iova before it");
        assertThat(result.disagreements().get(0).boot()).isNull();
    }

    @Test
    void aBootOfAKernelWithoutAModelFailsAndSoDoItsLines() throws UnusableVectorsException {
        ConformanceResult result = run(boot().replace("6.12.117", "7.1.0"), script());
        assertThat(result.disagreements())
                .extracting(d -> d.differences().get(0).got())
                .containsExactly("no model of kernel 7.1.0+deb12-amd64", "the boot that it belongs to did not come up");
    }

    @Test
    void whatTheLibraryThrowsFailsTheLineAlone() throws UnusableVectorsException {
        List<String> lines = new ArrayList<>(Vectors.shipped("swiotlb").subList(0, 5));
        lines.add(1, lines.get(1).replace("\"min_align\":0", "\"min_align\":4294967296"));
        ConformanceResult result = Vectors.run(Vectors.write(folder, "throws.jsonl", lines));
        assertThat(result.disagreements()).singleElement().satisfies(d -> {
            assertThat(d.line()).isEqualTo(2);
            assertThat(d.differences().get(0).expected()).isEqualTo("an answer");
            assertThat(d.differences().get(0).got()).contains("threw", "IllegalArgumentException", "0x100000000");
        });
        assertThat(result.families().get(0).passed()).isEqualTo(5);
    }

    @Test
    void anUnknownDirectionOrHandleIsNamed() throws UnusableVectorsException {
        List<String> lines = new ArrayList<>(Vectors.shipped("swiotlb").subList(0, 3));
        lines.set(1, lines.get(1).replace("\"dir\":2", "\"dir\":4"));
        ConformanceResult result = Vectors.run(Vectors.write(folder, "dir.jsonl", lines));
        assertThat(result.disagreements())
                .extracting(d -> d.differences().get(0).got())
                .containsExactly("there is no direction 4", "handle 0 is not mapped");
    }

    @Test
    void emptyLinesSayNothing() throws UnusableVectorsException {
        ConformanceResult result = run(boot(), "", "   ", script());
        assertThat(result.families().get(0).lines()).isEqualTo(2);
        assertThat(result.ok()).isTrue();
    }
}
