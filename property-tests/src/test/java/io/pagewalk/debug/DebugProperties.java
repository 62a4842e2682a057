package io.pagewalk.debug;

import static io.pagewalk.debug.Driver.buffer;
import static io.pagewalk.dma.debug.DmaDebugKind.CACHELINE_EEXIST;
import static io.pagewalk.dma.debug.DmaDebugKind.DIFFERENT_DIRECTION;
import static io.pagewalk.dma.debug.DmaDebugKind.DIFFERENT_ENTRY_COUNT;
import static io.pagewalk.dma.debug.DmaDebugKind.DIFFERENT_SIZE;
import static io.pagewalk.dma.debug.DmaDebugKind.LEAK;
import static io.pagewalk.dma.debug.DmaDebugKind.MAP_ERROR_NOT_CHECKED;
import static io.pagewalk.dma.debug.DmaDebugKind.NOT_ALLOCATED;
import static io.pagewalk.dma.debug.DmaDebugKind.SYNC_NOT_ALLOCATED;
import static io.pagewalk.dma.debug.DmaDebugKind.WRONG_FUNCTION;
import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.Dma;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.debug.DebugMapping;
import io.pagewalk.dma.debug.DmaDebugKind;
import io.pagewalk.dma.debug.DmaDebugOptions;
import io.pagewalk.dma.debug.DmaDebugProfile;
import io.pagewalk.dma.debug.DmaDebugReport;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.dma.spi.DmaBackends;
import io.pagewalk.kit.DmaInvariants;
import io.pagewalk.kit.DmaProgram;
import io.pagewalk.kit.DmaProgramRun;
import io.pagewalk.kit.Law;
import io.pagewalk.kit.SmallWorld;
import io.pagewalk.kit.TestMachines;
import java.util.List;
import java.util.Objects;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.ForAll;
import net.jqwik.api.Provide;
import net.jqwik.api.constraints.IntRange;

/** A right program never gets a report; each planted misuse always gets exactly its own, wherever it is planted. */
class DebugProperties {
    /** One step of a driver: what it does, and with which numbers. */
    record Step(Action action, int which, int sizeBytes, DmaDirection direction) {
        void play(Driver driver) {
            action.play(driver, this);
        }
    }

    /** What a driver may do next. */
    enum Action {
        MAP_PAGE {
            @Override
            void play(Driver driver, Step step) {
                driver.mapPage(step.which, step.which * 8 % 0x1000, step.sizeBytes, step.direction);
            }
        },
        MAP_SG {
            @Override
            void play(Driver driver, Step step) {
                driver.mapSg(step.which, 1 + step.which % 6, step.sizeBytes, step.direction);
            }
        },
        ALLOC_COHERENT {
            @Override
            void play(Driver driver, Step step) {
                driver.allocCoherent(step.sizeBytes);
            }
        },
        ALLOC_PAGES {
            @Override
            void play(Driver driver, Step step) {
                driver.allocPages(step.sizeBytes, step.direction);
            }
        },
        ALLOC_NONCONTIGUOUS {
            @Override
            void play(Driver driver, Step step) {
                driver.allocNoncontiguous(step.sizeBytes, step.direction);
            }
        },
        MAP_RESOURCE {
            @Override
            void play(Driver driver, Step step) {
                driver.mapResource(step.which * 64, step.direction);
            }
        },
        SYNC {
            @Override
            void play(Driver driver, Step step) {
                driver.sync(step.which);
            }
        },
        END {
            @Override
            void play(Driver driver, Step step) {
                driver.end(step.which);
            }
        };

        abstract void play(Driver driver, Step step);
    }

    @Provide
    Arbitrary<SmallWorld> worlds() {
        return Arbitraries.of(DmaBackends.all()).map(found -> SmallWorld.of(found.name()));
    }

    @Provide
    Arbitrary<DmaDirection> directions() {
        return Arbitraries.of(Driver.DIRECTIONS);
    }

    @Provide
    Arbitrary<DmaDebugProfile> profiles() {
        return Arbitraries.of(DmaDebugProfile.class);
    }

    @Provide
    Arbitrary<List<Step>> programs() {
        return Combinators.combine(
                        Arbitraries.of(Action.class),
                        Arbitraries.integers().between(0, 60),
                        Arbitraries.integers().between(1, 0x1000),
                        directions())
                .as(Step::new)
                .list()
                .ofMaxSize(60);
    }

    private static void play(Driver driver, List<Step> steps) {
        steps.forEach(step -> step.play(driver));
    }

    @Law
    void aRightProgramGetsNoReport(
            TestMachines machines,
            @ForAll("worlds") SmallWorld world,
            @ForAll("profiles") DmaDebugProfile profile,
            @ForAll("programs") List<Step> program) {
        Driver driver = new Driver(machines, world, profile);
        play(driver, program);
        driver.finish();
        assertThat(driver.debug().reports()).isEmpty();
        assertThat(driver.debug().liveCount()).isZero();
        assertThat(driver.debug().freeEntries()).isEqualTo(driver.debug().totalEntries());
        DmaInvariants.checkIdle(driver.machine);
    }

    /** Its buffers may share lines and its devices take less than a list has, so those two checks are off. */
    @Law
    void theKitsProgramsGetNoReport(
            TestMachines machines, @ForAll("worlds") SmallWorld world, @ForAll DmaProgram program) {
        Machine machine = machines.start(world.builder()
                .dmaDebug(DmaDebugOptions.DEFAULT
                        .withProfile(DmaDebugProfile.COHERENT_PLATFORM)
                        .withSegments(false)));
        DmaProgramRun.run(machine, program);
        assertThat(Objects.requireNonNull(machine.dmaDebug()).reports()).isEmpty();
    }

    /** Around each misuse a right program goes on, which must not hide it. */
    private static Driver amid(TestMachines machines, SmallWorld world, DmaDebugProfile profile, List<Step> program) {
        Driver driver = new Driver(machines, world, profile);
        play(driver, program);
        return driver;
    }

    /** Of a mapping of its own, away from the slots of the program. */
    private static long mapped(Driver driver, int sizeBytes, DmaDirection direction) {
        long dmaAddr = driver.dma.mapPage(own(), sizeBytes, direction, 0);
        assertThat(driver.dma.mappingError(dmaAddr)).isZero();
        return dmaAddr;
    }

    private static long own() {
        return buffer(Driver.SLOTS + 4);
    }

    private static List<Step> some(List<Step> program) {
        return program.subList(0, Math.min(20, program.size()));
    }

    private static void requireOnly(Driver driver, DmaDebugKind... kinds) {
        driver.finish();
        assertThat(driver.kinds()).containsExactly(kinds);
    }

    @Law
    void aWrongSizeIsFound(
            TestMachines machines,
            @ForAll("worlds") SmallWorld world,
            @ForAll("profiles") DmaDebugProfile profile,
            @ForAll("programs") List<Step> program,
            @ForAll("directions") DmaDirection direction,
            @ForAll @IntRange(min = 2, max = 0x800) int sizeBytes) {
        Driver driver = amid(machines, world, profile, some(program));
        long dmaAddr = mapped(driver, sizeBytes, direction);
        driver.dma.unmapPage(dmaAddr, sizeBytes - 1, direction, 0);
        DmaDebugReport report = driver.debug().reports().get(0);
        requireOnly(driver, DIFFERENT_SIZE);
        assertThat(Objects.requireNonNull(report.mapping()).sizeBytes()).isEqualTo(sizeBytes);
        assertThat(Objects.requireNonNull(report.ref()).sizeBytes()).isEqualTo(sizeBytes - 1);
        assertThat(report.ref().dmaAddr()).isEqualTo(dmaAddr);
    }

    @Law
    void aWrongDirectionIsFound(
            TestMachines machines,
            @ForAll("worlds") SmallWorld world,
            @ForAll("profiles") DmaDebugProfile profile,
            @ForAll("programs") List<Step> program,
            @ForAll("directions") DmaDirection mapped,
            @ForAll("directions") DmaDirection unmapped) {
        Driver driver = amid(machines, world, profile, some(program));
        long dmaAddr = mapped(driver, 64, mapped);
        driver.dma.unmapPage(dmaAddr, 64, unmapped, 0);
        driver.finish();
        assertThat(driver.kinds()).isEqualTo(mapped == unmapped ? List.of() : List.of(DIFFERENT_DIRECTION));
    }

    @Law
    void aWrongFunctionIsFound(
            TestMachines machines,
            @ForAll("worlds") SmallWorld world,
            @ForAll("profiles") DmaDebugProfile profile,
            @ForAll("programs") List<Step> program,
            @ForAll("directions") DmaDirection direction) {
        Driver driver = amid(machines, world, profile, some(program));
        SgTable list = new SgTable(1).add(own(), 0x100);
        assertThat(driver.dma.mapSg(list, 1, direction, 0)).isEqualTo(1);
        driver.dma.unmapPage(list.dmaAddr(0), 0x100, direction, 0);
        requireOnly(driver, WRONG_FUNCTION);
    }

    @Law
    void aWrongCountIsFound(
            TestMachines machines,
            @ForAll("worlds") SmallWorld world,
            @ForAll("profiles") DmaDebugProfile profile,
            @ForAll("directions") DmaDirection direction) {
        Driver driver = new Driver(machines, world, profile);
        SgTable list = new SgTable(2).add(own(), 0x1000).add(own() + 0x2000, 0x1000);
        int segments = driver.dma.mapSg(list, 2, direction, 0);
        assertThat(segments).isPositive();
        driver.dma.unmapSg(list, 1, direction, 0);
        List<DmaDebugKind> kinds = driver.kinds();
        assertThat(kinds).containsExactly(DIFFERENT_ENTRY_COUNT);
        assertThat(driver.debug().liveCount()).isEqualTo(segments - 1);
    }

    @Law
    void anUnmapTwiceIsFound(
            TestMachines machines,
            @ForAll("profiles") DmaDebugProfile profile,
            @ForAll("programs") List<Step> program,
            @ForAll("directions") DmaDirection direction) {
        for (String backend :
                List.of("direct", "virt", "iommu-strict", "iommu-lazy")) { // a bounce pool goes wrong itself
            Driver driver = amid(machines, SmallWorld.of(backend), profile, some(program));
            long dmaAddr = mapped(driver, 64, direction);
            driver.dma.unmapPage(dmaAddr, 64, direction, 0);
            driver.dma.unmapPage(dmaAddr, 64, direction, 0);
            assertThat(driver.kinds()).containsExactly(NOT_ALLOCATED);
            assertThat(Objects.requireNonNull(driver.debug().reports().get(0).lastUnmap())
                            .mapping()
                            .dmaAddr())
                    .isEqualTo(dmaAddr);
        }
    }

    @Law
    void aSyncOutsideIsFound(
            TestMachines machines,
            @ForAll("worlds") SmallWorld world,
            @ForAll("profiles") DmaDebugProfile profile,
            @ForAll("programs") List<Step> program,
            @ForAll @IntRange(min = 1, max = 0x200) int past) {
        Driver driver = amid(machines, world, profile, some(program));
        long dmaAddr = mapped(driver, 0x200, DmaDirection.TO_DEVICE);
        driver.dma.syncSingleForDevice(dmaAddr + past, 0x200, DmaDirection.TO_DEVICE);
        driver.dma.unmapPage(dmaAddr, 0x200, DmaDirection.TO_DEVICE, 0);
        DmaDebugReport report = driver.debug().reports().get(0);
        requireOnly(driver, SYNC_NOT_ALLOCATED);
        assertThat(Objects.requireNonNull(report.near()).mapping().dmaAddr()).isEqualTo(dmaAddr);
    }

    @Law
    void anUncheckedErrorIsFound(
            TestMachines machines,
            @ForAll("worlds") SmallWorld world,
            @ForAll("profiles") DmaDebugProfile profile,
            @ForAll("programs") List<Step> program,
            @ForAll("directions") DmaDirection direction) {
        Driver driver = amid(machines, world, profile, some(program));
        long dmaAddr = driver.dma.mapPage(own(), 64, direction, 0);
        assertThat(dmaAddr).isNotEqualTo(Dma.DMA_MAPPING_ERROR);
        driver.dma.unmapPage(dmaAddr, 64, direction, 0);
        requireOnly(driver, MAP_ERROR_NOT_CHECKED);
    }

    @Law
    void aLeakIsFound(
            TestMachines machines,
            @ForAll("worlds") SmallWorld world,
            @ForAll("profiles") DmaDebugProfile profile,
            @ForAll("programs") List<Step> program,
            @ForAll("directions") DmaDirection direction) {
        Driver driver = amid(machines, world, profile, some(program));
        long dmaAddr = mapped(driver, 64, direction);
        driver.finish();
        assertThat(driver.kinds()).containsExactly(LEAK);
        DmaDebugReport report = driver.debug().reports().get(0);
        assertThat(report.fields().get(0).number()).isEqualTo(1);
        assertThat(Objects.requireNonNull(report.mapping()))
                .extracting(DebugMapping::dmaAddr, DebugMapping::direction)
                .containsExactly(dmaAddr, direction);
        driver.dma.unmapPage(dmaAddr, 64, direction, 0);
    }

    @Law
    void anOverlapIsFoundWhereLinesMayNotBeShared(
            TestMachines machines,
            @ForAll("worlds") SmallWorld world,
            @ForAll("profiles") DmaDebugProfile profile,
            @ForAll("programs") List<Step> program,
            @ForAll("directions") DmaDirection first,
            @ForAll("directions") DmaDirection second) {
        Driver driver = amid(machines, world, profile, some(program));
        long one = driver.dma.mapPage(own(), 8, first, 0);
        driver.dma.mappingError(one);
        long two = driver.dma.mapPage(own() + 8, 8, second, 0);
        driver.dma.mappingError(two);
        driver.dma.unmapPage(one, 8, first, 0);
        driver.dma.unmapPage(two, 8, second, 0);
        driver.finish();
        boolean wrong = first != DmaDirection.TO_DEVICE
                && second != DmaDirection.TO_DEVICE
                && profile != DmaDebugProfile.COHERENT_PLATFORM;
        assertThat(driver.kinds()).isEqualTo(wrong ? List.of(CACHELINE_EEXIST) : List.of());
    }
}
