package io.pagewalk.kit.architecture;

import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.simpleName;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.simpleNameEndingWith;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.fields;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.lang.ArchRule;
import com.tngtech.archunit.library.GeneralCodingRules;
import io.pagewalk.dma.memory.PhysicalMemory;

/** Rules that every class of the libraries keeps, each with a planted class that does not. */
enum ArchitectureRule {
    DMA_API_KNOWS_NO_BACKEND_AND_NOTHING_ABOVE(
            "io.pagewalk.dma.planted.KnowsABackend",
            noClasses()
                    .that()
                    .resideInAPackage(Packages.DMA)
                    .should()
                    .dependOnClassesThat()
                    .resideInAnyPackage(
                            Packages.BACKENDS,
                            Packages.RDMA,
                            Packages.TRACE,
                            Packages.CONFORMANCE,
                            Packages.CLI,
                            Packages.KIT)),

    MEMORY_KNOWS_NOTHING_BUT_ITSELF(
            "io.pagewalk.dma.memory.planted.KnowsDevices",
            noClasses()
                    .that()
                    .resideInAPackage(Packages.MEMORY)
                    .should()
                    .dependOnClassesThat(resideInAPackage(Packages.PAGEWALK).and(outside(Packages.MEMORY)))),

    BACKENDS_KNOW_DMA_API_ONLY(
            "io.pagewalk.backends.planted.KnowsTraces",
            noClasses()
                    .that()
                    .resideInAPackage(Packages.BACKENDS)
                    .should()
                    .dependOnClassesThat(
                            resideInAPackage(Packages.PAGEWALK).and(outside(Packages.BACKENDS, Packages.DMA)))),

    RDMA_KNOWS_DMA_API_ONLY(
            "io.pagewalk.rdma.planted.KnowsABackend",
            noClasses()
                    .that()
                    .resideInAPackage(Packages.RDMA)
                    .should()
                    .dependOnClassesThat(
                            resideInAPackage(Packages.PAGEWALK).and(outside(Packages.RDMA, Packages.DMA)))),

    PINNING_KNOWS_NO_REGISTRATION(
            "io.pagewalk.rdma.mm.planted.KnowsRegistrations",
            noClasses()
                    .that()
                    .resideInAPackage(Packages.MM)
                    .should()
                    .dependOnClassesThat(resideInAPackage(Packages.RDMA).and(outside(Packages.MM)))),

    TRACE_KNOWS_NO_COMMAND(
            "io.pagewalk.trace.planted.KnowsTheCommand",
            noClasses()
                    .that()
                    .resideInAPackage(Packages.TRACE)
                    .should()
                    .dependOnClassesThat()
                    .resideInAnyPackage(Packages.CONFORMANCE, Packages.CLI, Packages.KIT)),

    CONFORMANCE_KNOWS_NO_COMMAND_AND_NO_KIT(
            "io.pagewalk.conformance.planted.KnowsTheKit",
            noClasses()
                    .that()
                    .resideInAPackage(Packages.CONFORMANCE)
                    .should()
                    .dependOnClassesThat()
                    .resideInAnyPackage(Packages.CLI, Packages.KIT)),

    THE_KIT_KNOWS_DMA_API_ONLY(
            "io.pagewalk.kit.planted.KnowsABackend",
            noClasses()
                    .that()
                    .resideInAPackage(Packages.KIT)
                    .should()
                    .dependOnClassesThat(resideInAPackage(Packages.PAGEWALK).and(outside(Packages.KIT, Packages.DMA)))),

    HARDWARE_KNOWS_OF_SOFTWARE_ONLY_HOW_TABLES_LOOK(
            "io.pagewalk.backends.iommu.unit.planted.KnowsTheDriver",
            noClasses()
                    .that()
                    .resideInAPackage(Packages.UNIT)
                    .should()
                    .dependOnClassesThat(resideInAPackage(Packages.BACKENDS)
                            .and(outside(Packages.UNIT, Packages.LOCK))
                            .and(DescribedPredicate.not(TableBytes.PREDICATE)))),

    ONLY_THE_DRIVER_KNOWS_THE_HARDWARE(
            "io.pagewalk.backends.iommu.mapping.planted.KnowsTheUnit",
            noClasses()
                    .that(resideInAPackage(Packages.BACKENDS).and(outside(Packages.UNIT, Packages.DRIVER)))
                    .should()
                    .dependOnClassesThat()
                    .resideInAPackage(Packages.UNIT)),

    THE_DRIVER_REACHES_THE_HARDWARE_BY_REGISTERS(
            "io.pagewalk.backends.iommu.driver.planted.KnowsTheUnitsCache",
            noClasses()
                    .that()
                    .resideInAPackage(Packages.DRIVER)
                    .should()
                    .dependOnClassesThat(
                            resideInAPackage(Packages.UNIT).and(DescribedPredicate.not(UnitDoor.PREDICATE)))),

    SOFTWARE_SEES_MEMORY_AS_THE_CPU_DOES(
            "io.pagewalk.backends.direct.planted.BypassesTheCpu",
            noClasses()
                    .that()
                    .resideInAnyPackage(
                            "io.pagewalk.backends.direct..",
                            "io.pagewalk.backends.swiotlb..",
                            "io.pagewalk.backends.virt..",
                            "io.pagewalk.backends.iommu.mapping..",
                            Packages.RDMA)
                    .should()
                    .dependOnClassesThat()
                    .belongToAnyOf(PhysicalMemory.class)),

    NOTHING_STATIC_CHANGES(
            "io.pagewalk.dma.planted.CountsGlobally",
            fields().that().areStatic().should().beFinal()),

    LIBRARIES_DO_NOT_PRINT(
            "io.pagewalk.dma.planted.Prints",
            noClasses()
                    .that(resideInAPackage(Packages.PAGEWALK).and(outside(Packages.CLI)))
                    .should(GeneralCodingRules.ACCESS_STANDARD_STREAMS)),

    LIBRARIES_LOG_THROUGH_SLF4J(
            "io.pagewalk.dma.planted.LogsElsewhere",
            noClasses()
                    .that()
                    .resideInAPackage(Packages.PAGEWALK)
                    .should()
                    .dependOnClassesThat()
                    .resideInAPackage("java.util.logging..")),

    TIME_IS_VIRTUAL(
            "io.pagewalk.dma.planted.ReadsTheWallClock",
            noClasses()
                    .that()
                    .resideInAnyPackage(Packages.DMA, Packages.BACKENDS, Packages.RDMA)
                    .should()
                    .callMethod(System.class, "nanoTime")
                    .orShould()
                    .callMethod(System.class, "currentTimeMillis")
                    .orShould()
                    .callMethod(Thread.class, "sleep", long.class)
                    .orShould()
                    .dependOnClassesThat()
                    .resideInAPackage("java.time.."));

    private final String violator;

    @SuppressWarnings("ImmutableEnumChecker") // a rule never changes once it is put together
    private final ArchRule rule;

    ArchitectureRule(String violator, ArchRule rule) {
        this.violator = violator;
        this.rule = rule.as(name());
    }

    ArchRule rule() {
        return rule;
    }

    /** The planted class that breaks the rule. */
    String violator() {
        return violator;
    }

    private static DescribedPredicate<JavaClass> outside(String... packages) {
        return DescribedPredicate.not(resideInAnyPackage(packages));
    }

    /** Where things are. */
    private static final class Packages {
        static final String PAGEWALK = "io.pagewalk..";
        static final String DMA = "io.pagewalk.dma..";
        static final String MEMORY = "io.pagewalk.dma.memory..";
        static final String BACKENDS = "io.pagewalk.backends..";
        static final String LOCK = "io.pagewalk.backends.lock..";
        static final String UNIT = "io.pagewalk.backends.iommu.unit..";
        static final String DRIVER = "io.pagewalk.backends.iommu.driver..";
        static final String PGTABLE = "io.pagewalk.backends.iommu.pgtable..";
        static final String RDMA = "io.pagewalk.rdma..";
        static final String MM = "io.pagewalk.rdma.mm..";
        static final String TRACE = "io.pagewalk.trace..";
        static final String CONFORMANCE = "io.pagewalk.conformance..";
        static final String CLI = "io.pagewalk.cli..";
        static final String KIT = "io.pagewalk.kit..";

        private Packages() {}
    }

    /** Bit layouts of table entries, and the bytes they stand in: all that driver and unit share of tables. */
    private static final class TableBytes {
        static final DescribedPredicate<JavaClass> PREDICATE = resideInAPackage(Packages.PGTABLE)
                .and(simpleNameEndingWith("Layout").or(simpleName("TableMemory")));

        private TableBytes() {}
    }

    /**
     * What the unit shows to its driver: registers, layouts, numbers of faults, what it can do, and itself to be
     * switched on.
     */
    private static final class UnitDoor {
        static final DescribedPredicate<JavaClass> PREDICATE = simpleNameEndingWith("Layout")
                .or(simpleName("RegisterFile"))
                .or(simpleName("VtdRegisters"))
                .or(simpleName("VtdCapability"))
                .or(simpleName("VtdFaultReason"))
                .or(simpleName("VtdFeatures"))
                .or(simpleName("StaleUseListener"))
                .or(simpleName("VtdUnit"));

        private UnitDoor() {}
    }
}
