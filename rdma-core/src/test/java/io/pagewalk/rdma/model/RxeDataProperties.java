package io.pagewalk.rdma.model;

import io.pagewalk.dma.KernelModel;
import io.pagewalk.dma.Machine;
import io.pagewalk.rdma.model.Program.Kind;
import io.pagewalk.rdma.rxe.RxeConfig;
import io.pagewalk.rdma.rxe.RxeDevice;
import io.pagewalk.rdma.verbs.VerbsDevice;
import java.util.EnumSet;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;

/** rxe does what the model of bytes and completions says, whatever is posted. */
class RxeDataProperties {
    @Provide
    Arbitrary<Program> programs() {
        return Programs.of(30, EnumSet.noneOf(Kind.class));
    }

    @Provide
    Arbitrary<Program> programsWithoutWindows() {
        return Programs.of(30, EnumSet.of(Kind.BIND));
    }

    private static VerbsDevice device(KernelModel kernel, RxeConfig config) {
        Machine machine = Machine.builder()
                .kernelModel(kernel)
                .ramBytes(32L << 20)
                .chunkBytes(1 << 16)
                .backend("direct")
                .build();
        return RxeDevice.add("rxe0", machine, config);
    }

    @Property(tries = 300)
    void programsEndAsTheModelSays(@ForAll("programs") Program program) {
        try (DataWorld world = new DataWorld(
                device(KernelModel.LINUX_6_12, RxeConfig.kernel()), ModelRules.RXE, true, true, program.setup())) {
            Run.of(world, program.steps());
        }
    }

    @Property(tries = 300)
    void programsEndAsTheModelSaysWhenCausesAreTold(@ForAll("programs") Program program) {
        try (DataWorld world = new DataWorld(
                device(KernelModel.LINUX_6_12, RxeConfig.kernel().withIdealStatuses()),
                ModelRules.RXE_IDEAL,
                true,
                true,
                program.setup())) {
            Run.of(world, program.steps());
        }
    }

    @Property(tries = 300)
    void programsEndAsTheModelSaysOnTheFirstRxe(@ForAll("programsWithoutWindows") Program program) {
        try (DataWorld world = new DataWorld(
                device(KernelModel.LINUX_5, RxeConfig.kernel()), ModelRules.RXE_5, false, true, program.setup())) {
            Run.of(world, program.steps());
        }
    }
}
