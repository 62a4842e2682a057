package io.pagewalk.backends.iommu.api;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.Access;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.DmaException;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.Gfp;
import io.pagewalk.dma.KernelHazardException;
import io.pagewalk.dma.KernelLog;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.PhysRange;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.dma.spi.BackendOptions;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.assertj.core.api.ThrowableAssert;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** {@code iommu_map} and its relatives as a library user calls them. */
class IommuPagingDomainTest {
    private static final int RW = IommuProt.READ | IommuProt.WRITE;
    private static final long PAGE = 0x1000;
    private static final long MIB2 = 2 << 20;
    private static final long ALL_SIZES = 1L << 12 | 1L << 21 | 1L << 30;

    private final Machine machine = Machine.builder()
            .ramBytes(6L << 30)
            .chunkBytes(1 << 16)
            .allocatable(List.of(new PhysRange(1 << 20, (65 << 20) - 1)))
            .commandLine("swiotlb=noforce")
            .backend("iommu-strict")
            .backendOptions(BackendOptions.NONE.with("iommu.widthBits", 39).with("iommu.tablePoolBytes", 32 * PAGE))
            .build();
    private final Device edu = machine.addDevice(DeviceConfig.named("edu"));
    private final Iommu iommu = Iommu.of(machine);
    private final IommuPagingDomain domain = iommu.allocPagingDomain();

    @AfterEach
    void nothingIsBroken() {
        List<String> violations = new ArrayList<>();
        machine.checkStructure(violations::add);
        machine.close();
        assertThat(violations).isEmpty();
    }

    private List<String> log() {
        return machine.log().entries().stream().map(KernelLog.Entry::text).toList();
    }

    @Test
    void onlyMachinesWithAnIommuHaveOne() {
        try (Machine direct = Machine.builder().ramBytes(16 << 20).build()) {
            assertThatThrownBy(() -> Iommu.of(direct))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("a machine with backend direct has no IOMMU; iommu-strict has one");
        }
    }

    @Test
    @DisplayName("iommu:VTD-4, DINIT-2: a new domain has 57 bits and 4 KiB pages; attaching fits it to the unit")
    void geometryFollowsTheUnitFromTheFirstAttachOn() {
        assertThat(domain.type()).isEqualTo(IommuDomainType.UNMANAGED);
        assertThat(domain.pageSizes()).isEqualTo(PAGE);
        assertThat(domain.apertureStart()).isZero();
        assertThat(domain.apertureEnd()).isEqualTo((1L << 57) - 1);
        assertThat(domain.isApertureForced()).isTrue();
        assertThat(domain.attach(edu)).isZero();
        assertThat(domain.pageSizes()).isEqualTo(ALL_SIZES);
        assertThat(domain.apertureEnd()).isEqualTo((1L << 39) - 1);
    }

    @Test
    @DisplayName(
            "iommu:GRP-2, GRP-5: a device is behind its default domain, or behind the one attached, until detached")
    void deviceMovesBetweenItsDefaultDomainAndTheAttachedOne() {
        IommuPagingDomain other = iommu.allocPagingDomain();
        assertThat(iommu.domainOf(edu).type()).isEqualTo(IommuDomainType.DMA);
        assertThat(domain.attach(edu)).isZero();
        assertThat(domain.attach(edu)).isZero();
        assertThat(iommu.domainOf(edu)).isSameAs(domain);
        assertThat(iommu.defaultDomainOf(edu).type()).isEqualTo(IommuDomainType.DMA);
        assertThat(other.attach(edu)).isEqualTo(-Errno.EBUSY);
        other.detach(edu);
        assertThat(iommu.domainOf(edu)).isSameAs(domain);
        domain.detach(edu);
        assertThat(iommu.domainOf(edu)).isSameAs(iommu.defaultDomainOf(edu));
        assertThat(other.attach(edu)).isZero();
    }

    @Test
    @DisplayName("the device reaches what the attached domain maps, and nothing of it after detach or unmap")
    void hardwareFollowsTheAttachedDomain() {
        machine.memory().putLong(0x10_0000, 0x1122_3344_5566_7788L);
        domain.attach(edu);
        assertThat(domain.map(0x4000, 0x10_0000, PAGE, RW)).isZero();
        byte[] bytes = new byte[8];
        assertThat(edu.bus().read(0x4000, bytes, 0, 8)).isEqualTo(8);
        assertThat(bytes[0]).isEqualTo((byte) 0x88);
        domain.detach(edu);
        assertThat(edu.bus().read(0x4000, bytes, 0, 8)).isZero();
        domain.attach(edu);
        assertThat(edu.bus().read(0x4000, bytes, 0, 8)).isEqualTo(8);
        assertThat(domain.unmap(0x4000, PAGE)).isEqualTo(PAGE);
        assertThat(edu.bus().read(0x4000, bytes, 0, 8)).isZero();
        assertThat(machine.faults().recent().get(1).access()).isEqualTo(Access.READ);
    }

    @Test
    @DisplayName("iommu:CORE-13, E8: leaves as the alignment of both addresses allows, run-length coded")
    void leavesAreAsLargeAsBothAddressesAllow() {
        domain.attach(edu);
        assertThat(domain.map(0x1ff000, 0x3ff000, 0x402000, RW)).isZero();
        assertThat(domain.map(0x4000_0000, 0x8000_0000L, 1 << 30, IommuProt.READ))
                .isZero();
        assertThat(domain.leaves())
                .containsExactly(
                        new LeafRun(0x1ff000, 0x3ff000, PAGE, 1, RW),
                        new LeafRun(0x200000, 0x400000, MIB2, 2, RW),
                        new LeafRun(0x600000, 0x800000, PAGE, 1, RW),
                        new LeafRun(0x4000_0000, 0x8000_0000L, 1 << 30, 1, IommuProt.READ));
        assertThat(domain.iovaToPhys(0x4012_3456)).isEqualTo(0x8012_3456L);
        assertThat(domain.iovaToPhys(0x601000)).isZero();
    }

    @Test
    @DisplayName("iommu:CORE-14, E11: what is not a multiple of the smallest page is refused in the kernel's words")
    void misalignedRequestsAreRefused() {
        assertThat(domain.map(0, 1, PAGE, RW)).isEqualTo(-Errno.EINVAL);
        assertThat(domain.unmap(0x800, 0x800)).isZero();
        assertThat(log())
                .containsExactly(
                        "unaligned: iova 0x0 pa 0x0000000000000001 size 0x1000 min_pagesz 0x1000",
                        "unaligned: iova 0x800 size 0x800 min_pagesz 0x1000");
        assertThat(domain.leaves()).isEmpty();
    }

    @Test
    @DisplayName("iommu:CORE-14: allocation flags that choose a zone are refused, with one WARN")
    void zoneFlagsAreRefused() {
        for (int gfp : new int[] {Gfp.DMA, Gfp.DMA32, Gfp.HIGHMEM, Gfp.COMP}) {
            assertThat(domain.map(0, 0, PAGE, RW, gfp, "")).isEqualTo(-Errno.EINVAL);
        }
        assertThat(machine.log().warnCount()).isEqualTo(1);
        assertThat(domain.map(0, 0, PAGE, RW, Gfp.KERNEL, "")).isZero();
    }

    @Test
    @DisplayName("iommu:CORE-18: nothing is mapped with size 0, and that is no error")
    void emptyMapSucceeds() {
        assertThat(domain.map(0x1000, 0x1000, 0, RW)).isZero();
        assertThat(domain.leaves()).isEmpty();
        assertThat(domain.find(0x1000)).isNull();
    }

    @Test
    @DisplayName("iommu:VTD-14, D6: beyond the width is -EFAULT with the driver's message, and looks unmapped")
    void narrowIommuRefusesHighAddresses() {
        domain.attach(edu);
        assertThat(domain.map(0x88_0000_0000L, 0, PAGE, RW)).isEqualTo(-Errno.EFAULT);
        assertThat(log())
                .containsExactly(
                        "intel_iommu_map: iommu width (39) is not sufficient for the mapped address" + " (8800001000)");
        assertThat(domain.iovaToPhys(0x88_0000_0000L)).isZero();
        assertThat(domain.map(-PAGE, 0, PAGE, RW)).isEqualTo(-Errno.EINVAL);
    }

    @Test
    @DisplayName(
            "iommu:VTD-4: what is mapped beyond the unit's width before the attach forbids it, and nothing changes")
    void attachFailsWhenTheDomainIsTooWideAlready() {
        assertThat(domain.map(1L << 40, 0, PAGE, RW)).isZero();
        assertThat(domain.attach(edu)).isEqualTo(-Errno.EINVAL);
        assertThat(iommu.domainOf(edu).type()).isEqualTo(IommuDomainType.DMA);
        assertThat(domain.apertureEnd()).isEqualTo((1L << 57) - 1);
    }

    @Test
    @DisplayName("iommu:VTD-17, E10: a page that is mapped stays as it is; the call returns 0, and the log says so")
    void mapOverAnExistingLeafLeavesIt() {
        domain.attach(edu);
        domain.map(0x10000, 0x6_4000, 2 * PAGE, RW, 0, "first");
        assertThat(domain.map(0x11000, 0xc_8000, 2 * PAGE, RW, 0, "second")).isZero();
        assertThat(log()).containsExactly("ERROR: DMA PTE for vPFN 0x11 already set (to 65003 not c8003)");
        assertThat(machine.log().warnCount()).isEqualTo(1);
        assertThat(domain.iovaToPhys(0x11000)).isEqualTo(0x6_5000);
        assertThat(domain.find(0x11fff)).isEqualTo(new LiveMapping(0x10000, 2 * PAGE, 0x6_4000, RW, "first"));
        assertThat(domain.find(0x12000)).isEqualTo(new LiveMapping(0x12000, PAGE, 0xc_9000, RW, "second"));
    }

    @Test
    @DisplayName("iommu:VTD-18: a large page takes the place of small ones, and its owner theirs")
    void largePageReplacesSmallOnes() {
        domain.attach(edu);
        domain.map(MIB2 + 5 * PAGE, 0x7000, PAGE, RW, 0, "small");
        assertThat(domain.map(MIB2, 4 * MIB2, MIB2, RW, 0, "large")).isZero();
        assertThat(domain.leaves()).containsExactly(new LeafRun(MIB2, 4 * MIB2, MIB2, 1, RW));
        assertThat(domain.find(MIB2 + 5 * PAGE)).isEqualTo(new LiveMapping(MIB2, MIB2, 4 * MIB2, RW, "large"));
    }

    @Test
    @DisplayName("iommu:VTD-19: a small page inside a large one returns 0, changes nothing, and is a named hazard")
    void smallPageInsideALargeOneIsAHazard() {
        domain.attach(edu);
        domain.map(MIB2, MIB2, MIB2, RW);
        assertThat(domain.map(MIB2 + PAGE, 0x7000, PAGE, RW)).isZero();
        assertThat(domain.leaves()).containsExactly(new LeafRun(MIB2, MIB2, MIB2, 1, RW));
        assertThat(machine.memory().getLong(MIB2 + 8)).isZero();
        assertThat(machine.log().hazardCount()).isEqualTo(1);
        assertThat(machine.log().warnCount()).isZero();
        assertThat(machine.log().count("vtd.superpage-walk")).isEqualTo(1);
        assertThat(machine.log().entries().get(0).kind()).isEqualTo(KernelLog.Kind.HAZARD);
        machine.log().hazardsAreFatal(true);
        assertThatThrownBy(() -> domain.map(MIB2 + PAGE, 0x7000, PAGE, RW))
                .isInstanceOf(KernelHazardException.class)
                .hasMessage("vtd.superpage-walk: a mapping at IOVA 0x201000 walks through the 2 MiB leaf above it as"
                        + " though it were a table");
    }

    @Test
    @DisplayName("iommu:VTD-22: unmapping a hole of an empty 3-level domain takes 1 GiB")
    void unmapOfAHoleReportsMoreThanAsked() {
        domain.attach(edu);
        assertThat(domain.unmap(0x200000, 0x8000)).isEqualTo(0x4000_0000);
        domain.map(MIB2, MIB2, MIB2, RW);
        assertThat(domain.unmap(MIB2, PAGE)).isEqualTo(MIB2);
        assertThat(domain.find(MIB2 + PAGE)).isNull();
    }

    @Test
    @DisplayName("iommu:CORE-21: adjacent entries join, and are one large page where they can")
    void mapSgJoinsAdjacentEntries() {
        domain.attach(edu);
        SgTable sg = new SgTable(3);
        sg.add(4 * MIB2, MIB2 / 2);
        sg.add(4 * MIB2 + MIB2 / 2, MIB2 / 2);
        sg.add(0x7000, PAGE);
        assertThat(domain.mapSg(MIB2, sg, 3, RW, "list")).isEqualTo(MIB2 + PAGE);
        assertThat(domain.leaves())
                .containsExactly(new LeafRun(MIB2, 4 * MIB2, MIB2, 1, RW), new LeafRun(2 * MIB2, 0x7000, PAGE, 1, RW));
        assertThat(domain.find(2 * MIB2 + 1)).isEqualTo(new LiveMapping(2 * MIB2, PAGE, 0x7000, RW, "list"));
        assertThat(domain.find(MIB2)).isEqualTo(new LiveMapping(MIB2, MIB2 / 2, 4 * MIB2, RW, "list"));
    }

    @Test
    @DisplayName("iommu:VTD-11: what may be written may be read as well")
    void writeOnlyIsReadable() {
        domain.map(0x1000, 0x2000, PAGE, IommuProt.WRITE, 0, "w");
        assertThat(domain.find(0x1000)).isEqualTo(new LiveMapping(0x1000, PAGE, 0x2000, RW, "w"));
        assertThat(domain.map(0x2000, 0x2000, PAGE, IommuProt.CACHE)).isEqualTo(-Errno.EINVAL);
    }

    @Test
    void partialUnmapLeavesTheEndsToTheirOwner() {
        domain.attach(edu);
        domain.map(0x10000, 0x20000, 4 * PAGE, RW, 0, "nvme");
        assertThat(domain.unmap(0x11000, PAGE)).isEqualTo(PAGE);
        assertThat(domain.find(0x10000)).isEqualTo(new LiveMapping(0x10000, PAGE, 0x20000, RW, "nvme"));
        assertThat(domain.find(0x11000)).isNull();
        assertThat(domain.find(0x13fff)).isEqualTo(new LiveMapping(0x12000, 2 * PAGE, 0x22000, RW, "nvme"));
    }

    @Test
    void dumpsSayWhatIsMappedAndByWhom() {
        domain.attach(edu);
        domain.map(0x1000, 0x7000, 2 * PAGE, IommuProt.READ, 0, "q\"1");
        assertThat(domain.toText()).isEqualTo("""
                        unmanaged domain: page sizes 0x40201000, aperture 0x0-0x7fffffffff, table pages 3
                          0x1000 -> 0x7000 2 x 0x1000 r-
                          mapping 0x1000+0x2000 -> 0x7000 of q"1
                        """);
        assertThat(domain.toJson())
                .isEqualTo(
                        "{\"type\":\"unmanaged\",\"pageSizes\":\"0x40201000\",\"aperture\":[\"0x0\",\"0x7fffffffff\"],"
                                + "\"tablePages\":3,\"leaves\":[{\"iova\":\"0x1000\",\"phys\":\"0x7000\",\"leaf\":\"0x1000\","
                                + "\"count\":2,\"perm\":\"r-\"}],\"mappings\":[{\"iova\":\"0x1000\",\"size\":\"0x2000\","
                                + "\"phys\":\"0x7000\",\"owner\":\"q\\\"1\"}]}");
    }

    @Test
    @DisplayName("iommu:CORE-22: a fault goes to the handler, and is -ENOSYS without one")
    void faultsGoToTheHandler() {
        assertThat(domain.reportFault(edu, 0x1000, true)).isEqualTo(-Errno.ENOSYS);
        domain.setFaultHandler((device, iova, write) -> write && iova == 0x1000 && device == edu ? 0 : -Errno.EIO);
        assertThat(domain.reportFault(edu, 0x1000, true)).isZero();
        assertThat(domain.reportFault(edu, 0x1000, false)).isEqualTo(-Errno.EIO);
    }

    @Test
    @DisplayName("iommu:CORE-30, CORE-33: every device has the MSI window reserved")
    void msiWindowIsReserved() {
        assertThat(iommu.reservedRegions(edu).stream().map(ReservedRegion::line))
                .containsExactly("0x00000000fee00000 0x00000000feefffff msi");
    }

    @Test
    @DisplayName("iommu:VTD-27: a closed domain's pages are back; one with a device is not closed")
    void closeGivesTheTablesBack() {
        domain.attach(edu);
        domain.map(0x1000, 0x7000, PAGE, RW);
        assertThatThrownBy(domain::close)
                .isInstanceOf(IllegalStateException.class)
                .hasMessage("a domain cannot be freed while edu is behind it");
        domain.detach(edu);
        domain.close();
        domain.close();
        assertThat(iommu.allocPagingDomain().tablePages()).isEqualTo(1);
    }

    @Test
    @DisplayName(
            "iommu:VTD-27: a closed domain neither writes nor reads the pages of its tables, which others have now")
    void whatIsClosedTouchesNoTable() {
        domain.map(0x1000, 0x7000, PAGE, RW);
        domain.close();
        IommuPagingDomain next = iommu.allocPagingDomain();
        next.map(0x1000, 0x9000, PAGE, RW);
        SgTable list = new SgTable(1).add(0x10_0000, PAGE);
        List<ThrowableAssert.ThrowingCallable> calls = List.of(
                () -> domain.attach(edu),
                () -> domain.map(0x2000, 0x8000, PAGE, RW),
                () -> domain.mapSg(0x2000, list, 1, RW, "x"),
                () -> domain.unmap(0x1000, PAGE),
                () -> domain.mapMsiDoorbell(0x801_0040),
                () -> domain.iovaToPhys(0x1000),
                () -> domain.find(0x1000),
                domain::leaves,
                domain::toText,
                domain::toJson);
        for (ThrowableAssert.ThrowingCallable call : calls) {
            assertThatThrownBy(call)
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessage("the domain was freed, and its tables with it (iommu:VTD-27)");
        }
        domain.detach(edu);
        assertThat(next.leaves()).containsExactly(new LeafRun(0x1000, 0x9000, PAGE, 1, RW));
        assertThat(domain.tablePages()).isZero();
        next.close();
    }

    @Test
    @DisplayName("the DMA API's own domain can be looked into as well: reverse lookup from an address to its owner")
    void defaultDomainTellsWhoseAnAddressIs() {
        long dmaAddr = edu.dma().mapPage(0x10_0123, 3 * PAGE, DmaDirection.TO_DEVICE, 0);
        LiveMapping found = iommu.domainOf(edu).find(dmaAddr + PAGE);
        assertThat(found).isEqualTo(new LiveMapping(dmaAddr - 0x123, 4 * PAGE, 0x10_0000, IommuProt.READ, "edu"));
        assertThat(iommu.domainOf(edu).toText()).contains("mapping 0xffffc000+0x4000 -> 0x100000 of edu");
    }

    @Test
    @DisplayName(
            "iommu:DINIT-1, DIOVA-1: doorbells get the addresses of the cookie one after the other, each page once")
    void doorbellsGetTheNextAddressOfTheCookie() {
        domain.attach(edu);
        assertThat(domain.mapMsiDoorbell(0x801_0040)).isZero();
        assertThat(domain.getMsiCookie(0x800_0000)).isZero();
        assertThat(domain.getMsiCookie(0x900_0000)).isEqualTo(-Errno.EEXIST);
        assertThat(domain.mapMsiDoorbell(0x801_0040)).isEqualTo(0x800_0040);
        assertThat(domain.mapMsiDoorbell(0x802_0000)).isEqualTo(0x800_1000);
        assertThat(domain.mapMsiDoorbell(0x801_0ff0)).isEqualTo(0x800_0ff0);
        assertThat(domain.leaves())
                .containsExactly(
                        new LeafRun(0x800_0000, 0x801_0000, PAGE, 1, RW),
                        new LeafRun(0x800_1000, 0x802_0000, PAGE, 1, RW));
        machine.failures().failNth("iommu.table-page", 1);
        assertThatThrownBy(iommu::allocPagingDomain)
                .isInstanceOf(DmaException.class)
                .hasMessageContaining("root");
        IommuPagingDomain other = iommu.allocPagingDomain();
        assertThat(other.getMsiCookie(0x800_0000)).isZero();
        machine.failures().failNth("iommu.table-page", 1);
        assertThat(other.mapMsiDoorbell(0x801_0000)).isZero();
        assertThat(other.mapMsiDoorbell(0x801_0000))
                .as("the cursor is where it was")
                .isEqualTo(0x800_0000);
    }

    @Test
    @DisplayName("iommu:VTD-14: a range that goes on at 0 is refused whole, with nothing mapped")
    void rangesThatWrapMapNothing() {
        SgTable sg = new SgTable(2).add(0x100_0000, PAGE).add(0x200_0000, PAGE);
        assertThat(domain.attach(edu)).isZero();
        assertThat(domain.map(-PAGE, PAGE, 2 * PAGE, RW)).isEqualTo(-Errno.EINVAL);
        assertThat(domain.map(PAGE, PAGE, -PAGE, RW)).isEqualTo(-Errno.EINVAL);
        assertThat(domain.mapSg(-PAGE, sg, 2, RW, "list")).isEqualTo(-Errno.EINVAL);
        assertThat(domain.leaves()).isEmpty();
        assertThat(domain.find(0)).isNull();
    }

    @Test
    void listsAreMappedUpToTheirEntriesOnly() {
        SgTable sg = new SgTable(4).add(0x100_0000, PAGE);
        for (int nents : new int[] {-1, 2, 5, Integer.MAX_VALUE}) {
            assertThatThrownBy(() -> domain.mapSg(PAGE, sg, nents, RW, "list"))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage(nents + " entries of a list of 1");
        }
        assertThat(domain.mapSg(PAGE, sg, 0, RW, "list")).isZero();
        assertThat(domain.leaves()).isEmpty();
    }

    @Test
    @DisplayName("iommu:CORE-21: entries that take no device addresses move nobody's in the book of owners")
    void emptyEntriesAndBusAddressesHaveNoPlaceAmongTheOwners() {
        SgTable sg = new SgTable(4)
                .add(0x100_0000, PAGE)
                .add(0x200_0000, 0)
                .add(0x300_0000, 4 * PAGE)
                .add(0x400_0000, PAGE);
        sg.setBusAddress(2, true);
        assertThat(domain.attach(edu)).isZero();
        assertThat(domain.mapSg(16 * PAGE, sg, 4, RW, "list")).isEqualTo(2 * PAGE);
        LiveMapping first = Objects.requireNonNull(domain.find(16 * PAGE));
        LiveMapping second = Objects.requireNonNull(domain.find(17 * PAGE));
        assertThat(first.physAddr()).isEqualTo(domain.iovaToPhys(16 * PAGE)).isEqualTo(0x100_0000);
        assertThat(second.physAddr()).isEqualTo(domain.iovaToPhys(17 * PAGE)).isEqualTo(0x400_0000);
        assertThat(domain.find(18 * PAGE)).isNull();
    }
}
