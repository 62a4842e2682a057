package io.pagewalk.rdma.rw;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.Errno;
import io.pagewalk.rdma.AccessFlags;
import io.pagewalk.rdma.mm.Process;
import io.pagewalk.rdma.verbs.Mr;
import io.pagewalk.rdma.verbs.Pd;
import io.pagewalk.rdma.verbs.ProviderOp;
import io.pagewalk.rdma.verbs.Restrack;
import io.pagewalk.rdma.verbs.UverbsFile;
import java.util.Objects;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** What the core does for providers that have what neither rxe nor the adapters have. */
class OtherProvidersTest {
    private static final int LW = AccessFlags.LOCAL_WRITE;
    private static final int PAGE = RwWorld.PAGE;

    private final RwWorld world = new RwWorld();

    @Test
    @DisplayName("rdma:UV-7, PD-5, MR-7: a region of a shared buffer is checked, counted and listed like any other")
    void aRegionOfASharedBufferIsCountedAndListed() {
        UverbsFile file = UverbsFile.open(world.device, Process.create(world.machine));
        int pd = file.allocPd();
        assertThat(file.regDmabufMr(pd, 3, 0, PAGE, 0, LW)).as("no such call").isEqualTo(-Errno.EOPNOTSUPP);
        world.provider.ops.add(ProviderOp.REG_DMABUF_MR);
        assertThat(file.regDmabufMr(pd, 3, 1, PAGE, 2, -1)).as("offset first").isEqualTo(-Errno.EINVAL);
        assertThat(file.regDmabufMr(pd, 3, 0, PAGE, 0, LW | AccessFlags.MW_BIND))
                .as("a right that it cannot have")
                .isEqualTo(-Errno.EINVAL);
        assertThat(file.regDmabufMr(pd, 3, 0, PAGE, 0, AccessFlags.REMOTE_WRITE))
                .as("rdma:ACC-2")
                .isEqualTo(-Errno.EINVAL);
        assertThat(file.regDmabufMr(77, 3, 0, PAGE, 0, LW)).isEqualTo(-Errno.ENOENT);
        assertThat(world.provider.liveMrs).isZero();

        int handle = file.regDmabufMr(pd, 3, 0x5_0123, PAGE, 0x9123, LW | AccessFlags.RELAXED_ORDERING);
        Mr mr = Objects.requireNonNull(file.mr(handle));
        Pd domain = Objects.requireNonNull(file.pd(pd));
        assertThat(world.provider.allocated).containsExactly("dmabuf 3 " + 0x5_0123);
        assertThat(mr.iova()).as("as the provider says").isEqualTo(0x9123);
        assertThat(domain.useCount()).isOne();
        assertThat(world.device.restrack().count(Restrack.Kind.MR)).isOne();
        assertThat(file.deallocPd(pd)).isEqualTo(-Errno.EBUSY);
        assertThat(file.deregMr(0, handle)).isZero();
        assertThat(domain.useCount()).isZero();
        assertThat(world.device.restrack().count(Restrack.Kind.MR)).isZero();
        assertThat(file.deallocPd(pd)).isZero();
    }

    @Test
    void aSharedBufferThatTheProviderRefusesLeavesNothing() {
        UverbsFile file = UverbsFile.open(world.device, Process.create(world.machine));
        int pd = file.allocPd();
        world.provider.ops.add(ProviderOp.REG_DMABUF_MR);
        world.machine.failures().failNth("plain.mr", 1);
        assertThat(file.regDmabufMr(pd, 3, 0, PAGE, 0, LW)).isEqualTo(-Errno.ENOMEM);
        assertThat(file.objects()).isOne();
        assertThat(Objects.requireNonNull(file.pd(pd)).useCount()).isZero();
        assertThat(world.device.restrack().count(Restrack.Kind.MR)).isZero();
    }

    @Test
    @DisplayName("rdma:PD-2, PD-3: a device's own key of all memory stays the domain's, whatever the peer is given")
    void aDeviceWithAKeyOfAllMemoryKeepsIt() {
        assertThat(world.pd.internalMr()).isNull();
        assertThat(world.pd.localDmaLkey()).isEqualTo(PlainProvider.LOCAL_DMA_LKEY);
        Pd global = world.device.allocPd(Pd.UNSAFE_GLOBAL_RKEY, "old_ulp").value();
        assertThat(global.localDmaLkey()).isEqualTo(PlainProvider.LOCAL_DMA_LKEY);
        assertThat(global.unsafeGlobalRkey()).isEqualTo(0x100);
        assertThat(world.provider.dmaMrAccess).containsExactly(AccessFlags.REMOTE_READ | AccessFlags.REMOTE_WRITE);
        assertThat(world.device.deallocPd(global, 0)).isZero();
        assertThat(world.provider.liveMrs).isZero();
    }
}
