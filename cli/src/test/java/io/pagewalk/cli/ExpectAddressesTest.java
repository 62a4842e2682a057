package io.pagewalk.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code pagewalk compare --expect-addresses} from the command line. */
class ExpectAddressesTest {
    private static final String POOL = """
            nr_cpu_ids:2
            Kernel command line: swiotlb=256,force
            software IO TLB: area num 2.
            software IO TLB: mapped [mem 0x10000000-0x10080000] (0MB)
            """;
    private static final String STRICT = """
            nr_cpu_ids:2
            iommu: DMA domain TLB invalidation policy: strict mode
            DMAR: dmar0: reg_base_addr fed90000 ver 1:0 cap d2008c222f0606 ecap f00f4a
            pci_bus 0000:00: root bus resource [mem 0xc0000000-0xfebfffff window]
            DMAR: Intel(R) Virtualization Technology for Directed I/O
            """;
    private static final String BOUNCE = """
            fio-7 [000] ..... 1.000001: swiotlb_bounced: dev_name: nvme0 dma_mask=ffffffffffffffff dev_addr=5000 size=512 FORCE
            fio-7 [000] ..... 1.000002: dma_map_page: nvme0 dir=TO_DEVICE dma_addr=ADDR size=512 phys_addr=5000 attrs=
            """;
    private static final String OVERLAPPED = """
            fio-7 [000] ..... 1.000001: map: IOMMU: iova=0xfffff000 - 0x100000000 paddr=0x5000 size=4096
            fio-7 [000] ..... 1.000002: dma_map_page: nvme0 dir=TO_DEVICE dma_addr=fffff000 size=4096 phys_addr=5000 attrs=
            fio-7 [000] d.h1. 1.000003: unmap: IOMMU: iova=0xfffff000 - 0x100000000 size=4096 unmapped_size=4096
            fio-7 [000] d.h1. 1.000004: dma_unmap_page: nvme0 dir=TO_DEVICE dma_addr=fffff000 size=4096 attrs=
            fio-7 [000] ..... 1.000005: map: IOMMU: iova=0xffffe000 - 0xfffff000 paddr=0x5000 size=4096
            fio-7 [000] ..... 1.000006: dma_map_page: nvme0 dir=TO_DEVICE dma_addr=ffffe000 size=4096 phys_addr=5000 attrs=
            """;

    @TempDir
    Path folder;

    private String text(String name, String content) throws IOException {
        return Files.writeString(folder.resolve(name), content).toString();
    }

    private static Ran expect(String... more) {
        return Ran.pagewalk(Stream.concat(Stream.of("compare", "--expect-addresses"), Arrays.stream(more))
                .toArray(String[]::new));
    }

    private static void assertRefused(Ran ran, int status, String... parts) {
        assertThat(ran.status()).isEqualTo(status);
        assertThat(ran.err()).startsWith("pagewalk: ").doesNotContain("\tat ");
        assertThat(List.of(parts)).allMatch(part -> ran.err().contains(part));
    }

    @Test
    void theBundledTraceIsPredictedByItsBundledBootLog() {
        Ran ran = expect();
        assertThat(ran.err()).isEmpty();
        assertThat(ran.status()).isZero();
        assertThat(ran.row("pages")).containsExactly("9,147 of 9,147");
        assertThat(ran.row("list segments")).containsExactly("11,642 of 11,642");
        assertThat(ran.row("all")).containsExactly("20,789 of 20,789");
        assertThat(ran.out())
                .contains(
                        "dmesg    dmesg-direct (bundled)",
                        "machine  direct, bounced where a mask does not reach, CPUs: 2",
                        "pool     at 0x7a65a000, 32,768 slots in 2 areas",
                        "note     17 coherent allocations (dma_alloc), whose pages the page allocator picks",
                        "100.00 %",
                        "Every recorded address came out.")
                .doesNotContain("Not predicted");
    }

    @Test
    void anAddressThatDoesNotComeOutIsNamedAndTheStatusIsOne() throws IOException {
        String trace = text("trace", BOUNCE.replace("ADDR", "10000800"));
        Ran ran = expect("--dmesg", text("dmesg", POOL), trace);
        assertThat(ran.status()).isEqualTo(1);
        assertThat(ran.out())
                .contains(
                        "machine  swiotlb, every mapping bounced, CPUs: 2",
                        "Not predicted in line order:",
                        "  line 2: fio-7 on CPU 0: nvme0: page recorded at 0x10000800, predicted 0x10000000",
                        "0.00 %",
                        "1 of 1 recorded addresses did not come out.");
    }

    @Test
    void overlappedCallsAreShownBothWaysAndTheMovedFigureDecides() throws IOException {
        Path json = folder.resolve("out.json");
        Ran ran = expect("--dmesg", text("dmesg", STRICT), "--json", json.toString(), text("trace", OVERLAPPED));
        assertThat(ran.status()).isZero();
        assertThat(ran.row("all")).containsExactly("1 of 2", "2 of 2");
        assertThat(ran.out())
                .contains(
                        "machine  IOMMU, strict, CPUs: 2",
                        "iommu    addresses of 48 bits, 1 reserved ranges",
                        "line 6: fio-7 on CPU 0: nvme0: page recorded at 0xffffe000, predicted 0xfffff000",
                        "line 5 before line 3: fio-7: nvme0 has 0xffffe000, not what the interrupt gave back",
                        "Every recorded address came out once the overlapped calls were moved.",
                        "After a miss the machine was set right");
        JsonNode tree = new ObjectMapper().readTree(json.toFile());
        assertThat(tree.path("ok").booleanValue()).isTrue();
        assertThat(tree.path("judgement").textValue()).isEqualTo("PREDICTED");
        assertThat(tree.path("inLineOrder").path("predicted").longValue()).isEqualTo(1);
        assertThat(tree.path("overlappedMoved").path("predicted").longValue()).isEqualTo(2);
        assertThat(tree.path("inLineOrder")
                        .path("kinds")
                        .path("PAGE")
                        .path("judged")
                        .longValue())
                .isEqualTo(2);
        assertThat(tree.path("moves").longValue()).isEqualTo(1);
        assertThat(tree.path("moved").get(0).path("beforeLine").longValue()).isEqualTo(3);
        assertThat(tree.path("notPredicted")).hasSize(1);
        assertThat(tree.path("notPredicted").get(0).path("recorded").textValue())
                .isEqualTo("0xffffe000");
        assertThat(tree.path("notPredicted").get(0).path("order").textValue()).isEqualTo("OF_LINES");
        assertThat(tree.path("machine").path("iommuMode").textValue()).isEqualTo("STRICT");
        assertThat(tree.path("machine").path("iommuReserved").get(0).get(0).textValue())
                .isEqualTo("0xc0000000");
    }

    @Test
    void aLazyTraceSaysThatItIsJudgedByValidityAndWithTimersThatItIsPredicted() throws IOException {
        String dmesg = text("dmesg", STRICT.replace("strict mode", "lazy mode"));
        String trace = text("trace", OVERLAPPED);
        Ran valid = expect("--dmesg", dmesg, trace);
        assertThat(valid.status()).isZero();
        assertThat(valid.row("all")).containsExactly("2 of 2");
        assertThat(valid.out())
                .contains("The flush queue's timers were not recorded (--timers)", "Every recorded address is valid.");
        String timers = text("timers", """
                fio-7 [000] d.h1. 1.000003: timer_start: timer=1 function=fq_flush_timeout expires=1
                fio-7 [000] ..s1. 1.020003: timer_expire_entry: timer=1 function=fq_flush_timeout now=1
                """);
        Ran timed = expect("--dmesg", dmesg, "--timers", timers, trace);
        assertThat(timed.status()).isZero();
        assertThat(timed.out())
                .contains(
                        "timers   1 flush queues: armed at 1 of 1 recorded starts, expired at 1 of 1 recorded expiries",
                        "Every recorded address came out.")
                .doesNotContain("valid");
    }

    @Test
    void theMachineFileTellsWhatTheBootLogLacks() throws IOException {
        String trace = text("trace", BOUNCE.replace("ADDR", "20000000"));
        String dmesg = text("dmesg", "nr_cpu_ids:2\nKernel command line: swiotlb=force\n");
        assertRefused(
                expect("--dmesg", dmesg, trace),
                66,
                dmesg + ": does not tell, and no machine file either",
                "where the bounce pool lies");
        String machine = text("m.json", "{\"swiotlb\": {\"start\": \"0x20000000\", \"slots\": 256}}");
        assertThat(expect("--dmesg", dmesg, "--machine", machine, trace).status())
                .isZero();
    }

    @Test
    void badInputsAreOneLineThatNamesThem() throws IOException {
        String trace = text("trace", BOUNCE.replace("ADDR", "10000000"));
        String dmesg = text("dmesg", POOL);
        String missing = folder.resolve("missing").toString();
        for (Ran ran : List.of(
                expect("--dmesg", missing, trace),
                expect("--dmesg", dmesg, missing),
                expect("--dmesg", trace, trace),
                expect("--dmesg", dmesg, "--timers", missing, trace),
                expect("--dmesg", dmesg, "--timers", text("t", "x\n"), trace),
                expect("--dmesg", folder.toString(), trace))) {
            assertRefused(ran, 66);
            assertThat(ran.errLines()).hasSize(1);
            assertThat(ran.out()).isEmpty();
        }
    }

    @Test
    void wrongCombinationsAreWrongUsage() throws IOException {
        String dmesg = text("dmesg", POOL);
        String trace = text("trace", BOUNCE.replace("ADDR", "10000000"));
        assertRefused(expect(trace), 2, "--expect-addresses needs --dmesg FILE");
        assertRefused(Ran.pagewalk("compare", "--dmesg", dmesg, trace), 2, "--dmesg goes with --expect-addresses only");
        assertRefused(
                Ran.pagewalk("compare", "--timers", dmesg, trace), 2, "--timers goes with --expect-addresses only");
        assertRefused(
                expect("--dmesg", dmesg, "--quick", trace),
                2,
                "--quick does not go with --expect-addresses, which replays the recording backend alone");
        assertRefused(expect("--dmesg", dmesg, "--backends", "direct", trace), 2, "--backends does not go");
        assertRefused(expect("--dmesg", dmesg, "--json", dmesg, trace), 2, "is the input and would be overwritten");
        assertThat(Files.readString(Path.of(dmesg))).isEqualTo(POOL);
    }

    @Test
    void aTaskNameCannotSteerTheTerminal() throws IOException {
        String trace = text("trace", BOUNCE.replace("ADDR", "10000800").replace("fio-7", "f\u001b[2Jo-7"));
        Ran ran = expect("--dmesg", text("dmesg", POOL), trace);
        assertThat(ran.out()).contains("f?[2Jo-7").doesNotContain("\u001b");
    }

    @Test
    void theHelpTeachesTheMode() {
        String help = Ran.pagewalk("compare", "--help").out();
        assertThat(help)
                .contains("--expect-addresses", "--dmesg=FILE", "--timers=FILE", "or an address did not come out");
    }
}
