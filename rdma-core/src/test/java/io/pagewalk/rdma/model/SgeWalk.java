package io.pagewalk.rdma.model;

import io.pagewalk.dma.Errno;
import io.pagewalk.rdma.AccessFlags;
import io.pagewalk.rdma.verbs.SgeList;

/** Goes through the segments of a request, packet by packet (rdma:RXE-35). */
final class SgeWalk {
    private final long[] addrs;
    private final long[] lengths;
    private final int[] keys;
    private int segment;
    private long offset;
    private long left;
    private int markedSegment;
    private long markedOffset;
    private long markedLeft;

    SgeWalk(SgeList list) {
        addrs = new long[list.count()];
        lengths = new long[list.count()];
        keys = new int[list.count()];
        for (int i = 0; i < list.count(); i++) {
            addrs[i] = list.addr(i);
            lengths[i] = list.lengthBytes(i);
            keys[i] = list.lkey(i);
            left += lengths[i];
        }
    }

    /** Remembers where the packet begins that is filled next. */
    void mark() {
        markedSegment = segment;
        markedOffset = offset;
        markedLeft = left;
    }

    /** Goes back to fill the same packet again. */
    void goBack() {
        segment = markedSegment;
        offset = markedOffset;
        left = markedLeft;
    }

    /** Takes a packet out of the segments. */
    int gather(ModelKeys model, int pd, byte[] packet) {
        return move(model, pd, packet, false);
    }

    /** Puts a packet into the segments. */
    int scatter(ModelKeys model, int pd, byte[] packet) {
        return move(model, pd, packet, true);
    }

    private int move(ModelKeys model, int pd, byte[] packet, boolean in) {
        if (packet.length == 0) {
            return 0;
        }
        if (packet.length > left) {
            return -Errno.EINVAL;
        }
        int done = 0;
        while (done < packet.length) {
            if (offset == lengths[segment]) {
                segment++;
                offset = 0;
                continue;
            }
            ModelRegion region = model.local(pd, keys[segment], in ? AccessFlags.LOCAL_WRITE : 0);
            if (region == null) {
                return -Errno.EINVAL;
            }
            int part = (int) Math.min(packet.length - done, lengths[segment] - offset);
            long addr = addrs[segment] + offset;
            int error = in
                    ? region.write(model.rules, addr, packet, done, part)
                    : region.read(model.rules, addr, packet, done, part);
            if (error != 0) {
                return error;
            }
            done += part;
            offset += part;
        }
        left -= done;
        return 0;
    }
}
