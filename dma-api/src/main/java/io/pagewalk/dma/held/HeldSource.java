package io.pagewalk.dma.held;

import java.util.List;

/** Tells of what it holds of a machine, when somebody asks. */
@FunctionalInterface
public interface HeldSource {
    /**
     * What is held now.
     *
     * @return tables, also those without rows; exact while no call is running
     */
    List<HeldSection> held();
}
