package io.pagewalk.rdma.mm;

import static io.pagewalk.rdma.mm.World.PAGE;
import static io.pagewalk.rdma.mm.World.RW;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.Machine;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

@DisplayName("Tables of entries (rdma:MM-7, CONV-6)")
class PageTableTest {
    private static final long OF_UPPER = 1L << 18;
    private static final long OF_ROOT = 1L << 27;

    private static PageTable table(World world, long maxTables) {
        return new PageTable(world.memory.tablePoint(), maxTables);
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3})
    void everyLevelCanRunOutOfMemoryAndIsMadeLater(long nth) {
        // CONV-6
        try (World world = new World()) {
            PageTable table = table(world, 100);
            world.machine.failures().failNth("mm.table", nth);
            assertThat(table.prepare(5)).isFalse();
            assertThat(table.leaf(5)).isNull();
            assertThatThrownBy(() -> table.set(5, Pte.PRESENT))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessage("no table for virtual page 0x5");
            assertThat(table.prepare(5)).isTrue();
            table.set(5, Pte.PRESENT);
            assertThat(table.get(5)).isEqualTo(Pte.PRESENT);
            assertThat(table.get(4)).isEqualTo(Pte.NONE);
        }
    }

    @Test
    void thereAreAsManyTablesAsThereIsRoomFor() {
        try (World world = new World()) {
            PageTable table = table(world, 4);
            assertThat(table.prepare(0)).as("three").isTrue();
            assertThat(table.prepare(511)).as("no more").isTrue();
            assertThat(table.prepare(512)).as("the fourth").isTrue();
            assertThat(table.prepare(1024)).isFalse();
            assertThat(table.prepare(1023)).isTrue();
        }
    }

    @Test
    void tablesOfAProcessAreAsManyAsPagesOfRam() {
        try (Machine machine = Machine.builder().ramBytes(4 << 20).build()) {
            Process process = Process.create(machine);
            long address = 1L << 40;
            int flags = Mmap.MAP_PRIVATE | Mmap.MAP_ANONYMOUS | Mmap.MAP_FIXED;
            assertThat(process.mmap(address, 4L << 30, RW, flags, null, 0)).isEqualTo(address);
            int leaves = 0;
            while (process.read(address + leaves * World.HUGE, new byte[1], 0, 1) == Fault.DONE) {
                leaves++;
            }
            assertThat(leaves)
                    .as("1024 less one for 512 GiB and two for a GiB each")
                    .isEqualTo(1021);
            assertThat(process.getLong(address + 511 * PAGE)).isZero();
        }
    }

    @ParameterizedTest
    @CsvSource({
        // used, from
        "512, 0",
        "513, 511",
        "0x40000, 5",
        "0x40200, 0x40000",
        "0x40000, 0x3ffff",
        "0x8000000, 7",
        "0x8040200, 0x8000000",
        "0x7ffffffff, 0"
    })
    void nextUsedPageIsFoundBehindTablesThatAreMissing(String used, String from) {
        try (World world = new World()) {
            PageTable table = table(world, 100);
            long usedVpn = Long.decode(used);
            long fromVpn = Long.decode(from);
            assertThat(table.nextUsed(fromVpn, usedVpn + 1))
                    .as("an empty table")
                    .isEqualTo(usedVpn + 1);
            assertThat(table.prepare(usedVpn)).isTrue();
            assertThat(table.nextUsed(fromVpn, usedVpn + 1)).isEqualTo(usedVpn + 1);
            table.set(usedVpn, Pte.POISON);
            assertThat(table.nextUsed(fromVpn, usedVpn + 1)).isEqualTo(usedVpn);
            assertThat(table.nextUsed(fromVpn, usedVpn)).as("before it").isEqualTo(usedVpn);
            assertThat(table.nextUsed(usedVpn + 1, usedVpn + 1)).isEqualTo(usedVpn + 1);
        }
    }

    @Test
    void pageIsFoundPastNeighbourTablesThatAreThere() {
        try (World world = new World()) {
            PageTable table = table(world, 100);
            assertThat(table.prepare(0)).isTrue();
            assertThat(table.prepare(OF_UPPER + 3 * 512)).isTrue();
            table.set(OF_UPPER + 3 * 512, Pte.PRESENT);
            assertThat(table.nextUsed(0, OF_ROOT)).isEqualTo(OF_UPPER + 3 * 512);
            assertThat(table.nextUsed(OF_UPPER + 3 * 512 + 1, OF_ROOT)).isEqualTo(OF_ROOT);
            assertThat(table.nextUsed(0, 256 * OF_ROOT)).isEqualTo(OF_UPPER + 3 * 512);
            table.set(OF_UPPER + 3 * 512, Pte.NONE);
            assertThat(table.nextUsed(0, 256 * OF_ROOT)).as("the whole table").isEqualTo(256 * OF_ROOT);
        }
    }
}
