package io.pagewalk.kit;

import io.pagewalk.dma.spi.DmaBackends;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Provide;

/**
 * The laws for every backend that can be found, none of which is named here: each try takes one of them. A class that
 * implements this interface needs no body.
 */
public interface AllBackendsContract extends DmaLaws {
    @Override
    @Provide
    default Arbitrary<SmallWorld> worlds() {
        return Arbitraries.of(DmaBackends.all()).map(found -> SmallWorld.of(found.name()));
    }
}
