package io.pagewalk.rdma.verbs;

import io.pagewalk.rdma.mm.Process;

/**
 * Who holds an object of a device: part of the kernel, by its name, or a process, by its number. Immutable.
 *
 * @param kernelName the name, empty for a process
 * @param pid the number, 0 for the kernel
 */
public record Owner(String kernelName, int pid) {
    /** Refuses an owner that is neither, or both. */
    public Owner {
        if (kernelName.isBlank() == (pid == 0)) {
            throw new IllegalArgumentException(
                    "an owner is the kernel by a name or a process by a number, not \"" + kernelName + "\" and " + pid);
        }
    }

    /**
     * Part of the kernel.
     *
     * @param name its name, such as that of a module
     * @return the owner
     */
    public static Owner kernel(String name) {
        return new Owner(name, 0);
    }

    /**
     * A process.
     *
     * @param process the process
     * @return the owner
     */
    public static Owner of(Process process) {
        return new Owner("", process.pid());
    }

    @Override
    public String toString() {
        return pid == 0 ? "[" + kernelName + "]" : "process " + pid;
    }
}
