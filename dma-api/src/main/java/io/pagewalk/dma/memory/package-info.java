/**
 * Emulated physical memory: its bytes, its page frames, who hands them out, and how the kernel's virtual layout names
 * them.
 *
 * <p>Only hardware touches {@link io.pagewalk.dma.memory.PhysicalMemory} itself; software goes through
 * {@link io.pagewalk.dma.memory.CpuMemory}.
 */
@NullMarked
package io.pagewalk.dma.memory;

import org.jspecify.annotations.NullMarked;
