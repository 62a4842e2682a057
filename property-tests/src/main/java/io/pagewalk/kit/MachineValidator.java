package io.pagewalk.kit;

import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;

/**
 * The JUnit extension that hands a {@link TestMachines} to a test that asks for one, and checks and closes its machines
 * after the test: {@code @ExtendWith(MachineValidator.class)}.
 */
public final class MachineValidator implements ParameterResolver, AfterEachCallback {
    private static final ExtensionContext.Namespace NAMESPACE =
            ExtensionContext.Namespace.create(MachineValidator.class);

    /** Used by JUnit. */
    public MachineValidator() {}

    @Override
    public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
        return parameter.getParameter().getType() == TestMachines.class;
    }

    @Override
    public TestMachines resolveParameter(ParameterContext parameter, ExtensionContext context) {
        return machinesOf(context);
    }

    @Override
    public void afterEach(ExtensionContext context) {
        machinesOf(context).checkAndClose();
    }

    private static TestMachines machinesOf(ExtensionContext context) {
        return context.getStore(NAMESPACE)
                .getOrComputeIfAbsent(TestMachines.class, k -> new TestMachines(), TestMachines.class);
    }
}
