package io.pagewalk.kit;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.kit.planted.PlantedFault;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The contract finds faults in backends that it has never seen. */
@ExtendWith(PlantedBackends.class)
class PlantedFaultsTest {
    @ParameterizedTest
    @EnumSource
    void theLawThatForbidsAFaultFallsOnABackendThatHasIt(PlantedFault fault) {
        ContractRun run = ContractRun.ofOne(PlantedContracts.of(fault), fault.law());
        assertThat(run.fallen()).as("laws that fall").containsOnlyKeys(fault.law());
        assertThat(run.fallen().get(fault.law()))
                .isInstanceOf(AssertionError.class)
                .hasMessageNotContaining("exhausted");
    }
}
