package io.pagewalk.hostile;

import java.util.List;

/**
 * One call as choices, each modulo what there is to choose from, so that it shrinks and always means something.
 *
 * @param type which class
 * @param member which of its constructors and methods
 * @param subject on which object
 * @param arguments which value for each parameter
 */
record HostileCall(int type, int member, int subject, List<Integer> arguments) {
    HostileCall {
        arguments = List.copyOf(arguments);
    }

    int argument(int parameter) {
        return arguments.get(parameter % arguments.size());
    }
}
