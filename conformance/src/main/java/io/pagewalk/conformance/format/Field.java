package io.pagewalk.conformance.format;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

/** One field of a line: what of it is asked, and how the rest is compared. */
interface Field {
    /**
     * Copies what is asked.
     *
     * @param path where the field stands
     * @param name its name
     * @param line the object that has it, or does not have it
     * @param question takes the inputs
     * @throws BadVectorException when the value cannot be what this field is
     */
    void ask(String path, String name, JsonNode line, ObjectNode question);

    /**
     * Compares what was answered.
     *
     * @param path where the field stands
     * @param expected its recorded value, missing when the line does not have it
     * @param got the library's answer, missing when there is none
     * @param question what was asked
     * @param into takes counts and differences
     */
    void compare(String path, JsonNode expected, JsonNode got, Question question, Comparison into);

    /** An input: copied, never compared. */
    record Input(boolean required) implements Field {
        @Override
        public void ask(String path, String name, JsonNode line, ObjectNode question) {
            if (line.has(name)) {
                question.set(name, line.get(name));
            } else if (required) {
                throw new BadVectorException("field \"" + path + "\" is missing");
            }
        }

        @Override
        public void compare(String path, JsonNode expected, JsonNode got, Question question, Comparison into) {
            // Inputs are the same on both sides by construction.
        }
    }

    /** An answer, compared by a check. */
    record Checked(Check check) implements Field {
        @Override
        public void ask(String path, String name, JsonNode line, ObjectNode question) {
            // Answers are not asked.
        }

        @Override
        public void compare(String path, JsonNode expected, JsonNode got, Question question, Comparison into) {
            check.check(path, expected, got, question, into);
        }
    }

    /** A state that is asked, since what led to it is not in the lines, and answered once it was brought about. */
    record Asked(Check check) implements Field {
        @Override
        public void ask(String path, String name, JsonNode line, ObjectNode question) {
            if (line.has(name)) {
                question.set(name, line.get(name));
            }
        }

        @Override
        public void compare(String path, JsonNode expected, JsonNode got, Question question, Comparison into) {
            check.check(path, expected, got, question, into);
        }
    }

    /** An answer that was taken in some lines only: which ones is part of what is asked. */
    record Wanted(Check check) implements Field {
        @Override
        public void ask(String path, String name, JsonNode line, ObjectNode question) {
            question.put(name, line.has(name));
        }

        @Override
        public void compare(String path, JsonNode expected, JsonNode got, Question question, Comparison into) {
            check.check(path, expected, got, question, into);
        }
    }

    /** An answer that nothing can be held to. */
    record Noted(Informative kind) implements Field {
        @Override
        public void ask(String path, String name, JsonNode line, ObjectNode question) {
            // Answers are not asked.
        }

        @Override
        public void compare(String path, JsonNode expected, JsonNode got, Question question, Comparison into) {
            into.informative(kind, Json.leaves(expected));
        }
    }

    /** An object with inputs and answers of its own. */
    record Nested(LineFormat format) implements Field {
        @Override
        public void ask(String path, String name, JsonNode line, ObjectNode question) {
            if (line.has(name)) {
                question.set(name, format.inputs(path + ".", line.get(name)));
            }
        }

        @Override
        public void compare(String path, JsonNode expected, JsonNode got, Question question, Comparison into) {
            if (expected.isMissingNode()) {
                Checks.exact(path, expected, got, question, into);
            } else {
                format.compare(path + ".", expected, Answers.of(got), question.object(Json.lastName(path)), into);
            }
        }
    }

    /** A list of objects, each of a format that one of its members chooses. */
    record NestedList(FormatChoice choice) implements Field {
        @Override
        public void ask(String path, String name, JsonNode line, ObjectNode question) {
            JsonNode value = line.path(name);
            if (!value.isArray()) {
                throw new BadVectorException("field \"" + path + "\" is " + Json.text(value) + ", not a list");
            }
            var list = question.putArray(name);
            for (int i = 0; i < value.size(); i++) {
                String element = path + "[" + i + "]";
                list.add(choice.of(element, value.get(i)).inputs(element + ".", value.get(i)));
            }
        }

        @Override
        public void compare(String path, JsonNode expected, JsonNode got, Question question, Comparison into) {
            if (!got.isArray() || got.size() != expected.size()) {
                into.differ(path, expected, got, "as many answers as there are calls");
                return;
            }
            var asked = question.objects(Json.lastName(path));
            for (int i = 0; i < expected.size(); i++) {
                String element = path + "[" + i + "]";
                choice.of(element, expected.get(i))
                        .compare(element + ".", expected.get(i), Answers.of(got.get(i)), asked.get(i), into);
            }
        }
    }

    /** Chooses the format of an object in a list. */
    @FunctionalInterface
    interface FormatChoice {
        /**
         * Chooses.
         *
         * @param path where the object stands
         * @param element the object
         * @return its format
         * @throws BadVectorException when there is none
         */
        LineFormat of(String path, JsonNode element);
    }
}
