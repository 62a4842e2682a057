package io.pagewalk.kit;

import net.jqwik.api.Arbitrary;

/** Says in which worlds laws are tried. */
public interface WorldSource {
    /**
     * The worlds.
     *
     * @return all that are to keep the laws
     */
    Arbitrary<SmallWorld> worlds();
}
