package io.pagewalk.backends.iommu.mapping;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.backends.RecordingCache;
import io.pagewalk.backends.iommu.api.IommuDomainType;
import io.pagewalk.backends.swiotlb.Swiotlb;
import io.pagewalk.backends.swiotlb.SwiotlbBoot;
import io.pagewalk.dma.ArchConfig;
import io.pagewalk.dma.CacheMaintenance;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.DmaFailure;
import io.pagewalk.dma.KernelConfig;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.MachineBuilder;
import io.pagewalk.dma.memory.PhysRange;
import io.pagewalk.dma.spi.BackendOptions;
import io.pagewalk.dma.spi.DmaOps;
import io.pagewalk.dma.spi.Metric;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;

/** A small machine whose IOMMU is a recording driver, with one device behind it. */
final class World implements AutoCloseable {
    static final int CPUS = 2;

    final Machine machine;
    final RecordingDriver driver;
    final IommuBackend backend;
    final Device device;
    final DmaOps ops;
    final TreeMapPageTable table;

    private World(Machine machine, RecordingDriver driver, boolean lazy, UnaryOperator<DeviceConfig> change) {
        this.machine = machine;
        this.driver = driver;
        Swiotlb swiotlb = SwiotlbBoot.boot(
                machine, BackendOptions.NONE, machine.commandLine().contains("swiotlb=1024"));
        IommuDomainType type = lazy ? IommuDomainType.DMA_FQ : IommuDomainType.DMA;
        this.backend = new IommuBackend(machine, driver, swiotlb, IommuBoot.fixed(machine, type));
        this.device = machine.addDevice(change.apply(DeviceConfig.named("nic")));
        this.ops = backend.attach(device);
        this.table = driver.tables.get(0);
    }

    static MachineBuilder builder() {
        return Machine.builder().ramBytes(64 << 20).cpus(CPUS).kernelConfig(new RecordingCache().kernel());
    }

    /** Caches that note what they are told. */
    static final class Caches implements CacheMaintenance {
        final List<String> calls = new ArrayList<>();

        @Override
        public void syncForDevice(long physAddr, long sizeBytes, DmaDirection direction) {
            calls.add(String.format("device 0x%x+0x%x %s", physAddr, sizeBytes, direction));
        }

        @Override
        public void syncForCpu(long physAddr, long sizeBytes, DmaDirection direction) {
            calls.add(String.format("cpu 0x%x+0x%x %s", physAddr, sizeBytes, direction));
        }
    }

    /** A device that does not snoop. */
    static World nonCoherent(Caches caches, boolean trusted) {
        Machine machine = builder()
                .commandLine("swiotlb=1024")
                .kernelConfig(
                        KernelConfig.distribution().withArch(ArchConfig.x86().withCacheMaintenance(caches)))
                .build();
        UnaryOperator<DeviceConfig> change =
                config -> config.withCoherent(false).withTrusted(trusted).withMinAlignMask(0xfff);
        return new World(machine, new RecordingDriver(RecordingDriver.APERTURE_48), false, change);
    }

    static World strict() {
        return strict(config -> config);
    }

    static World strict(UnaryOperator<DeviceConfig> change) {
        return new World(builder().build(), new RecordingDriver(RecordingDriver.APERTURE_48), false, change);
    }

    static World lazy() {
        return new World(builder().build(), new RecordingDriver(RecordingDriver.APERTURE_48), true, c -> c);
    }

    static World of(Machine machine, RecordingDriver driver, boolean lazy, UnaryOperator<DeviceConfig> change) {
        return new World(machine, driver, lazy, change);
    }

    /** A machine with a bounce pool of 1024 slots. */
    static World untrusted(UnaryOperator<DeviceConfig> change) {
        Machine machine = builder().commandLine("swiotlb=1024").build();
        UnaryOperator<DeviceConfig> all = config -> change.apply(config).withTrusted(false);
        return new World(machine, new RecordingDriver(RecordingDriver.APERTURE_48), false, all);
    }

    static World untrustedOrNot(boolean trusted) {
        return trusted ? strict() : untrusted(config -> config.withMinAlignMask(0xfff));
    }

    long map(long physAddr, long sizeBytes) {
        return map(0, physAddr, sizeBytes);
    }

    long map(int cpu, long physAddr, long sizeBytes) {
        return ops.mapPage(device, cpu, physAddr, sizeBytes, DmaDirection.BIDIRECTIONAL, 0);
    }

    void unmap(long dmaAddr, long sizeBytes) {
        unmap(0, dmaAddr, sizeBytes);
    }

    void unmap(int cpu, long dmaAddr, long sizeBytes) {
        ops.unmapPage(device, cpu, dmaAddr, sizeBytes, DmaDirection.BIDIRECTIONAL, 0);
    }

    DmaFailure failure() {
        return device.failure(0).snapshot();
    }

    Map<Metric, Long> report() {
        Map<Metric, Long> numbers = new EnumMap<>(Metric.class);
        backend.report(numbers::put);
        return numbers;
    }

    List<String> structureViolations() {
        List<String> violations = new ArrayList<>();
        backend.checkStructure(violations::add);
        return violations;
    }

    List<String> idleViolations() {
        List<String> violations = new ArrayList<>();
        backend.checkIdle(violations::add);
        return violations;
    }

    void assertNothingIsHeld() {
        assertThat(structureViolations()).isEmpty();
        backend.quiesce();
        assertThat(structureViolations()).isEmpty();
        assertThat(idleViolations()).isEmpty();
        assertThat(table.leaves()).isEmpty();
    }

    @Override
    public void close() {
        backend.close();
        machine.close();
    }

    static List<PhysRange> pcWindows() {
        return List.of(new PhysRange(0xa0000, 0xbffff), new PhysRange(0xc000_0000L, 0xfebf_ffffL));
    }
}
