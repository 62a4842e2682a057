package io.pagewalk.dma.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

/** dma-core:ALC-9. */
class CmaAreaTest {
    private static final long BASE = 0x10_3000;

    private final CmaArea area = new CmaArea("area", PhysRange.ofSize(BASE, 8 * 0x1000));

    @Test
    void lowestPlaceThatFitsIsTaken() {
        assertThat(area.alloc(2, 0)).isEqualTo(BASE);
        assertThat(area.alloc(1, 0)).isEqualTo(BASE + 0x2000);
        assertThat(area.release(BASE, 2)).isTrue();
        assertThat(area.alloc(3, 0)).isEqualTo(BASE + 0x3000);
        assertThat(area.alloc(2, 0)).isEqualTo(BASE);
        assertThat(area.usedPages()).isEqualTo(6);
        assertThat(area.alloc(3, 0)).isEqualTo(PageAllocator.NO_PAGE);
        assertThat(area.alloc(2, 0)).isEqualTo(BASE + 0x6000);
        assertThat(area.alloc(1, 0)).isEqualTo(PageAllocator.NO_PAGE);
    }

    @Test
    void pageNumbersAreAligned() {
        assertThat(area.alloc(1, 2)).isEqualTo(0x10_4000);
        assertThat(area.alloc(2, 2)).isEqualTo(0x10_8000);
        assertThat(area.alloc(1, 2)).isEqualTo(PageAllocator.NO_PAGE);
        assertThat(area.alloc(1, 1)).isEqualTo(0x10_6000);
    }

    @Test
    void wholeAreaCanBeTaken() {
        assertThat(area.alloc(9, 0)).isEqualTo(PageAllocator.NO_PAGE);
        assertThat(area.alloc(8, 0)).isEqualTo(BASE);
    }

    @Test
    void pagesOutsideAreNotTheAreas() {
        assertThat(area.release(BASE - 0x1000, 1)).isFalse();
        assertThat(area.release(BASE + 0x7000, 2)).isFalse();
        assertThat(area.usedPages()).isZero();
    }

    @Test
    void pagesAreGivenBackOnce() {
        area.alloc(2, 0);
        assertThatThrownBy(() -> area.release(BASE, 3))
                .isInstanceOf(IllegalStateException.class)
                .hasMessage("pages of 0x103000+0x3000 in CMA area area are free: freed twice, or never allocated");
        assertThat(area.usedPages()).isEqualTo(2);
    }

    @Test
    void areaIsWholePages() {
        assertThatThrownBy(() -> new CmaArea("odd", PhysRange.ofSize(0x1800, 0x1000)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("[0x1800, 0x27ff] of CMA area odd is not whole pages");
        assertThatThrownBy(() -> new CmaArea("odd", PhysRange.ofSize(0x1000, 0x800)))
                .isInstanceOf(IllegalArgumentException.class);
        assertThat(area).hasToString("area [0x103000, 0x10afff]");
    }

    @Test
    void areasAreFoundByNodeAndName() {
        CmaAreas areas = new CmaAreas()
                .withDefault(PhysRange.ofSize(0x1000, 0x1000))
                .withNode(2, PhysRange.ofSize(0x2000, 0x1000))
                .with("gpu", PhysRange.ofSize(0x3000, 0x1000));
        assertThat(areas.all()).extracting(CmaArea::name).containsExactly("reserved", "numa2", "gpu");
        assertThat(areas.ofNode(2)).isSameAs(areas.all().get(1));
        assertThat(areas.ofNode(1)).isNull();
        assertThat(areas.named("gpu").range().first()).isEqualTo(0x3000);
        assertThatThrownBy(() -> areas.named("npu"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("there is no CMA area npu among [gpu]");
        areas.named("gpu").alloc(1, 0);
        CmaAreas copy = areas.copy();
        assertThat(copy.named("gpu").usedPages()).isZero();
        assertThat(copy.all()).hasSize(3);
        assertThat(new CmaAreas().all()).isEmpty();
        assertThat(new CmaAreas().defaultArea()).isNull();
    }
}
