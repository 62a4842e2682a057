package io.pagewalk.rdma.hostile;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.reflect.Constructor;
import java.lang.reflect.Executable;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Public members of some types, called by reflection with whatever there is: numbers that hurt, nulls, and the objects
 * that were offered. What a call throws has to be documented, and what refuses its arguments has to change nothing; no
 * call takes long.
 */
abstract class HostileCalls {
    static final long[] NUMBERS = {
        0,
        1,
        2,
        3,
        4095,
        4096,
        4097,
        8192,
        1 << 16,
        1 << 21,
        1L << 30,
        1L << 31,
        1L << 32,
        1L << 40,
        1L << 44,
        1L << 52,
        0x7fff_ffff_efffL,
        0x7fff_ffff_f000L,
        0x8000_0000_0000L,
        Long.MAX_VALUE,
        Long.MIN_VALUE,
        -1,
        -2,
        -4095,
        -4096,
        -4097,
        -(1L << 21)
    };
    static final int[] INTS = {
        0,
        1,
        2,
        3,
        7,
        8,
        16,
        0x20,
        0x22,
        0x100,
        0x101,
        0x108,
        0x40022,
        0x40021,
        4,
        10,
        14,
        18,
        100,
        0x2022,
        0x31,
        512,
        4096,
        -1,
        -2,
        Integer.MAX_VALUE,
        Integer.MIN_VALUE
    };

    private static final int MOST_OF_A_KIND = 40;

    private final List<List<Executable>> members;
    private final Map<Class<?>, List<@Nullable Object>> pool = new HashMap<>();
    private final List<String> history = new ArrayList<>();
    private int refused;
    private int answered;

    HostileCalls(List<List<Executable>> members) {
        this.members = members;
        offerAll(int[].class, new int[0], new int[3]);
        offerAll(long[].class, new long[0], new long[16], new long[600]);
        offerAll(byte[].class, new byte[0], new byte[16], new byte[5000]);
        offerAll(String.class, "", "name");
        offerAll(List.class, List.of(), List.of(1));
    }

    /** The public constructors and methods of types, but for some that are named by class and method. */
    static List<List<Executable>> membersOf(List<Class<?>> types, Set<String> leftOut) {
        return types.stream()
                .map(type -> membersOf(type, leftOut))
                .filter(m -> !m.isEmpty())
                .toList();
    }

    private static List<Executable> membersOf(Class<?> type, Set<String> leftOut) {
        return Stream.concat(Stream.of(type.getConstructors()), Stream.of(type.getMethods()))
                .filter(m -> m.getDeclaringClass() == type && !m.isSynthetic())
                .filter(m -> !leftOut.contains(type.getSimpleName() + "." + m.getName()))
                .map(Executable.class::cast)
                .sorted(Comparator.comparing(Executable::toString))
                .toList();
    }

    // ---- what differs

    /** Makes arguments those that a call trusts its caller with, where it does; false to leave the call out. */
    abstract boolean prepare(Executable member, @Nullable Object subject, @Nullable Object[] arguments);

    /** Keeps what a call made. */
    abstract void take(
            Executable member, @Nullable Object subject, @Nullable Object[] arguments, @Nullable Object result);

    /** Whether a call may throw that, besides what all may. */
    abstract boolean isDocumented(Throwable thrown);

    /** Numbers that no refused call changes. */
    abstract List<Long> fingerprint();

    /** What holds after each call. */
    abstract void check();

    // ---- one call

    /** Makes one call, chosen by numbers: which type, which member, on what, with what. */
    final void play(List<Integer> choices) {
        List<Executable> ofType = candidates(members.get(choices.get(0) % members.size()), choices.get(3));
        Executable member = ofType.get(choices.get(1) % ofType.size());
        boolean onObject = member instanceof Method && !Modifier.isStatic(member.getModifiers());
        Object subject = onObject ? valueOf(member.getDeclaringClass(), choices.get(2)) : null;
        if (onObject && subject == null) {
            return;
        }
        @Nullable Object[] arguments = new @Nullable Object[member.getParameterCount()];
        for (int i = 0; i < arguments.length; i++) {
            arguments[i] = valueOf(member.getParameterTypes()[i], choices.get(3 + i % (choices.size() - 3)));
        }
        if (prepare(member, subject, arguments)) {
            history.add(describe(member, subject, arguments));
            call(member, subject, arguments);
        }
    }

    /** Three times of four those that take arguments, where there are such. */
    private static List<Executable> candidates(List<Executable> ofType, int choice) {
        List<Executable> taking =
                ofType.stream().filter(m -> m.getParameterCount() > 0).toList();
        return choice % 4 == 0 || taking.isEmpty() ? ofType : taking;
    }

    private void call(Executable member, @Nullable Object subject, @Nullable Object[] arguments) {
        List<Long> before = fingerprint();
        long start = System.nanoTime();
        try {
            Object result = member instanceof Method method
                    ? method.invoke(subject, arguments)
                    : ((Constructor<?>) member).newInstance(arguments);
            answered++;
            take(member, subject, arguments, result);
        } catch (InvocationTargetException e) {
            Throwable thrown = e.getCause();
            refused++;
            requireDocumented(thrown, arguments);
            if (isRefusal(thrown)) {
                assertThat(fingerprint().toString())
                        .as("what changed although %s%s", thrown, text())
                        .isEqualTo(before.toString());
            }
        } catch (ReflectiveOperationException | IllegalArgumentException e) {
            throw new LinkageError(text(), e);
        }
        assertThat((System.nanoTime() - start) / 1_000_000)
                .as("ms of %s", text())
                .isLessThan(10_000);
        check();
    }

    /** Invalid in Java: nothing may have happened. What fails at a page may have brought those before it. */
    private static boolean isRefusal(Throwable thrown) {
        return thrown instanceof NullPointerException
                || thrown instanceof IllegalArgumentException
                || thrown instanceof IndexOutOfBoundsException;
    }

    private void requireDocumented(Throwable thrown, @Nullable Object[] arguments) {
        boolean nullGiven = Arrays.stream(arguments).anyMatch(Objects::isNull);
        boolean documented = (thrown instanceof NullPointerException && nullGiven)
                || thrown instanceof IllegalArgumentException
                || (thrown instanceof IndexOutOfBoundsException && !(thrown instanceof ArrayIndexOutOfBoundsException))
                || thrown instanceof IllegalStateException
                || isDocumented(thrown);
        if (!documented) {
            throw new AssertionError("undocumented " + thrown + text(), thrown);
        }
        if (!(thrown instanceof NullPointerException)) {
            assertThat(thrown.getMessage()).as(thrown.getClass() + text()).isNotBlank();
        }
    }

    // ---- values

    /** Offers an object as an argument and to be called, in place of an old one when there are many. */
    final void offer(Object object) {
        offerAs(object.getClass(), object);
    }

    final void offerAs(Class<?> type, Object object) {
        List<@Nullable Object> all = offered(type);
        if (!all.contains(object)) {
            if (all.size() == MOST_OF_A_KIND) {
                all.remove(MOST_OF_A_KIND / 2);
            }
            all.add(object);
        }
    }

    final void offerAll(Class<?> type, Object... objects) {
        for (Object object : objects) {
            offered(type).add(object);
        }
    }

    final List<@Nullable Object> offered(Class<?> type) {
        return pool.computeIfAbsent(type, k -> new ArrayList<>());
    }

    /** Objects stand in for those of a type that none is offered as. */
    Class<?> standIn(Class<?> type, int choice) {
        return type;
    }

    private @Nullable Object valueOf(Class<?> type, int choice) {
        if (type.isEnum()) {
            Object[] all = type.getEnumConstants();
            return choice % (all.length + 1) == all.length ? null : all[choice % (all.length + 1)];
        }
        List<@Nullable Object> offered = offered(standIn(type, choice));
        if (type == long.class) {
            int at = choice % (NUMBERS.length + 2 * offered.size());
            return at < NUMBERS.length ? (Object) NUMBERS[at] : offered.get((at - NUMBERS.length) / 2);
        }
        if (type == int.class) {
            int at = choice % (INTS.length + offered.size());
            return at < INTS.length ? (Object) INTS[at] : offered.get(at - INTS.length);
        }
        if (type == boolean.class) {
            return choice % 2 == 0;
        }
        return choice % 17 == 16 || offered.isEmpty() ? null : offered.get(choice % offered.size());
    }

    private static String describe(Executable member, @Nullable Object subject, @Nullable Object[] arguments) {
        String shown = Arrays.toString(Arrays.stream(arguments)
                .map(a -> a instanceof Long number ? "0x" + Long.toHexString(number) : String.valueOf(a))
                .toArray());
        return subject + " " + member.getDeclaringClass().getSimpleName() + "." + member.getName() + shown;
    }

    final String text() {
        return "\n  " + String.join("\n  ", history);
    }

    final int refused() {
        return refused;
    }

    final int answered() {
        return answered;
    }
}
