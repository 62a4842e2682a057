package io.pagewalk.cases;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.Machine;
import io.pagewalk.rdma.AccessFlags;
import io.pagewalk.rdma.i40iw.I40iwConfig;
import io.pagewalk.rdma.i40iw.I40iwDevice;
import io.pagewalk.rdma.mm.Process;
import io.pagewalk.rdma.verbs.Mr;
import io.pagewalk.rdma.verbs.Pd;
import io.pagewalk.rdma.verbs.VerbsDevice;
import io.pagewalk.trace.held.HeldJson;
import java.util.Objects;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** One snapshot of mappings, IOVAs, pins and regions, as JSON. */
class HeldVerbsJsonTest {
    @Test
    @DisplayName(
            "a region of an adapter behind an IOMMU is told of with its keys, its pins, its mapping and its range of IOVAs")
    void aSnapshotTellsOfRegionsAndTheirMappings() {
        try (Machine machine = Machine.builder()
                .ramBytes(32L << 20)
                .chunkBytes(1 << 16)
                .backend("iommu-strict")
                .ledger()
                .build()) {
            VerbsDevice device = I40iwDevice.add(
                            "irdma0",
                            machine.addDevice(DeviceConfig.named("nic").withMask(-1L)),
                            I40iwConfig.e810())
                    .value();
            Process process = Process.create(machine);
            long addr = process.mmap(0x3000);
            process.writeBytes(addr, new byte[0x3000]);
            Pd pd = device.allocPd(0, "target").value();
            Mr mr = device.regUserMr(pd, 0, process, addr, 0x3000, addr, AccessFlags.LOCAL_WRITE)
                    .value();

            String json = HeldJson.text(machine.held()).replaceAll("\\s+", " ");

            assertThat(json)
                    .contains(String.format(
                            "\"memory regions\" : [ { \"device\" : \"irdma0\", \"id\" : \"0\", \"owner\" : \"[target]\", "
                                    + "\"type\" : \"USER\", \"address\" : \"0x%x\", \"bytes\" : \"12288\", "
                                    + "\"lkey\" : \"0x%x\", \"rkey\" : \"0x%x\", \"pinned pages\" : \"3\" } ]",
                            addr, mr.lkey(), mr.rkey()))
                    .contains("\"memory windows\" : [ ]")
                    .contains("\"page pins\" : [ { \"held\" : \"3\", \"taken\" : \"3\", \"given back\" : \"0\" } ]");
            assertThat(machine.held().ranges())
                    .anyMatch(r -> r.device().equals("nic")
                            && r.dmaAddr()
                                    == Objects.requireNonNull(mr.umem()).table().dmaAddr(0));
            device.deregMr(mr, 0);
            assertThat(HeldJson.text(machine.held()).replaceAll("\\s+", " ")).contains("\"memory regions\" : [ ]");
        }
    }
}
