package io.pagewalk.dma;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

/** What the kernel would have logged: architecture rule 5. */
class KernelLogTest {
    private final VirtualClock clock = new VirtualClock();
    private final KernelLog log = new KernelLog(clock);

    @Test
    void everyEntryKeepsItsOrderTimeKindSiteAndText() {
        log.warn("here", "one");
        clock.advance(7);
        log.message("there", "two");

        assertThat(log.entries())
                .containsExactly(
                        new KernelLog.Entry(0, 0, KernelLog.Kind.WARN, "here", "one"),
                        new KernelLog.Entry(1, 7, KernelLog.Kind.MESSAGE, "there", "two"));
    }

    @Test
    void countsStayExactWhenOldEntriesLeave() {
        for (int i = 0; i < KernelLog.KEPT + 10; i++) {
            log.warn("site", "text " + i);
        }
        log.message("other", "x");

        assertThat(log.entries()).hasSize(KernelLog.KEPT);
        assertThat(log.entries().get(0).text()).isEqualTo("text 11");
        assertThat(log.entries().get(0).sequence()).isEqualTo(11);
        assertThat(log.count("site")).isEqualTo(KernelLog.KEPT + 10);
        assertThat(log.count("other")).isEqualTo(1);
        assertThat(log.count("nowhere")).isZero();
        assertThat(log.warnCount()).isEqualTo(KernelLog.KEPT + 10);
    }

    @Test
    void aFatalWarnIsRecordedThenThrown() {
        log.warnsAreFatal(true);

        assertThatThrownBy(() -> log.warn("site", "0x10 is odd"))
                .isInstanceOf(KernelWarnException.class)
                .hasMessage("site: 0x10 is odd");
        assertThatThrownBy(() -> log.site("other").warn("too")).isInstanceOf(KernelWarnException.class);
        assertThat(log.warnCount()).isEqualTo(2);
        assertThat(log.entries()).hasSize(2);
    }

    @Test
    void messagesAreNeverFatal() {
        log.warnsAreFatal(true);
        log.message("site", "text");
        log.warnsAreFatal(false);
        log.warn("site", "text");

        assertThat(log.count("site")).isEqualTo(2);
        assertThat(log.warnCount()).isEqualTo(1);
    }

    @Test
    void aSiteThatLogsOnceCountsEveryPassing() {
        KernelLog.Site site = log.site("once");
        for (int i = 0; i < 5; i++) {
            if (site.isFirst()) {
                site.warn("first");
            }
        }

        assertThat(log.site("once")).isSameAs(site);
        assertThat(log.count("once")).isEqualTo(5);
        assertThat(log.entries()).hasSize(1);
        assertThat(log.warnCount()).isEqualTo(1);
    }

    @Test
    void rearmingLetsWarningsComeAgainButNotPlainMessages() {
        KernelLog.Site warning = log.site("warns once");
        KernelLog.Site message = log.site("says once");
        assertThat(warning.isFirst()).isTrue();
        warning.warn("w");
        assertThat(message.isFirst()).isTrue();
        message.message("m");

        log.rearmWarnings();

        assertThat(warning.isFirst()).isTrue();
        assertThat(warning.isFirst()).isFalse();
        assertThat(message.isFirst()).isFalse();
        assertThat(log.count("warns once")).isEqualTo(3);
    }

    @Test
    void aSiteOfLimitedRateLogsABurstInEachInterval() {
        KernelLog.Site site = log.site("limited");
        for (int i = 0; i < 25; i++) {
            if (site.isWithinRate()) {
                site.message("pass " + i);
            }
        }
        assertThat(log.entries()).hasSize(KernelLog.Site.RATE_BURST);

        clock.advance(KernelLog.Site.RATE_INTERVAL_NANOS - 1);
        assertThat(site.isWithinRate()).isFalse();
        clock.advance(1);
        assertThat(site.isWithinRate()).isTrue();
        assertThat(log.count("limited")).isEqualTo(27);
    }

    @Test
    void entriesAreACopy() {
        log.entries().add(new KernelLog.Entry(0, 0, KernelLog.Kind.WARN, "site", "text"));

        assertThat(log.entries()).isEmpty();
    }

    @Test
    void hazardsAreNamedCountedApartFromWarnsAndFatalOnRequest() {
        log.hazard("a.hazard", "first");
        assertThat(log.hazardCount()).isEqualTo(1);
        assertThat(log.warnCount()).isZero();
        assertThat(log.count("a.hazard")).isEqualTo(1);
        assertThat(log.entries().get(0).kind()).isEqualTo(KernelLog.Kind.HAZARD);
        log.warnsAreFatal(true);
        log.hazard("a.hazard", "second");
        log.hazardsAreFatal(true);
        assertThatThrownBy(() -> log.hazard("a.hazard", "third"))
                .isInstanceOf(KernelHazardException.class)
                .hasMessage("a.hazard: third");
        assertThat(log.hazardCount()).isEqualTo(3);
    }
}
