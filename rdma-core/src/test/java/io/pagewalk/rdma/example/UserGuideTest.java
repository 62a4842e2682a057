package io.pagewalk.rdma.example;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.Zone;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.rdma.AccessFlags;
import io.pagewalk.rdma.i40iw.Generation;
import io.pagewalk.rdma.i40iw.I40iwConfig;
import io.pagewalk.rdma.i40iw.I40iwDevice;
import io.pagewalk.rdma.mm.Process;
import io.pagewalk.rdma.qp.Link;
import io.pagewalk.rdma.qp.RcQp;
import io.pagewalk.rdma.rw.RwContext;
import io.pagewalk.rdma.rxe.RxeDevice;
import io.pagewalk.rdma.verbs.Cq;
import io.pagewalk.rdma.verbs.Mr;
import io.pagewalk.rdma.verbs.Owner;
import io.pagewalk.rdma.verbs.Pd;
import io.pagewalk.rdma.verbs.Qp;
import io.pagewalk.rdma.verbs.QpAttributes;
import io.pagewalk.rdma.verbs.QpInit;
import io.pagewalk.rdma.verbs.RwInit;
import io.pagewalk.rdma.verbs.SendWr;
import io.pagewalk.rdma.verbs.UverbsFile;
import io.pagewalk.rdma.verbs.VerbsDevice;
import io.pagewalk.rdma.verbs.WorkCompletion;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The samples of the user guide on verbs and transfers, run as they stand there. */
class UserGuideTest {
    private static final Path GUIDE = Path.of("..", "docs", "user-guide.md");
    private static final Path SOURCE =
            Path.of("src", "test", "java", "io", "pagewalk", "rdma", "example", "UserGuideTest.java");
    private static final List<String> CHAPTERS = List.of("### Verbs", "### Transfers of the kernel's: rdma_rw");

    private static Machine machine(String backend) {
        return Machine.builder()
                .ramBytes(32L << 20)
                .chunkBytes(1 << 16)
                .backend(backend)
                .build();
    }

    private static byte[] pattern(int length) {
        byte[] bytes = new byte[length];
        for (int i = 0; i < length; i++) {
            bytes[i] = (byte) (i * 13 + (i >> 8));
        }
        return bytes;
    }

    @Test
    void verbs() {
        Machine machine = machine("direct");
        Process process = Process.create(machine);
        long from = process.mmap(8192);
        long to = process.mmap(8192);
        process.writeBytes(from, pattern(8192));
        VerbsDevice device = RxeDevice.add("rxe0", machine);
        assertThat(write(device, process, from, to))
                .containsExactly("request 7 of queue pair 16: SUCCESS RDMA_WRITE of 8192 bytes");
        assertThat(process.readBytes(to, 8192)).isEqualTo(pattern(8192));
    }

    private static List<String> write(VerbsDevice device, Process process, long from, long to) {
        List<String> log = new ArrayList<>();
        Pd pd = device.allocPd(0, "sample").value();
        Cq cq = device.createCq(Owner.kernel("sample"), 64).value();
        int rights = AccessFlags.LOCAL_WRITE | AccessFlags.REMOTE_WRITE;
        Mr source = device.regUserMr(pd, 0, process, from, 8192, from, 0).value();
        Mr sink = device.regUserMr(pd, 0, process, to, 8192, to, rights).value();
        RcQp left = (RcQp) device.createQp(pd, QpInit.of(cq, cq)).value();
        RcQp right = (RcQp) device.createQp(pd, QpInit.of(cq, cq)).value();
        Link.establish(left, right, QpAttributes.usual());
        SendWr request = new SendWr();
        request.write(7, to, sink.rkey()).sge(from, 8192, source.lkey()).signaled();
        int error = left.postSend(request);
        assertThat(error).isZero();
        WorkCompletion completion = new WorkCompletion();
        while (cq.poll(completion) == 1) {
            log.add(completion.toString());
        }
        assertThat(device.restrack().holdings()).hasSize(1);
        device.destroyQp(left);
        device.destroyQp(right);
        device.deregMr(source, 0);
        device.deregMr(sink, 0);
        return log;
    }

    @Test
    void verbsOfAProcess() {
        Machine machine = machine("direct");
        Process process = Process.create(machine);
        long address = process.mmap(8192);
        VerbsDevice device = RxeDevice.add("rxe0", machine);
        UverbsFile file = UverbsFile.open(device, process);
        int pd = file.allocPd();
        int mr = file.regMr(0, process, pd, address, 8192, address, AccessFlags.LOCAL_WRITE);
        int cq = file.createCq(64);
        int qp = file.createQp(pd, cq, cq, 16, 4);
        assertThat(List.of(pd, mr, cq, qp)).containsExactly(0, 1, 2, 3);
        assertThat(file.mr(mr)).isNotNull();
        assertThat(file.qp(qp)).isInstanceOf(RcQp.class);
        process.exit();
        assertThat(file.objects()).isZero();
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void transfers(boolean software) {
        Machine machine = machine("iommu-strict");
        Device nic = machine.addDevice(DeviceConfig.named("nic").withMask(-1L));
        Process process = Process.create(machine);
        long remoteAddr = process.mmap(8192);
        process.writeBytes(remoteAddr, pattern(8192));
        SgTable block = new SgTable(2);
        block.add(machine.pages().allocPages(Zone.NORMAL, 1), 4096);
        block.add(machine.pages().allocPages(Zone.NORMAL, 1), 4096);
        int contexts = 4;
        int cpu = 0;
        int port = 1;
        long wrId = 9;
        VerbsDevice device = software
                ? RxeDevice.add("rxe0", machine)
                : I40iwDevice.add("i40iw0", nic, I40iwConfig.x722(Generation.IRDMA))
                        .value();
        Pd pd = device.allocPd(0, "target").value();
        Cq cq = device.createCq(Owner.kernel("target"), 64).value();
        RcQp initiator =
                (RcQp) device.createQp(pd, QpInit.of(cq, cq).withSizes(4, 4, 3)).value();
        int rights = AccessFlags.LOCAL_WRITE | AccessFlags.REMOTE_READ;
        int rkey = device.regUserMr(pd, 0, process, remoteAddr, 8192, remoteAddr, rights)
                .value()
                .rkey();
        QpInit init = QpInit.of(cq, cq).withSizes(64, 1, 3).with(RwInit.of(contexts));
        Qp qp = device.createQp(pd, init).value();
        Link.establish((RcQp) qp, initiator, QpAttributes.usual());
        RwContext context = new RwContext(device);
        int places = context.init(qp, cpu, port, block, 0, remoteAddr, rkey, DmaDirection.FROM_DEVICE);
        assertThat(places).isEqualTo(software ? 1 : 2);
        context.post(qp, wrId, null);
        WorkCompletion completion = new WorkCompletion();
        assertThat(cq.poll(completion)).isOne();
        assertThat(completion)
                .hasToString("request 9 of queue pair " + qp.qpNum() + ": SUCCESS RDMA_READ of 8192 bytes");
        context.destroy(qp, cpu, block, DmaDirection.FROM_DEVICE);
        byte[] got = new byte[8192];
        machine.cpuMemory().read(block.physAddr(0), got, 0, 4096);
        machine.cpuMemory().read(block.physAddr(1), got, 4096, 4096);
        assertThat(got).isEqualTo(pattern(8192));
    }

    /** What the guide shows stands here, but for lines that say that something is left out. */
    @Test
    void theGuideShowsWhatIsRunHere() throws IOException {
        Set<String> run = statements(Files.readAllLines(SOURCE));
        List<String> shown = new ArrayList<>();
        String chapter = "";
        for (String line : Files.readAllLines(GUIDE)) {
            chapter = line.startsWith("#") ? line : chapter;
            if (CHAPTERS.contains(chapter) && line.startsWith("    ") && !line.contains("...")) {
                shown.add(line);
            }
        }
        assertThat(statements(shown)).hasSizeGreaterThan(25).isSubsetOf(run);
    }

    /** Without what a formatter and a comment change: joined, and cut at what ends a statement. */
    private static Set<String> statements(List<String> lines) {
        String joined =
                lines.stream().map(line -> line.replaceAll("\\s+//.*$", "")).collect(Collectors.joining(" "));
        return Arrays.stream(joined.split("[;{}]"))
                .map(statement -> statement.replaceAll("\\s+", ""))
                .filter(statement -> !statement.isEmpty())
                .collect(Collectors.toSet());
    }
}
