package io.pagewalk.dma.memory;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/** Little-endian words of buffers and arrays. */
final class Words {

    /** 8 bytes of a direct buffer. */
    static final VarHandle LONG = MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

    /** 4 bytes of a direct buffer. */
    static final VarHandle INT = MethodHandles.byteBufferViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);

    /** 2 bytes of a direct buffer. */
    static final VarHandle SHORT = MethodHandles.byteBufferViewVarHandle(short[].class, ByteOrder.LITTLE_ENDIAN);

    /** 8 bytes of an array. */
    static final VarHandle ARRAY_LONG = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

    private Words() {}

    /** The word that eight bytes are. */
    static long fromBytes(byte[] bytes) {
        return (long) ARRAY_LONG.get(bytes, 0);
    }

    /** The eight bytes of a word. */
    static byte[] toBytes(long word) {
        byte[] bytes = new byte[Long.BYTES];
        ARRAY_LONG.set(bytes, 0, word);
        return bytes;
    }
}
