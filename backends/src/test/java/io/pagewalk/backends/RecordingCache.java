package io.pagewalk.backends;

import io.pagewalk.dma.ArchConfig;
import io.pagewalk.dma.CacheMaintenance;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.KernelConfig;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;

/** Cache hooks that write down what they are told. */
public final class RecordingCache implements CacheMaintenance {
    private final List<String> told = new ArrayList<>();
    private Supplier<String> probe = () -> "";

    /** What was told since the last call, as "for_device 0x1000+0x20 TO_DEVICE" and the like. */
    public List<String> told() {
        List<String> copy = List.copyOf(told);
        told.clear();
        return copy;
    }

    /** Has something looked at whenever a hook is told of a range. */
    public void probe(Supplier<String> newProbe) {
        probe = newProbe;
    }

    /** A kernel with these hooks. */
    public KernelConfig kernel() {
        return KernelConfig.distribution().withArch(arch());
    }

    public ArchConfig arch() {
        return ArchConfig.x86().withCacheMaintenance(this);
    }

    @Override
    public void syncForDevice(long physAddr, long sizeBytes, DmaDirection direction) {
        note("for_device", physAddr, sizeBytes, " " + direction);
    }

    @Override
    public void syncForCpu(long physAddr, long sizeBytes, DmaDirection direction) {
        note("for_cpu", physAddr, sizeBytes, " " + direction);
    }

    @Override
    public void syncForCpuAll() {
        told.add("for_cpu_all");
    }

    @Override
    public void markClean(long physAddr, long sizeBytes) {
        note("mark_clean", physAddr, sizeBytes, "");
    }

    private void note(String hook, long physAddr, long sizeBytes, String direction) {
        told.add(String.format("%s 0x%x+0x%x%s%s", hook, physAddr, sizeBytes, direction, probe.get()));
    }
}
