package io.pagewalk.dma.fake;

import io.pagewalk.dma.UserMapping;
import io.pagewalk.dma.spi.DmaOps;
import java.lang.reflect.Proxy;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Operations that write down under their name what they are asked, and answer with a number of their own. */
public final class NamedOps {
    private NamedOps() {}

    public static DmaOps of(String name, long number, List<String> calls) {
        return (DmaOps) Proxy.newProxyInstance(
                NamedOps.class.getClassLoader(), new Class<?>[] {DmaOps.class}, (proxy, method, args) -> {
                    if (method.getName().equals("isDmaIommu")) {
                        return name.equals("iommu");
                    }
                    calls.add(name + " " + method.getName());
                    return answer(number, method.getReturnType());
                });
    }

    private static @Nullable Object answer(long number, Class<?> type) {
        if (type == long.class) {
            return number;
        }
        if (type == int.class) {
            return (int) number;
        }
        if (type == boolean.class) {
            return (number & 1) != 0;
        }
        return type == UserMapping.class ? UserMapping.failed((int) -number) : null;
    }
}
