package io.pagewalk.dma.fake;

import io.pagewalk.dma.Machine;
import io.pagewalk.dma.spi.BackendOptions;
import io.pagewalk.dma.spi.DmaBackend;
import io.pagewalk.dma.spi.DmaBackendProvider;
import java.util.List;

/** Makes {@link FakeBackend}s, so that the front end and the bus are tested without a real backend. */
public final class FakeProvider implements DmaBackendProvider {
    public static final String NAME = "test-identity";
    /** Option: 0 for ports whose addresses never leave software. */
    public static final String ON_WIRES = "test.on-wires";

    @Override
    public List<Variant> variants() {
        return List.of(
                new Variant(NAME, "DMA addresses are physical ones, unless a test says otherwise"),
                new Variant("test-other", "the same under another name"));
    }

    @Override
    public DmaBackend create(String variant, Machine machine, BackendOptions options) {
        return new FakeBackend(options.number(ON_WIRES, 1) != 0);
    }
}
