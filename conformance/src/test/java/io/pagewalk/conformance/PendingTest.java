package io.pagewalk.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.conformance.adapter.PendingEntry;
import io.pagewalk.conformance.adapter.PendingList;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Pending groups are counted, never skipped; a group that passes must leave the list, and the list is the only excuse.
 */
class PendingTest {
    @TempDir
    private Path folder;

    private ConformanceResult run(String pending, List<String> lines) throws UnusableVectorsException {
        return Vectors.run(Vectors.write(folder, "some.jsonl", lines), PendingList.parse(pending));
    }

    private static List<String> masks() {
        return Vectors.shipped("masks").subList(0, 10);
    }

    @Test
    void aGroupThatIsListedButPassesIsAFailure() throws UnusableVectorsException {
        ConformanceResult result = run("masks op=set_mask : later\n", masks());
        assertThat(result.failures()).isEqualTo(1);
        assertThat(result.families().get(0).pending()).isEqualTo(9);
        assertThat(result.families().get(0).passed()).isEqualTo(1);
        assertThat(result.pending()).containsExactly(new PendingResult("masks op=set_mask", "later", 9, 9));
        assertThat(result.disagreements()).singleElement().satisfies(d -> {
            assertThat(d.file()).isEqualTo("pending.txt");
            assertThat(d.line()).isZero();
            assertThat(d.family()).isEqualTo("masks");
            assertThat(d.input()).isEqualTo("masks op=set_mask");
            assertThat(d.differences())
                    .containsExactly(
                            new FieldDifference("", "listed as pending", "all 9 lines agree", "take it off the list"));
        });
    }

    @Test
    void aGroupOfWhichALineDisagreesIsPending() throws UnusableVectorsException {
        List<String> lines = new ArrayList<>(masks());
        lines.set(3, lines.get(3).replace("\"need_sync\":", "\"need_sync\":1"));
        ConformanceResult result = run("masks boot=masks_6g op=set_mask : later\n", lines);
        assertThat(result.ok()).isTrue();
        assertThat(result.pending())
                .containsExactly(new PendingResult("masks boot=masks_6g op=set_mask", "later", 9, 8));
        assertThat(result.pending().get(0).isStale()).isFalse();
    }

    @Test
    void anEntryCoversTheLinesWithAllItsLabels() throws UnusableVectorsException {
        assertThat(run("masks boot=masks_2g : later\nmasks op=none : later\niova : later\n", masks())
                        .pending())
                .isEmpty();
        assertThat(run("masks : later\n", masks()).pending().get(0).lines()).isEqualTo(10);
        assertThat(run(
                                "rdma-rxe group=query : later\n",
                                Vectors.shipped("rdma-rxe").subList(0, 3))
                        .pending())
                .containsExactly(new PendingResult("rdma-rxe group=query", "later", 2, 2));
    }

    @Test
    void aFunctionIsALabelToo() throws UnusableVectorsException {
        List<String> lines = new ArrayList<>(Vectors.shipped("umem").subList(0, 3));
        lines.set(2, lines.get(2).replace("\"pgsz\":", "\"pgsz\":1"));

        assertThat(run("", lines).failures()).isEqualTo(1);
        assertThat(run("umem fn=find_best_pgsz : later\n", lines).ok()).isTrue();
    }

    @Test
    void aBadLineIsNeverPending() throws UnusableVectorsException {
        List<String> lines = new ArrayList<>(Vectors.shipped("rdma-rxe").subList(0, 1));
        lines.set(0, lines.get(0).replace("\"uid\"", "\"uuid\""));
        assertThat(run("rdma-rxe : later\n", lines).failures()).isEqualTo(1);
    }

    @Test
    void entriesAreReadWithLabelsAndReason() {
        assertThat(PendingList.parse("# note\n\n  edu boot=a op=fault :  why so \n"))
                .containsExactly(
                        new PendingEntry("edu boot=a op=fault", "edu", Map.of("boot", "a", "op", "fault"), "why so"));
        assertThatThrownBy(() -> PendingList.parse("edu op=fault\n"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("pending entry without a reason: edu op=fault");
        assertThatThrownBy(() -> PendingList.parse("edu op=fault : \n")).hasMessageContaining("without a reason");
        assertThatThrownBy(() -> PendingList.parse("edu size=3 : x\n"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("pending entry with an unknown label: edu size=3 : x");
        assertThatThrownBy(() -> PendingList.parse("edu fault : x\n")).hasMessageContaining("unknown label");
    }
}
