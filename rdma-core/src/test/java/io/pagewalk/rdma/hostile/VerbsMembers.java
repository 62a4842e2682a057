package io.pagewalk.rdma.hostile;

import io.pagewalk.rdma.i40iw.CommandQueue;
import io.pagewalk.rdma.i40iw.HmcMemory;
import io.pagewalk.rdma.i40iw.I40iwConfig;
import io.pagewalk.rdma.i40iw.I40iwDevice;
import io.pagewalk.rdma.i40iw.I40iwMr;
import io.pagewalk.rdma.i40iw.I40iwPd;
import io.pagewalk.rdma.i40iw.PbleAllocation;
import io.pagewalk.rdma.i40iw.PbleManager;
import io.pagewalk.rdma.i40iw.StagTable;
import io.pagewalk.rdma.qp.AtomicWord;
import io.pagewalk.rdma.qp.Link;
import io.pagewalk.rdma.qp.RcQp;
import io.pagewalk.rdma.qp.RemoteRef;
import io.pagewalk.rdma.rw.RwContext;
import io.pagewalk.rdma.rxe.RxeConfig;
import io.pagewalk.rdma.rxe.RxeDevice;
import io.pagewalk.rdma.rxe.RxeMr;
import io.pagewalk.rdma.rxe.RxeMw;
import io.pagewalk.rdma.rxe.RxePool;
import io.pagewalk.rdma.verbs.Cq;
import io.pagewalk.rdma.verbs.DeviceAttributes;
import io.pagewalk.rdma.verbs.DeviceCaps;
import io.pagewalk.rdma.verbs.ErrPtr;
import io.pagewalk.rdma.verbs.FastReg;
import io.pagewalk.rdma.verbs.Mr;
import io.pagewalk.rdma.verbs.MrPool;
import io.pagewalk.rdma.verbs.Mw;
import io.pagewalk.rdma.verbs.Owner;
import io.pagewalk.rdma.verbs.Pd;
import io.pagewalk.rdma.verbs.Qp;
import io.pagewalk.rdma.verbs.QpAttributes;
import io.pagewalk.rdma.verbs.QpInit;
import io.pagewalk.rdma.verbs.RecvWr;
import io.pagewalk.rdma.verbs.RegMrChecks;
import io.pagewalk.rdma.verbs.Restrack;
import io.pagewalk.rdma.verbs.RwInit;
import io.pagewalk.rdma.verbs.RwRules;
import io.pagewalk.rdma.verbs.SendWr;
import io.pagewalk.rdma.verbs.SgeList;
import io.pagewalk.rdma.verbs.SigAttrs;
import io.pagewalk.rdma.verbs.SigDomains;
import io.pagewalk.rdma.verbs.UverbsFile;
import io.pagewalk.rdma.verbs.VerbsDevice;
import io.pagewalk.rdma.verbs.WorkCompletion;
import java.lang.reflect.Executable;
import java.util.List;
import java.util.Set;

/** The public members of the verbs that are under fire. */
final class VerbsMembers {
    private static final List<Class<?>> TYPES = List.of(
            VerbsDevice.class,
            VerbsDevice.class,
            VerbsDevice.class,
            UverbsFile.class,
            UverbsFile.class,
            UverbsFile.class,
            FastReg.class,
            FastReg.class,
            SendWr.class,
            SendWr.class,
            Qp.class,
            RcQp.class,
            RcQp.class,
            Pd.class,
            Mr.class,
            Mw.class,
            Cq.class,
            MrPool.class,
            RecvWr.class,
            SgeList.class,
            WorkCompletion.class,
            QpInit.class,
            QpAttributes.class,
            RwInit.class,
            RwRules.class,
            Owner.class,
            ErrPtr.class,
            Restrack.class,
            Restrack.Entry.class,
            Restrack.Holding.class,
            DeviceCaps.class,
            DeviceAttributes.class,
            RegMrChecks.class,
            SigAttrs.class,
            SigDomains.class,
            Link.class,
            AtomicWord.class,
            RemoteRef.class,
            RwContext.class,
            RwContext.class,
            RxeDevice.class,
            RxeMr.class,
            RxeMw.class,
            RxeConfig.class,
            RxePool.class,
            I40iwDevice.class,
            I40iwConfig.class,
            I40iwMr.class,
            I40iwPd.class,
            StagTable.class,
            CommandQueue.class,
            HmcMemory.class,
            PbleManager.class,
            PbleAllocation.class,
            HostileVerbs.Time.class);

    private static final Set<String> LEFT_OUT = Set.of(
            // What the core asks a provider, after its own checks.
            "RxeDevice.allocPd",
            "RxeDevice.deallocPd",
            "RxeDevice.getDmaMr",
            "RxeDevice.regUserMr",
            "RxeDevice.reregUserMr",
            "RxeDevice.deregMr",
            "RxeDevice.allocMr",
            "RxeDevice.mapMrSg",
            "RxeDevice.allocMw",
            "RxeDevice.deallocMw",
            "RxeDevice.createQp",
            "RxeDevice.destroyQp",
            "I40iwDevice.allocPd",
            "I40iwDevice.deallocPd",
            "I40iwDevice.getDmaMr",
            "I40iwDevice.regUserMr",
            "I40iwDevice.reregUserMr",
            "I40iwDevice.deregMr",
            "I40iwDevice.allocMr",
            "I40iwDevice.mapMrSg",
            "I40iwDevice.allocMw",
            "I40iwDevice.deallocMw",
            "I40iwDevice.createQp",
            "I40iwDevice.destroyQp",
            "RcQp.shutDown",
            // References, which who takes them gives back.
            "RxeMr.put",
            "RemoteRef.put");

    static final List<List<Executable>> ALL = HostileCalls.membersOf(TYPES, LEFT_OUT);

    private VerbsMembers() {}

    static int count() {
        return ALL.stream().distinct().mapToInt(List::size).sum();
    }
}
