package io.pagewalk.rdma.verbs;

/**
 * Limits that a device tells its users: those of {@code ibv_query_device} that decide about memory and the data path.
 * Immutable.
 *
 * @param maxMrSize largest region in bytes, unsigned
 * @param pageSizeCap page sizes that regions may have, a bit each, unsigned 32-bit
 * @param deviceCapFlags capabilities as user space reads them, 64 bits
 * @param maxMr how many regions there may be
 * @param maxMw how many windows
 * @param maxPd how many domains
 * @param maxQp how many queue pairs
 * @param maxQpWr how many work requests a queue holds
 * @param maxSge how many segments a work request has
 * @param maxSgeRd how many segments a read has
 * @param maxSglRd from how many segments on a read had better use a region; 0 for never
 * @param maxFastRegPageListLen how many pages a fast registration has; told, not enforced by rxe (rdma:RXE-1)
 * @param maxPiFastRegPageListLen how many pages a fast registration with signatures has; 0 for none
 * @param maxInlineData how many bytes a work request carries itself
 * @param maxMessageBytes longest message in bytes, unsigned 32-bit
 * @param maxCq how many completion queues
 * @param maxCqe how many completions a queue holds
 * @param maxQpRdAtom how many reads and atomics a queue pair answers at once
 * @param maxQpInitRdAtom how many reads and atomics a queue pair asks for at once
 * @param localDmaLkey the key by which in-kernel users reach all memory; 0 for none
 */
public record DeviceAttributes(
        long maxMrSize,
        int pageSizeCap,
        long deviceCapFlags,
        int maxMr,
        int maxMw,
        int maxPd,
        int maxQp,
        int maxQpWr,
        int maxSge,
        int maxSgeRd,
        int maxSglRd,
        int maxFastRegPageListLen,
        int maxPiFastRegPageListLen,
        int maxInlineData,
        int maxMessageBytes,
        int maxCq,
        int maxCqe,
        int maxQpRdAtom,
        int maxQpInitRdAtom,
        int localDmaLkey) {}
