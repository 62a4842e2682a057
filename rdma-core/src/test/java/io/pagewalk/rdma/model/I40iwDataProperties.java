package io.pagewalk.rdma.model;

import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.Machine;
import io.pagewalk.rdma.i40iw.I40iwConfig;
import io.pagewalk.rdma.i40iw.I40iwDevice;
import io.pagewalk.rdma.model.Program.Kind;
import io.pagewalk.rdma.verbs.VerbsDevice;
import java.util.EnumSet;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;

/** What an adapter with stags does to bytes is what the model says, as far as it has the same requests. */
class I40iwDataProperties {
    @Provide
    Arbitrary<Program> programs() {
        return Programs.of(
                30,
                EnumSet.of(Kind.BIND, Kind.FETCH_ADD, Kind.COMPARE_SWAP, Kind.READ_INV, Kind.MAP, Kind.INLINE_READ));
    }

    private static void run(String backend, boolean coherent, Program program) {
        Machine machine = Machine.builder()
                .ramBytes(64L << 20)
                .chunkBytes(1 << 16)
                .commandLine(backend.equals("swiotlb") ? "swiotlb=2048" : "")
                .backend(backend)
                .build();
        VerbsDevice device = I40iwDevice.add(
                        "rdma0",
                        machine.addDevice(DeviceConfig.named("nic").withMask(-1L)),
                        I40iwConfig.e810().withIdealStatuses())
                .value();
        try (DataWorld world = new DataWorld(device, ModelRules.STAGS, false, coherent, program.setup())) {
            Run.of(world, program.steps());
        }
    }

    @Property(tries = 60)
    void programsEndAsTheModelSaysWithoutTranslation(@ForAll("programs") Program program) {
        run("direct", true, program);
    }

    @Property(tries = 60)
    void programsEndAsTheModelSaysBehindAStrictIommu(@ForAll("programs") Program program) {
        run("iommu-strict", true, program);
    }
}
