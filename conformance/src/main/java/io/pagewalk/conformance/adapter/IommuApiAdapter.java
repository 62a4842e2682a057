package io.pagewalk.conformance.adapter;

import io.pagewalk.backends.iommu.api.Iommu;
import io.pagewalk.backends.iommu.api.IommuPagingDomain;
import io.pagewalk.conformance.format.Answers;
import io.pagewalk.conformance.format.BadVectorException;
import io.pagewalk.conformance.format.Informative;
import io.pagewalk.conformance.format.LineFormat;
import io.pagewalk.conformance.format.Question;
import io.pagewalk.conformance.format.Rule;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** {@code iommu_api}: scripts on a paging domain of one's own, attached to the device. */
final class IommuApiAdapter implements Adapter {
    private final RecordedMachine recorded;

    private IommuApiAdapter(Question boot) {
        recorded = RecordedMachine.boot(boot);
    }

    static Family family() {
        return Family.named("iommu_api")
                .answered(Family.BOOT, BootFormat.device())
                .answered("script", scriptFormat())
                .by(IommuApiAdapter::new);
    }

    private static LineFormat scriptFormat() {
        return LineFormat.builder()
                .identity("fam", "id", "name")
                .object(
                        "before_attach",
                        LineFormat.builder().exact("pgsize_bitmap", "aperture").build())
                .exact("attach", "pgsize_bitmap", "aperture")
                .objectsByOp("ops", operations())
                .exactWhereWanted("leaves")
                .informative(Informative.AFTER_HAZARD, "ram")
                .build();
    }

    private static Map<String, LineFormat> operations() {
        return Map.of(
                "map", mapping("iova", "pa", "size", "prot"),
                "unmap", mapping("iova", "size"),
                "i2p", operation("iova").exact("ret").build(),
                "ptes", operation().exact("leaves").build(),
                "ram", operation().informative(Informative.AFTER_HAZARD, "ram").build(),
                "attach",
                        operation()
                                .exact("ret", "pgsize_bitmap", "aperture_end")
                                .build());
    }

    private static LineFormat mapping(String... inputs) {
        return operation(inputs)
                .optionalInput("hazard")
                .exact("ret")
                .rule("klog", Rule.LOG_BEFORE_HAZARD)
                .build();
    }

    private static LineFormat.Builder operation(String... inputs) {
        return LineFormat.builder().identity("op").input(inputs);
    }

    @Override
    public Answers boot() {
        return recorded.answers();
    }

    @Override
    public Answers answer(String kind, Question question) {
        try (IommuPagingDomain domain = Iommu.of(recorded.machine()).allocPagingDomain()) {
            try {
                return script(domain, question);
            } finally {
                domain.detach(recorded.device());
            }
        }
    }

    private Answers script(IommuPagingDomain domain, Question question) {
        Answers answers = new Answers();
        if (question.has("before_attach")) {
            answers.object("before_attach", width(domain)).signed("attach", domain.attach(recorded.device()));
        }
        answers.unsigned("pgsize_bitmap", domain.pageSizes())
                .list("aperture", domain.apertureStart(), domain.apertureEnd());
        List<Answers> results = new ArrayList<>();
        recorded.log().latest();
        for (Question operation : question.objects("ops")) {
            results.add(run(domain, operation));
        }
        answers.objects("ops", results);
        return question.flag("leaves") ? answers.rows("leaves", DomainDump.rows(domain.leaves())) : answers;
    }

    private static Answers width(IommuPagingDomain domain) {
        return new Answers()
                .unsigned("pgsize_bitmap", domain.pageSizes())
                .list("aperture", domain.apertureStart(), domain.apertureEnd());
    }

    private Answers run(IommuPagingDomain domain, Question operation) {
        Answers answers = new Answers();
        return switch (operation.text("op")) {
            case "map" -> logged(answers.signed("ret", map(domain, operation)));
            case "unmap" ->
                logged(answers.unsigned("ret", domain.unmap(operation.number("iova"), operation.number("size"))));
            case "i2p" -> answers.unsigned("ret", domain.iovaToPhys(operation.number("iova")));
            case "ptes" -> answers.rows("leaves", DomainDump.rows(domain.leaves()));
            case "ram" -> answers;
            case "attach" ->
                answers.signed("ret", domain.attach(recorded.device()))
                        .unsigned("pgsize_bitmap", domain.pageSizes())
                        .unsigned("aperture_end", domain.apertureEnd());
            default -> throw new BadVectorException("unknown op " + operation.text("op"));
        };
    }

    private static int map(IommuPagingDomain domain, Question operation) {
        return domain.map(
                operation.number("iova"), operation.number("pa"), operation.number("size"), operation.integer("prot"));
    }

    private Answers logged(Answers answers) {
        return answers.log("klog", recorded.log().latest());
    }

    @Override
    public void close() {
        recorded.close();
    }
}
