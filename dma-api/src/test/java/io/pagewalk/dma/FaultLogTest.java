package io.pagewalk.dma;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.fake.World;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Records of hardware faults: architecture rules 1 and 5. */
class FaultLogTest {
    private final World world = World.make();
    private final FaultLog faults = world.machine.faults();

    @Test
    void countsStayExactWhenOldFaultsLeave() {
        for (int i = 0; i < FaultLog.KEPT + 3; i++) {
            world.machine.clock().advance(1);
            world.bus.writeLong(0x9000 + 8L * i, 0);
        }

        assertThat(faults.count()).isEqualTo(FaultLog.KEPT + 3);
        assertThat(faults.recent()).hasSize(FaultLog.KEPT);
        assertThat(faults.recent().get(0))
                .isEqualTo(new BusFault(3, 4, world.device, 0x9018, Access.WRITE, DeviceBus.NOT_RAM));
        BusFault last = faults.recent().get(FaultLog.KEPT - 1);
        assertThat(last.sequence()).isEqualTo(FaultLog.KEPT + 2);
        assertThat(last.timeNanos()).isEqualTo(FaultLog.KEPT + 3);
    }

    @Test
    void aHandlerIsToldOfEachFaultUntilItIsTakenAway() {
        List<BusFault> told = new ArrayList<>();
        faults.onFault(told::add);
        world.bus.readLong(0x9000);
        world.bus.readLong(0xa000);
        faults.onFault(null);
        world.bus.readLong(0xb000);

        assertThat(told).isEqualTo(faults.recent().subList(0, 2));
        assertThat(faults.count()).isEqualTo(3);
    }

    /** An unmap waits for accesses in flight, and a handler may well unmap: the fault's own access must be over. */
    @Test
    void aHandlerRunsOutsideTheAccessThatFaulted() {
        List<String> told = new ArrayList<>();
        faults.onFault(fault -> {
            world.port.requireNoWindow();
            told.add(fault.access() + " " + world.bus.readLong(0x1000));
        });
        byte[] bytes = new byte[8];
        world.bus.read(0x9000, bytes, 0, 8);
        world.bus.write(0x9000, bytes, 0, 8);
        world.bus.readLong(0x9000);
        world.bus.readLong(0x9001);
        world.bus.writeLong(0x9000, 1);
        world.bus.writeLong(0x9001, 1);
        world.bus.fetchAdd(0x9000, 1, new BusWord());
        world.bus.compareAndSwap(0x9000, 1, 2, new BusWord());

        assertThat(told)
                .containsExactly("READ 0", "WRITE 0", "READ 0", "READ 0", "WRITE 0", "WRITE 0", "ATOMIC 0", "ATOMIC 0");
    }

    @Test
    void aFaultSaysWhoWhereWhatAndWhy() {
        World narrow = World.make(config -> config.withAddressBits(16));
        narrow.bus.readLong(0x1_0000);
        narrow.bus.writeLong(0x9000, 1);
        narrow.port.translation = dmaAddr -> io.pagewalk.dma.spi.BusPort.fault(6);
        narrow.bus.fetchAdd(0x1000, 1, new BusWord());

        assertThat(narrow.machine.faults().recent())
                .extracting(BusFault::toString)
                .containsExactly(
                        "DMA read by nic at 0x10000 blocked: reason 0x100, beyond the wires, which reach 0xffff",
                        "DMA write by nic at 0x9000 blocked: reason 0x101, no RAM at that physical address",
                        "DMA atomic by nic at 0x1000 blocked: reason 0x6, port says 6");
    }
}
