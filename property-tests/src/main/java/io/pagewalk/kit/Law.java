package io.pagewalk.kit;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import net.jqwik.api.EdgeCasesMode;
import net.jqwik.api.Property;
import net.jqwik.api.domains.Domain;
import net.jqwik.api.domains.DomainContext;
import net.jqwik.api.lifecycle.AddLifecycleHook;

/**
 * Marks a jqwik property that draws its values from {@link DmaArbitraries}, takes a {@link TestMachines} when it asks
 * for one, and has the structures of every machine it started checked after each try. The arbitraries lean to the edges
 * by themselves, so jqwik's own edge cases stay out.
 */
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.METHOD)
@Property(edgeCases = EdgeCasesMode.NONE)
@Domain(DmaArbitraries.class)
@Domain(DomainContext.Global.class)
@AddLifecycleHook(MachineValidatorHook.class)
public @interface Law {}
