package io.pagewalk.dma.events;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.DmaDirection;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Two listeners in the place of one. */
class ListenerPairTest {
    private final List<String> heard = new ArrayList<>();

    /** Notes every call with its arguments. */
    private DmaListener listener(String name) {
        return (DmaListener) Proxy.newProxyInstance(
                DmaListener.class.getClassLoader(), new Class<?>[] {DmaListener.class}, (proxy, method, args) -> {
                    heard.add(name + " " + method.getName() + " " + Arrays.toString(args));
                    return null;
                });
    }

    private static Object[] arguments(Method method) {
        Class<?>[] types = method.getParameterTypes();
        Object[] arguments = new Object[types.length];
        for (int i = 0; i < types.length; i++) {
            if (types[i] == long.class) {
                arguments[i] = 100L + i;
            } else if (types[i] == int.class) {
                arguments[i] = 10 + i;
            } else if (types[i] == boolean.class) {
                arguments[i] = true;
            } else {
                arguments[i] = types[i] == DmaDirection.class ? DmaDirection.TO_DEVICE : null;
            }
        }
        return arguments;
    }

    @Test
    void eachCallReachesBothWithItsArgumentsTheFirstOneFirst() throws ReflectiveOperationException {
        DmaListener pair = new ListenerPair(listener("first"), listener("second"));
        int calls = 0;
        for (Method method : DmaListener.class.getMethods()) {
            if (method.getName().equals("and")) {
                continue;
            }
            Object[] arguments = arguments(method);
            method.invoke(pair, arguments);
            String call = method.getName() + " " + Arrays.toString(arguments);
            assertThat(heard).containsExactly("first " + call, "second " + call);
            heard.clear();
            calls++;
        }
        assertThat(calls).isEqualTo(21);
    }
}
