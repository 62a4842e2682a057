package io.pagewalk.model;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.kit.Buffer;
import io.pagewalk.kit.DmaExtent;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A live mapping of the model: buffers of which each is reached itself or through a copy, and the device addresses that
 * cover them in order.
 */
final class ModelMapping {
    /** A buffer, and the pool's copy of it when it is bounced. */
    static final class Element {
        private final Buffer buffer;
        private final byte @Nullable [] copy;
        private final int slots;

        Element(Buffer buffer, byte @Nullable [] copy, int slots) {
            this.buffer = buffer;
            this.copy = copy;
            this.slots = slots;
        }

        Buffer buffer() {
            return buffer;
        }

        byte @Nullable [] copy() {
            return copy;
        }

        int slots() {
            return slots;
        }
    }

    private final ModelMemory memory;
    final Device device;
    final DmaDirection direction;
    final List<Element> elements;
    final List<DmaExtent> extents;
    final @Nullable SgTable table;
    final int sizeBytes;

    ModelMapping(
            ModelMemory memory,
            Device device,
            DmaDirection direction,
            List<Element> elements,
            List<DmaExtent> extents,
            @Nullable SgTable table) {
        this.memory = memory;
        this.device = device;
        this.direction = direction;
        this.elements = elements;
        this.extents = extents;
        this.table = table;
        this.sizeBytes = elements.stream().mapToInt(e -> e.buffer().sizeBytes()).sum();
    }

    /** What a device sees of it. */
    byte[] view() {
        byte[] view = new byte[sizeBytes];
        int at = 0;
        for (Element element : elements) {
            byte[] copy = element.copy();
            byte[] bytes = copy == null ? memory.read(element.buffer()) : copy;
            System.arraycopy(bytes, 0, view, at, bytes.length);
            at += bytes.length;
        }
        return view;
    }

    /** A device writes: into the copy, or into the buffer itself. */
    void write(int offset, byte[] bytes) {
        forParts(offset, bytes.length, (element, from, at, length) -> {
            byte[] copy = element.copy();
            if (copy == null) {
                memory.write(element.buffer().physAddr() + from, bytes, at, length);
            } else {
                System.arraycopy(bytes, at, copy, from, length);
            }
        });
    }

    /** The copies of a part go back to the buffers (dma-core:SWB-5). */
    void copyBack(int offset, int lengthBytes) {
        forParts(offset, lengthBytes, (element, from, at, length) -> {
            byte[] copy = element.copy();
            if (copy != null) {
                memory.write(element.buffer().physAddr() + from, copy, from, length);
            }
        });
    }

    /** The copies of a part are made anew (dma-core:SWB-5). */
    void copyOut(int offset, int lengthBytes) {
        forParts(offset, lengthBytes, (element, from, at, length) -> {
            byte[] copy = element.copy();
            if (copy != null) {
                System.arraycopy(memory.read(element.buffer()), from, copy, from, length);
            }
        });
    }

    /** Takes a stretch of one element: where it starts there, and where in the whole part. */
    private interface PartAction {
        void accept(Element element, int from, int at, int lengthBytes);
    }

    private void forParts(int offset, int lengthBytes, PartAction action) {
        int start = 0;
        for (Element element : elements) {
            int size = element.buffer().sizeBytes();
            int first = Math.max(offset, start);
            int end = Math.min(offset + lengthBytes, start + size);
            if (first < end) {
                action.accept(element, first - start, first - offset, end - first);
            }
            start += size;
        }
    }

    /** The device addresses of a part. */
    List<DmaExtent> extentsOf(int offset, int lengthBytes) {
        List<DmaExtent> parts = new ArrayList<>();
        long start = 0;
        for (DmaExtent extent : extents) {
            long first = Math.max(offset, start);
            long end = Math.min((long) offset + lengthBytes, start + extent.sizeBytes());
            if (first < end) {
                parts.add(new DmaExtent(extent.dmaAddr() + first - start, end - first));
            }
            start += extent.sizeBytes();
        }
        return parts;
    }

    int slots() {
        return elements.stream().mapToInt(Element::slots).sum();
    }

    boolean isBounced() {
        return elements.stream().anyMatch(e -> e.copy() != null);
    }

    @Override
    public String toString() {
        return elements.stream().map(Element::buffer).toList() + " " + direction + " of " + device + " at " + extents;
    }
}
