package io.pagewalk.kit;

import net.jqwik.api.PropertyDefaults;

/** A backend of a test's own, on the class path only, joins the contract: in three lines. */
@PropertyDefaults(tries = 50)
class ToyBackendProperties implements DmaBackendContract {
    @Override
    public String backend() {
        return "toy";
    }
}
