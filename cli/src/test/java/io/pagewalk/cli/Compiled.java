package io.pagewalk.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import javax.tools.ToolProvider;

/** Source text compiled against this test's class path into a folder of its own. */
final class Compiled {
    private Compiled() {}

    static URLClassLoader load(Path folder, String className, String source) throws IOException {
        Path file = Files.writeString(folder.resolve(className + ".java"), source);
        int failed = ToolProvider.getSystemJavaCompiler()
                .run(
                        null,
                        null,
                        null,
                        "-proc:none",
                        "-cp",
                        System.getProperty("java.class.path"),
                        "-d",
                        folder.toString(),
                        file.toString());
        assertThat(failed).as("the compiler's exit status").isZero();
        return new URLClassLoader(new URL[] {folder.toUri().toURL()}, Compiled.class.getClassLoader());
    }
}
