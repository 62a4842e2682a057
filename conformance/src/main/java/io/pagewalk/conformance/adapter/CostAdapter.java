package io.pagewalk.conformance.adapter;

import io.pagewalk.conformance.format.Answers;
import io.pagewalk.conformance.format.Informative;
import io.pagewalk.conformance.format.LineFormat;
import io.pagewalk.conformance.format.Question;

/** {@code cost}: what calls cost the recording machine, in its instructions; nothing here can be held to that. */
final class CostAdapter implements Adapter {
    private final RecordedMachine recorded;

    private CostAdapter(Question boot) {
        recorded = RecordedMachine.boot(boot);
    }

    static Family family() {
        return Family.named("cost")
                .answered(Family.BOOT, BootFormat.device())
                .answered(
                        "map_unmap_page",
                        LineFormat.builder()
                                .identity("fam", "id", "op")
                                .input("size", "dir", "loops")
                                .informative(Informative.COST, "total_ns", "per_op")
                                .build())
                .by(CostAdapter::new);
    }

    @Override
    public Answers boot() {
        return recorded.answers();
    }

    @Override
    public Answers answer(String kind, Question question) {
        return new Answers();
    }

    @Override
    public void close() {
        recorded.close();
    }
}
