package io.pagewalk.conformance.adapter;

import io.pagewalk.conformance.format.Answers;
import io.pagewalk.conformance.format.BadVectorException;
import io.pagewalk.conformance.format.Informative;
import io.pagewalk.conformance.format.LineFormat;
import io.pagewalk.conformance.format.Question;
import io.pagewalk.conformance.format.Rule;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.Dma;
import io.pagewalk.dma.DmaAttrs;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.memory.CpuMemory;
import java.util.Arrays;
import java.util.function.LongFunction;

/** {@code edu}: a device with a buffer of its own copies from one mapping to another. */
final class EduAdapter implements Adapter {
    /** Where the recording looked for an address that nothing maps. */
    private static final long NEVER_MAPPED = 0x5000;
    /** Some page of RAM. */
    private static final long PAGE = 0x1_0000_0000L;

    private static final long PAGE_BYTES = 4096;
    private static final int TRANSFER_BYTES = 64;
    private static final byte IN_PAGE = (byte) 0xab;

    private final RecordedMachine recorded;
    private final Device device;
    private final Dma dma;
    private final CpuMemory memory;

    private EduAdapter(Question boot) {
        recorded = RecordedMachine.boot(boot);
        device = recorded.device();
        dma = recorded.dma();
        memory = recorded.machine().cpuMemory();
    }

    static Family family() {
        return Family.named("edu")
                .answered(Family.BOOT, BootFormat.device())
                .answered("copy", copyFormat())
                .answered("fault", faultFormat())
                .by(EduAdapter::new);
    }

    private static LineFormat copyFormat() {
        return LineFormat.builder()
                .identity("fam", "id", "op")
                .input("src_phys", "dst_phys", "len")
                .exact("src_dma", "dst_dma", "rc")
                .rule("touched_before_unmap", Rule.TOUCHED_BYTES)
                .ruleWhereWanted("touched_after_sync", Rule.TOUCHED_BYTES)
                .exact("bad_bytes")
                .build();
    }

    private static LineFormat faultFormat() {
        return LineFormat.builder()
                .identity("fam", "id", "op")
                .input("case")
                .exact("dma", "ram_bytes_changed", "device_saw_page")
                .rule("klog", Rule.LOG)
                .informative(Informative.DEVICE, "rc", "device_kept_old", "device_byte0")
                .build();
    }

    @Override
    public Answers boot() {
        return recorded.answers();
    }

    @Override
    public Answers answer(String kind, Question question) {
        return switch (kind) {
            case "copy" -> copy(question);
            case "fault" -> fault(question.text("case"));
            default -> throw new BadVectorException("unknown op " + kind);
        };
    }

    // ---- what the tables forbid

    private Answers fault(String name) {
        return switch (name) {
            case "read_unmapped" -> read(NEVER_MAPPED);
            case "write_unmapped" -> write(NEVER_MAPPED);
            case "write_ro" -> mapped(DmaDirection.TO_DEVICE, this::write);
            case "read_wo" -> mapped(DmaDirection.FROM_DEVICE, this::read);
            case "read_after_unmap" -> read(unmapped());
            default -> throw new BadVectorException("unknown case " + name);
        };
    }

    private Answers mapped(DmaDirection direction, LongFunction<Answers> access) {
        long dmaAddr = dma.mapPage(PAGE, PAGE_BYTES, direction, DmaAttrs.NONE);
        Answers answers = access.apply(dmaAddr);
        dma.unmapPage(dmaAddr, PAGE_BYTES, direction, DmaAttrs.NONE);
        return answers;
    }

    private long unmapped() {
        long dmaAddr = dma.mapPage(PAGE, PAGE_BYTES, DmaDirection.BIDIRECTIONAL, DmaAttrs.NONE);
        dma.unmapPage(dmaAddr, PAGE_BYTES, DmaDirection.BIDIRECTIONAL, DmaAttrs.NONE);
        return dmaAddr;
    }

    private Answers read(long dmaAddr) {
        memory.fill(PAGE, PAGE_BYTES, IN_PAGE);
        byte[] inDevice = new byte[TRANSFER_BYTES];
        device.bus().read(dmaAddr, inDevice, 0, TRANSFER_BYTES);
        long seen = 0;
        for (byte each : inDevice) {
            seen += each == IN_PAGE ? 1 : 0;
        }
        return transferred(dmaAddr).unsigned("device_saw_page", seen);
    }

    private Answers write(long dmaAddr) {
        memory.fill(PAGE, PAGE_BYTES, IN_PAGE);
        device.bus().write(dmaAddr, new byte[TRANSFER_BYTES], 0, TRANSFER_BYTES);
        return transferred(dmaAddr);
    }

    private Answers transferred(long dmaAddr) {
        byte[] page = new byte[(int) PAGE_BYTES];
        Arrays.fill(page, IN_PAGE);
        return new Answers()
                .unsigned("dma", dmaAddr)
                .unsigned("ram_bytes_changed", different(PAGE, page))
                .log("klog", recorded.log().latest());
    }

    // ---- copies

    private Answers copy(Question question) {
        int length = question.integer("len");
        byte[] data = data(length);
        byte[] before = inverse(data);
        long source = question.number("src_phys");
        long target = question.number("dst_phys");
        memory.write(source, data, 0, length);
        memory.write(target, before, 0, length);
        long sourceDma = dma.mapPage(source, length, DmaDirection.TO_DEVICE, DmaAttrs.NONE);
        long targetDma = dma.mapPage(target, length, DmaDirection.FROM_DEVICE, DmaAttrs.NONE);
        Answers answers = new Answers().unsigned("src_dma", sourceDma).unsigned("dst_dma", targetDma);
        byte[] inDevice = new byte[length];
        int read = device.bus().read(sourceDma, inDevice, 0, length);
        int written = device.bus().write(targetDma, inDevice, 0, length);
        answers.list("rc", read == length ? 0 : 1, written == length ? 0 : 1)
                .unsigned("touched_before_unmap", different(target, before));
        if (question.flag("touched_after_sync")) {
            dma.syncSingleForCpu(targetDma, length, DmaDirection.FROM_DEVICE);
            answers.unsigned("touched_after_sync", different(target, before));
        }
        dma.unmapPage(sourceDma, length, DmaDirection.TO_DEVICE, DmaAttrs.NONE);
        dma.unmapPage(targetDma, length, DmaDirection.FROM_DEVICE, DmaAttrs.NONE);
        return answers.unsigned("bad_bytes", different(target, data));
    }

    private static byte[] data(int length) {
        byte[] data = new byte[length];
        for (int i = 0; i < length; i++) {
            data[i] = (byte) (i * 7 + (i >> 8));
        }
        return data;
    }

    /** Other than the data in every byte, so that no byte is the same by chance. */
    private static byte[] inverse(byte[] data) {
        byte[] inverse = data.clone();
        for (int i = 0; i < inverse.length; i++) {
            inverse[i] = (byte) ~inverse[i];
        }
        return inverse;
    }

    private long different(long physAddr, byte[] than) {
        byte[] now = new Buffer(memory, physAddr, than.length).read();
        long count = 0;
        for (int i = 0; i < now.length; i++) {
            count += now[i] == than[i] ? 0 : 1;
        }
        return count;
    }

    @Override
    public void close() {
        recorded.close();
    }
}
