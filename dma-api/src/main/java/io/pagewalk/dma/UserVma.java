package io.pagewalk.dma;

/**
 * A range of a process's addresses that wants memory, as {@code mmap} hands it to a driver.
 *
 * @param pages how many pages it has, unsigned
 * @param pgoff which page of the memory comes first, unsigned
 */
public record UserVma(long pages, long pgoff) {}
