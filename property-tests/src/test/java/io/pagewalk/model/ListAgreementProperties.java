package io.pagewalk.model;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.Dma;
import io.pagewalk.dma.DmaAttrs;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.kit.Buffer;
import io.pagewalk.kit.Law;
import io.pagewalk.kit.Segments;
import io.pagewalk.kit.TestMachines;
import java.util.ArrayList;
import java.util.List;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Provide;
import net.jqwik.api.statistics.Statistics;

/**
 * Where the rules map a list entry by entry, it is a loop of {@code map_page}: without an IOMMU always
 * (dma-core:DIR-30, DIR-31), behind one for an untrusted device (iommu:SG-19). Twin machines make the calls in both
 * ways.
 */
class ListAgreementProperties {
    @Law
    void aListIsALoopOfPages(
            TestMachines machines,
            @ForAll("shapes") Shape shape,
            @ForAll("lists") List<Segments> lists,
            @ForAll boolean isNarrow,
            @ForAll DmaDirection direction) {
        Device byList = device(machines, shape, isNarrow);
        Device byLoop = device(machines, shape, isNarrow);
        boolean anyFailed = false;
        boolean anyBounced = false;
        for (Segments segments : lists) {
            SgTable table = segments.toSgTable();
            int error = byList.dma().mapSgTable(table, direction, DmaAttrs.NONE);
            List<Long> addresses = loop(byLoop.dma(), segments, direction);
            anyFailed |= error != 0;
            anyBounced |= segments.buffers().stream()
                    .anyMatch(b -> shape.bounces(byList.mask(), b.physAddr(), b.sizeBytes()));
            requireAgreement(segments, table, error, addresses);
            assertThat(byList.skipsSync()).isEqualTo(byLoop.skipsSync());
        }
        Statistics.label("failed")
                .collect(anyFailed)
                .coverage(c -> c.check(true).percentage(p -> p > 2));
        Statistics.label("bounced")
                .collect(anyBounced)
                .coverage(c -> c.check(true).percentage(p -> p > 20));
    }

    private static Device device(TestMachines machines, Shape shape, boolean isNarrow) {
        return machines.watch(shape.start()).addDevice(isNarrow ? shape.narrow() : shape.wide());
    }

    /** Maps one by one; when one fails, unmaps those before it without a copy, as a list does (DIR-31). */
    private static List<Long> loop(Dma dma, Segments segments, DmaDirection direction) {
        List<Long> addresses = new ArrayList<>();
        for (Buffer buffer : segments.buffers()) {
            long dmaAddr = dma.mapPage(buffer.physAddr(), buffer.sizeBytes(), direction, DmaAttrs.NONE);
            addresses.add(dmaAddr);
            if (dmaAddr == Dma.DMA_MAPPING_ERROR) {
                for (int i = 0; i < addresses.size() - 1; i++) {
                    int size = segments.buffers().get(i).sizeBytes();
                    dma.unmapPage(addresses.get(i), size, direction, DmaAttrs.SKIP_CPU_SYNC);
                }
                break;
            }
        }
        return addresses;
    }

    private static void requireAgreement(Segments segments, SgTable table, int error, List<Long> addresses) {
        boolean failed = addresses.contains(Dma.DMA_MAPPING_ERROR);
        assertThat(error).isEqualTo(failed ? -Errno.EIO : 0);
        for (int i = 0; i < addresses.size(); i++) {
            assertThat(Addresses.hex(table.dmaAddr(i)))
                    .as("address of entry %d of %s", i, segments)
                    .isEqualTo(Addresses.hex(addresses.get(i)));
        }
        if (!failed) {
            assertThat(table.nents()).isEqualTo(segments.buffers().size());
            for (int i = 0; i < table.nents(); i++) {
                assertThat(table.dmaLengthBytes(i)).isEqualTo(table.lengthBytes(i));
            }
        }
    }

    @Provide
    Arbitrary<Shape> shapes() {
        return Shape.all().filter(shape -> !shape.isIommu() || !shape.trusted());
    }

    @Provide
    Arbitrary<List<Segments>> lists() {
        return DataModelProperties.buffers()
                .list()
                .ofMinSize(1)
                .ofMaxSize(6)
                .map(Segments::new)
                .list()
                .ofMinSize(1)
                .ofMaxSize(4);
    }
}
