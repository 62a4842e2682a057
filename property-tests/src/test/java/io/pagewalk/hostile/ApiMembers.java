package io.pagewalk.hostile;

import java.lang.reflect.Constructor;
import java.lang.reflect.Executable;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The public constructors and methods of the classes under fire, in an order that does not depend on the JVM. */
final class ApiMembers {
    /** What ends the world instead of being called in it, or makes every later warning an exception. */
    private static final Set<String> LEFT_OUT =
            Set.of("Machine.close", "KernelLog.warnsAreFatal", "Object.wait", "Object.notify", "Object.notifyAll");

    private final List<List<Executable>> byType = new ArrayList<>();

    ApiMembers(List<Class<?>> types) {
        for (Class<?> type : types) {
            List<Executable> members = Stream.concat(Stream.of(type.getConstructors()), Stream.of(type.getMethods()))
                    .filter(m -> m.getDeclaringClass() == type && !isLeftOut(m))
                    .filter(m -> !(m instanceof Constructor && Modifier.isAbstract(type.getModifiers())))
                    .map(Executable.class::cast)
                    .sorted(Comparator.comparing(Executable::toString))
                    .toList();
            if (!members.isEmpty()) {
                byType.add(members);
            }
        }
    }

    private static boolean isLeftOut(Executable member) {
        return member.isSynthetic()
                || LEFT_OUT.contains(member.getDeclaringClass().getSimpleName() + "." + member.getName());
    }

    Executable choose(HostileCall call) {
        List<Executable> members = byType.get(call.type() % byType.size());
        return members.get(call.member() % members.size());
    }

    List<Executable> all() {
        return byType.stream().flatMap(List::stream).toList();
    }

    static boolean needsSubject(Executable member) {
        return member instanceof Method && !Modifier.isStatic(member.getModifiers());
    }

    /** Says whether a parameter takes references and is not declared nullable. */
    static boolean mayNotBeNull(Executable member, int parameter) {
        return !member.getParameterTypes()[parameter].isPrimitive()
                && !member.getAnnotatedParameterTypes()[parameter].isAnnotationPresent(Nullable.class);
    }
}
