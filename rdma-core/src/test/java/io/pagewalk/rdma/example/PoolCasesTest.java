package io.pagewalk.rdma.example;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.Zone;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.rdma.AccessFlags;
import io.pagewalk.rdma.i40iw.Generation;
import io.pagewalk.rdma.i40iw.I40iwConfig;
import io.pagewalk.rdma.i40iw.I40iwDevice;
import io.pagewalk.rdma.mm.Credentials;
import io.pagewalk.rdma.mm.Process;
import io.pagewalk.rdma.rw.RwContext;
import io.pagewalk.rdma.verbs.Cq;
import io.pagewalk.rdma.verbs.ErrPtr;
import io.pagewalk.rdma.verbs.Mr;
import io.pagewalk.rdma.verbs.Owner;
import io.pagewalk.rdma.verbs.Pd;
import io.pagewalk.rdma.verbs.Qp;
import io.pagewalk.rdma.verbs.QpInit;
import io.pagewalk.rdma.verbs.RwInit;
import io.pagewalk.rdma.verbs.VerbsDevice;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Situations of bug reports that touch pools of regions and long lists. */
class PoolCasesTest {
    private static final int PAGE = 4096;
    private static final int ENTRIES = 256;
    private static final int LIKES_REGIONS_FROM = 30;

    private Machine machine = Machine.builder().ramBytes(1 << 20).build();
    private VerbsDevice device;
    private Pd pd;

    private void open(String backend, I40iwConfig config, String commandLine) {
        machine = Machine.builder()
                .ramBytes(128L << 20)
                .chunkBytes(1 << 16)
                .backend(backend)
                .commandLine(commandLine)
                .build();
        device = I40iwDevice.add(
                        "rdma0", machine.addDevice(DeviceConfig.named("nic").withMask(-1L)), config)
                .value();
        pd = device.allocPd(0, "target").value();
    }

    private Qp qp(int contexts) {
        Cq cq = device.createCq(Owner.kernel("target"), 16).value();
        return device.createQp(pd, QpInit.of(cq, cq).withSizes(64, 1, 3).with(RwInit.of(contexts)))
                .value();
    }

    /** 1 MiB of scattered pages, read from a peer: what init says, for each of so many reads at once. */
    private List<Integer> reads(Qp qp, int count) {
        List<Integer> results = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            SgTable sg = new SgTable(ENTRIES);
            for (int page = 0; page < ENTRIES; page++) {
                sg.add(machine.pages().allocPages(Zone.NORMAL, 1), PAGE);
            }
            results.add(new RwContext(device).init(qp, 0, 1, sg, 0, 0x1000, 7, DmaDirection.FROM_DEVICE));
        }
        return results;
    }

    @Test
    @DisplayName("H9")
    void aReadBeyondThePoolGoesBySegmentsWhereItMay() {
        open("direct", I40iwConfig.e810().withSegments(13, 13, LIKES_REGIONS_FROM), "");
        Qp qp = qp(2);
        assertThat(reads(qp, 3))
                .as("registration and read, twice; then 86 reads of 3")
                .containsExactly(2, 2, 86);
        assertThat(qp.mrsUsed()).isEqualTo(2);
    }

    @Test
    @DisplayName("H9")
    void aReadBeyondThePoolHasToWaitWhereRegionsAreAMust() {
        open("direct", I40iwConfig.x722(Generation.IRDMA), "");
        assertThat(reads(qp(2), 3)).containsExactly(2, 2, -Errno.EAGAIN);
        open("direct", I40iwConfig.e810(), "ib_core.force_mr=1");
        assertThat(reads(qp(2), 3)).containsExactly(2, 2, -Errno.EAGAIN);
    }

    @Test
    @DisplayName("H9")
    void translationMakesOneEntryWhichNeedsNoRegion() {
        open("iommu-strict", I40iwConfig.e810().withSegments(13, 13, LIKES_REGIONS_FROM), "");
        machine.devices().forEach(d -> assertThat(d.maxSegmentBytes()).isEqualTo(65536));
        Qp qp = qp(2);
        assertThat(reads(qp, 3)).as("16 segments of 64 KiB").containsExactly(6, 6, 6);
        assertThat(qp.mrsUsed()).isZero();
    }

    @Test
    @DisplayName("H18")
    void whicheverAllocationOfABigRegistrationFailsNothingIsLeft() {
        open("direct", I40iwConfig.x722(Generation.IRDMA).withPbles(0x1000, 3 * 512), "");
        I40iwDevice driver = (I40iwDevice) device.provider();
        Process process = Process.create(machine);
        process.setMemlockLimit(Credentials.RLIM_INFINITY);
        int pages = 1200;
        long addr = process.mmap((long) pages * PAGE);
        for (int start = 0; start < 3; start++) {
            for (int page = start; page < pages; page += 3) {
                process.putLong(addr + (long) page * PAGE, page);
            }
        }
        Set<String> failed = new TreeSet<>();
        String failedAt;
        int n = 0;
        do {
            machine.failures().failNth(++n);
            ErrPtr<Mr> made =
                    device.regUserMr(pd, 0, process, addr, (long) pages * PAGE, addr, AccessFlags.LOCAL_WRITE);
            failedAt = machine.failures().failedAt();
            machine.failures().disarm();
            if (made.isErr()) {
                failed.add(String.valueOf(failedAt));
            } else {
                device.deregMr(made.value(), 0);
            }
            assertThat(driver.stags().inUse()).isZero();
            assertThat(driver.pbles().allocatedPbles()).isEqualTo(driver.pbles().freedPbles());
            assertThat(process.addressSpace().pinnedVm()).isZero();
            assertThat(machine.scatterlists().liveChunks()).isEmpty();
        } while (failedAt != null);
        assertThat(failed).contains("sg.chunk", "umem.struct", "umem.page_list", "i40iw.mr", "i40iw.cqp_request");
    }
}
