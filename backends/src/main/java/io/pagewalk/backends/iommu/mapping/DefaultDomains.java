package io.pagewalk.backends.iommu.mapping;

import io.pagewalk.backends.iommu.api.IommuDomainType;
import io.pagewalk.backends.iommu.driver.IommuDriver;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.DmaException;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.Machine;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/**
 * Makes the default domains of groups and puts devices behind them. Implements iommu:CORE-3 to CORE-8. For one thread,
 * but for looking on.
 */
final class DefaultDomains {
    private final Machine machine;
    private final IommuDriver driver;
    private final IommuDomainType global;
    private final BareDomain identity;
    private final IovaUsage usage;
    private final List<IommuDomain> translated = new CopyOnWriteArrayList<>();

    /**
     * Makes none yet.
     *
     * @param machine the machine
     * @param driver drives the IOMMU
     * @param global what groups get unless they need something else
     */
    DefaultDomains(Machine machine, IommuDriver driver, IommuDomainType global) {
        this.machine = machine;
        this.driver = driver;
        boolean strict = global == IommuDomainType.DMA_FQ && driver.wantsStrict();
        this.global = strict ? IommuDomainType.DMA : global;
        this.identity = BareDomain.identity(driver);
        this.usage = new IovaUsage(machine.cpus());
    }

    /** What groups get unless they need something else, after the driver was asked (iommu:CORE-3). */
    IommuDomainType global() {
        return global;
    }

    BareDomain identity() {
        return identity;
    }

    IovaUsage usage() {
        return usage;
    }

    /** The domains of the DMA API. */
    List<IommuDomain> translated() {
        return translated;
    }

    /**
     * Makes the default domain of the group of a device that has none yet (iommu:CORE-4, CORE-5).
     *
     * @throws IllegalArgumentException when the device is untrusted and its driver will not have DMA domains
     */
    CoreDomain make(Device device) {
        IommuDomainType need = DefaultDomainType.combine(Collections.singletonList(driver.preferredType(device)));
        IommuDomainType type = DefaultDomainType.choose(need, !device.isTrusted(), global);
        if (type == null) {
            throw refused(device, Errno.EINVAL);
        }
        if (type == IommuDomainType.IDENTITY) {
            return identity;
        }
        return type == IommuDomainType.DMA ? newDomain(device, false) : newLazyDomain(device);
    }

    /** What cannot be lazy may still do strict (iommu:CORE-5). */
    private IommuDomain newLazyDomain(Device device) {
        try {
            return newDomain(device, true);
        } catch (DmaException noMemory) {
            machine.log()
                    .message(
                            "iommu_group_alloc_default_domain",
                            "Failed to allocate default IOMMU domain of type " + IommuDomainType.DMA_FQ.bits()
                                    + " for group " + device.name() + " - Falling back to IOMMU_DOMAIN_DMA");
            return newDomain(device, false);
        }
    }

    private IommuDomain newDomain(Device device, boolean lazy) {
        IommuDomain domain = new IommuDomain(machine, device.name(), driver.newTable(), driver, lazy, usage);
        translated.add(domain);
        return domain;
    }

    /**
     * Puts a device behind its group's domain, with what firmware keeps for it mapped before (iommu:CORE-8).
     *
     * @throws IllegalArgumentException when the IOMMU cannot take it
     */
    void join(IommuGroup group, Device device) {
        CoreDomain domain = group.defaultDomain();
        if (!device.isTrusted() && domain.type() != IommuDomainType.DMA) {
            throw refused(device, Errno.EINVAL);
        }
        int direct = domain instanceof IommuDomain dma ? DirectMappings.create(dma, device) : 0;
        int error = group.join(device);
        if (error == 0 && direct != 0 && domain instanceof IommuDomain dma) {
            error = DirectMappings.create(dma, device);
            if (error != 0) {
                group.leave(device);
                driver.detach(device);
            }
        }
        if (error != 0) {
            dropIfEmpty(group);
            throw refused(device, -error);
        }
    }

    private void dropIfEmpty(IommuGroup group) {
        if (group.members().isEmpty() && group.defaultDomain() instanceof IommuDomain domain) {
            translated.remove(domain);
            domain.close();
            driver.destroy(domain.table());
        }
    }

    private static IllegalArgumentException refused(Device device, int errno) {
        return new IllegalArgumentException("the IOMMU cannot take " + device.name() + ": error " + errno);
    }
}
