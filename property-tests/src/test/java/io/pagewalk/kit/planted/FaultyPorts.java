package io.pagewalk.kit.planted;

import io.pagewalk.dma.Access;
import io.pagewalk.dma.memory.PhysicalMemory;
import io.pagewalk.dma.spi.BusPort;
import java.util.HashMap;
import java.util.Map;

/** Faults of the hardware's side. */
final class FaultyPorts {
    private FaultyPorts() {}

    /** Passes every call on. */
    private abstract static class Forwarding implements BusPort {
        private final BusPort healthy;

        Forwarding(BusPort healthy) {
            this.healthy = healthy;
        }

        @Override
        public long beginAccess() {
            return healthy.beginAccess();
        }

        @Override
        public void endAccess(long token) {
            healthy.endAccess(token);
        }

        @Override
        public long translate(long dmaAddr, Access access) {
            return healthy.translate(dmaAddr, access);
        }

        @Override
        public long spanBytes(long dmaAddr) {
            return healthy.spanBytes(dmaAddr);
        }

        @Override
        public boolean onWires() {
            return healthy.onWires();
        }

        @Override
        public String faultText(int code) {
            return healthy.faultText(code);
        }
    }

    static final class Stale extends Forwarding {
        private final Map<Long, Long> remembered = new HashMap<>();

        Stale(BusPort healthy) {
            super(healthy);
        }

        @Override
        public long translate(long dmaAddr, Access access) {
            long physAddr = super.translate(dmaAddr, access);
            if (!BusPort.isFault(physAddr)) {
                remembered.put(dmaAddr, physAddr);
                return physAddr;
            }
            return remembered.getOrDefault(dmaAddr, physAddr);
        }
    }

    static final class IgnoresDirection extends Forwarding {
        IgnoresDirection(BusPort healthy) {
            super(healthy);
        }

        @Override
        public long translate(long dmaAddr, Access access) {
            long physAddr = super.translate(dmaAddr, access);
            return BusPort.isFault(physAddr) ? super.translate(dmaAddr, Access.READ) : physAddr;
        }
    }

    static final class ReachesEverything extends Forwarding {
        ReachesEverything(BusPort healthy) {
            super(healthy);
        }

        @Override
        public long translate(long dmaAddr, Access access) {
            long physAddr = super.translate(dmaAddr, access);
            return BusPort.isFault(physAddr) ? dmaAddr & ~FAULT_BIT : physAddr;
        }
    }

    static final class WritesBeforeTheStart extends Forwarding {
        private final PhysicalMemory memory;

        WritesBeforeTheStart(BusPort healthy, PhysicalMemory memory) {
            super(healthy);
            this.memory = memory;
        }

        @Override
        public long translate(long dmaAddr, Access access) {
            long physAddr = super.translate(dmaAddr, access);
            if (access.writes() && memory.isRam(physAddr - 1, 1)) {
                memory.putByte(physAddr - 1, (byte) 0x77);
            }
            return physAddr;
        }
    }
}
