package io.pagewalk.rdma.example;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.MachineBuilder;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.rdma.i40iw.Generation;
import io.pagewalk.rdma.i40iw.I40iwConfig;
import io.pagewalk.rdma.i40iw.I40iwDevice;
import io.pagewalk.rdma.rxe.RxeDevice;
import io.pagewalk.rdma.verbs.VerbsDevice;
import io.pagewalk.rdma.verbs.WcStatus;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** One program, whatever the device and whatever the backend: the same bytes and statuses. */
class StorageTargetTest {
    private static final int BLOCK_PAGES = 5;
    private static final int BLOCKS = 4;
    private static final int REQUESTS = 24;

    /** A device and what is under it. */
    record World(String device, String backend, boolean forced) {
        Machine machine() {
            MachineBuilder builder =
                    Machine.builder().ramBytes(128L << 20).chunkBytes(1 << 16).backend(backend);
            return (forced ? builder.commandLine("ib_core.force_mr=1") : builder).build();
        }

        VerbsDevice add(Machine machine, String name) {
            if (device.equals("rxe")) {
                return RxeDevice.add(name, machine);
            }
            I40iwConfig config = switch (device) {
                case "i40iw" -> I40iwConfig.x722(Generation.I40IW);
                case "irdma" -> I40iwConfig.x722(Generation.IRDMA);
                case "e810" -> I40iwConfig.e810();
                default -> I40iwConfig.e810().withSegments(13, 13, 2);
            };
            return I40iwDevice.add(
                            name, machine.addDevice(DeviceConfig.named(name).withMask(-1L)), config)
                    .value();
        }
    }

    static Stream<World> worlds() {
        List<World> all = new ArrayList<>(List.of(
                new World("rxe", "direct", false),
                new World("rxe", "direct", true),
                new World("rxe", "iommu-strict", false)));
        for (String backend : List.of("direct", "swiotlb", "iommu-strict", "iommu-lazy")) {
            for (String device : List.of("i40iw", "irdma", "e810", "e810 that likes regions")) {
                all.add(new World(device, backend, false));
                all.add(new World(device, backend, true));
            }
        }
        return all.stream();
    }

    @ParameterizedTest
    @MethodSource("worlds")
    @DisplayName("rdma:RW-11 to RW-20, IRD-1 to IRD-9: a storage target moves the same bytes everywhere")
    void theSameProgramMovesTheSameBytesOnEveryDeviceAndBackend(World world) {
        try (Machine machine = world.machine();
                StorageTarget target = new StorageTarget(
                        world.add(machine, "target0"), world.add(machine, "initiator0"), BLOCK_PAGES, 2)) {
            Model model = new Model(machine, target);
            for (int request = 0; request < REQUESTS; request++) {
                model.request();
                assertThat(target.regionsOut()).isZero();
            }
            assertThat(model.statuses).hasSize(REQUESTS).containsOnly(WcStatus.SUCCESS);
            assertThat(target.writeDiskWithAWrongKey(model.disk.get(0), model.memory))
                    .isEqualTo(WcStatus.REM_ACCESS_ERR);
            model.check();
            assertThat(machine.faults().recent()).isEmpty();
            assertThat(machine.log().warnCount()).isZero();
        }
    }

    /** What disk and memory must hold, beside what they do hold. */
    private static final class Model {
        final Random random = new Random(7);
        final Machine machine;
        final StorageTarget target;
        final List<SgTable> disk = new ArrayList<>();
        final List<byte[]> diskBytes = new ArrayList<>();
        final SgTable memory;
        byte[] memoryBytes = new byte[BLOCK_PAGES * StorageTarget.PAGE];
        final List<WcStatus> statuses = new ArrayList<>();

        Model(Machine machine, StorageTarget target) {
            this.machine = machine;
            this.target = target;
            memory = target.block();
            for (int i = 0; i < BLOCKS; i++) {
                SgTable block = target.block();
                byte[] bytes = fresh();
                write(block, bytes);
                disk.add(block);
                diskBytes.add(bytes);
            }
            write(memory, memoryBytes);
        }

        byte[] fresh() {
            byte[] bytes = new byte[BLOCK_PAGES * StorageTarget.PAGE];
            random.nextBytes(bytes);
            return bytes;
        }

        void write(SgTable block, byte[] bytes) {
            for (int i = 0; i < BLOCK_PAGES; i++) {
                machine.cpuMemory().write(block.physAddr(i), bytes, i * StorageTarget.PAGE, StorageTarget.PAGE);
            }
        }

        byte[] read(SgTable block) {
            byte[] bytes = new byte[BLOCK_PAGES * StorageTarget.PAGE];
            for (int i = 0; i < BLOCK_PAGES; i++) {
                machine.cpuMemory().read(block.physAddr(i), bytes, i * StorageTarget.PAGE, StorageTarget.PAGE);
            }
            return bytes;
        }

        void request() {
            int block = random.nextInt(BLOCKS);
            if (random.nextBoolean()) {
                statuses.add(target.readDisk(disk.get(block), memory));
                memoryBytes = diskBytes.get(block).clone();
            } else {
                memoryBytes = fresh();
                write(memory, memoryBytes);
                statuses.add(target.writeDisk(disk.get(block), memory));
                diskBytes.set(block, memoryBytes.clone());
            }
            check();
        }

        void check() {
            assertThat(read(memory)).isEqualTo(memoryBytes);
            for (int i = 0; i < BLOCKS; i++) {
                assertThat(read(disk.get(i))).isEqualTo(diskBytes.get(i));
            }
        }
    }
}
