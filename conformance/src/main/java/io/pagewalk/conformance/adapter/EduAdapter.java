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

/** {@code edu}: a device with a buffer of its own copies from one mapping to another. */
final class EduAdapter implements Adapter {
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
                .unanswered("fault", faultFormat())
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
                .input("case", "dma")
                .exact("rc", "ram_bytes_changed")
                .rule("klog", Rule.LOG)
                .informative(Informative.DEVICE, "device_saw_page", "device_kept_old", "device_byte0")
                .build();
    }

    @Override
    public Answers boot() {
        return recorded.answers();
    }

    @Override
    public Answers answer(String kind, Question question) {
        if (!kind.equals("copy")) {
            throw new BadVectorException("unknown op " + kind);
        }
        return copy(question);
    }

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
