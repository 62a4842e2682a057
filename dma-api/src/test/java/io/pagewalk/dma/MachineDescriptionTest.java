package io.pagewalk.dma;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.events.DmaListener;
import io.pagewalk.dma.fake.FakeBackend;
import io.pagewalk.dma.fake.FakeProvider;
import io.pagewalk.dma.fake.World;
import io.pagewalk.dma.memory.CmaAreas;
import io.pagewalk.dma.memory.PhysRange;
import io.pagewalk.dma.spi.BusPort;
import io.pagewalk.dma.spi.CoherentPages;
import io.pagewalk.dma.spi.DmaBackend;
import io.pagewalk.dma.spi.DmaOps;
import io.pagewalk.dma.spi.DummyOps;
import io.pagewalk.dma.spi.MetricSink;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** A machine shows what its builder was told, and a backend that says nothing of itself promises nothing. */
class MachineDescriptionTest {
    private static final PhysRange WINDOW = PhysRange.ofSize(0xe000_0000L, 0x1000);
    private static final RestrictedPool POOL = RestrictedPool.of("wifi", PhysRange.ofSize(0x12000, 0x2000));

    /** A backend with nothing but what it must have. */
    private static final class BareBackend implements DmaBackend {
        @Override
        public DmaOps attach(Device device) {
            return new DummyOps();
        }

        @Override
        public BusPort port(Device device) {
            return new BusPort() {
                @Override
                public long translate(long dmaAddr, Access access) {
                    return dmaAddr;
                }

                @Override
                public String faultText(int code) {
                    return "";
                }
            };
        }

        @Override
        public void report(MetricSink sink) {}

        @Override
        public void checkStructure(Consumer<String> violation) {}

        @Override
        public void checkIdle(Consumer<String> violation) {}
    }

    @Test
    void aMachineShowsWhatItsBuilderWasTold() {
        PeerToPeer judge = (client, provider) -> PeerToPeer.Route.BUS_ADDR;
        CmaAreas areas = new CmaAreas().with("video", PhysRange.ofSize(0x10000, 0x1000));
        Machine machine = World.builder()
                .commandLine("a=1")
                .kernelModel(KernelModel.LINUX_5)
                .hostBridgeWindows(List.of(WINDOW))
                .peerToPeer(judge)
                .cma(areas)
                .restrictedPools(POOL)
                .build();
        assertThat(machine.commandLine()).isEqualTo("a=1");
        assertThat(machine.kernelModel()).isEqualTo(KernelModel.LINUX_5);
        assertThat(machine.hostBridgeWindows()).containsExactly(WINDOW);
        assertThat(machine.peerToPeer()).isSameAs(judge);
        assertThat(machine.restrictedPools()).containsExactly(POOL);
        assertThat(machine.cma().named("video").range()).isEqualTo(PhysRange.ofSize(0x10000, 0x1000));
        machine.frames().get(0x10);
        assertThat(machine.frames().refCount(0x10)).isEqualTo(1);
    }

    @Test
    @DisplayName("SWX-1, ALC-9: the page allocator keeps off what was set aside")
    void whatIsSetAsideIsNotHandedOut() {
        long all = World.builder().build().pages().freeBytes();
        Machine machine = World.builder()
                .cma(new CmaAreas().with("video", PhysRange.ofSize(0x10000, 0x1000)))
                .restrictedPools(POOL)
                .build();
        assertThat(machine.pages().freeBytes()).isEqualTo(all - 0x3000);
        assertThat(machine.pages().hasFreePagesWithin(0x10000, 0x1000)).isFalse();
        assertThat(machine.pages().hasFreePagesWithin(0x10000, 0x1001)).isTrue();
        assertThat(machine.pages().hasFreePagesWithin(0x12000, 0x2000)).isFalse();
        assertThat(machine.pages().hasFreePagesWithin(0x11fff, 0x2000)).isTrue();
        assertThat(machine.pages().hasFreePagesWithin(0x13fff, 2)).isTrue();
        assertThatThrownBy(() -> machine.pages().hasFreePagesWithin(0x10000, 0))
                .isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void whatIsSetAsideMustBeRam() {
        MachineBuilder outside =
                World.builder().restrictedPools(RestrictedPool.of("far", PhysRange.ofSize(0x9000, 0x1000)));
        assertThatThrownBy(outside::build)
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("0x9000+0x1000");
        Machine inside = World.builder()
                .restrictedPools(RestrictedPool.of("near", PhysRange.ofSize(0x1000, 0x1000)))
                .build();
        assertThat(inside.pages().freeBytes())
                .as("RAM that nobody hands out needs no keeping off")
                .isEqualTo(World.builder().build().pages().freeBytes());
    }

    @Test
    void whatIsSetAsideMayTouchAndNotOverlap() {
        CmaAreas areas = new CmaAreas().with("video", PhysRange.ofSize(0x12000, 0x1000));
        RestrictedPool before = RestrictedPool.of("a", PhysRange.ofSize(0x11000, 0x1000));
        RestrictedPool behind = RestrictedPool.of("b", PhysRange.ofSize(0x13000, 0x1000));
        assertThat(World.builder()
                        .cma(areas)
                        .restrictedPools(before, behind)
                        .build()
                        .restrictedPools())
                .containsExactly(before, behind);
        for (PhysRange range : List.of(
                PhysRange.ofSize(0x11000, 0x1001),
                PhysRange.ofSize(0x12fff, 0x1000),
                PhysRange.ofSize(0x12000, 0x1000),
                PhysRange.ofSize(0x11000, 0x3000))) {
            MachineBuilder builder = World.builder().cma(areas).restrictedPools(RestrictedPool.of("c", range));
            assertThatThrownBy(builder::build)
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("regions set aside overlap");
        }
        MachineBuilder twice =
                World.builder().restrictedPools(before, RestrictedPool.of("a", PhysRange.ofSize(0x14000, 0x1000)));
        assertThatThrownBy(twice::build).hasMessage("two restricted pools are called a");
    }

    @Test
    void aBareBackendPromisesNothing() {
        BareBackend backend = new BareBackend();
        Device device = World.make().device;
        DmaOps attached = backend.attach(device);
        assertThat(backend.directOps(device, attached)).isSameAs(attached);
        assertThat(backend.blocksAfterUnmap()).isFalse();
        assertThat(backend.ownsAddresses()).isFalse();
        assertThat(backend.part(String.class)).isNull();
        BusPort port = backend.port(device);
        assertThat(port.beginAccess()).isZero();
        assertThat(port.onWires()).isTrue();
        assertThat(port.spanBytes(0x1fff)).isEqualTo(1);
        assertThat(port.spanBytes(0x2000)).isEqualTo(0x1000);
        assertThat(new FakeProvider().order()).as("behind the built-in ones").isEqualTo(1000);
        assertThat(new FakeProvider().aliases()).isEmpty();
    }

    @Test
    void aMachineAnswersAsItsBackendDoes() {
        Machine machine = World.builder().build();
        assertThat(machine.blocksAfterUnmap()).isFalse();
        assertThat(machine.ownsAddresses()).isFalse();
        assertThat(machine.part(FakeBackend.class)).isNull();
        machine.quiesce();
        machine.close();
        assertThat(FakeBackend.of(machine).calls).containsExactly("quiesce", "close");
    }

    @Test
    @DisplayName("FE-21: the unmap of a resource is told before it happens, as that of a page")
    void listenersHearOfUnmappedResources() {
        List<String> heard = new ArrayList<>();
        World world = World.make(World.builder().listener(clock -> new DmaListener() {
            @Override
            public void unmappingPage(Device device, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction) {
                heard.add(device + " " + cpu + " " + Long.toHexString(dmaAddr) + "+" + sizeBytes + " " + direction);
            }
        }));
        world.device.dma(1).unmapResource(0xfe00_0000L, 16, DmaDirection.TO_DEVICE, 0);
        assertThat(heard).containsExactly("nic 1 fe000000+16 TO_DEVICE");
    }

    @Test
    void aMappingKnowsWhatWasMapped() {
        DmaMapping mapping = World.make().dma.map(0x1000, 16, DmaDirection.TO_DEVICE);
        assertThat(mapping.sizeBytes()).isEqualTo(16);
        assertThat(mapping.direction()).isEqualTo(DmaDirection.TO_DEVICE);
        mapping.close();
    }

    @Test
    void kernelOptionsWithoutAGroupOfTheirOwn() {
        ArchDmaAlloc hook = new ArchDmaAlloc() {
            @Override
            public @Nullable CoherentPages alloc(Device device, long sizeBytes, int gfp, int attrs) {
                return null;
            }

            @Override
            public void free(Device device, CoherentPages pages, int attrs) {}
        };
        assertThat(ArchConfig.x86().dmaAlloc()).isNull();
        assertThat(ArchConfig.x86().withDmaAlloc(hook).dmaAlloc()).isSameAs(hook);
        KernelConfig kernel = KernelConfig.distribution();
        assertThat(kernel.iommuDefault()).isEqualTo(KernelConfig.IommuDefault.LAZY);
        assertThat(kernel.withIommuDefault(KernelConfig.IommuDefault.STRICT).iommuDefault())
                .isEqualTo(KernelConfig.IommuDefault.STRICT);
    }
}
