package io.pagewalk.cli;

import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;

/** A table of text: labels to the left, right-aligned columns, and lines that span it as headings. */
final class TextTable {
    private static final String GAP = "  ";

    private final List<String> heads;
    private final List<String[]> rows = new ArrayList<>();

    TextTable(List<String> heads) {
        this.heads = List.copyOf(heads);
    }

    /** Adds a heading, set off by an empty line. */
    void heading(String text) {
        rows.add(new String[] {text});
    }

    /** Adds a row: a label and a cell for each column. */
    void row(String label, List<String> cells) {
        if (cells.size() != heads.size()) {
            throw new IllegalArgumentException(
                    cells.size() + " cells under " + heads.size() + " heads in row " + label);
        }
        String[] row = new String[cells.size() + 1];
        row[0] = "  " + label;
        for (int i = 0; i < cells.size(); i++) {
            row[i + 1] = cells.get(i);
        }
        rows.add(row);
    }

    void print(PrintWriter out) {
        int labelWidth = rows.stream()
                .filter(r -> r.length > 1)
                .mapToInt(r -> r[0].length())
                .max()
                .orElse(0);
        int[] widths = new int[heads.size()];
        for (int i = 0; i < widths.length; i++) {
            widths[i] = Math.max(heads.get(i).length(), widest(i + 1));
        }
        out.println(line("", heads, labelWidth, widths));
        for (String[] row : rows) {
            if (row.length == 1) {
                out.println();
                out.println(row[0]);
            } else {
                out.println(line(row[0], List.of(row).subList(1, row.length), labelWidth, widths));
            }
        }
    }

    private int widest(int column) {
        return rows.stream()
                .filter(r -> r.length > column)
                .mapToInt(r -> r[column].length())
                .max()
                .orElse(0);
    }

    private static String line(String label, List<String> cells, int labelWidth, int[] widths) {
        StringBuilder text = new StringBuilder(label).append(" ".repeat(labelWidth - label.length()));
        for (int i = 0; i < cells.size(); i++) {
            text.append(GAP)
                    .append(" ".repeat(widths[i] - cells.get(i).length()))
                    .append(cells.get(i));
        }
        return text.toString().stripTrailing();
    }
}
