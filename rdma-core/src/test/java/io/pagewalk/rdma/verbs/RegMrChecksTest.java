package io.pagewalk.rdma.verbs;

import static io.pagewalk.dma.KernelModel.LINUX_5;
import static io.pagewalk.dma.KernelModel.LINUX_6_12;
import static io.pagewalk.rdma.AccessFlags.FLUSH_GLOBAL;
import static io.pagewalk.rdma.AccessFlags.FLUSH_PERSISTENT;
import static io.pagewalk.rdma.AccessFlags.HUGETLB;
import static io.pagewalk.rdma.AccessFlags.LOCAL_WRITE;
import static io.pagewalk.rdma.AccessFlags.MW_BIND;
import static io.pagewalk.rdma.AccessFlags.ON_DEMAND;
import static io.pagewalk.rdma.AccessFlags.REMOTE_ATOMIC;
import static io.pagewalk.rdma.AccessFlags.REMOTE_READ;
import static io.pagewalk.rdma.AccessFlags.REMOTE_WRITE;
import static io.pagewalk.rdma.AccessFlags.ZERO_BASED;
import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.Errno;
import io.pagewalk.dma.KernelModel;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Which registrations of user space never reach a driver (rdma:UV-1, ACC-2 to ACC-5). */
class RegMrChecksTest {
    private static final DeviceCaps NONE = new DeviceCaps(false, false, false);
    private static final DeviceCaps ALL = new DeviceCaps(true, true, true);
    private static final int UNKNOWN = 0x400;
    private static final long ADDR = 0x7f00_0000_0010L;

    private static int check(DeviceCaps caps, int access) {
        return RegMrChecks.checkAccess(caps, LINUX_6_12, access);
    }

    @Test
    @DisplayName("rdma:UV-1: memory and the peer's address begin at the same place in a page")
    void theOffsetInThePageIsTheSame() {
        assertThat(RegMrChecks.checkPageOffset(ADDR, ADDR)).isZero();
        assertThat(RegMrChecks.checkPageOffset(ADDR, 0x10)).isZero();
        assertThat(RegMrChecks.checkPageOffset(ADDR, 0x8000_0000_0000_0010L)).isZero();
        assertThat(RegMrChecks.checkPageOffset(ADDR, -4096L + 0x10)).isZero();
        assertThat(RegMrChecks.checkPageOffset(ADDR, ADDR + 1)).isEqualTo(-Errno.EINVAL);
        assertThat(RegMrChecks.checkPageOffset(ADDR, ADDR ^ 0x800)).isEqualTo(-Errno.EINVAL);
        assertThat(RegMrChecks.checkPageOffset(ADDR, ADDR ^ 0x1000)).isZero();
    }

    @Test
    @DisplayName("rdma:UV-1: the offset is judged before the rights")
    void theOffsetComesBeforeTheRights() {
        assertThat(RegMrChecks.check(NONE, LINUX_6_12, ADDR, ADDR + 1, ON_DEMAND))
                .isEqualTo(-Errno.EINVAL);
        assertThat(RegMrChecks.check(NONE, LINUX_6_12, ADDR, ADDR, ON_DEMAND)).isEqualTo(-Errno.EOPNOTSUPP);
        assertThat(RegMrChecks.check(NONE, LINUX_6_12, ADDR, 0x10, LOCAL_WRITE)).isZero();
    }

    @ParameterizedTest
    @EnumSource(KernelModel.class)
    @DisplayName("rdma:ACC-2: remote writes and atomics need the local write")
    void whatThePeerWritesTheOwnerMayWrite(KernelModel model) {
        for (int remote : new int[] {REMOTE_WRITE, REMOTE_ATOMIC, REMOTE_WRITE | REMOTE_ATOMIC | REMOTE_READ}) {
            assertThat(RegMrChecks.checkAccess(ALL, model, remote)).isEqualTo(-Errno.EINVAL);
            assertThat(RegMrChecks.checkAccess(NONE, model, remote | LOCAL_WRITE))
                    .isZero();
        }
        for (int harmless : new int[] {0, REMOTE_READ, MW_BIND, ZERO_BASED, HUGETLB}) {
            assertThat(RegMrChecks.checkAccess(NONE, model, harmless)).isZero();
        }
    }

    @Test
    @DisplayName("rdma:ACC-1, ACC-2, ACC-4: bits without a name are refused unless they are optional")
    void unknownBitsAreRefusedUnlessOptional() {
        for (int bit = 10; bit < 32; bit++) {
            boolean optional = bit >= 20 && bit < 30;
            assertThat(check(ALL, LOCAL_WRITE | 1 << bit)).as("bit %d", bit).isEqualTo(optional ? 0 : -Errno.EINVAL);
            assertThat(RegMrChecks.checkAccess(ALL, LINUX_5, 1 << bit)).isZero();
        }
    }

    @Test
    @DisplayName("rdma:ACC-2, ACC-3: pages on demand need a device that can; a 5.x kernel answers otherwise")
    void onDemandNeedsADeviceThatCan() {
        assertThat(check(NONE, ON_DEMAND)).isEqualTo(-Errno.EOPNOTSUPP);
        assertThat(check(ALL, ON_DEMAND)).isZero();
        assertThat(RegMrChecks.checkAccess(NONE, LINUX_5, ON_DEMAND)).isEqualTo(-Errno.EINVAL);
        assertThat(RegMrChecks.checkAccess(ALL, LINUX_5, ON_DEMAND)).isZero();
    }

    @Test
    @DisplayName("rdma:ACC-2: each flush needs its own capability")
    void eachFlushNeedsItsCapability() {
        assertThat(check(new DeviceCaps(false, true, false), FLUSH_GLOBAL)).isZero();
        assertThat(check(new DeviceCaps(false, true, false), FLUSH_PERSISTENT)).isEqualTo(-Errno.EOPNOTSUPP);
        assertThat(check(new DeviceCaps(false, false, true), FLUSH_PERSISTENT)).isZero();
        assertThat(check(new DeviceCaps(true, false, true), FLUSH_GLOBAL)).isEqualTo(-Errno.EOPNOTSUPP);
        assertThat(check(ALL, FLUSH_GLOBAL | FLUSH_PERSISTENT)).isZero();
    }

    @Test
    @DisplayName("rdma:ACC-2: the order: remote without local, unknown, on demand, flush")
    void theOrderOfTheChecks() {
        assertThat(check(NONE, REMOTE_WRITE | ON_DEMAND)).isEqualTo(-Errno.EINVAL);
        assertThat(check(NONE, UNKNOWN | ON_DEMAND)).isEqualTo(-Errno.EINVAL);
        assertThat(check(NONE, UNKNOWN | FLUSH_GLOBAL)).isEqualTo(-Errno.EINVAL);
        assertThat(RegMrChecks.checkAccess(NONE, LINUX_5, ON_DEMAND | FLUSH_GLOBAL))
                .isEqualTo(-Errno.EINVAL);
    }
}
