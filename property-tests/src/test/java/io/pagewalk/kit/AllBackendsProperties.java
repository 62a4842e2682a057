package io.pagewalk.kit;

/** Every backend on the class path keeps the contract, and none is named here. */
class AllBackendsProperties implements AllBackendsContract {}
