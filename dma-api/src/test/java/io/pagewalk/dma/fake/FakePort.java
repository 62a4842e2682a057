package io.pagewalk.dma.fake;

import io.pagewalk.dma.Access;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.spi.BusPort;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongUnaryOperator;

/** A port that translates as a test has scripted, and makes sure that each access opens and closes its window. */
public final class FakePort implements BusPort {
    /** What was translated, such as {@code READ 0x1000}. */
    public final List<String> translations = new ArrayList<>();

    public LongUnaryOperator translation = dmaAddr -> dmaAddr;
    public LongUnaryOperator span = BusPort.super::spanBytes;

    private final boolean onWires;
    private long opened;
    private long closed;

    FakePort(boolean onWires) {
        this.onWires = onWires;
    }

    /** One window at a time, so that its token is the count of those before. */
    @Override
    public long beginAccess() {
        requireNoWindow();
        return opened++;
    }

    @Override
    public long translate(long dmaAddr, Access access) {
        if (opened != closed + 1) {
            throw new AssertionError("a translation outside an access");
        }
        translations.add(access + " " + Addresses.hex(dmaAddr));
        return translation.applyAsLong(dmaAddr);
    }

    @Override
    public void endAccess(long token) {
        if (token != closed || opened != closed + 1) {
            throw new AssertionError("window " + token + " closed after " + closed + " of " + opened);
        }
        closed++;
    }

    /** Fails while a window is open. */
    public void requireNoWindow() {
        if (opened != closed) {
            throw new AssertionError(opened + " windows were opened and " + closed + " closed");
        }
    }

    public long windows() {
        return opened;
    }

    @Override
    public long spanBytes(long dmaAddr) {
        return span.applyAsLong(dmaAddr);
    }

    @Override
    public boolean onWires() {
        return onWires;
    }

    @Override
    public String faultText(int code) {
        return "port says " + code;
    }
}
