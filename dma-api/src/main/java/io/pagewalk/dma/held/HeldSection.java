package io.pagewalk.dma.held;

import java.util.List;

/**
 * One kind of thing that is held, as a table of texts: what a backend, or a module above, adds to a
 * {@link HeldSnapshot}.
 *
 * @param name what the rows are, such as {@code bounce slots}
 * @param columns heads of the columns
 * @param rows a text for each column, addresses in hex
 */
public record HeldSection(String name, List<String> columns, List<List<String>> rows) {
    /**
     * Copies the lists.
     *
     * @param name what the rows are
     * @param columns heads of the columns
     * @param rows a text for each column
     * @throws IllegalArgumentException when a row has another number of texts than there are columns
     */
    public HeldSection {
        columns = List.copyOf(columns);
        rows = rows.stream().map(List::copyOf).toList();
        for (List<String> row : rows) {
            if (row.size() != columns.size()) {
                throw new IllegalArgumentException(
                        row.size() + " texts under the " + columns.size() + " columns of " + name + ": " + row);
            }
        }
    }
}
