package io.pagewalk.cases;

import static io.pagewalk.cases.Situation.GIB;
import static io.pagewalk.cases.Situation.SLOT;
import static io.pagewalk.dma.Dma.DMA_MAPPING_ERROR;
import static io.pagewalk.dma.DmaDirection.FROM_DEVICE;
import static io.pagewalk.dma.DmaDirection.TO_DEVICE;
import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.FailureReason;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.dma.spi.Metric;
import io.pagewalk.kit.MachineValidator;
import io.pagewalk.kit.TestMachines;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Situations C: scatterlists. */
@ExtendWith(MachineValidator.class)
class ScatterGatherCasesTest {
    private static final long HIGH = 4 * GIB + 0x1_0000;
    private static final int PAGE = 4096;

    @Test
    @DisplayName("C1")
    void threePagesMergeToOneSegmentAndUnmapTakesTheOriginalCount(TestMachines machines) {
        Situation pc = Situation.pc(machines, "iommu-strict", "");
        Device device = pc.machine.addDevice(DeviceConfig.named("hba"));
        SgTable list = new SgTable(3).add(0x10_0000, PAGE).add(0x40_0000, PAGE).add(0x20_0000, PAGE);
        assertThat(device.dma().mapSg(list, 3, FROM_DEVICE, 0)).isEqualTo(1);
        assertThat(list.nents()).isEqualTo(1);
        assertThat(list.origNents()).isEqualTo(3);
        assertThat(list.dmaLengthBytes(0)).isEqualTo(3 * PAGE);
        for (int i = 1; i < 3; i++) {
            assertThat(list.dmaAddr(i)).isEqualTo(DMA_MAPPING_ERROR);
            assertThat(list.dmaLengthBytes(i)).isZero();
        }
        device.dma().unmapSg(list, 3, FROM_DEVICE, 0);
        pc.requireIdle();
        assertThat(pc.metric(Metric.IOVA_HELD_BYTES)).isZero();
    }

    @Test
    @DisplayName("C2")
    void aListFailsWholeWhenItsSecondElementCannotBeReached(TestMachines machines) {
        Situation pc = Situation.pc(machines, "direct", "swiotlb=noforce");
        SgTable list = new SgTable(2).add(0x10_0000, PAGE).add(HIGH, PAGE);
        list.mapped(2);
        assertThat(pc.narrow().dma().mapSgTable(list, FROM_DEVICE, 0)).isEqualTo(-Errno.EIO);
        assertThat(list.nents()).as("nents untouched").isEqualTo(2);
        pc.requireIdle();
    }

    @Test
    @DisplayName("C2: bounced")
    void theFirstElementsSlotsReturnWhenTheSecondFindsNone(TestMachines machines) {
        Situation pc = Situation.pc(machines, "direct", "swiotlb=512,1,force");
        Device device = pc.machine.addDevice(DeviceConfig.named("hba"));
        pc.fill(HIGH, PAGE, 0x33);
        SgTable list = new SgTable(2).add(HIGH, PAGE).add(HIGH + 0x10_0000, 0x4_0001);
        list.mapped(1);
        assertThat(device.dma().mapSgTable(list, FROM_DEVICE, 0)).isEqualTo(-Errno.EIO);
        assertThat(list.nents()).as("nents untouched").isEqualTo(1);
        assertThat(device.dma().lastFailure().reason()).isEqualTo(FailureReason.EXCEEDS_MAX_MAPPING);
        assertThat(pc.usedSlots()).as("first element unmapped again").isZero();
        assertThat(pc.metric(Metric.POOL_PEAK_SLOTS)).as("it had been mapped").isEqualTo(PAGE / SLOT);
        assertThat(pc.bytes(HIGH, PAGE)).containsOnly(0x33);
        pc.requireIdle();
    }

    @Test
    @DisplayName("C2: behind an IOMMU")
    void aListLargerThanTheAddressSpaceFailsWholeWithENOMEM(TestMachines machines) {
        Situation pc = Situation.pc(machines, "iommu-strict", "");
        Device device = pc.machine.addDevice(DeviceConfig.named("isa").withMask(0xf_ffff));
        SgTable list = new SgTable(2).add(0x10_0000, PAGE).add(0x4000_0000, 0x10_0000);
        list.mapped(2);
        assertThat(device.dma().mapSgTable(list, FROM_DEVICE, 0)).isEqualTo(-Errno.ENOMEM);
        assertThat(list.nents()).as("nents untouched").isEqualTo(2);
        assertThat(device.dma().lastFailure().reason()).isEqualTo(FailureReason.NO_IOVA);
        pc.requireIdle();
    }

    @Test
    @DisplayName("C2: success is exactly 0")
    void successIsZeroAndNeverACount(TestMachines machines) {
        for (String backend : new String[] {"direct", "swiotlb", "iommu-strict", "iommu-lazy", "virt"}) {
            Situation pc = Situation.pc(machines, backend, "swiotlb=512,1");
            SgTable list = new SgTable(2).add(0x10_0000, PAGE).add(0x40_0000, PAGE);
            Device device = pc.machine.addDevice(DeviceConfig.named("hba"));
            assertThat(device.dma().mapSgTable(list, TO_DEVICE, 0)).isZero();
            assertThat(list.nents()).isPositive();
            device.dma().unmapSgTable(list, TO_DEVICE, 0);
        }
    }

    @Test
    @DisplayName("C3")
    void aSegmentLongerThanTheDeviceClaimsIsMappedAllTheSame(TestMachines machines) {
        Situation pc = Situation.pc(machines, "direct", "");
        Device device = pc.machine.addDevice(DeviceConfig.named("hba").withSegments(65536, 0));
        assertThat(device.maxSegmentBytes()).isEqualTo(65536);
        SgTable list = new SgTable(1).add(0x10_0000, 540672);
        assertThat(device.dma().mapSg(list, 1, TO_DEVICE, 0)).isEqualTo(1);
        assertThat(list.dmaAddr(0)).isEqualTo(0x10_0000);
        assertThat(list.dmaLengthBytes(0)).isEqualTo(540672);
        assertThat(pc.machine.log().warnCount()).isZero();
        device.dma().unmapSg(list, 1, TO_DEVICE, 0);
    }

    @Test
    @DisplayName("C3: merging")
    void mergingStopsAtTheLargestSegment(TestMachines machines) {
        Situation pc = Situation.pc(machines, "iommu-strict", "");
        Device device = pc.machine.addDevice(DeviceConfig.named("hba").withSegments(128 << 10, 0));
        SgTable list = new SgTable(16);
        for (int i = 0; i < 16; i++) {
            list.add(0x100_0000 + i * 0x1_0000L, 0x1_0000);
        }
        assertThat(device.dma().mapSg(list, 16, TO_DEVICE, 0)).isEqualTo(8);
        for (int i = 0; i < 8; i++) {
            assertThat(list.dmaLengthBytes(i)).isEqualTo(128 << 10);
        }
        device.dma().unmapSg(list, 16, TO_DEVICE, 0);
        pc.requireIdle();
    }
}
