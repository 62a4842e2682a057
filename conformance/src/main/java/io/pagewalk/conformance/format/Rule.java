package io.pagewalk.conformance.format;

import com.fasterxml.jackson.databind.JsonNode;

/** The ways in which answers are compared that cannot be the same to the last digit. */
public enum Rule implements Check {
    /** What the kernel logged: the same events with the same numbers; see {@link KernelText}. */
    LOG {
        @Override
        public void check(String path, JsonNode expected, JsonNode got, Question question, Comparison into) {
            LogCheck.check(path, expected, got, into);
        }
    },
    /** As {@link #LOG}, unless the driver walked through a superpage there. */
    LOG_BEFORE_HAZARD {
        @Override
        public void check(String path, JsonNode expected, JsonNode got, Question question, Comparison into) {
            if (question.has("hazard")) {
                into.informative(Informative.AFTER_HAZARD, Json.leaves(expected));
            } else {
                LogCheck.check(path, expected, got, into);
            }
        }
    },
    /** Bytes that a copy changed: exactly, or where the recording module's own fill decides, by its period. */
    CHANGED_BYTES {
        @Override
        public void check(String path, JsonNode expected, JsonNode got, Question question, Comparison into) {
            FillCheck.changed(path, expected, got, question, into);
        }
    },
    /** How many bytes a transfer changed: none or nearly all, since some were the same before by chance. */
    TOUCHED_BYTES {
        @Override
        public void check(String path, JsonNode expected, JsonNode got, Question question, Comparison into) {
            FillCheck.touched(path, expected, got, question, into);
        }
    },
    /** Exactly, or where the recording machine's timer chose the addresses, by how they lie to each other. */
    EXACT_OR_LAYOUT {
        @Override
        public void check(String path, JsonNode expected, JsonNode got, Question question, Comparison into) {
            LayoutCheck.check(path, expected, got, question, into);
        }
    },
    /** Which device addresses are mapped and how, whatever pages a page allocator put behind them. */
    COHERENT_PAGES {
        @Override
        public void check(String path, JsonNode expected, JsonNode got, Question question, Comparison into) {
            LayoutCheck.coherentPages(path, expected, got, question, into);
        }
    },
    /** Where coherent memory lies: there or not on both sides, and within mask and bus limit. */
    WITHIN_REACH {
        @Override
        public void check(String path, JsonNode expected, JsonNode got, Question question, Comparison into) {
            ReachCheck.check(path, expected, got, question, into);
        }
    },
    /** Exactly, unless the library of user space answered without a system call. */
    KERNEL_OR_LIBRARY {
        @Override
        public void check(String path, JsonNode expected, JsonNode got, Question question, Comparison into) {
            if (question.number("kernel_calls") == 0) {
                into.informative(Informative.USER_LIBRARY, Json.leaves(expected));
            } else {
                Checks.exact(path, expected, got, question, into);
            }
        }
    };
}
