package io.pagewalk.kit;

/** A backend of a test's own, on the class path only, joins the contract: in three lines. */
class ToyBackendProperties implements DmaBackendContract {
    @Override
    public String backend() {
        return "toy";
    }
}
