package io.pagewalk.backends.iommu.unit;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.backends.iommu.pgtable.TableMemory;
import io.pagewalk.dma.Access;
import io.pagewalk.dma.memory.PhysicalMemory;
import io.pagewalk.dma.memory.RamMap;
import io.pagewalk.dma.spi.BusPort;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What a unit makes of registers and queues that no driver would write so. iommu:INV-2, INV-4, INV-16 to INV-18. */
@Timeout(60)
class UnitRegistersTest {
    private static final long ROOT = 0x1000;
    private static final long CONTEXT = 0x2000;
    private static final long TABLES = 0x3000;
    private static final long STATUS = 0x7000;
    private static final long QUEUE = 0x10_0000;
    private static final int REQUESTER = 0x310;
    private static final int DOMAIN = 7;
    private static final int MAX_ADDRESS_MASK = 9;

    private final PhysicalMemory memory = PhysicalMemory.create(RamMap.sizedWithHole(16 << 20), 4096);
    private final VtdUnit unit = new VtdUnit(
            memory,
            new VtdFeatures(
                    39,
                    2,
                    40,
                    new VtdFeatures.CacheShape(16, 1),
                    VtdFeatures.CacheShape.NONE,
                    2,
                    MAX_ADDRESS_MASK,
                    true,
                    true,
                    false));
    private final BusPort port = unit.port(REQUESTER, new TableMemory(memory));

    /** Three levels with one page at IOVA 0x1000, translation on. */
    UnitRegistersTest() {
        memory.putLong(ROOT + 3 * 16, CONTEXT | 1);
        memory.putLong(CONTEXT + 0x10 * 16, TABLES | 1);
        memory.putLong(CONTEXT + 0x10 * 16 + 8, (long) DOMAIN << 8 | 1);
        memory.putLong(TABLES, TABLES + 0x1000 | 3);
        memory.putLong(TABLES + 0x1000, TABLES + 0x2000 | 3);
        memory.putLong(TABLES + 0x2000 + 8, 0x80_0003);
        unit.write64(VtdRegisters.RTADDR, ROOT);
        unit.write32(VtdRegisters.GCMD, VtdRegisters.GCMD_SRTP);
        unit.write32(VtdRegisters.GCMD, VtdRegisters.GCMD_TE);
    }

    private long read(long iova) {
        return port.translate(iova, Access.READ);
    }

    private void enableQueue(int size) {
        unit.write32(VtdRegisters.GCMD, VtdRegisters.GCMD_TE);
        unit.write64(VtdRegisters.IQA, QUEUE | size);
        unit.write64(VtdRegisters.IQT, 0);
        unit.write32(VtdRegisters.GCMD, VtdRegisters.GCMD_TE | VtdRegisters.GCMD_QIE);
    }

    private List<Integer> everyRegister() {
        List<Integer> registers = new ArrayList<>();
        for (int offset = 0; offset < VtdRegisters.FRCD + 0x40; offset += 4) {
            registers.add(unit.read32(offset));
        }
        return registers;
    }

    // ---- registers

    @Test
    @DisplayName("iommu:INV-18, FLT-2: every register stands where the driver looks for it")
    void registersStandWhereTheDriverLooks() {
        assertThat(new int[] {
                    VtdRegisters.GCMD,
                    VtdRegisters.GSTS,
                    VtdRegisters.RTADDR,
                    VtdRegisters.CCMD,
                    VtdRegisters.FSTS,
                    VtdRegisters.FECTL,
                    VtdRegisters.IQH,
                    VtdRegisters.IQT,
                    VtdRegisters.IQA,
                    VtdRegisters.IQER
                })
                .containsExactly(0x18, 0x1c, 0x20, 0x28, 0x34, 0x38, 0x80, 0x88, 0x90, 0xb0);
        int iro = (int) (unit.read64(VtdRegisters.ECAP) >>> 8 & 0x3ff) * 16;
        assertThat(new int[] {VtdRegisters.IVA, VtdRegisters.IOTLB}).containsExactly(iro, iro + 8);
        assertThat(unit.read32(VtdRegisters.GSTS)).isEqualTo(VtdRegisters.GCMD_TE | VtdRegisters.GCMD_SRTP);
    }

    /** The state is one in which each bit of GSTS and FSTS that there is could be lost. */
    @Test
    @DisplayName("a write to any register that is read-only or absent changes no register, and nothing else")
    void readOnlyAndAbsentRegistersAreNotWritten() {
        enableQueue(0);
        memory.putLong(QUEUE, 0xf);
        unit.write64(VtdRegisters.IQT, 0x10);
        for (long iova = 0x2000; iova < 0x6000; iova += 0x1000) {
            read(iova);
        }
        assertThat(unit.read32(VtdRegisters.FSTS)).isEqualTo(0x13);
        List<Integer> before = everyRegister();
        List<Integer> readOnly = new ArrayList<>(
                List.of(0x00, 0x04, 0x08, 0x0c, 0x10, 0x14, VtdRegisters.GSTS, 0x30, VtdRegisters.IQH, 0x84, 0xb0));
        for (int offset = 0x48; offset < VtdRegisters.IQH; offset += 4) {
            readOnly.add(offset);
        }
        for (int offset = 0x100; offset < VtdRegisters.FRCD; offset += 4) {
            readOnly.add(offset);
        }
        readOnly.add(VtdRegisters.FRCD + 0x20);
        readOnly.add(-4);

        for (int offset : readOnly) {
            for (int value : new int[] {0, -1, 0x10, 1}) {
                unit.write32(offset, value);
                assertThat(everyRegister())
                        .as("0x%x written to 0x%x", value, offset)
                        .isEqualTo(before);
            }
        }
        assertThat(read(0x1234)).isEqualTo(0x80_0234);
    }

    @Test
    @DisplayName("iommu:INV-2, INV-18: registers show which granularity was carried out, 0 where none was")
    void whatIsNotCarriedOutIsShownAsGranularityNone() {
        for (long granularity = 0; granularity < 4; granularity++) {
            unit.write64(VtdRegisters.CCMD, 1L << 63 | granularity << 61 | 3L << 59 | 0x310_0000L | DOMAIN);
            assertThat(unit.read64(VtdRegisters.CCMD))
                    .isEqualTo(granularity << 61 | granularity << 59 | 0x310_0000L | DOMAIN);
            for (int addressMask = 0; addressMask < 64; addressMask++) {
                boolean done = granularity != 0 && (granularity < 3 || addressMask <= MAX_ADDRESS_MASK);
                unit.write64(VtdRegisters.IVA, 0x1000 | addressMask);
                unit.write64(VtdRegisters.IOTLB, 1L << 63 | granularity << 60 | 3L << 57 | (long) DOMAIN << 32);
                assertThat(unit.read64(VtdRegisters.IOTLB))
                        .as("granularity %d, mask %d", granularity, addressMask)
                        .isEqualTo(granularity << 60 | (done ? granularity << 57 : 0) | (long) DOMAIN << 32);
            }
        }
    }

    // ---- switching

    private boolean waitsForAnAccessInFlight(Runnable command) throws InterruptedException {
        long token = port.beginAccess();
        AtomicBoolean ended = new AtomicBoolean();
        AtomicBoolean tooEarly = new AtomicBoolean();
        CountDownLatch writing = new CountDownLatch(1);
        Thread software = new Thread(() -> {
            writing.countDown();
            command.run();
            tooEarly.set(!ended.get());
        });
        software.start();
        writing.await();
        software.join(20);
        ended.set(true);
        port.endAccess(token);
        software.join();
        return !tooEarly.get();
    }

    @Test
    @DisplayName("translation is on, or off, for every access once the command is done: none before it goes on")
    void switchingWaitsForAccessesInFlight() throws InterruptedException {
        for (int round = 0; round < 20; round++) {
            assertThat(waitsForAnAccessInFlight(() -> unit.write32(VtdRegisters.GCMD, 0)))
                    .as("off")
                    .isTrue();
            assertThat(read(0x1234)).isEqualTo(0x1234);
            assertThat(waitsForAnAccessInFlight(() -> unit.write32(VtdRegisters.GCMD, VtdRegisters.GCMD_TE)))
                    .as("on")
                    .isTrue();
            assertThat(read(0x1234)).isEqualTo(0x80_0234);
        }
    }

    @Test
    @DisplayName("an invalidation that is complete has waited for accesses in flight, by queue and by register")
    void invalidationsWaitForAccessesInFlight() throws InterruptedException {
        enableQueue(0);
        memory.putLong(QUEUE, InvalidationLayout.iotlb(InvalidationLayout.DOMAIN, DOMAIN));
        memory.putLong(QUEUE + 16, InvalidationLayout.waitWriting(2));
        memory.putLong(QUEUE + 24, STATUS);

        assertThat(waitsForAnAccessInFlight(() -> unit.write64(VtdRegisters.IQT, 0x20)))
                .isTrue();
        assertThat(memory.getInt(STATUS)).isEqualTo(2);
        assertThat(waitsForAnAccessInFlight(() -> unit.write64(VtdRegisters.IOTLB, 1L << 63 | 1L << 60)))
                .isTrue();
        assertThat(waitsForAnAccessInFlight(() -> unit.write64(VtdRegisters.CCMD, 1L << 63 | 1L << 61)))
                .isTrue();
    }

    // ---- the queue

    @Test
    @DisplayName("iommu:INV-16, INV-17: a tail beyond the queue is an error, and nothing is fetched, whatever its size")
    void aTailBeyondTheQueueIsAnError() {
        for (int size = 0; size < 8; size++) {
            int entries = 256 << size;
            memory.fill(QUEUE, entries * 16L, (byte) 0);
            memory.putLong(QUEUE, InvalidationLayout.waitWriting(2));
            memory.putLong(QUEUE + 8, STATUS);
            for (int i = 1; i < entries; i++) {
                memory.putLong(QUEUE + 16L * i, InvalidationLayout.WAIT);
            }
            memory.putInt(STATUS, 0);
            enableQueue(size);

            if (entries < 0x8000) {
                unit.write64(VtdRegisters.IQT, (long) entries << 4);
                assertThat(unit.read32(VtdRegisters.FSTS))
                        .as("%d entries", entries)
                        .isEqualTo(VtdRegisters.FSTS_IQE);
                unit.write32(VtdRegisters.FSTS, VtdRegisters.FSTS_IQE);
                assertThat(unit.read32(VtdRegisters.FSTS)).as("still there").isEqualTo(VtdRegisters.FSTS_IQE);
                assertThat(memory.getInt(STATUS)).isZero();
                assertThat(unit.read64(VtdRegisters.IQH)).isZero();
            }
            unit.write64(VtdRegisters.IQT, (long) (entries - 1) << 4);
            unit.write32(VtdRegisters.FSTS, VtdRegisters.FSTS_IQE);

            assertThat(unit.read32(VtdRegisters.FSTS)).isZero();
            assertThat(memory.getInt(STATUS)).isEqualTo(2);
            assertThat(unit.read64(VtdRegisters.IQH)).isEqualTo((long) (entries - 1) << 4);
        }
    }

    @Test
    @DisplayName(
            "iommu:INV-4: types 1 to 5 are carried out, those of scalable mode and those that do not exist are errors")
    void onlyTypesOfLegacyModeAreCarriedOut() {
        for (int type = 0; type < 16; type++) {
            enableQueue(0);
            memory.putLong(QUEUE, type | 1 << 4 | (long) REQUESTER << 32);
            memory.putLong(QUEUE + 8, STATUS);
            unit.write64(VtdRegisters.IQT, 0x10);

            boolean known = type >= 1 && type <= 5;
            assertThat(unit.read32(VtdRegisters.FSTS) == 0).as("type %d", type).isEqualTo(known);
            assertThat(unit.read64(VtdRegisters.IQH)).isEqualTo(known ? 0x10 : 0);
        }
    }
}
