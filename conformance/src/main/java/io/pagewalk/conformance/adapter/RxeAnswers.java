package io.pagewalk.conformance.adapter;

import io.pagewalk.conformance.format.Answers;
import io.pagewalk.conformance.format.Question;
import io.pagewalk.dma.Errno;
import io.pagewalk.rdma.verbs.Cq;
import io.pagewalk.rdma.verbs.WcStatus;
import io.pagewalk.rdma.verbs.WorkCompletion;
import java.util.ArrayList;
import java.util.List;

/** Answers to a line of verbs, of which each line has only some: those that are not wanted are left out. */
final class RxeAnswers {
    private final Question question;
    private final Answers answers = new Answers();

    RxeAnswers(Question question) {
        this.question = question;
    }

    RxeAnswers number(String name, long value) {
        if (question.wants(name)) {
            answers.signed(name, value);
        }
        return this;
    }

    /** A state that was asked. */
    RxeAnswers asked(String name, long value) {
        answers.signed(name, value);
        return this;
    }

    RxeAnswers text(String name, String value) {
        if (question.wants(name)) {
            answers.text(name, value);
        }
        return this;
    }

    RxeAnswers key(String name, int key) {
        answers.text(name, "0x" + Integer.toHexString(key));
        return this;
    }

    RxeAnswers object(String name, Answers members) {
        answers.object(name, members);
        return this;
    }

    RxeAnswers completions(String name, Cq cq) {
        List<Answers> all = drain(cq);
        if (question.wants(name)) {
            answers.objects(name, all);
        }
        return this;
    }

    /** What the application sees, and what the kernel told its library. */
    RxeAnswers result(int rc, int errno) {
        return number("rc", rc)
                .number("errno", errno)
                .text("err", name(errno))
                .number("kernel_calls", 1)
                .text("kernel_err", name(errno));
    }

    Answers done() {
        return answers;
    }

    static String name(int errno) {
        return errno == 0 ? "OK" : Errno.name(errno);
    }

    private static List<Answers> drain(Cq cq) {
        List<Answers> all = new ArrayList<>();
        WorkCompletion wc = new WorkCompletion();
        while (cq.poll(wc) == 1) {
            all.add(completion(wc));
        }
        return all;
    }

    /** Of an error only the status is there; flags only when there are any. */
    private static Answers completion(WorkCompletion wc) {
        Answers one = new Answers()
                .signed("wr_id", wc.wrId())
                .signed("status", wc.status().value())
                .text("status_name", wc.status().name())
                .signed("vendor_err", wc.vendorErr());
        if (wc.status() == WcStatus.SUCCESS) {
            one.signed("opcode", wc.opcode().value()).signed("byte_len", wc.byteLen());
            if (wc.flags() != 0) {
                one.signed("wc_flags", wc.flags());
            }
        }
        return one;
    }
}
