package io.pagewalk.dma;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Bounds of mmap: dma-core:FE-57, FE-71, COH-7. */
class UserMappingTest {
    private static final long[] APART = {0x7000, 0x3000, 0x5000};

    @ParameterizedTest
    @CsvSource({
        "1, 0, 0",
        "3, 0, 0",
        "4, 0, -6",
        "1, 2, 0",
        "2, 2, -6",
        "1, 3, -6",
        "0, 3, -6",
        "0, 2, 0",
        "-1, 1, -6",
        "1, -1, -6",
        "0x8000000000000000, 0, -6",
        "1, 0x100000000, -6"
    })
    void aPartMustBeInside(String pages, String pgoff, int result) {
        UserVma vma = new UserVma(parse(pages), parse(pgoff));

        assertThat(UserMapping.ofPages(vma, APART, PageProtection.CACHED).result())
                .isEqualTo(result);
        assertThat(UserMapping.ofContiguous(vma, 0x1000, 3, PageProtection.CACHED)
                        .result())
                .isEqualTo(result);
    }

    private static long parse(String number) {
        return number.startsWith("0x") ? Long.parseUnsignedLong(number.substring(2), 16) : Long.parseLong(number);
    }

    @Test
    void pagesThatLieApartAreSeenInOrder() {
        UserMapping mapping = UserMapping.ofPages(new UserVma(2, 1), APART, PageProtection.UNCACHED);

        assertThat(mapping.pages()).isEqualTo(2);
        assertThat(mapping.physAddr(0)).isEqualTo(0x3000);
        assertThat(mapping.physAddr(1)).isEqualTo(0x5000);
        assertThat(mapping.protection()).isEqualTo(PageProtection.UNCACHED);
        assertThat(mapping).hasToString("2 pages UNCACHED from 0x3000");
        for (long page : new long[] {2, -1, 1L << 32}) {
            assertThatThrownBy(() -> mapping.physAddr(page))
                    .isInstanceOf(IndexOutOfBoundsException.class)
                    .hasMessage("page " + Long.toUnsignedString(page) + " of a mapping of 2 pages");
        }
    }

    @Test
    void aMappingDoesNotChangeWithItsArray() {
        long[] pages = APART.clone();
        UserMapping mapping = UserMapping.ofPages(new UserVma(1, 0), pages, PageProtection.CACHED);
        pages[0] = 0;

        assertThat(mapping.physAddr(0)).isEqualTo(0x7000);
    }

    @Test
    void nothingIsSeenThroughAFailure() {
        UserMapping failed = UserMapping.failed(-6);

        assertThat(failed.pages()).isZero();
        assertThat(failed.protection()).isEqualTo(PageProtection.CACHED);
        assertThat(failed).hasToString("not mapped: ENXIO");
        assertThatThrownBy(() -> failed.physAddr(0)).isInstanceOf(IndexOutOfBoundsException.class);
        assertThatThrownBy(() -> UserMapping.failed(0))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("0 is no negated errno");
    }

    @Test
    void aRangeOfNoPagesIsASuccessOfNothing() {
        assertThat(UserMapping.ofContiguous(new UserVma(0, 0), 0x1000, 1, PageProtection.CACHED))
                .hasToString("0 pages CACHED");
    }
}
