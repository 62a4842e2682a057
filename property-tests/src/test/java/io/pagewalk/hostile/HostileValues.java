package io.pagewalk.hostile;

import io.pagewalk.dma.memory.PhysRange;
import io.pagewalk.kit.SmallWorld;
import java.lang.reflect.Array;
import java.lang.reflect.Executable;
import java.lang.reflect.Parameter;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Values for parameters of any type: the edges of numbers, what the world holds, and null. */
final class HostileValues {
    private static final long RAM = SmallWorld.ARENAS.get(0).first();
    private static final long HIGH = SmallWorld.ARENAS.get(1).first();
    private static final long RAM_END = SmallWorld.ARENAS.get(1).last() + 1;

    private static final List<Long> SIZES = List.of(
            0L,
            1L,
            2L,
            7L,
            8L,
            64L,
            0x7ffL,
            0x800L,
            0xfffL,
            0x1000L,
            0x1001L,
            0x3_ffffL,
            0x4_0000L,
            0x4_0001L,
            -1L,
            -2L,
            -8L,
            -0x1000L,
            Long.MIN_VALUE,
            Long.MAX_VALUE,
            1L << 32,
            (1L << 32) - 1,
            1L << 52,
            1L << 40);

    private static final List<Long> ADDRESSES = List.of(
            RAM,
            RAM + 1,
            RAM + 8,
            RAM + 0xfff,
            RAM + 0x1000,
            HIGH,
            HIGH + 0xf_ffff,
            HIGH + 0x10_0000,
            RAM_END - 1,
            RAM_END - 8,
            RAM_END,
            0x0fff_f000L,
            0xffff_8880_0300_0000L,
            0xffff_c900_0000_0000L);

    private static final List<Integer> INTS = List.of(
            0, 1, 2, 3, 8, 10, 11, 63, 64, 65, 4096, 4097, -1, -2, Integer.MIN_VALUE, Integer.MAX_VALUE, 1 << 30);

    /** Methods that write memory by address: what they hit must not be the bytes of a page table. */
    private static final Set<String> MEMORY_TYPES = Set.of("PhysicalMemory", "CpuMemory", "PageAllocator");

    private final Map<Class<?>, List<Object>> pools = new LinkedHashMap<>();
    private final List<Long> seenAddresses = new ArrayList<>();

    HostileValues() {
        put(byte[].class, new byte[0], new byte[1], new byte[64], new byte[4096]);
        put(long[].class, new long[0], new long[] {RAM}, new long[] {-1, 0});
        put(
                ByteBuffer.class,
                ByteBuffer.allocate(0),
                ByteBuffer.allocateDirect(64),
                ByteBuffer.allocate(4096),
                ByteBuffer.allocate(64).asReadOnlyBuffer());
        put(
                String.class,
                "",
                " ",
                "kit",
                "nobody",
                "direct",
                "swiotlb=",
                "\u0000",
                "swiotlb=99999999999999999999,,force");
        put(boolean.class, false, true);
        put(byte.class, (byte) 0, (byte) -1);
        put(short.class, (short) 0, Short.MIN_VALUE);
        put(Object.class, "an object");
        put(Set.class, Set.of());
        put(Long.class, 0L, -1L, 0xffff_ffffL);
    }

    private void put(Class<?> type, Object... values) {
        pools.put(type, new ArrayList<>(List.of(values)));
    }

    /** Makes an object available as a subject and as an argument. */
    void offer(Class<?> type, Object value) {
        List<Object> pool = pools.computeIfAbsent(type, t -> new ArrayList<>());
        if (pool.size() < 16 && pool.stream().noneMatch(p -> p == value)) {
            pool.add(value);
        }
    }

    void remove(Object value) {
        pools.values().forEach(pool -> pool.removeIf(p -> p == value));
    }

    /** An address that some call returned. */
    void offerAddress(long address) {
        if (seenAddresses.size() < 32) {
            seenAddresses.add(address);
        }
    }

    @Nullable Object subject(Class<?> type, int choice) {
        List<Object> pool = pools.getOrDefault(type, List.of());
        return pool.isEmpty() ? null : pool.get(choice % pool.size());
    }

    List<Object> all(Class<?> type) {
        return pools.getOrDefault(type, List.of());
    }

    @Nullable Object argument(Executable member, int index, int choice) {
        Parameter parameter = member.getParameters()[index];
        Class<?> type = parameter.getType();
        if (type == long.class) {
            return longFor(member, parameter.getName(), choice);
        }
        if (type == int.class) {
            return INTS.get(choice % INTS.size());
        }
        if (type.isPrimitive()) {
            return subject(type, choice);
        }
        List<@Nullable Object> candidates = candidates(type);
        return candidates.get(choice % candidates.size());
    }

    private List<@Nullable Object> candidates(Class<?> type) {
        List<@Nullable Object> candidates = new ArrayList<>();
        if (type.isEnum()) {
            candidates.addAll(Arrays.asList(type.getEnumConstants()));
        } else if (type == List.class) {
            candidates.addAll(lists());
        } else if (type.isArray() && !type.getComponentType().isPrimitive()) {
            candidates.addAll(arrays(type.getComponentType()));
        } else if (type.isInterface() && !pools.containsKey(type)) {
            candidates.add(anything(type));
        } else {
            candidates.addAll(pools.getOrDefault(type, List.of()));
        }
        candidates.add(null);
        return candidates;
    }

    private List<Object> lists() {
        List<Object> ranges = new ArrayList<>(all(PhysRange.class));
        List<@Nullable Object> withNull = new ArrayList<>(ranges);
        withNull.add(null);
        return List.of(List.of(), List.copyOf(ranges.subList(0, Math.min(1, ranges.size()))), ranges, withNull);
    }

    private List<Object> arrays(Class<?> component) {
        List<Object> arrays = new ArrayList<>();
        List<Object> pool = all(component);
        for (int length = 0; length <= Math.min(2, pool.size()); length++) {
            Object array = Array.newInstance(component, length);
            for (int i = 0; i < length; i++) {
                Array.set(array, i, pool.get(i));
            }
            arrays.add(array);
        }
        arrays.add(Array.newInstance(component, 1));
        return arrays;
    }

    private long longFor(Executable member, String name, int choice) {
        boolean address = name.contains("Addr") || name.contains("first") || name.contains("last");
        boolean onMemory = MEMORY_TYPES.contains(member.getDeclaringClass().getSimpleName());
        List<Long> values = new ArrayList<>(address ? ADDRESSES : SIZES);
        if (address && !onMemory) {
            values.addAll(seenAddresses);
        }
        values.addAll(address ? SIZES : ADDRESSES);
        if (address && onMemory) {
            values.removeIf(v -> v >= 0 && v < RAM);
        }
        return values.get(choice % values.size());
    }

    /** An object of an interface that answers every call with nothing. */
    private static Object anything(Class<?> type) {
        return Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, (proxy, method, args) -> {
            if (method.getDeclaringClass() == Object.class) {
                return switch (method.getName()) {
                    case "equals" -> args[0] == proxy;
                    case "hashCode" -> System.identityHashCode(proxy);
                    default -> "a " + type.getSimpleName();
                };
            }
            Class<?> result = method.getReturnType();
            return result.isPrimitive() && result != void.class ? Array.get(Array.newInstance(result, 1), 0) : null;
        });
    }

    /** Whether a null hides in an argument. */
    static boolean holdsNull(@Nullable Object argument) {
        if (argument == null) {
            return true;
        }
        if (argument instanceof Object[] array) {
            return Arrays.asList(array).contains(null);
        }
        return argument instanceof List<?> list && Collections.frequency(list, null) > 0;
    }
}
