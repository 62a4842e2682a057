package io.pagewalk.conformance.adapter;

import io.pagewalk.conformance.format.Answers;
import io.pagewalk.conformance.format.LineFormat;
import io.pagewalk.conformance.format.Question;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.Dma;

/** The mask calls, which three families record alike. */
final class MaskAnswers {
    private final Device device;
    private final Dma dma;

    MaskAnswers(RecordedMachine recorded) {
        device = recorded.device();
        dma = recorded.dma();
    }

    static LineFormat setMaskFormat() {
        return LineFormat.builder()
                .identity("fam", "id", "op")
                .input("mask")
                .exact("ret", "mask_after", "coherent_ret", "coherent_after", "addressing_limited")
                .exact("required_mask", "max_mapping", "opt_mapping", "need_sync")
                .build();
    }

    static LineFormat setMaskAndCoherentFormat() {
        return LineFormat.builder()
                .identity("fam", "id", "op")
                .input("mask")
                .exact("ret", "mask_after", "coherent_after", "addressing_limited", "required_mask", "max_mapping")
                .build();
    }

    Answers setMask(Question question) {
        int ret = device.setMask(question.number("mask"));
        int coherentRet = device.setCoherentMask(question.number("mask"));
        return limits().signed("ret", ret)
                .signed("coherent_ret", coherentRet)
                .unsigned("opt_mapping", dma.optMappingSize())
                .bit("need_sync", !device.skipsSync());
    }

    Answers setMaskAndCoherent(Question question) {
        int ret = device.setMaskAndCoherent(question.number("mask"));
        return limits().signed("ret", ret);
    }

    private Answers limits() {
        return new Answers()
                .unsigned("mask_after", device.streamingMask())
                .unsigned("coherent_after", device.coherentMask())
                .bit("addressing_limited", device.isAddressingLimited())
                .unsigned("required_mask", dma.requiredMask())
                .unsigned("max_mapping", dma.maxMappingSize());
    }
}
