package io.pagewalk.kit;

import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectMethod;

import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.Map;
import java.util.TreeMap;
import org.junit.platform.engine.DiscoverySelector;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.TestSource;
import org.junit.platform.engine.support.descriptor.MethodSource;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

/** Runs a class of tests in a launcher of its own, quietly, and tells which methods fell. */
final class ContractRun implements TestExecutionListener {
    private final Map<String, Throwable> fallen = new TreeMap<>();
    private int kept;

    private ContractRun() {}

    static ContractRun ofAll(Class<?> tests) {
        return run(selectClass(tests));
    }

    static ContractRun ofOne(Class<?> tests, String methodName) {
        Method method = Arrays.stream(tests.getMethods())
                .filter(m -> m.getName().equals(methodName))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException(tests + " has no " + methodName));
        return run(selectMethod(tests, method));
    }

    private static ContractRun run(DiscoverySelector selector) {
        LauncherDiscoveryRequest request = LauncherDiscoveryRequestBuilder.request()
                .selectors(selector)
                .configurationParameter("jqwik.shrinking.default", "OFF")
                .configurationParameter("jqwik.reporting.usejunitplatform", "true")
                .configurationParameter("jqwik.database", "")
                .build();
        ContractRun run = new ContractRun();
        LauncherFactory.create().execute(request, run);
        return run;
    }

    @Override
    public void executionFinished(TestIdentifier test, TestExecutionResult result) {
        if (test.isTest()) {
            if (result.getStatus() == TestExecutionResult.Status.SUCCESSFUL) {
                kept++;
            } else {
                fallen.put(nameOf(test), result.getThrowable().orElseThrow());
            }
        }
    }

    private static String nameOf(TestIdentifier test) {
        TestSource source = test.getSource().orElseThrow();
        return source instanceof MethodSource method ? method.getMethodName() : test.getDisplayName();
    }

    /** The methods that failed, and why. */
    Map<String, Throwable> fallen() {
        return fallen;
    }

    /** How many succeeded. */
    int kept() {
        return kept;
    }
}
