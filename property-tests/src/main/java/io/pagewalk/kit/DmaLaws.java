package io.pagewalk.kit;

/** All laws of a DMA backend; what differs is only in which worlds they are tried. */
public interface DmaLaws
        extends PageLaws,
                ListLaws,
                AddressLaws,
                CoherentLaws,
                FailureLaws,
                ProgramLaws,
                ConcurrencyLaws,
                MisbehaviourLaws {}
