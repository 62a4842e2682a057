package io.pagewalk.backends.iommu;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.backends.iommu.api.Iommu;
import io.pagewalk.backends.iommu.api.IommuPagingDomain;
import io.pagewalk.backends.iommu.api.IommuProt;
import io.pagewalk.backends.iommu.api.StaleUse;
import io.pagewalk.backends.iommu.unit.RegisterFile;
import io.pagewalk.backends.iommu.unit.VtdRegisters;
import io.pagewalk.dma.Access;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.DmaAttrs;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.KernelLog;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.spi.BackendOptions;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Accesses through translations that the tables no longer hold, and the audit that finds them. iommu:FQ-8, FQ-11. */
class StaleUseTest {
    private static final long PAGE = 0x1000;
    private static final long P1 = 0x80_0000;
    private static final long P2 = 0x90_0000;
    private static final int RW = IommuProt.READ | IommuProt.WRITE;

    private static Machine machine(String backend, BackendOptions options) {
        return Machine.builder()
                .ramBytes(128 << 20)
                .backend(backend)
                .backendOptions(options)
                .build();
    }

    private static Machine audited(String backend) {
        return machine(backend, BackendOptions.NONE.with("iommu.audit", 1));
    }

    private static Device nic(Machine machine) {
        return machine.addDevice(DeviceConfig.named("nic").withRequesterId(0x310));
    }

    private static long map(Device device, long physAddr) {
        return device.dma().mapPage(physAddr, PAGE, DmaDirection.FROM_DEVICE, DmaAttrs.NONE);
    }

    private static void unmap(Device device, long dmaAddr) {
        device.dma().unmapPage(dmaAddr, PAGE, DmaDirection.FROM_DEVICE, DmaAttrs.NONE);
    }

    private static List<String> auditLines(Machine machine) {
        return machine.log().entries().stream()
                .filter(entry -> entry.site().equals("iommu_audit"))
                .map(KernelLog.Entry::text)
                .toList();
    }

    @Test
    @DisplayName("E12: lazy: a write after the unmap lands in the page and is told of; after 10 ms it faults")
    void lazyLeavesAStaleTranslationUntilTheTimer() {
        try (Machine machine = audited("iommu-lazy")) {
            Device nic = nic(machine);
            long dmaAddr = map(nic, P1);
            assertThat(nic.bus().writeLong(dmaAddr, 1)).isEqualTo(8);
            unmap(nic, dmaAddr);

            assertThat(nic.bus().writeLong(dmaAddr + 8, 2)).as("IOTLB hit").isEqualTo(8);
            assertThat(machine.memory().getLong(P1 + 8)).isEqualTo(2);
            StaleUse use = new StaleUse("nic", dmaAddr + 8, Access.WRITE, P1 + 8, StaleUse.NOWHERE);
            assertThat(Iommu.of(machine).staleUses()).containsExactly(use);
            assertThat(auditLines(machine))
                    .containsExactly("stale translation: nic WRITE at iova 0xfffff008 went to 0x800008, the tables say"
                            + " nowhere");
            assertThat(map(nic, P2)).as("not reused before the flush").isEqualTo(dmaAddr - PAGE);
            machine.clock().advance(10_000_000);
            assertThat(nic.bus().writeLong(dmaAddr, 3)).isZero();
            assertThat(machine.memory().getLong(P1)).isEqualTo(1);
            assertThat(Iommu.of(machine).staleUseCount()).isEqualTo(1);
        }
    }

    @Test
    @DisplayName("E12: lazy: the 256th unmap finds the queue full and flushes")
    void lazyLeavesAStaleTranslationUntilTheQueueIsFull() {
        try (Machine machine = audited("iommu-lazy")) {
            Device nic = nic(machine);
            long dmaAddr = map(nic, P1);
            nic.bus().writeLong(dmaAddr, 1);
            unmap(nic, dmaAddr);
            for (int unmaps = 2; unmaps <= 255; unmaps++) {
                unmap(nic, map(nic, P2));
            }
            assertThat(nic.bus().writeLong(dmaAddr, 2)).isEqualTo(8);
            unmap(nic, map(nic, P2));
            assertThat(nic.bus().writeLong(dmaAddr, 3)).isZero();
            assertThat(machine.memory().getLong(P1)).isEqualTo(2);
            assertThat(Iommu.of(machine).staleUseCount()).isEqualTo(1);
        }
    }

    @Test
    @DisplayName("E12: strict: the first write after the unmap faults, and nothing is stale")
    void strictLeavesNothing() {
        try (Machine machine = audited("iommu-strict")) {
            Device nic = nic(machine);
            long dmaAddr = map(nic, P1);
            nic.bus().writeLong(dmaAddr, 1);
            unmap(nic, dmaAddr);
            assertThat(nic.bus().writeLong(dmaAddr, 2)).isZero();
            assertThat(machine.memory().getLong(P1)).isEqualTo(1);
            assertThat(Iommu.of(machine).staleUses()).isEmpty();
            assertThat(Iommu.of(machine).staleUseCount()).isZero();
        }
    }

    @Test
    void withoutAnAuditStaleUsesGoUnnoticed() {
        try (Machine machine = machine("iommu-lazy", BackendOptions.NONE)) {
            Device nic = nic(machine);
            long dmaAddr = map(nic, P1);
            nic.bus().writeLong(dmaAddr, 1);
            unmap(nic, dmaAddr);
            assertThat(nic.bus().writeLong(dmaAddr, 2)).isEqualTo(8);
            assertThat(Iommu.of(machine).staleUses()).isEmpty();
            assertThat(Iommu.of(machine).staleUseCount()).isZero();
            assertThat(auditLines(machine)).isEmpty();
        }
    }

    /** The tables are changed behind the driver's back, as a driver that forgets to invalidate would. */
    @Test
    void anotherTargetAndAPageThatCameTooLateAreFoundToo() {
        BackendOptions options = BackendOptions.NONE
                .with("iommu.audit", 1)
                .with("iommu.cachingMode", 1)
                .with("iommu.widthBits", 39);
        try (Machine machine = machine("iommu-strict", options)) {
            Device nic = nic(machine);
            IommuPagingDomain domain = Iommu.of(machine).allocPagingDomain();
            domain.attach(nic);
            domain.map(0x5000, P1, PAGE, RW);
            nic.bus().readLong(0x5000);
            nic.bus().readLong(0x6000);
            long leaf = leafTable(machine);
            machine.memory().putLong(leaf + 5 * 8, P2 | 3);
            machine.memory().putLong(leaf + 6 * 8, P2 + PAGE | 1);

            nic.bus().readLong(0x5010);
            nic.bus().readLong(0x6010);
            nic.bus().writeLong(0x6018, 1);

            assertThat(Iommu.of(machine).staleUses())
                    .containsExactly(
                            new StaleUse("nic", 0x5010, Access.READ, P1 + 0x10, P2 + 0x10),
                            new StaleUse("nic", 0x6010, Access.READ, StaleUse.NOWHERE, P2 + PAGE + 0x10));
            domain.detach(nic);
            domain.close();
        }
    }

    /** The level-1 table of the first 2 MiB behind requester 03:02.0. */
    private static long leafTable(Machine machine) {
        RegisterFile registers = Objects.requireNonNull(machine.part(RegisterFile.class));
        long root = registers.read64(VtdRegisters.RTADDR);
        long context = machine.memory().getLong(root + 3 * 16) & ~0xfffL;
        long level3 = machine.memory().getLong(context + 0x10 * 16) & ~0xfffL;
        long level2 = machine.memory().getLong(level3) & ~0xfffL;
        return machine.memory().getLong(level2) & ~0xfffL;
    }

    @Test
    @DisplayName("a context entry that is gone, and an address beyond the width that it says now, are found")
    void staleContextsAreFound() {
        BackendOptions options = BackendOptions.NONE.with("iommu.audit", 1);
        try (Machine machine = machine("iommu-strict", options)) {
            Device nic = nic(machine);
            long dmaAddr = map(nic, P1);
            nic.bus().readLong(dmaAddr);
            RegisterFile registers = Objects.requireNonNull(machine.part(RegisterFile.class));
            long root = registers.read64(VtdRegisters.RTADDR);
            long context = machine.memory().getLong(root + 3 * 16) & ~0xfffL;
            long low = machine.memory().getLong(context + 0x10 * 16);
            machine.memory().putLong(context + 0x10 * 16, 0);
            nic.bus().readLong(dmaAddr);
            machine.memory().putLong(context + 0x10 * 16, 9);
            nic.bus().readLong(dmaAddr);
            machine.memory().putLong(context + 0x10 * 16, low);
            nic.bus().readLong(dmaAddr);
            assertThat(Iommu.of(machine).staleUses())
                    .containsExactly(
                            new StaleUse("nic", dmaAddr, Access.READ, P1, StaleUse.NOWHERE),
                            new StaleUse("nic", dmaAddr, Access.READ, P1, dmaAddr));
            unmap(nic, dmaAddr);
            nic.bus().readLong(1L << 50);
            nic.bus().readLong(dmaAddr);
            assertThat(Iommu.of(machine).staleUseCount())
                    .as("blocked either way")
                    .isEqualTo(2);
        }
    }

    @Test
    void manyStaleUsesAreCountedAndTheLatestKept() {
        try (Machine machine = audited("iommu-lazy")) {
            Device nic = nic(machine);
            long dmaAddr = map(nic, P1);
            nic.bus().readLong(dmaAddr);
            unmap(nic, dmaAddr);
            for (int i = 0; i < 1005; i++) {
                nic.bus().readLong(dmaAddr + i % 500 * 8L);
            }
            assertThat(Iommu.of(machine).staleUseCount()).isEqualTo(1005);
            assertThat(Iommu.of(machine).staleUses()).hasSize(1000);
            assertThat(Iommu.of(machine).staleUses().get(0).iova()).isEqualTo(dmaAddr + 5 * 8);
            assertThat(auditLines(machine)).as("at the kernel's rate").hasSize(10);
            machine.clock().advance(10_000_000);
        }
    }
}
