package io.pagewalk.rdma.model;

import io.pagewalk.dma.KernelModel;
import io.pagewalk.dma.Machine;
import io.pagewalk.rdma.model.Program.Kind;
import io.pagewalk.rdma.rxe.RxeConfig;
import io.pagewalk.rdma.rxe.RxeDevice;
import io.pagewalk.rdma.verbs.VerbsDevice;
import java.util.EnumSet;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Example;
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

    private static void run(KernelModel kernel, RxeConfig config, ModelRules rules, Program program) {
        Machine machine = Machine.builder()
                .kernelModel(kernel)
                .ramBytes(32L << 20)
                .chunkBytes(1 << 16)
                .backend("direct")
                .build();
        boolean windows = !rules.isFirst();
        VerbsDevice device = RxeDevice.add("rxe0", machine, config);
        try (DataWorld world = new DataWorld(device, rules, windows, true, program.setup())) {
            Run.of(world, program.steps());
        }
    }

    @Property(tries = 150)
    void programsEndAsTheModelSays(@ForAll("programs") Program program) {
        run(KernelModel.LINUX_6_12, RxeConfig.kernel(), ModelRules.RXE, program);
    }

    @Property(tries = 150)
    void programsEndAsTheModelSaysWhenCausesAreTold(@ForAll("programs") Program program) {
        RxeConfig config = RxeConfig.kernel().withIdealStatuses();
        run(KernelModel.LINUX_6_12, config, ModelRules.RXE_IDEAL, program);
    }

    @Property(tries = 150)
    void programsEndAsTheModelSaysOnTheFirstRxe(@ForAll("programsWithoutWindows") Program program) {
        run(KernelModel.LINUX_5, RxeConfig.kernel(), ModelRules.RXE_5, program);
    }

    @Example
    void programsMeetEveryCompletion() {
        Meets.everything(ModelRules.RXE, true);
        Meets.ofOneSeed(programs()).forEach(this::programsEndAsTheModelSays);
    }

    @Example
    void programsMeetEveryCauseThatIsTold() {
        Meets.everything(ModelRules.RXE_IDEAL, true);
        Meets.ofOneSeed(programs()).forEach(this::programsEndAsTheModelSaysWhenCausesAreTold);
    }

    @Example
    void programsMeetEveryCompletionOfTheFirstRxe() {
        Meets.everything(ModelRules.RXE_5, false);
        Meets.ofOneSeed(programsWithoutWindows()).forEach(this::programsEndAsTheModelSaysOnTheFirstRxe);
    }
}
