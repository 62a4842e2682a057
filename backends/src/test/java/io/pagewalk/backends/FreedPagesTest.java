package io.pagewalk.backends;

import static io.pagewalk.dma.DmaDirection.BIDIRECTIONAL;
import static io.pagewalk.dma.DmaDirection.FROM_DEVICE;
import static io.pagewalk.dma.DmaDirection.TO_DEVICE;
import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.Dma;
import io.pagewalk.dma.Gfp;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.events.DmaListener;
import io.pagewalk.dma.events.FreedWhileMapped;
import io.pagewalk.dma.memory.KernelLayout;
import io.pagewalk.dma.memory.PageAllocator;
import io.pagewalk.dma.memory.Zone;
import io.pagewalk.dma.scatterlist.SgTable;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.Consumer;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** E14: a page that is freed while mapped is an event that names the mapping, on every backend. */
class FreedPagesTest {
    static final List<String> BACKENDS = List.of("direct", "swiotlb", "iommu-strict", "iommu-lazy", "virt");
    private static final int PAGE = 0x1000;

    /** A machine with a ledger, and what its listener heard. */
    static final class Board implements AutoCloseable {
        final List<FreedWhileMapped> events = new ArrayList<>();
        final Machine machine;
        final Device device;
        final Dma dma;
        final PageAllocator pages;

        Board(String backend) {
            machine = Machine.builder()
                    .ramBytes(32L << 20)
                    .chunkBytes(1 << 16)
                    .backend(backend)
                    .ledger()
                    .listener(clock -> new DmaListener() {
                        @Override
                        public void freedWhileMapped(FreedWhileMapped event) {
                            events.add(event);
                        }
                    })
                    .build();
            device = machine.addDevice(DeviceConfig.named("nic").withMask(-1L));
            dma = device.dma(1);
            pages = machine.pages();
        }

        List<String> log() {
            return machine.log().entries().stream()
                    .filter(e -> e.site().equals("page_freed_while_mapped"))
                    .map(e -> e.text())
                    .toList();
        }

        @Override
        public void close() {
            machine.close();
        }
    }

    private static void onEach(Consumer<Board> law) {
        for (String backend : BACKENDS) {
            try (Board board = new Board(backend)) {
                law.accept(board);
            }
        }
    }

    private static void expect(Board board, long physAddr, long dmaAddr, long sizeBytes, String owner) {
        FreedWhileMapped event = board.events.remove(0);
        assertThat(event.physAddr()).isEqualTo(physAddr);
        assertThat(event.mapping().device()).isSameAs(board.device);
        assertThat(event.mapping().dmaAddr()).isEqualTo(dmaAddr);
        assertThat(event.mapping().sizeBytes()).isEqualTo(sizeBytes);
        assertThat(event.mapping().owner()).isEqualTo(owner);
    }

    @Test
    void aBufferInAPartOfItsPageIsNamedWithItsOwnerAndItsAge() {
        onEach(board -> {
            board.machine.clock().advance(1000);
            long page = board.pages.allocPages(Zone.NORMAL, 0);
            long dmaAddr = board.dma.mapPage(page + 0x40, 0x20, FROM_DEVICE, 0);
            board.dma.tag(dmaAddr, "rx ring");
            board.machine.clock().advance(77);
            board.pages.freePages(page, 0);
            assertThat(board.log())
                    .containsExactly(String.format(
                            "page 0x%x is freed while nic maps it: page mapping 0x%x+0x20 FROM_DEVICE of rx ring,"
                                    + " mapped 77 ns ago",
                            page, dmaAddr));
            assertThat(board.events.get(0).atNanos()).isEqualTo(1077);
            assertThat(board.events.get(0).mapping().sinceNanos()).isEqualTo(1000);
            assertThat(board.events.get(0).mapping().direction()).isEqualTo(FROM_DEVICE);
            expect(board, page, dmaAddr, 0x20, "rx ring");
            assertThat(board.events).isEmpty();
        });
    }

    @Test
    void aBufferThatWasMappedByItsKernelAddressIsNamed() {
        onEach(board -> {
            long page = board.pages.allocPages(Zone.NORMAL, 0);
            long virtAddr = KernelLayout.x86_64().physToVirt(page);
            long dmaAddr = board.dma.mapSingle(virtAddr + 8, 0x100, TO_DEVICE, 0);
            board.pages.freePages(page, 0);
            expect(board, page, dmaAddr, 0x100, "");
            assertThat(board.events).isEmpty();
        });
    }

    @Test
    void theMiddlePageOfABufferOfSeveralIsNamed() {
        onEach(board -> {
            long first = board.pages.allocPages(Zone.NORMAL, 2);
            board.pages.splitPages(first, 2);
            long dmaAddr = board.dma.mapPage(first + 0xfff, 2 * PAGE, BIDIRECTIONAL, 0);
            board.pages.freePages(first + PAGE, 0);
            expect(board, first + PAGE, dmaAddr, 2 * PAGE, "");
            board.pages.freePages(first + 3 * PAGE, 0);
            assertThat(board.events).as("behind the last byte").isEmpty();
            board.pages.freePages(first, 0);
            expect(board, first, dmaAddr, 2 * PAGE, "");
            board.pages.freePages(first + 2 * PAGE, 0);
            expect(board, first + 2 * PAGE, dmaAddr, 2 * PAGE, "");
            assertThat(board.events).isEmpty();
        });
    }

    @Test
    void aBlockThatIsFreedIsAnEventForEachPageAndMapping() {
        onEach(board -> {
            long block = board.pages.allocPages(Zone.NORMAL, 1);
            long first = board.dma.mapPage(block, PAGE + 1, TO_DEVICE, 0);
            long second = board.dma.mapPage(block + PAGE, 0x10, FROM_DEVICE, 0);
            board.pages.freePages(block, 1);
            expect(board, block, first, PAGE + 1, "");
            assertThat(board.events).extracting(FreedWhileMapped::physAddr).containsExactly(block + PAGE, block + PAGE);
            assertThat(board.events).extracting(e -> e.mapping().dmaAddr()).containsExactly(first, second);
        });
    }

    @Test
    @DisplayName("of a list the segment is named, whether it has one entry or several that an IOMMU joined")
    void anEntryInTheMiddleOfAListIsNamed() {
        onEach(board -> {
            long[] page = new long[4];
            SgTable list = new SgTable(4);
            for (int i = 0; i < 4; i++) {
                page[i] = board.pages.allocPages(Zone.NORMAL, 0);
                list.add(i == 3 ? page[i] + 0x80 : page[i], i == 3 ? 0x100 : PAGE);
            }
            int segments = board.dma.mapSg(list, 4, FROM_DEVICE, 0);
            assertThat(segments).isEqualTo(board.machine.backendName().startsWith("iommu") ? 2 : 4);
            board.dma.tag(list, "disk");
            int middle = segments == 4 ? 1 : 0;
            board.pages.freePages(page[1], 0);
            expect(board, page[1], list.dmaAddr(middle), list.dmaLengthBytes(middle), "disk");
            board.pages.freePages(page[3], 0);
            expect(board, page[3], list.dmaAddr(segments - 1), 0x100, "disk");
            assertThat(board.events).isEmpty();
            board.dma.unmapSg(list, 4, FROM_DEVICE, 0);
            board.pages.freePages(page[0], 0);
            board.pages.freePages(page[2], 0);
            assertThat(board.events).isEmpty();
        });
    }

    @Test
    void afterTheUnmapThereIsNoEventAndAnotherMappingOfThePageStillIsOne() {
        onEach(board -> {
            long page = board.pages.allocPages(Zone.NORMAL, 0);
            long gone = board.dma.mapPage(page, PAGE, TO_DEVICE, 0);
            long stays = board.dma.mapPage(page + 0x200, 0x10, TO_DEVICE, 0);
            board.dma.unmapPage(gone, PAGE, TO_DEVICE, 0);
            board.pages.freePages(page, 0);
            expect(board, page, stays, 0x10, "");
            assertThat(board.events).isEmpty();
            board.dma.unmapPage(stays, 0x10, TO_DEVICE, 0);
            assertThat(board.pages.allocPages(Zone.NORMAL, 0)).isEqualTo(page);
            board.pages.freePages(page, 0);
            assertThat(board.events).isEmpty();
            assertThat(board.log()).hasSize(1);
        });
    }

    @Test
    @DisplayName("memory of the DMA API goes when it is freed, and is no streaming mapping")
    void allocationsAreNoEvents() {
        onEach(board -> {
            if (board.machine.backendName().equals("virt")) {
                return; // allocates nothing but what dma-direct does
            }
            board.dma.alloc(2 * PAGE).close();
            var memory = board.dma.memory();
            var pages = memory.allocPages(PAGE, TO_DEVICE, Gfp.KERNEL);
            memory.freePages(PAGE, Objects.requireNonNull(pages).physAddr(), pages.dmaAddr(), TO_DEVICE);
            var apart = memory.noncontiguous().alloc(3 * PAGE, BIDIRECTIONAL, Gfp.KERNEL, 0);
            memory.noncontiguous().free(3 * PAGE, Objects.requireNonNull(apart), BIDIRECTIONAL);
            assertThat(board.events).isEmpty();
            assertThat(board.log()).isEmpty();
        });
    }
}
