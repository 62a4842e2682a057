package io.pagewalk.rdma.model;

import io.pagewalk.rdma.verbs.WcOpcode;
import io.pagewalk.rdma.verbs.WcStatus;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.RandomGenerator;
import net.jqwik.api.statistics.Statistics;

/** What the programs of a property have to meet, so that it is known to say something. */
final class Meets {
    private static final String LABEL = "completion";

    private Meets() {}

    /** Notes something that was met. */
    static void met(String what) {
        Statistics.label(LABEL).collect(what);
    }

    static String name(Done done, boolean received) {
        String prefix = received ? "receive " : "send ";
        return done.opcode() == null ? prefix + done.status() : prefix + done.opcode();
    }

    /** Every kind of success, and every status that the rules can give, at least once. */
    static void everything(ModelRules rules, boolean windows) {
        List<String> all = new ArrayList<>();
        for (WcOpcode opcode : WcOpcode.values()) {
            if (opcode != WcOpcode.BIND_MW || windows) {
                all.add((opcode.value() >= WcOpcode.RECV.value() ? "receive " : "send ") + opcode);
            }
        }
        for (WcStatus status : List.of(
                WcStatus.WR_FLUSH_ERR,
                WcStatus.LOC_PROT_ERR,
                WcStatus.REM_INV_REQ_ERR,
                WcStatus.REM_ACCESS_ERR,
                WcStatus.REM_OP_ERR,
                WcStatus.RNR_RETRY_EXC_ERR,
                WcStatus.RETRY_EXC_ERR)) {
            all.add("send " + status);
        }
        for (WcStatus status : List.of(WcStatus.WR_FLUSH_ERR, WcStatus.LOC_QP_OP_ERR, WcStatus.REM_INV_REQ_ERR)) {
            all.add("receive " + status);
        }
        if (rules == ModelRules.RXE_IDEAL || rules == ModelRules.TWO_KEYS) {
            all.add("send " + WcStatus.LOC_QP_OP_ERR);
            all.add("send " + WcStatus.MW_BIND_ERR);
        }
        all.add("posting EINVAL");
        Statistics.label(LABEL)
                .coverage(coverage -> all.forEach(what -> coverage.check(what).count(times -> times > 0)));
    }

    /** The same programs on every run, as what they have to meet is asserted. */
    static Stream<Program> ofOneSeed(Arbitrary<Program> programs) {
        RandomGenerator<Program> generator = programs.generator(1000, true);
        Random random = new Random(612);
        return Stream.generate(() -> generator.next(random).value()).limit(150);
    }
}
