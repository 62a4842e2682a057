package io.pagewalk.kit;

import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Provide;

/**
 * What every DMA backend promises, as jqwik properties. Three lines put one to the test:
 *
 * <pre>{@code
 * class MyBackendProperties implements DmaBackendContract {
 *     public String backend() { return "mine"; }
 * }
 * }</pre>
 *
 * <p>Promises that not every backend makes are asked of the machine: {@code ownsAddresses} and
 * {@code blocksAfterUnmap}.
 */
public interface DmaBackendContract extends DmaLaws {
    /**
     * The backend's name.
     *
     * @return a variant that {@code DmaBackends} finds
     */
    String backend();

    /**
     * The small world of the backend; override it to set options.
     *
     * @return one world
     */
    @Override
    @Provide
    default Arbitrary<SmallWorld> worlds() {
        return Arbitraries.just(SmallWorld.of(backend()));
    }
}
