package io.pagewalk.kit;

import java.util.List;
import java.util.Optional;
import net.jqwik.api.lifecycle.AroundTryHook;
import net.jqwik.api.lifecycle.LifecycleContext;
import net.jqwik.api.lifecycle.Lifespan;
import net.jqwik.api.lifecycle.ParameterResolutionContext;
import net.jqwik.api.lifecycle.ResolveParameterHook;
import net.jqwik.api.lifecycle.Store;
import net.jqwik.api.lifecycle.TryExecutionResult;
import net.jqwik.api.lifecycle.TryExecutor;
import net.jqwik.api.lifecycle.TryLifecycleContext;

/**
 * The jqwik hook that hands a {@link TestMachines} to a property that asks for one, and checks and closes its machines
 * after each try. A try that fell already keeps its own reason.
 */
public final class MachineValidatorHook implements AroundTryHook, ResolveParameterHook {
    /** Used by jqwik. */
    public MachineValidatorHook() {}

    @Override
    public Optional<ParameterSupplier> resolve(ParameterResolutionContext parameter, LifecycleContext context) {
        return parameter.typeUsage().isOfType(TestMachines.class)
                ? Optional.of(ignored -> machinesOfTry())
                : Optional.empty();
    }

    @Override
    public TryExecutionResult aroundTry(TryLifecycleContext context, TryExecutor aTry, List<Object> parameters) {
        TryExecutionResult result = aTry.execute(parameters);
        try {
            machinesOfTry().checkAndClose();
            return result;
        } catch (AssertionError | RuntimeException broken) {
            return result.isFalsified() ? result : TryExecutionResult.falsified(broken);
        }
    }

    @Override
    public int aroundTryProximity() {
        return -10;
    }

    private static TestMachines machinesOfTry() {
        return Store.getOrCreate(TestMachines.class, Lifespan.TRY, TestMachines::new)
                .get();
    }
}
