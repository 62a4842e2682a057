package io.pagewalk.rdma.verbs;

import io.pagewalk.dma.Errno;
import io.pagewalk.dma.FailurePoint;
import java.util.Objects;

/** The completion queues of a device: how many there are. Implements rdma:PD-7 for them. Thread-safe. */
final class CompletionQueues {
    private final VerbsDevice device;
    private final FailurePoint point;
    private int count;

    CompletionQueues(VerbsDevice device) {
        this.device = device;
        point = device.machine().failures().point("ib.cq");
    }

    ErrPtr<Cq> create(Owner owner, int cqe) {
        Objects.requireNonNull(owner, "owner");
        if (cqe <= 0 || cqe > device.attributes().maxCqe()) {
            return ErrPtr.err(-Errno.EINVAL);
        }
        if (point.fails()) {
            return ErrPtr.err(-Errno.ENOMEM);
        }
        if (!count()) {
            return ErrPtr.err(-Errno.EINVAL);
        }
        Cq cq = new Cq(device, owner, cqe);
        cq.setTracked(device.restrack().add(Restrack.Kind.CQ, owner, () -> 0));
        return ErrPtr.of(cq);
    }

    private synchronized boolean count() {
        if (count == device.attributes().maxCq()) {
            return false;
        }
        count++;
        return true;
    }

    int destroy(Cq cq) {
        if (cq.useCount() != 0) {
            return -Errno.EBUSY;
        }
        cq.markDestroyed();
        device.untrack(cq.tracked());
        discount();
        return 0;
    }

    private synchronized void discount() {
        count--;
    }
}
