package io.pagewalk.trace.planted;

import io.pagewalk.cli.Pagewalk;

final class KnowsTheCommand {
    Class<?> command() {
        return Pagewalk.class;
    }
}
