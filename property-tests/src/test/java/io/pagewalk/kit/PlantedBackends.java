package io.pagewalk.kit;

import java.io.IOException;
import java.net.URL;
import java.net.URLClassLoader;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/** Puts the backends with planted faults on the class path for the time of a test, as a jar of somebody's would be. */
final class PlantedBackends implements BeforeEachCallback, AfterEachCallback {
    private static final ExtensionContext.Namespace NAMESPACE =
            ExtensionContext.Namespace.create(PlantedBackends.class);

    @Override
    public void beforeEach(ExtensionContext context) {
        URL folder = PlantedBackends.class.getResource("/planted/");
        if (folder == null) {
            throw new IllegalStateException("the folder planted is missing from the test resources");
        }
        ClassLoader before = Thread.currentThread().getContextClassLoader();
        URLClassLoader loader = new URLClassLoader(new URL[] {folder}, before);
        context.getStore(NAMESPACE).put(URLClassLoader.class, loader);
        Thread.currentThread().setContextClassLoader(loader);
    }

    @Override
    public void afterEach(ExtensionContext context) throws IOException {
        URLClassLoader loader = context.getStore(NAMESPACE).get(URLClassLoader.class, URLClassLoader.class);
        Thread.currentThread().setContextClassLoader(loader.getParent());
        loader.close();
    }
}
