package io.pagewalk.kit.planted;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.spi.BusPort;
import io.pagewalk.dma.spi.DmaBackend;
import io.pagewalk.dma.spi.DmaOps;
import io.pagewalk.dma.spi.MetricSink;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Consumer;

/** A healthy backend with one fault put in front of it. */
public final class FaultyBackend implements DmaBackend {
    /** Where the machine's log says that the backend was closed. */
    public static final String CLOSED = "planted.closed";

    private final Machine machine;
    private final DmaBackend host;
    private final PlantedFault fault;
    private final Map<Device, BusPort> ports = new HashMap<>();

    FaultyBackend(Machine machine, DmaBackend host, PlantedFault fault) {
        this.machine = machine;
        this.host = host;
        this.fault = fault;
    }

    @Override
    public DmaOps attach(Device device) {
        DmaOps healthy = host.attach(device);
        return switch (fault) {
            case DROPS_COPY_BACK -> new FaultyOps.DropsCopyBack(healthy);
            case DROPS_SYNC_FOR_DEVICE -> new FaultyOps.DropsSyncForDevice(healthy);
            case SYNCS_ONE_OFF -> new FaultyOps.SyncsOneOff(healthy);
            case SEGMENT_ONE_OFF -> new FaultyOps.SegmentOneOff(healthy);
            case SEGMENT_SHORT -> new FaultyOps.SegmentShort(healthy);
            case SEGMENTS_SWAPPED -> new FaultyOps.SegmentsSwapped(healthy);
            case LEAKS_MAPPINGS -> new FaultyOps.LeaksMappings(healthy);
            case LEAKS_PAGES -> new FaultyOps.LeaksPages(healthy);
            case LEAKS_WHEN_A_LIST_FAILS -> new FaultyOps.LeaksWhenAListFails(healthy, machine);
            case FORGETS_TO_ZERO -> new FaultyOps.ForgetsToZero(healthy, machine);
            case SHARES_ADDRESSES -> new FaultyOps.SharesAddresses(healthy);
            case REFUSES_LARGE_BUFFERS -> new FaultyOps.RefusesLargeBuffers(healthy);
            case STALE_TRANSLATIONS, IGNORES_DIRECTION, REACHES_EVERYTHING, WRITES_BEFORE_THE_START, BROKEN_STRUCTURE ->
                healthy;
        };
    }

    @Override
    public BusPort port(Device device) {
        return ports.computeIfAbsent(device, d -> faultyPort(host.port(d)));
    }

    private BusPort faultyPort(BusPort healthy) {
        return switch (fault) {
            case STALE_TRANSLATIONS -> new FaultyPorts.Stale(healthy);
            case IGNORES_DIRECTION -> new FaultyPorts.IgnoresDirection(healthy);
            case REACHES_EVERYTHING -> new FaultyPorts.ReachesEverything(healthy);
            case WRITES_BEFORE_THE_START -> new FaultyPorts.WritesBeforeTheStart(healthy, machine.memory());
            default -> healthy;
        };
    }

    @Override
    public void report(MetricSink sink) {
        host.report(sink);
    }

    @Override
    public void quiesce() {
        host.quiesce();
    }

    @Override
    public boolean ownsAddresses() {
        return host.ownsAddresses();
    }

    @Override
    public boolean blocksAfterUnmap() {
        return host.blocksAfterUnmap();
    }

    @Override
    public void checkStructure(Consumer<String> violation) {
        host.checkStructure(violation);
        if (fault == PlantedFault.BROKEN_STRUCTURE) {
            violation.accept("slot 3 is free and in use");
        }
    }

    @Override
    public void checkIdle(Consumer<String> violation) {
        host.checkIdle(violation);
    }

    @Override
    public void close() {
        machine.log().message(CLOSED, "closed");
        try {
            host.close();
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }
}
