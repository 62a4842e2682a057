package io.pagewalk.rdma.verbs;

import static io.pagewalk.rdma.RxeWorld.ALL;
import static io.pagewalk.rdma.RxeWorld.PAGE;
import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.Machine;
import io.pagewalk.dma.held.HeldSection;
import io.pagewalk.rdma.AccessFlags;
import io.pagewalk.rdma.RxeWorld;
import io.pagewalk.rdma.mm.Process;
import io.pagewalk.rdma.rxe.RxeDevice;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** What devices hold is part of the machine's snapshot. */
class HeldVerbsTest {
    private static List<HeldSection> sections(RxeWorld world, String name) {
        return world.machine.held().sections().stream()
                .filter(s -> s.name().equals(name))
                .toList();
    }

    private static String hex(int key) {
        return String.format("0x%x", key);
    }

    @Test
    @DisplayName("rdma:MR-7: regions, windows, their keys and pins, by device and owner")
    void everyRegionAndWindowIsToldOf() {
        try (RxeWorld world = RxeWorld.start()) {
            UverbsFile file = UverbsFile.open(world.device, world.process);
            int pd = file.allocPd();
            long addr = world.buffer(3);
            Mr user = file.mr(file.regMr(0, world.process, pd, addr + 16, 2 * PAGE, addr + 16, ALL));
            Mr fast = world.fast(4);
            Mw window = world.window(Mw.TYPE_2);
            String process = "process " + world.process.pid();

            assertThat(sections(world, "memory regions"))
                    .containsExactly(new HeldSection(
                            "memory regions",
                            List.of(
                                    "device",
                                    "id",
                                    "owner",
                                    "type",
                                    "address",
                                    "bytes",
                                    "lkey",
                                    "rkey",
                                    "pinned pages"),
                            List.of(
                                    List.of(
                                            "rxe0",
                                            "0",
                                            process,
                                            "USER",
                                            String.format("0x%x", addr + 16),
                                            "8192",
                                            hex(user.lkey()),
                                            hex(user.rkey()),
                                            "3"),
                                    List.of(
                                            "rxe0",
                                            "1",
                                            "[test]",
                                            "MEM_REG",
                                            "0x0",
                                            "0",
                                            hex(fast.lkey()),
                                            hex(fast.rkey()),
                                            "0"))));
            assertThat(sections(world, "memory windows"))
                    .containsExactly(new HeldSection(
                            "memory windows",
                            List.of("device", "id", "owner", "type", "rkey"),
                            List.of(List.of("rxe0", "0", "[test]", "2", hex(window.rkey())))));
            assertThat(sections(world, "owners of verbs objects").get(0).rows())
                    .containsExactly(
                            List.of("rxe0", "[test]", "1", "2", "0", "1", "1", "2", "0"),
                            List.of("rxe0", process, "1", "0", "0", "1", "0", "1", "3"));
            assertThat(sections(world, "page pins").get(0).rows()).containsExactly(List.of("3", "3", "0"));
            assertThat(world.machine.held().text())
                    .contains("\nmemory regions\n  device  id  owner ")
                    .contains(" MEM_REG  0x0 ")
                    .contains("\npage pins\n  held  taken  given back\n  3     3      0\n");

            file.close(world.process);
            world.device.deregMr(fast, 0);
            world.device.deallocMw(window);
            assertThat(sections(world, "memory regions").get(0).rows()).isEmpty();
            assertThat(sections(world, "memory windows").get(0).rows()).isEmpty();
            assertThat(sections(world, "page pins").get(0).rows()).containsExactly(List.of("0", "3", "3"));
        }
    }

    @Test
    @DisplayName("the example of the user guide")
    void theExampleOfTheUserGuideIsTrue() {
        try (Machine machine =
                Machine.builder().ramBytes(32L << 20).backend("direct").build()) {
            Process process = Process.create(machine);
            long address = process.mmap(0x3000);
            VerbsDevice device = RxeDevice.add("rxe0", machine);
            Pd pd = device.allocPd(0, "target").value();
            device.regUserMr(pd, 0, process, address, 0x3000, address, AccessFlags.LOCAL_WRITE);
            assertThat(machine.held().text())
                    .contains("rxe0    0   [target]  USER  0x7ffff7ffc000  12288  0x29d  0x29d  3\n");
        }
    }

    @Test
    void eachDeviceOfAMachineHasItsTables() {
        try (RxeWorld world = RxeWorld.start()) {
            VerbsDevice other = RxeDevice.add("rxe1", world.machine);
            world.fast(1);
            FastReg.allocMr(other.allocPd(0, "y").value(), MrType.MEM_REG, 1);
            assertThat(sections(world, "memory regions"))
                    .extracting(s -> s.rows().get(0).get(0))
                    .containsExactly("rxe0", "rxe1");
        }
    }
}
