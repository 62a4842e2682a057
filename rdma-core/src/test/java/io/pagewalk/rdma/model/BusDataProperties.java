package io.pagewalk.rdma.model;

import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.Machine;
import io.pagewalk.rdma.model.Program.Kind;
import io.pagewalk.rdma.verbs.VerbsDevice;
import java.util.EnumSet;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;

/** An adapter that reaches memory through its bus does what the model says, whatever lies between. */
class BusDataProperties {
    @Provide
    Arbitrary<Program> programs() {
        return Programs.of(30, EnumSet.noneOf(Kind.class));
    }

    private static void run(String backend, boolean coherent, Program program) {
        Machine machine = Machine.builder()
                .ramBytes(32L << 20)
                .chunkBytes(1 << 16)
                .commandLine(backend.equals("swiotlb") ? "swiotlb=2048" : "")
                .backend(backend)
                .build();
        VerbsDevice device =
                BusProvider.add(machine.addDevice(DeviceConfig.named("nic").withMask(-1L)));
        try (DataWorld world = new DataWorld(device, ModelRules.TWO_KEYS, true, coherent, program.setup())) {
            Run.of(world, program.steps());
        }
    }

    @Property(tries = 150)
    void programsEndAsTheModelSaysWithoutTranslation(@ForAll("programs") Program program) {
        run("direct", true, program);
    }

    /** What was bounced is seen when it is unmapped. */
    @Property(tries = 60)
    void programsEndAsTheModelSaysWhenEverythingIsBounced(@ForAll("programs") Program program) {
        run("swiotlb", false, program);
    }

    @Property(tries = 60)
    void programsEndAsTheModelSaysBehindAStrictIommu(@ForAll("programs") Program program) {
        run("iommu-strict", true, program);
    }

    @Property(tries = 60)
    void programsEndAsTheModelSaysBehindALazyIommu(@ForAll("programs") Program program) {
        run("iommu-lazy", true, program);
    }

    @Example
    void programsMeetEveryCompletion() {
        Meets.everything(ModelRules.TWO_KEYS, true);
        Meets.ofOneSeed(programs()).forEach(this::programsEndAsTheModelSaysWithoutTranslation);
    }
}
