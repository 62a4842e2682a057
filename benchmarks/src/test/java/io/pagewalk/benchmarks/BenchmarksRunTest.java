package io.pagewalk.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A benchmark that measures failures measures nothing: each body runs once and does what it says. */
class BenchmarksRunTest {
    @ParameterizedTest
    @ValueSource(strings = {"direct", "swiotlb", "iommu-strict", "iommu-lazy", "virt"})
    void eachMappingBenchmarkMapsAllItsBuffers(String backend) {
        MapUnmapBenchmark benchmark = new MapUnmapBenchmark();
        benchmark.backend = backend;
        benchmark.open();
        assertThat(benchmark.mapUnmapPage()).isNotZero();
        assertThat(benchmark.mapUnmapSg()).isPositive();
        benchmark.close();
    }

    @ParameterizedTest
    @ValueSource(strings = {"direct", "swiotlb", "iommu-strict", "iommu-lazy", "virt"})
    void eachAccessBenchmarkReachesTheBytesItsBaselineReads(String backend) {
        DeviceAccessBenchmark benchmark = new DeviceAccessBenchmark();
        benchmark.backend = backend;
        benchmark.open();
        assertThat(benchmark.readLong()).isEqualTo(benchmark.baseline());
        assertThat(benchmark.readPage()).isEqualTo(4096L * BenchmarkMachine.BATCH);
        assertThat(benchmark.writeLong()).isEqualTo(8L * BenchmarkMachine.BATCH);
        assertThat(benchmark.writePage()).isEqualTo(4096L * BenchmarkMachine.BATCH);
        assertThat(benchmark.readLine()).isEqualTo(64L * BenchmarkMachine.BATCH);
        assertThat(benchmark.writeLine()).isEqualTo(64L * BenchmarkMachine.BATCH);
        benchmark.close();
    }

    @ParameterizedTest
    @ValueSource(ints = {4096, 65536, 262144})
    void theBounceCopyMovesAsManyBytesAsItsBaseline(int sizeBytes) {
        BounceCopyBenchmark benchmark = new BounceCopyBenchmark();
        benchmark.sizeBytes = sizeBytes;
        benchmark.open();
        benchmark.bounceCopy();
        assertThat(benchmark.baselineBulkPut().capacity()).isGreaterThanOrEqualTo(sizeBytes);
        benchmark.close();
    }

    @ParameterizedTest
    @ValueSource(strings = {"software", "direct"})
    void theRegistrationChargesThePagesThatItsBaselineWalks(String device) {
        RegistrationBenchmark benchmark = new RegistrationBenchmark();
        benchmark.device = device;
        benchmark.pages = 1000;
        benchmark.open();
        long references = benchmark.baselineWalk();
        assertThat(references).as("each page is mapped").isGreaterThanOrEqualTo(1000);
        assertThat(benchmark.registerAndRelease()).isEqualTo(1000);
        assertThat(benchmark.baselineWalk()).as("released").isEqualTo(references);
        benchmark.close();
    }

    @Test
    void theDispatchBenchmarkEndsOnDirectAndOnTheTwinWithoutOffset() {
        DispatchBenchmark benchmark = new DispatchBenchmark();
        benchmark.mixCallSites();
        assertThat(benchmark.mapUnmapPage())
                .isEqualTo(benchmark.baselineInterfaceCalls())
                .isEqualTo(Arrays.stream(BenchmarkMachine.buffers()).sum());
        benchmark.close();
    }

    @ParameterizedTest
    @EnumSource(IommuBenchmark.Work.class)
    void eachPartOfAnIommuMappingIsDoneByTheLibraryAndByItsTwin(IommuBenchmark.Work work) {
        IommuBenchmark benchmark = new IommuBenchmark();
        benchmark.work = work;
        benchmark.open();
        long done = benchmark.pagewalk();
        assertThat(done).isPositive();
        if (work == IommuBenchmark.Work.LIST_CONTIGUOUS) {
            assertThat(done).as("one segment").isEqualTo(1);
        }
        assertThat(benchmark.baselineNaiveTwin()).isNotNegative();
        benchmark.close();
    }

    @ParameterizedTest
    @EnumSource(TranslationBenchmark.Work.class)
    void eachTranslationIsWhatTheArraySays(TranslationBenchmark.Work work) {
        TranslationBenchmark benchmark = new TranslationBenchmark();
        benchmark.work = work;
        benchmark.open();
        assertThat(benchmark.translate()).isEqualTo(benchmark.baselineArray());
        benchmark.close();
    }

    @ParameterizedTest
    @EnumSource(VerbsBenchmark.Work.class)
    void eachVerbMovesWhatItsBaselineMoves(VerbsBenchmark.Work work) {
        VerbsBenchmark benchmark = new VerbsBenchmark();
        benchmark.work = work;
        long done = benchmark.verbs();
        if (work == VerbsBenchmark.Work.FETCH_ADD_8) {
            assertThat(benchmark.baseline()).as("each word was added to once").isEqualTo(done + BenchmarkMachine.BATCH);
        } else {
            assertThat(benchmark.baseline()).isEqualTo(done);
        }
        benchmark.close();
    }

    @ParameterizedTest
    @ValueSource(strings = {"direct", "swiotlb", "iommu-strict", "iommu-lazy", "virt"})
    void theFrontEndMapsToWhatTheBackendAloneMapsTo(String backend) {
        FrontEndBenchmark benchmark = new FrontEndBenchmark();
        benchmark.backend = backend;
        benchmark.open();
        assertThat(benchmark.mapUnmapPage()).isNotZero().isEqualTo(benchmark.baseline());
        benchmark.close();
    }

    @ParameterizedTest
    @ValueSource(strings = {"nothing", "jfr", "ledger", "byte-exact", "dma-debug", "cpu-cache"})
    void eachOptionReadsWhatIsReadWithoutIt(String option) {
        OptionsBenchmark benchmark = new OptionsBenchmark();
        benchmark.option = option;
        benchmark.open();
        assertThat(benchmark.mapReadUnmap())
                .isEqualTo(64L * BenchmarkMachine.BATCH)
                .isEqualTo(benchmark.baseline());
        benchmark.close();
    }

    @ParameterizedTest
    @ValueSource(strings = {"direct", "swiotlb", "iommu-strict", "iommu-lazy"})
    void aTransferMovesTheBytesThatItsBaselineCopies(String backend) {
        TransferBenchmark benchmark = new TransferBenchmark();
        benchmark.backend = backend;
        benchmark.open();
        benchmark.baselineCopies();
        assertThat(benchmark.transfer()).isEqualTo(256L << 10);
        assertThat(benchmark.allocAndDereg()).isZero();
        benchmark.poolGetAndPut();
        benchmark.close();
    }
}
