package io.pagewalk.trace.replay;

import io.pagewalk.dma.Access;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.dma.spi.BackendOptions;
import io.pagewalk.dma.spi.BusPort;
import io.pagewalk.dma.spi.DmaBackend;
import io.pagewalk.dma.spi.DmaBackendProvider;
import io.pagewalk.dma.spi.DmaBackends;
import io.pagewalk.dma.spi.DmaOps;
import io.pagewalk.dma.spi.Metric;
import io.pagewalk.dma.spi.MetricSink;
import java.lang.reflect.Proxy;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Backends of the tests' own, on the class path only: dma-direct, each with one fault planted. */
public final class PlantedProvider implements DmaBackendProvider {
    static final String SOUND = "planted-sound";
    static final String CORRUPTS = "planted-corrupts";
    static final String WRONG_PAGE = "planted-wrong-page";
    static final String FAULTS = "planted-faults";
    static final String SHORT_LIST = "planted-short-list";
    static final String STALE = "planted-stale";
    static final String BROKEN = "planted-broken";

    /** Makes the provider, for the service loader. */
    public PlantedProvider() {}

    @Override
    public List<Variant> variants() {
        return List.of(
                new Variant(SOUND, "dma-direct as it is"),
                new Variant(CORRUPTS, "changes the last byte at each unmap"),
                new Variant(WRONG_PAGE, "gives the address of the next page"),
                new Variant(FAULTS, "lets no device read through"),
                new Variant(SHORT_LIST, "says one DMA segment less than there are"),
                new Variant(STALE, "promises to block what it lets through"),
                new Variant(BROKEN, "finds its own structure broken"));
    }

    @Override
    public DmaBackend create(String variant, Machine machine, BackendOptions options) {
        DmaBackend direct = DmaBackends.byName("direct").provider().create("direct", machine, options);
        return new Planted(variant, machine, direct);
    }

    private record Planted(String variant, Machine machine, DmaBackend direct) implements DmaBackend {
        @Override
        public DmaOps attach(Device device) {
            DmaOps ops = direct.attach(device);
            return (DmaOps) Proxy.newProxyInstance(
                    DmaOps.class.getClassLoader(), new Class<?>[] {DmaOps.class}, (proxy, method, args) -> {
                        Object result = method.invoke(ops, args);
                        return switch (method.getName() + " by " + variant) {
                            case "mapPage by " + WRONG_PAGE -> (Long) result + 4096;
                            case "mapSg by " + SHORT_LIST -> (Integer) result - 1;
                            case "unmapPage by " + CORRUPTS -> corrupt((Long) args[2] + (Long) args[3] - 1);
                            case "unmapSg by " + CORRUPTS -> corruptList((SgTable) args[2]);
                            default -> result;
                        };
                    });
        }

        private @Nullable Object corrupt(long physAddr) {
            machine.memory().putByte(physAddr, (byte) ~machine.memory().getByte(physAddr));
            return null;
        }

        private @Nullable Object corruptList(SgTable list) {
            int last = list.origNents() - 1;
            return corrupt(list.physAddr(last) + list.lengthBytes(last) - 1);
        }

        @Override
        public BusPort port(Device device) {
            BusPort port = direct.port(device);
            return new BusPort() {
                @Override
                public long translate(long dmaAddr, Access access) {
                    boolean blocks = variant.equals(FAULTS) && access.reads();
                    return blocks ? BusPort.fault(7) : port.translate(dmaAddr, access);
                }

                @Override
                public String faultText(int code) {
                    return code == 7 ? "planted" : port.faultText(code);
                }
            };
        }

        @Override
        public boolean blocksAfterUnmap() {
            return variant.equals(STALE);
        }

        @Override
        public void report(MetricSink sink) {
            sink.put(Metric.FLUSHES, 42);
        }

        @Override
        public void checkStructure(Consumer<String> violation) {
            direct.checkStructure(violation);
            if (variant.equals(BROKEN)) {
                violation.accept("slot 3 is free and in use");
            }
        }

        @Override
        public void checkIdle(Consumer<String> violation) {
            direct.checkIdle(violation);
        }
    }

    static boolean isPlanted(String backend) {
        return backend.startsWith("planted-");
    }
}
