package io.pagewalk.rdma.rw;

import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.MachineBuilder;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.rdma.IbDevice;
import io.pagewalk.rdma.rw.PlainProvider.PlainQp;
import io.pagewalk.rdma.verbs.Cq;
import io.pagewalk.rdma.verbs.ErrPtr;
import io.pagewalk.rdma.verbs.Owner;
import io.pagewalk.rdma.verbs.Pd;
import io.pagewalk.rdma.verbs.Qp;
import io.pagewalk.rdma.verbs.QpInit;
import io.pagewalk.rdma.verbs.RwInit;
import io.pagewalk.rdma.verbs.VerbsDevice;
import java.util.List;

/** A small machine with a device that only remembers what it is told. */
final class RwWorld {
    static final int PAGE = 0x1000;
    static final int SEND_WR = 10;

    final Machine machine;
    final PlainProvider provider;
    final VerbsDevice device;
    final Pd pd;
    final Cq cq;

    RwWorld() {
        this(Machine.builder());
    }

    RwWorld(MachineBuilder builder) {
        machine = builder.ramBytes(16L << 20)
                .chunkBytes(1 << 16)
                .backend("direct")
                .build();
        provider = new PlainProvider(IbDevice.withDmaDevice(
                "plain0", machine.addDevice(DeviceConfig.named("nic").withMask(-1L))));
        device = new VerbsDevice(provider);
        pd = device.allocPd(0, "target").value();
        cq = device.createCq(Owner.kernel("target"), 16).value();
    }

    static RwWorld forced() {
        return new RwWorld(Machine.builder().commandLine("quiet ib_core.force_mr=1"));
    }

    ErrPtr<Qp> create(RwInit rw) {
        return create(rw, 4);
    }

    ErrPtr<Qp> create(RwInit rw, int maxSge) {
        return device.createQp(
                pd, QpInit.of(cq, cq).withSizes(SEND_WR, 1, maxSge).with(rw));
    }

    PlainQp qp(RwInit rw) {
        return (PlainQp) create(rw).value();
    }

    /** A list of entries of so many bytes, each on a page of its own from 1 MiB on, with a gap of a page between. */
    static SgTable list(int... lengths) {
        SgTable sg = new SgTable(lengths.length);
        for (int i = 0; i < lengths.length; i++) {
            sg.add(0x10_0000 + 2L * PAGE * i, lengths[i]);
        }
        return sg;
    }

    static SgTable pages(int count) {
        int[] lengths = new int[count];
        java.util.Arrays.fill(lengths, PAGE);
        return list(lengths);
    }

    List<String> log() {
        return machine.log().entries().stream()
                .map(e -> e.site() + ": " + e.text())
                .toList();
    }
}
