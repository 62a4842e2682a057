package io.pagewalk.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.List;
import org.junit.jupiter.api.Test;

class TextTableTest {
    @Test
    void columnsAreAsWideAsTheirWidestCellAndAlignToTheRight() {
        TextTable table = new TextTable(List.of("a", "longer"));
        table.heading("Group");
        table.row("x", List.of("1,000", "2"));
        table.row("label", List.of("3", "4"));
        StringWriter out = new StringWriter();
        table.print(new PrintWriter(out, true));
        assertThat(out.toString().lines())
                .containsExactly(
                        "             a  longer", "", "Group", "  x      1,000       2", "  label      3       4");
    }

    @Test
    void aRowWithAnotherNumberOfCellsThanHeadsIsRefused() {
        TextTable table = new TextTable(List.of("a"));
        assertThatThrownBy(() -> table.row("x", List.of("1", "2")))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("2 cells under 1 heads");
    }

    @Test
    void bytesAreShownInTheLargestUnitTheyFill() {
        assertThat(CompareRows.bytes(0)).isEqualTo("0 B");
        assertThat(CompareRows.bytes(1023)).isEqualTo("1023 B");
        assertThat(CompareRows.bytes(1024)).isEqualTo("1.0 KiB");
        assertThat(CompareRows.bytes(142_500_000)).isEqualTo("135.9 MiB");
        assertThat(CompareRows.bytes(3L << 40)).isEqualTo("3.0 TiB");
        assertThat(CompareRows.bytes(5000L << 40)).isEqualTo("5000.0 TiB");
    }
}
