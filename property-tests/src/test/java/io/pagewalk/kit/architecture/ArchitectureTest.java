package io.pagewalk.kit.architecture;

import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.lang.EvaluationResult;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The libraries keep the rules of the architecture, and each rule is able to fail. */
class ArchitectureTest {
    private static final JavaClasses LIBRARIES = new ClassFileImporter()
            .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
            .importPackages("io.pagewalk");

    @ParameterizedTest
    @EnumSource
    void everyClassOfTheLibrariesKeepsTheRule(ArchitectureRule rule) {
        rule.rule().check(LIBRARIES);
    }

    @ParameterizedTest
    @EnumSource
    void theRuleFallsOnAPlantedViolation(ArchitectureRule rule) throws ClassNotFoundException {
        JavaClasses planted = new ClassFileImporter().importClasses(Class.forName(rule.violator()));
        EvaluationResult result = rule.rule().evaluate(planted);
        assertThat(result.hasViolation())
                .as("%s falls on %s", rule, rule.violator())
                .isTrue();
        assertThat(result.getFailureReport().toString()).contains(rule.violator());
    }

    @Test
    void theLibrariesAreThere() {
        for (String name : List.of("dma", "backends", "rdma", "trace", "conformance", "cli", "kit")) {
            assertThat(LIBRARIES)
                    .as("classes of %s", name)
                    .anyMatch(c -> c.getPackageName().startsWith("io.pagewalk." + name));
        }
    }
}
