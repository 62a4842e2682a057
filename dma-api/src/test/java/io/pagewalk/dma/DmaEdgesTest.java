package io.pagewalk.dma;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.fake.World;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.dma.spi.CoherentPages;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.stream.IntStream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Ends of ranges, of rates and of time. */
class DmaEdgesTest {
    @Test
    void timersOfOneMomentFireInTheOrderInWhichTheyWereArmed() {
        VirtualClock clock = new VirtualClock();
        List<Integer> fired = new ArrayList<>();
        List<KernelTimer> timers = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            int number = i;
            timers.add(clock.timer(cpu -> fired.add(number)));
        }
        for (int i = 19; i >= 0; i--) {
            timers.get(i).arm(100, 0);
        }
        timers.get(7).cancel();
        clock.advance(0);
        assertThat(fired).isEmpty();
        clock.advance(100);
        assertThat(fired)
                .containsExactlyElementsOf(IntStream.range(0, 20)
                        .map(i -> 19 - i)
                        .filter(i -> i != 7)
                        .boxed()
                        .toList());
    }

    @Test
    @DisplayName("SWM-6: ten texts in five seconds, counted from the first of them")
    void aRateLetsTenPassInFiveSeconds() {
        VirtualClock clock = new VirtualClock();
        KernelLog.Site site = new KernelLog(clock).site("here");
        clock.advance(7_000_000_000L);
        for (int i = 0; i < 10; i++) {
            assertThat(site.isWithinRate()).isTrue();
        }
        assertThat(site.isWithinRate()).isFalse();
        clock.advance(4_999_999_999L);
        assertThat(site.isWithinRate()).isFalse();
        clock.advance(1);
        assertThat(site.isWithinRate()).isTrue();
    }

    @Test
    @DisplayName("FE-14: a kernel without DMA says why nothing is mapped")
    void aKernelWithoutDmaNamesItsReason() {
        KernelConfig kernel = KernelConfig.distribution().withHasDma(false);
        Dma dma = World.make(World.builder().kernelConfig(kernel)).dma;
        assertThat(dma.mapPage(0x1000, 16, DmaDirection.TO_DEVICE, 0)).isEqualTo(Dma.DMA_MAPPING_ERROR);
        assertThat(dma.lastFailure().reason()).isEqualTo(FailureReason.NO_OPERATION);
        assertThat(dma.lastFailure().errno()).isEqualTo(Errno.EOPNOTSUPP);
        Dma other = World.make(World.builder().kernelConfig(kernel)).dma;
        assertThat(other.mapSgTable(new SgTable(1).add(0x1000, 16), DmaDirection.TO_DEVICE, 0))
                .isEqualTo(-Errno.EOPNOTSUPP);
        assertThat(other.lastFailure().reason()).isEqualTo(FailureReason.NO_OPERATION);
    }

    @Test
    void aBufferKnowsItsSizeForeverAndItsAddressWhileItIsOpen() {
        World world = World.make();
        world.backend.allocateFrom(world.machine.pages());
        CoherentBuffer buffer = Objects.requireNonNull(world.dma.allocCoherent(0x1801, 0));
        assertThat(buffer.sizeBytes()).isEqualTo(0x1801);
        assertThat(buffer.cpuAddr()).isNotZero();
        buffer.close();
        assertThat(buffer.sizeBytes()).isEqualTo(0x1801);
        assertThatThrownBy(buffer::cpuAddr).isInstanceOf(IllegalStateException.class);
    }

    @Test
    @DisplayName("COH-2, COH-3: what lies further on in a region lies as far on in all three address spaces")
    void offsetsOfARegionAreTheSameEverywhere() {
        World world = World.make();
        assertThat(world.device.declareCoherentMemory(0x10000, 0x9000_0000L, 0x4000))
                .isZero();
        CoherentRegion region = Objects.requireNonNull(world.device.coherentRegion());
        CoherentPages first = Objects.requireNonNull(region.alloc(world.device, 0x1000));
        CoherentPages second = Objects.requireNonNull(region.alloc(world.device, 0x2000));
        assertThat(first.dmaAddr()).isEqualTo(0x9000_0000L);
        assertThat(first.pagePhysAddr(0)).isEqualTo(0x10000);
        assertThat(second.dmaAddr()).isEqualTo(0x9000_2000L);
        assertThat(second.pagePhysAddr(0)).isEqualTo(0x12000);
        assertThat(second.pagePhysAddr(1)).isEqualTo(0x13000);
        assertThat(second.cpuAddr() - first.cpuAddr()).isEqualTo(0x2000);
        assertThat(region.alloc(world.device, 0x1000)).isNotNull();
        assertThat(region.alloc(world.device, 0x1000)).isNull();
        CoherentRegion whole = Objects.requireNonNull(region(0x4000));
        assertThat(whole.alloc(world.device, 0x4000)).as("all of it").isNotNull();
    }

    private static CoherentRegion region(long sizeBytes) {
        World world = World.make();
        world.device.declareCoherentMemory(0x10000, 0x9000_0000L, sizeBytes);
        return Objects.requireNonNull(world.device.coherentRegion());
    }

    @Test
    @DisplayName("SEL-5: the architecture is asked by the end of each buffer, physical for a map and DMA for an unmap")
    void theArchitectureIsAskedByEnds() {
        List<String> asked = new ArrayList<>();
        ArchMapDirect escape = new ArchMapDirect() {
            @Override
            public boolean mapsPage(Device device, long endPhysAddr) {
                return asked.add(Long.toHexString(endPhysAddr));
            }

            @Override
            public boolean unmapsPage(Device device, long endDmaAddr) {
                return asked.add("dma " + Long.toHexString(endDmaAddr));
            }
        };
        World world = World.make(
                World.builder().kernelConfig(KernelConfig.distribution().withArchMapDirect(escape)));
        SgTable sg = new SgTable(2).add(0x1000, 0x10).add(0x2000, 0x20);
        assertThat(world.dma.mapSg(sg, 2, DmaDirection.TO_DEVICE, 0)).isEqualTo(2);
        world.dma.unmapSg(sg, 2, DmaDirection.TO_DEVICE, 0);
        world.dma.mapPage(0x3000, 0x30, DmaDirection.TO_DEVICE, 0);
        world.dma.unmapPage(0x3000, 0x40, DmaDirection.TO_DEVICE, 0);
        assertThat(asked).containsExactly("1010", "2020", "dma 1010", "dma 2020", "3030", "dma 3040");
    }

    @Test
    void limitsOfABuilderAreInside() {
        assertThat(World.builder().cpus(1).build().cpus()).isEqualTo(1);
        assertThat(World.builder().cpus(8192).build().cpus()).isEqualTo(8192);
        assertThatThrownBy(() -> World.builder().cpus(8193)).hasMessage("a machine has 1 to 8192 CPUs, not 8193");
        assertThatThrownBy(() -> World.builder().cpus(0)).hasMessage("a machine has 1 to 8192 CPUs, not 0");
        DeviceConfig any = DeviceConfig.named("nic").withRequesterId(5).withRequesterId(DeviceConfig.ANY_REQUESTER_ID);
        assertThat(any.requesterId()).isEqualTo(DeviceConfig.ANY_REQUESTER_ID);
    }

    @Test
    @DisplayName("SG-2: a kernel may have been built without flags of entries")
    void flagsOfEntriesAreAnOption() {
        KernelConfig kernel = KernelConfig.distribution();
        assertThat(kernel.sgDmaFlags()).isTrue();
        assertThat(kernel.withSgDmaFlags(false).sgDmaFlags()).isFalse();
    }
}
