package io.pagewalk.cli;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.memory.PhysRange;
import io.pagewalk.trace.predict.AddressKind;
import io.pagewalk.trace.predict.BootLog;
import io.pagewalk.trace.predict.Figures;
import io.pagewalk.trace.predict.Miss;
import io.pagewalk.trace.predict.Move;
import io.pagewalk.trace.predict.PredictionResult;
import io.pagewalk.trace.predict.RecordedMachine;
import org.jspecify.annotations.Nullable;

/** A prediction as JSON: every number of the result, named as in the result's types. */
final class ExpectJson {
    private ExpectJson() {}

    static ObjectNode tree(BootLog log, PredictionResult result, PredictionNotes notes) {
        ObjectNode root = CompareJson.MAPPER.createObjectNode();
        root.put("trace", result.traceName());
        root.put("dmesg", log.name());
        root.put("ok", result.ok());
        root.put("judgement", result.judgement().name());
        root.set("machine", machine(result.machine()));
        root.set("inLineOrder", figures(result.inLineOrder()));
        root.set("overlappedMoved", figures(result.overlappedMoved()));
        root.put("moves", result.moves());
        root.set("timers", CompareJson.MAPPER.valueToTree(result.timers()));
        root.set("notJudged", CompareJson.MAPPER.valueToTree(result.notJudged()));
        ArrayNode misses = root.putArray("notPredicted");
        notes.misses().forEach(miss -> misses.add(miss(miss)));
        root.put("notPredictedLeftOut", notes.missesLeftOut());
        ArrayNode moves = root.putArray("moved");
        notes.moves().forEach(move -> moves.add(move(move)));
        root.put("movedLeftOut", notes.movesLeftOut());
        root.set("summary", CompareJson.MAPPER.valueToTree(result.summary()));
        return root;
    }

    private static ObjectNode machine(RecordedMachine machine) {
        ObjectNode node = CompareJson.MAPPER.createObjectNode();
        node.put("backend", machine.backend());
        node.put("iommuMode", machine.mode().name());
        node.put("cpus", machine.cpus());
        node.put("commandLine", machine.commandLine());
        PhysRange pool = machine.pool();
        node.put("poolStart", pool == null ? null : Addresses.hex(pool.first()));
        node.put("poolSlots", machine.poolSlots());
        node.put("poolAreas", machine.areas());
        node.put("iommuWidthBits", machine.iommuWidthBits());
        ArrayNode reserved = node.putArray("iommuReserved");
        machine.reserved()
                .forEach(range ->
                        reserved.addArray().add(Addresses.hex(range.first())).add(Addresses.hex(range.last())));
        node.set("drivers", CompareJson.MAPPER.valueToTree(machine.drivers()));
        return node;
    }

    private static @Nullable ObjectNode figures(@Nullable Figures figures) {
        if (figures == null) {
            return null;
        }
        ObjectNode node = CompareJson.MAPPER.createObjectNode();
        node.put("judged", figures.allJudged());
        node.put("predicted", figures.allPredicted());
        ObjectNode kinds = node.putObject("kinds");
        for (AddressKind kind : figures.judged().keySet()) {
            kinds.putObject(kind.name())
                    .put("judged", figures.judged().get(kind))
                    .put("predicted", figures.predicted().getOrDefault(kind, 0L));
        }
        return node;
    }

    private static ObjectNode miss(Miss miss) {
        return CompareJson.MAPPER
                .createObjectNode()
                .put("order", miss.order().name())
                .put("line", miss.lineNumber())
                .put("task", miss.task())
                .put("cpu", miss.cpu())
                .put("device", miss.device())
                .put("kind", miss.kind().name())
                .put("recorded", Addresses.hex(miss.recorded()))
                .put("predicted", Addresses.hex(miss.predicted()))
                .put("remark", miss.remark());
    }

    private static ObjectNode move(Move move) {
        return CompareJson.MAPPER
                .createObjectNode()
                .put("line", move.lineNumber())
                .put("beforeLine", move.beforeLine())
                .put("task", move.task())
                .put("device", move.device())
                .put("recorded", Addresses.hex(move.recorded()));
    }
}
