package io.pagewalk.model;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.Dma;
import io.pagewalk.dma.DmaAttrs;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.CpuCache;
import io.pagewalk.dma.memory.CpuCacheOptions;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.kit.Law;
import io.pagewalk.kit.SmallWorld;
import io.pagewalk.kit.TestMachines;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Objects;
import java.util.Set;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.PropertyDefaults;
import net.jqwik.api.Provide;
import net.jqwik.api.constraints.IntRange;

/**
 * What a driver sees that leaves out one sync, for a device that does not snoop: old bytes in exactly those lines that
 * the cache had, and none once the sync is made up for.
 */
@PropertyDefaults(tries = 60)
class MissingSyncProperties {
    private static final int LINE = 64;
    private static final int LINES = 32;
    private static final int SIZE = LINES * LINE;
    private static final long BUFFER = SmallWorld.ARENAS.get(0).first() + 0x1000;
    private static final byte OLD = 0x11;
    private static final byte NEW = 0x22;

    @Provide
    Arbitrary<String> backends() {
        return Arbitraries.of("direct", "iommu-strict", "iommu-lazy", "swiotlb");
    }

    @Provide
    Arbitrary<Set<Integer>> lines() {
        return Arbitraries.integers().between(0, LINES - 1).set();
    }

    /** A buffer of whole lines, mapped as one or as a list of two. */
    private static final class Driver {
        private final Machine machine;
        private final Device device;
        private final Dma dma;
        private final CpuCache cache;
        private final DmaDirection direction;
        private final SgTable sg = new SgTable(2);
        private final boolean asList;
        private long dmaAddr;

        private Driver(TestMachines machines, String backend, DmaDirection direction, boolean asList) {
            machine = machines.start(SmallWorld.of(backend).withCpuCache(CpuCacheOptions.DEFAULT));
            device = machine.addDevice(DeviceConfig.named("nic").withCoherent(false));
            dma = device.dma();
            cache = Objects.requireNonNull(machine.cpuMemory().cache());
            this.direction = direction;
            this.asList = asList;
            sg.add(BUFFER, SIZE / 4).add(BUFFER + SIZE / 4, SIZE - SIZE / 4);
        }

        private void cpuFills(byte value) {
            machine.cpuMemory().fill(BUFFER, SIZE, value);
        }

        private void map() {
            if (asList) {
                assertThat(dma.mapSgTable(sg, direction, DmaAttrs.NONE)).isZero();
            } else {
                dmaAddr = dma.mapPage(BUFFER, SIZE, direction, DmaAttrs.NONE);
                assertThat(dma.mappingError(dmaAddr)).isZero();
            }
        }

        private void syncForCpu() {
            if (asList) {
                dma.syncSgTableForCpu(sg, direction);
            } else {
                dma.syncSingleForCpu(dmaAddr, SIZE, direction);
            }
        }

        private void syncForDevice() {
            if (asList) {
                dma.syncSgTableForDevice(sg, direction);
            } else {
                dma.syncSingleForDevice(dmaAddr, SIZE, direction);
            }
        }

        private void unmap() {
            if (asList) {
                dma.unmapSgTable(sg, direction, DmaAttrs.NONE);
            } else {
                dma.unmapPage(dmaAddr, SIZE, direction, DmaAttrs.NONE);
            }
        }

        private void deviceFills(byte value) {
            byte[] bytes = new byte[SIZE];
            Arrays.fill(bytes, value);
            for (int done = 0; done < SIZE; done += SIZE / 4) {
                assertThat(device.bus().write(addressOf(done), bytes, done, SIZE / 4))
                        .isEqualTo(SIZE / 4);
            }
        }

        private byte[] deviceReads() {
            byte[] bytes = new byte[SIZE];
            for (int done = 0; done < SIZE; done += SIZE / 4) {
                assertThat(device.bus().read(addressOf(done), bytes, done, SIZE / 4))
                        .isEqualTo(SIZE / 4);
            }
            return bytes;
        }

        private long addressOf(int offset) {
            if (!asList) {
                return dmaAddr + offset;
            }
            boolean first = offset < sg.dmaLengthBytes(0);
            return first ? sg.dmaAddr(0) + offset : sg.dmaAddr(1) + offset - sg.dmaLengthBytes(0);
        }

        private byte[] cpuReads() {
            byte[] bytes = new byte[SIZE];
            machine.cpuMemory().read(BUFFER, bytes, 0, SIZE);
            return bytes;
        }

        private boolean bounces() {
            return machine.backendName().equals("swiotlb");
        }
    }

    /** Lines with old bytes; every line is all old or all new. */
    private static BitSet oldLines(byte[] bytes) {
        BitSet old = new BitSet();
        for (int line = 0; line < LINES; line++) {
            byte[] one = Arrays.copyOfRange(bytes, line * LINE, (line + 1) * LINE);
            assertThat(one).containsOnly(one[0]);
            assertThat(one[0]).isIn(OLD, NEW);
            old.set(line, one[0] == OLD);
        }
        return old;
    }

    private static BitSet setOf(Set<Integer> lines) {
        BitSet set = new BitSet();
        lines.forEach(set::set);
        return set;
    }

    private static BitSet all() {
        BitSet set = new BitSet();
        set.set(0, LINES);
        return set;
    }

    @Law
    void withoutTheSyncForTheCpuExactlyTheCachedLinesAreOld(
            TestMachines machines,
            @ForAll("backends") String backend,
            @ForAll("lines") Set<Integer> dropped,
            @ForAll boolean bidirectional,
            @ForAll boolean asList,
            @ForAll boolean endsWithUnmap) {
        DmaDirection direction = bidirectional ? DmaDirection.BIDIRECTIONAL : DmaDirection.FROM_DEVICE;
        Driver driver = new Driver(machines, backend, direction, asList);
        driver.cpuFills(OLD);
        driver.map();
        dropped.forEach(line -> driver.cache.flush(BUFFER + (long) line * LINE, LINE));
        BitSet cached = new BitSet();
        for (int line = 0; line < LINES; line++) {
            cached.set(line, driver.cache.isCached(BUFFER + (long) line * LINE));
        }
        BitSet kept = all();
        kept.andNot(setOf(dropped));
        assertThat(cached).isEqualTo(kept);
        driver.deviceFills(NEW);

        assertThat(oldLines(driver.cpuReads())).isEqualTo(driver.bounces() ? all() : cached);
        assertThat(driver.cache.staleReads()).isEqualTo(driver.bounces() ? 0 : cached.cardinality());

        if (endsWithUnmap) {
            driver.unmap();
        } else {
            driver.syncForCpu();
        }
        assertThat(oldLines(driver.cpuReads())).isEqualTo(new BitSet());
        if (!endsWithUnmap) {
            driver.unmap();
        }
        assertThat(oldLines(driver.cpuReads())).isEqualTo(new BitSet());
        assertThat(driver.cache.lostWrites()).isZero();
    }

    @Law
    void withoutTheSyncForTheDeviceExactlyTheWrittenLinesAreOld(
            TestMachines machines,
            @ForAll("backends") String backend,
            @ForAll("lines") Set<Integer> written,
            @ForAll boolean bidirectional,
            @ForAll boolean asList) {
        DmaDirection direction = bidirectional ? DmaDirection.BIDIRECTIONAL : DmaDirection.TO_DEVICE;
        Driver driver = new Driver(machines, backend, direction, asList);
        driver.cpuFills(OLD);
        driver.map();
        assertThat(oldLines(driver.deviceReads())).as("map syncs").isEqualTo(all());
        written.forEach(line -> driver.machine.cpuMemory().fill(BUFFER + (long) line * LINE, LINE, NEW));

        assertThat(oldLines(driver.deviceReads())).isEqualTo(all());

        driver.syncForDevice();
        BitSet rest = all();
        rest.andNot(setOf(written));
        assertThat(oldLines(driver.deviceReads())).isEqualTo(rest);
        driver.unmap();
        assertThat(oldLines(driver.cpuReads())).isEqualTo(rest);
    }

    @Law
    void aDeviceThatSnoopsNeedsNoSync(
            TestMachines machines, @ForAll @IntRange(min = 0, max = LINES - 1) int line, @ForAll boolean strict) {
        Machine machine =
                machines.start(SmallWorld.of(strict ? "iommu-strict" : "direct").withCpuCache(CpuCacheOptions.DEFAULT));
        Device device = machine.addDevice(DeviceConfig.named("nic"));
        long at = BUFFER + (long) line * LINE;
        machine.cpuMemory().putLong(at, 1);
        long dmaAddr = device.dma().mapPage(BUFFER, SIZE, DmaDirection.BIDIRECTIONAL, DmaAttrs.SKIP_CPU_SYNC);

        assertThat(device.bus().readLong(dmaAddr + (long) line * LINE)).isEqualTo(1);
        device.bus().writeLong(dmaAddr + (long) line * LINE, 2);
        assertThat(machine.cpuMemory().getLong(at)).isEqualTo(2);
        device.dma().unmapPage(dmaAddr, SIZE, DmaDirection.BIDIRECTIONAL, DmaAttrs.SKIP_CPU_SYNC);
        assertThat(machine.cpuMemory().getLong(at)).isEqualTo(2);
    }
}
