package io.pagewalk.stress;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.openjdk.jcstress.infra.results.JJJ_Result;
import org.openjdk.jcstress.infra.results.LL_Result;
import org.openjdk.jcstress.infra.results.L_Result;
import org.openjdk.jcstress.infra.runners.TestList;

/** A stress test that provokes nothing finds nothing: each is known to jcstress, and one thread sees what it should. */
class StressRunsTest {

    @Test
    void jcstressKnowsEveryStressTest() {
        assertThat(TestList.tests())
                .containsExactlyInAnyOrder(
                        BusAtomics.class.getName(),
                        LeafPublication.class.getName(),
                        TablePublication.class.getName(),
                        TablesOfTwoDrivers.class.getName(),
                        TablesUsedAgain.class.getName(),
                        WalkAfterUnmap.class.getName(),
                        WriteAfterUnmap.class.getName());
    }

    @Test
    void aWalkFindsAPageThatWasMappedBeforeAndNoneThatIsMappedLater() {
        L_Result r = new L_Result();
        for (int i = 0; i < 3; i++) {
            LeafPublication mapFirst = new LeafPublication();
            mapFirst.driver();
            mapFirst.device(r);
            mapFirst.after(r);
            assertThat(r.r1).isEqualTo(Walk.PAGE);

            LeafPublication walkFirst = new LeafPublication();
            walkFirst.device(r);
            walkFirst.driver();
            walkFirst.after(r);
            assertThat(r.r1).isEqualTo(Walk.NOTHING);
        }
    }

    @Test
    void theSameHoldsWhereTablesAreMissing() {
        L_Result r = new L_Result();
        for (int i = 0; i < 3; i++) {
            TablePublication mapFirst = new TablePublication();
            mapFirst.driver();
            mapFirst.device(r);
            mapFirst.after(r);
            assertThat(r.r1).isEqualTo(Walk.PAGE);

            TablePublication walkFirst = new TablePublication();
            walkFirst.device(r);
            walkFirst.driver();
            walkFirst.after(r);
            assertThat(r.r1).isEqualTo(Walk.NOTHING);
        }
    }

    @Test
    void twoDriversMapIntoOneTable() {
        LL_Result r = new LL_Result();
        TablesOfTwoDrivers state = new TablesOfTwoDrivers();
        state.driver();
        state.otherDriver();
        state.after(r);
        assertThat(r).hasToString("PAGE, PAGE");
    }

    @Test
    void anUnmapThatHasReturnedIsSeen() {
        LL_Result r = new LL_Result();
        WalkAfterUnmap walkFirst = new WalkAfterUnmap();
        walkFirst.device(r);
        walkFirst.driver();
        walkFirst.after(r);
        assertThat(r).hasToString("RUNNING, PAGE");

        WalkAfterUnmap unmapFirst = new WalkAfterUnmap();
        unmapFirst.driver();
        unmapFirst.device(r);
        unmapFirst.after(r);
        assertThat(r).hasToString("RETURNED, NOTHING");
    }

    @Test
    void theDriversWriteIsTheLast() {
        LL_Result r = new LL_Result();
        WriteAfterUnmap deviceFirst = new WriteAfterUnmap();
        deviceFirst.device(r);
        deviceFirst.driver();
        deviceFirst.after(r);
        assertThat(r).hasToString("8, DRIVER");

        WriteAfterUnmap unmapFirst = new WriteAfterUnmap();
        unmapFirst.driver();
        unmapFirst.device(r);
        unmapFirst.after(r);
        assertThat(r).hasToString("0, DRIVER");
    }

    @Test
    void aRangeThatIsGoneIsNotReachedThroughTheTablesOfTheNext() {
        LL_Result r = new LL_Result();
        TablesUsedAgain walkFirst = new TablesUsedAgain();
        walkFirst.device(r);
        walkFirst.driver();
        walkFirst.after(r);
        assertThat(r).hasToString("PAGE, PAGE");

        TablesUsedAgain unmapFirst = new TablesUsedAgain();
        unmapFirst.driver();
        unmapFirst.device(r);
        unmapFirst.after(r);
        assertThat(r).hasToString("NOTHING, NOTHING");
    }

    @Test
    void additionsAddUp() {
        JJJ_Result r = new JJJ_Result();
        BusAtomics state = new BusAtomics();
        state.device(r);
        state.otherThread(r);
        state.after(r);
        assertThat(r).hasToString("0, 1, 11");
    }
}
