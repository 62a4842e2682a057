package io.pagewalk.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.ShrinkingMode;
import net.jqwik.api.lifecycle.AfterContainer;
import net.jqwik.api.lifecycle.BeforeContainer;

/**
 * No trace makes a command fail by a fault of its own: lines of every event with numbers at every edge, that fit
 * nothing before them, are checked, replayed and written as tables, or refused as what they are.
 */
class HostileTraceProperties {
    private static final String[] NUMBERS = {
        "0",
        "1",
        "7ff",
        "1000",
        "fffff000",
        "fee00000",
        "100000000",
        "4294967296",
        "80000000",
        "7fffffffffffffff",
        "8000000000000000",
        "fffffffffffff000",
        "ffffffffffffffff",
        "10000000000000000",
        "-1",
        "x",
        ""
    };
    private static final String[] DECIMALS = {
        "0",
        "1",
        "64",
        "4096",
        "258048",
        "524288",
        "2147483647",
        "2147483648",
        "4294967295",
        "4294967296",
        "9223372036854775807",
        "9223372036854775808",
        "18446744073709551615",
        "18446744073709551616",
        "-1",
        "0x10",
        ""
    };
    private static final String[] DIRECTIONS = {"TO_DEVICE", "FROM_DEVICE", "BIDIRECTIONAL", "NONE", "SIDEWAYS"};

    /** Placeholders: D direction, H hexadecimal, N decimal. */
    private static final String[] EVENTS = {
        "dma_map_page: 0:4 dir=D dma_addr=H size=N phys_addr=H attrs=",
        "dma_unmap_page: 0:4 dir=D dma_addr=H size=N attrs=",
        "dma_map_resource: 0:4 dir=D dma_addr=H size=N phys_addr=H attrs=",
        "dma_unmap_resource: 0:4 dir=D dma_addr=H size=N attrs=",
        "dma_sync_single_for_cpu: 0:4 dir=D dma_addr=H size=N",
        "dma_sync_single_for_device: 0:4 dir=D dma_addr=H size=N",
        "dma_alloc: 0:4 dir=BIDIRECTIONAL dma_addr=H size=N virt_addr=0 flags=GFP_KERNEL attrs=",
        "dma_free: 0:4 dir=BIDIRECTIONAL dma_addr=H size=N virt_addr=0 attrs=",
        "dma_map_sg: 0:4 dir=D nents=1/1 ents=1/1 dma_addrs={0xH} sizes={0xH} phys_addrs={0xH} attrs=",
        "dma_map_sg: 0:4 dir=D nents=2/2 ents=1/1 dma_addrs={0xH} sizes={0xH} phys_addrs={0xH,0xH} attrs=",
        "dma_map_sg: 0:4 dir=D nents=0/0 ents=0/0 dma_addrs={} sizes={} phys_addrs={} attrs=",
        "dma_unmap_sg: 0:4 dir=D phys_addrs={0xH} attrs=",
        "dma_unmap_sg: 0:4 dir=D phys_addrs={0xH,0xH} attrs=",
        "dma_sync_sg_for_cpu: 0:4 dir=D dma_addrs={0xH} sizes={0xH}",
        "dma_alloc_sgt: 0:4 dir=D dma_addr=H size=N phys_addrs={0xH} flags=GFP_KERNEL attrs=",
        "dma_free_sgt: 0:4 dir=D dma_addr=H size=N phys_addrs={0xH}",
        "swiotlb_bounced: dev_name: 0:4 dma_mask=H dev_addr=H size=N FORCE",
        "map: IOMMU: iova=0xH - 0xH paddr=0xH size=N",
        "unmap: IOMMU: iova=0xH - 0xH size=N unmapped_size=N"
    };

    private static Path folder = Path.of("");

    @BeforeContainer
    static void makeFolder() throws IOException {
        folder = Files.createTempDirectory("hostile");
    }

    @AfterContainer
    static void removeFolder() throws IOException {
        for (String name : List.of("trace.txt", "tables.json")) {
            Files.deleteIfExists(folder.resolve(name));
        }
        Files.delete(folder);
    }

    private static String pick(Random random, String[] from) {
        return from[random.nextInt(from.length)];
    }

    private static String line(Random random, int number) {
        StringBuilder line = new StringBuilder(String.format("  t-1  [000] .....     4.%06d: ", number));
        for (char c : pick(random, EVENTS).toCharArray()) {
            switch (c) {
                case 'D' -> line.append(pick(random, DIRECTIONS));
                case 'H' -> line.append(pick(random, NUMBERS));
                case 'N' -> line.append(pick(random, DECIMALS));
                default -> line.append(c);
            }
        }
        return line.append('\n').toString();
    }

    /** Half of the lines are an earlier one once more, so that calls meet. */
    private static Path trace(long seed) throws IOException {
        Random random = new Random(seed);
        List<String> lines = new ArrayList<>();
        for (int i = 0; i < 60; i++) {
            String line = line(random, i);
            lines.add(random.nextBoolean() || lines.isEmpty() ? line : lines.get(random.nextInt(lines.size())));
        }
        return Files.writeString(folder.resolve("trace.txt"), String.join("", lines));
    }

    private static void assertHandled(Ran ran) {
        assertThat(ran.err()).doesNotContain("internal error").doesNotContain("Exception");
        assertThat(ran.status()).isIn(0, 1, 66);
    }

    @Property(tries = 60, shrinking = ShrinkingMode.OFF)
    void everyCommandTakesEveryTrace(@ForAll long seed) throws IOException {
        String trace = trace(seed).toString();

        assertHandled(Ran.pagewalk("check", "--leaks", trace));
        assertHandled(Ran.pagewalk("check", "--partial", "--json", trace));
        assertHandled(Ran.pagewalk("compare", "--explain", "--quick", "--touch=edges", trace));
        assertHandled(Ran.pagewalk("tables", "--out", folder.resolve("tables.json") + "", trace));
    }
}
