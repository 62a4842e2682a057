package io.pagewalk.conformance.adapter;

import io.pagewalk.conformance.format.Answers;
import io.pagewalk.conformance.format.BadVectorException;
import io.pagewalk.conformance.format.Question;

/** {@code masks} and {@code iommu_masks}: what a device may be told to reach, with little memory and with much. */
final class MasksAdapter implements Adapter {
    private final RecordedMachine recorded;
    private final MaskAnswers masks;

    private MasksAdapter(Question boot) {
        recorded = RecordedMachine.boot(boot);
        masks = new MaskAnswers(recorded);
    }

    static Family family(String name) {
        return Family.named(name)
                .answered(Family.BOOT, BootFormat.device())
                .answered("set_mask", MaskAnswers.setMaskFormat())
                .answered("set_mask_and_coherent", MaskAnswers.setMaskAndCoherentFormat())
                .by(MasksAdapter::new);
    }

    @Override
    public Answers boot() {
        return recorded.answers();
    }

    @Override
    public Answers answer(String kind, Question question) {
        return switch (kind) {
            case "set_mask" -> masks.setMask(question);
            case "set_mask_and_coherent" -> masks.setMaskAndCoherent(question);
            default -> throw new BadVectorException("unknown op " + kind);
        };
    }

    @Override
    public void close() {
        recorded.close();
    }
}
