package io.pagewalk.dma;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.fake.World;
import io.pagewalk.dma.memory.PhysicalMemory;
import io.pagewalk.dma.spi.BusPort;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The device's half: architecture rules 1 and 5, and "DeviceBus" of its page on dma-api. */
class DeviceBusTest {
    private static final long PATTERN = 0x8877_6655_4433_2211L;

    private final World world = World.make();

    private static byte[] numbered(int length) {
        byte[] bytes = new byte[length];
        for (int i = 0; i < length; i++) {
            bytes[i] = (byte) (i % 251 + 1);
        }
        return bytes;
    }

    private static byte[] ones(int length) {
        byte[] bytes = new byte[length];
        Arrays.fill(bytes, (byte) -1);
        return bytes;
    }

    private static void assertOneFault(World world, long dmaAddr, Access access, int code) {
        assertThat(world.machine.faults().recent())
                .containsExactly(new BusFault(0, 0, world.device, dmaAddr, access, code));
        assertThat(world.machine.faults().count()).isEqualTo(1);
        world.port.requireNoWindow();
    }

    // --- translation and windows

    @Test
    void anAccessTranslatesEachPageItTouchesOnce() {
        assertThat(world.bus.write(0x1ff0, numbered(0x1020), 0, 0x1020)).isEqualTo(0x1020);
        world.bus.readLong(0x1ffc);
        world.bus.writeLong(0x2001, 0);
        world.bus.readLong(0x3000);
        world.bus.fetchAdd(0x3000, 1, new BusWord());

        assertThat(world.port.translations)
                .containsExactly(
                        "WRITE 0x1ff0",
                        "WRITE 0x2000",
                        "WRITE 0x3000",
                        "READ 0x1ffc",
                        "READ 0x2000",
                        "WRITE 0x2001",
                        "READ 0x3000",
                        "ATOMIC 0x3000");
        assertThat(world.port.windows()).isEqualTo(8);
        world.port.requireNoWindow();
    }

    @Test
    void anAccessOfNoBytesTouchesNothing() {
        assertThat(world.bus.read(-1L, new byte[0], 0, 0)).isZero();
        assertThat(world.bus.write(0x9000, new byte[4], 4, 0)).isZero();

        assertThat(world.port.windows()).isZero();
        assertThat(world.machine.faults().count()).isZero();
    }

    @Test
    void arraysThatAreTooShortAreRefusedBeforeAnythingHappens() { // architecture rule 5
        assertThatThrownBy(() -> world.bus.read(0x1000, new byte[8], 1, 8))
                .isInstanceOf(IndexOutOfBoundsException.class);
        assertThatThrownBy(() -> world.bus.write(0x1000, new byte[8], 0, -1))
                .isInstanceOf(IndexOutOfBoundsException.class);

        assertThat(world.port.windows()).isZero();
    }

    @Test
    void aPortThatThrowsStillSeesItsWindowClosed() {
        world.port.translation = dmaAddr -> {
            throw new IllegalStateException("broken tables");
        };
        for (Runnable access : new Runnable[] {
            () -> world.bus.read(0x1000, new byte[8], 0, 8),
            () -> world.bus.write(0x1000, new byte[8], 0, 8),
            () -> world.bus.readLong(0x1000),
            () -> world.bus.readLong(0x1001),
            () -> world.bus.writeLong(0x1000, 1),
            () -> world.bus.writeLong(0x1001, 1),
            () -> world.bus.fetchAdd(0x1000, 1, new BusWord()),
            () -> world.bus.compareAndSwap(0x1000, 0, 1, new BusWord())
        }) {
            assertThatThrownBy(access::run).hasMessage("broken tables");
            world.port.requireNoWindow();
        }
        assertThat(world.port.windows()).isEqualTo(8);
    }

    @Test
    void twoDmaPagesMayBeOnePhysicalPage() {
        world.port.translation = dmaAddr -> 0x4000 | (dmaAddr & 0xfff);
        world.bus.writeLong(0xdead_0ff8L, PATTERN);

        assertThat(world.bus.readLong(0x7_0000_0ff8L)).isEqualTo(PATTERN);
        assertThat(world.machine.memory().getLong(0x4ff8)).isEqualTo(PATTERN);
    }

    // --- faults of the port

    @Test
    void aReadStopsAtAFaultOfThePortAndTheRestIsAllOnes() {
        byte[] bytes = numbered(0x30);
        world.machine.memory().write(0x1fe0, bytes, 0, 0x20);
        world.port.translation = dmaAddr -> dmaAddr < 0x2000 ? dmaAddr : BusPort.fault(5);
        byte[] dst = new byte[0x40];

        assertThat(world.bus.read(0x1fe0, dst, 8, 0x30)).isEqualTo(0x20);
        assertThat(Arrays.copyOfRange(dst, 8, 0x28)).isEqualTo(Arrays.copyOf(bytes, 0x20));
        assertThat(Arrays.copyOfRange(dst, 0x28, 0x38)).isEqualTo(ones(0x10));
        assertThat(Arrays.copyOfRange(dst, 0, 8)).isEqualTo(new byte[8]);
        assertThat(Arrays.copyOfRange(dst, 0x38, 0x40)).isEqualTo(new byte[8]);
        assertOneFault(world, 0x2000, Access.READ, 5);
    }

    @Test
    void aReadThatFaultsAtOnceIsAllOnes() {
        world.port.translation = dmaAddr -> BusPort.fault(0xff);
        byte[] dst = new byte[16];

        assertThat(world.bus.read(0x1000, dst, 0, 16)).isZero();
        assertThat(dst).isEqualTo(ones(16));
        assertOneFault(world, 0x1000, Access.READ, 0xff);
    }

    @Test
    void aWriteIsDroppedFromAFaultOn() {
        world.port.translation = dmaAddr -> dmaAddr < 0x2000 || dmaAddr >= 0x3000 ? dmaAddr : BusPort.fault(5);

        assertThat(world.bus.write(0x1ff0, numbered(0x2000), 0, 0x2000)).isEqualTo(0x10);
        assertThat(world.machine.memory().mismatch(0x1ff0, numbered(0x10), 0, 0x10))
                .isEqualTo(-1);
        assertThat(world.machine.memory().mismatch(0x2000, new byte[0x2000], 0, 0x2000))
                .isEqualTo(-1);
        assertOneFault(world, 0x2000, Access.WRITE, 5);
    }

    // --- memory that is not there

    @ParameterizedTest
    @ValueSource(longs = {0x8000, 0xffff, 0x18000, 0x21005, 0x7fff_ffff_ffff_f000L})
    void whereThereIsNoRamReadsAreAllOnesAndWritesAreDropped(long dmaAddr) {
        byte[] dst = new byte[1];

        assertThat(world.bus.read(dmaAddr, dst, 0, 1)).isZero();
        assertThat(dst[0]).isEqualTo((byte) -1);
        assertOneFault(world, dmaAddr, Access.READ, DeviceBus.NOT_RAM);
        assertThat(world.bus.write(dmaAddr, dst, 0, 1)).isZero();
        assertThat(world.machine.faults().count()).isEqualTo(2);
    }

    @Test
    void anAccessEndsWhereRamEndsInsideAPage() {
        assertThat(world.bus.write(0x20ff0, numbered(0x40), 0, 0x40)).isEqualTo(0x15);
        assertOneFault(world, 0x21005, Access.WRITE, DeviceBus.NOT_RAM);

        byte[] dst = new byte[0x40];
        assertThat(world.bus.read(0x20ff0, dst, 0, 0x40)).isEqualTo(0x15);
        assertThat(Arrays.copyOf(dst, 0x15)).isEqualTo(numbered(0x15));
        assertThat(Arrays.copyOfRange(dst, 0x15, 0x40)).isEqualTo(ones(0x2b));
    }

    @Test
    void anAccessDoesNotJumpOverAHole() {
        assertThat(world.bus.write(0x7ff8, numbered(0x9000), 0, 0x9000)).isEqualTo(8);
        assertOneFault(world, 0x8000, Access.WRITE, DeviceBus.NOT_RAM);
        assertThat(world.machine.memory().getLong(0x10000)).isZero();
    }

    @Test
    void aWordAcrossTheEndOfRamIsDoneInPart() {
        assertThat(world.bus.writeLong(0x21000, PATTERN)).isEqualTo(5);
        assertThat(world.machine.memory().getByte(0x21004)).isEqualTo((byte) 0x55);
        assertOneFault(world, 0x21005, Access.WRITE, DeviceBus.NOT_RAM);
        assertThat(world.bus.readLong(0x21000)).isEqualTo(0xffff_ff55_4433_2211L);
        assertThat(world.bus.readLong(0x21003)).isEqualTo(0xffff_ffff_ffff_5544L);
        assertThat(world.machine.faults().count()).isEqualTo(3);
    }

    // --- the wires

    @Test
    void addressLinesLimitWhatIsReachedWhateverThePortWouldTranslate() {
        World narrow = World.make(config -> config.withAddressBits(13));
        narrow.port.translation = dmaAddr -> dmaAddr & 0x7fff;

        assertThat(narrow.bus.write(0x1ff0, numbered(0x20), 0, 0x20)).isEqualTo(0x10);
        assertOneFault(narrow, 0x2000, Access.WRITE, DeviceBus.BEYOND_WIRES);
        assertThat(narrow.port.translations).containsExactly("WRITE 0x1ff0");
        assertThat(narrow.machine.memory().getLong(0x2000)).isZero();
    }

    @Test
    void theBusLimitIsInclusiveAndNeedsNoPageBoundary() { // DEV-2
        World limited = World.make(config -> config.withBusLimit(0x1003));
        byte[] dst = new byte[16];
        limited.machine.memory().putLong(0x1000, PATTERN);

        assertThat(limited.bus.read(0x1000, dst, 0, 16)).isEqualTo(4);
        assertThat(dst[3]).isEqualTo((byte) 0x44);
        assertThat(dst[4]).isEqualTo((byte) -1);
        assertOneFault(limited, 0x1004, Access.READ, DeviceBus.BEYOND_WIRES);
        assertThat(limited.bus.readLong(0x1000)).isEqualTo(0xffff_ffff_4433_2211L);
        assertThat(limited.bus.writeLong(0x1000, -1L)).isEqualTo(4);
        assertThat(limited.machine.memory().getLong(0x1000)).isEqualTo(0x8877_6655_ffff_ffffL);
        assertThat(limited.machine.faults().count()).isEqualTo(3);
    }

    @Test
    void theNarrowerOfLinesAndLimitHolds() {
        World lines = World.make(config -> config.withAddressBits(12).withBusLimit(0x3fff));
        World limit = World.make(config -> config.withAddressBits(14).withBusLimit(0xfff));

        for (World each : new World[] {lines, limit}) {
            assertThat(each.bus.write(0xff8, numbered(16), 0, 16)).isEqualTo(8);
            assertOneFault(each, 0x1000, Access.WRITE, DeviceBus.BEYOND_WIRES);
        }
    }

    @Test
    void whatTheDriverSaysOfMasksDoesNotMoveTheWires() { // architecture, "device"
        World wide = World.make(config -> config.withMask(0xfff));
        assertThat(wide.bus.writeLong(0x3000, PATTERN)).isEqualTo(8);

        World narrow = World.make(config -> config.withMask(-1L).withAddressBits(12));
        assertThat(narrow.bus.writeLong(0x3000, PATTERN)).isZero();
    }

    @Test
    void addressesThatNeverLeaveSoftwareKnowNoWires() { // architecture, "device": not for virt
        World software = World.offTheWires(config -> config.withAddressBits(12).withBusLimit(0xff));
        software.port.translation = dmaAddr -> dmaAddr & 0x7fff_ffff_ffffL;

        assertThat(software.bus.writeLong(0xffff_8000_0000_3000L, PATTERN)).isEqualTo(8);
        assertThat(software.machine.memory().getLong(0x3000)).isEqualTo(PATTERN);
        assertThat(software.machine.faults().count()).isZero();
    }

    @Test
    void theLastByteOfTheAddressSpaceCanBeReached() {
        world.port.translation = dmaAddr -> dmaAddr & 0x7fff;
        world.machine.memory().putLong(0x7ff8, PATTERN);

        assertThat(world.bus.readLong(-8L)).isEqualTo(PATTERN);
        byte[] dst = new byte[8];
        assertThat(world.bus.read(-8L, dst, 0, 8)).isEqualTo(8);
        assertThat(world.machine.faults().count()).isZero();
    }

    // --- words

    @ParameterizedTest
    @ValueSource(longs = {0x1000, 0x1001, 0x1004, 0x1ff8, 0x1ff9, 0x1ffc, 0x1fff})
    void aWordIsLittleEndianAtAnyAlignmentAndAcrossPages(long dmaAddr) {
        world.port.translation = page -> page < 0x2000 ? page + 0x1000 : page + 0xf000;
        assertThat(world.bus.writeLong(dmaAddr, PATTERN)).isEqualTo(8);
        assertThat(world.bus.readLong(dmaAddr)).isEqualTo(PATTERN);

        PhysicalMemory memory = world.machine.memory();
        for (int i = 0; i < 8; i++) {
            long at = dmaAddr + i;
            byte expected = (byte) (PATTERN >>> (8 * i));
            assertThat(memory.getByte(at < 0x2000 ? at + 0x1000 : at + 0xf000)).isEqualTo(expected);
        }
        assertThat(memory.getByte(dmaAddr + 0x1000 - 1)).isZero();
    }

    @Test
    void aWordAcrossPagesKeepsTheBytesBeforeAFault() {
        world.machine.memory().putLong(0x1ff8, PATTERN);
        world.port.translation = dmaAddr -> dmaAddr < 0x2000 ? dmaAddr : BusPort.fault(2);

        assertThat(world.bus.readLong(0x1ffb)).isEqualTo(0xffff_ff88_7766_5544L);
        assertOneFault(world, 0x2000, Access.READ, 2);
        assertThat(world.bus.writeLong(0x1ffb, 0)).isEqualTo(5);
        assertThat(world.machine.memory().getLong(0x1ff8)).isEqualTo(0x33_2211L);
        assertThat(world.machine.faults().count()).isEqualTo(2);
    }

    @Test
    void aWordThatCannotBeReachedAtAllIsOneFault() {
        assertThat(world.bus.readLong(0x9001)).isEqualTo(-1L);
        assertOneFault(world, 0x9001, Access.READ, DeviceBus.NOT_RAM);
        assertThat(world.bus.readLong(0x9000)).isEqualTo(-1L);
        assertThat(world.bus.writeLong(0x9003, 0)).isZero();
        assertThat(world.machine.faults().count()).isEqualTo(3);
    }

    @Test
    void aTranslationHoldsNoFurtherThanItsSpan() { // BusPort.spanBytes
        world.port.span = dmaAddr -> 4 - (dmaAddr & 3);
        world.port.translation = dmaAddr -> (dmaAddr & 4) == 0 ? dmaAddr : dmaAddr + 0x1000;
        assertThat(world.bus.writeLong(0x1000, PATTERN)).isEqualTo(8);

        assertThat(world.machine.memory().getLong(0x1000)).isEqualTo(0x4433_2211L);
        assertThat(world.machine.memory().getLong(0x2000)).isEqualTo(0x8877_6655_0000_0000L);
        assertThat(world.bus.readLong(0x1000)).isEqualTo(PATTERN);
        byte[] dst = new byte[8];
        world.bus.read(0x1000, dst, 0, 8);
        assertThat(dst).startsWith(0x11, 0x22, 0x33, 0x44, 0x55, 0x66);
    }

    // --- atomics

    @Test
    void atomicsBringBackWhatStoodThere() {
        BusWord old = new BusWord();
        world.machine.memory().putLong(0x1008, 10);

        assertThat(world.bus.fetchAdd(0x1008, -11, old)).isEqualTo(8);
        assertThat(old.value()).isEqualTo(10);
        assertThat(world.machine.memory().getLong(0x1008)).isEqualTo(-1L);

        assertThat(world.bus.compareAndSwap(0x1008, 10, 3, old)).isEqualTo(8);
        assertThat(old.value()).isEqualTo(-1L);
        assertThat(world.machine.memory().getLong(0x1008)).isEqualTo(-1L);

        assertThat(world.bus.compareAndSwap(0x1008, -1L, 3, old)).isEqualTo(8);
        assertThat(old.value()).isEqualTo(-1L);
        assertThat(world.machine.memory().getLong(0x1008)).isEqualTo(3);
    }

    @Test
    void anAtomicThatFaultsBringsBackAllOnesAndChangesNothing() {
        BusWord old = new BusWord();
        world.port.translation = dmaAddr -> BusPort.fault(5);

        assertThat(world.bus.fetchAdd(0x1000, 1, old)).isZero();
        assertThat(old.value()).isEqualTo(-1L);
        assertOneFault(world, 0x1000, Access.ATOMIC, 5);

        world.bus.compareAndSwap(0x1000, 0, 1, old);
        world.port.translation = dmaAddr -> dmaAddr;
        world.bus.fetchAdd(0x1000, 0, old);
        assertThat(old.value()).isZero();
        assertThat(world.bus.compareAndSwap(0x1000, 0, 1, old)).isEqualTo(8);
        assertThat(old.value()).isZero();
        assertThat(world.bus.compareAndSwap(0x9000, 0, 1, old)).isZero();
        assertThat(old.value()).isEqualTo(-1L);
    }

    @ParameterizedTest
    @ValueSource(longs = {0x1001, 0x1004, 0x1fff, -1L})
    void anAtomicAtAnOddAddressIsRefusedBeforeItReachesTheBus(long dmaAddr) {
        BusWord old = new BusWord();

        assertThatThrownBy(() -> world.bus.fetchAdd(dmaAddr, 1, old))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("0x" + Long.toHexString(dmaAddr));
        assertThatThrownBy(() -> world.bus.compareAndSwap(dmaAddr, 0, 1, old))
                .isInstanceOf(IllegalArgumentException.class);
        assertThat(old.value()).isZero();
        assertThat(world.port.windows()).isZero();
    }

    @Test
    @SuppressWarnings("NullAway")
    void anAtomicWithNowhereToPutTheOldWordChangesNothing() { // architecture rule 5
        assertThatThrownBy(() -> world.bus.fetchAdd(0x1000, 1, null)).isInstanceOf(NullPointerException.class);
        assertThatThrownBy(() -> world.bus.compareAndSwap(0x1000, 0, 1, null)).isInstanceOf(NullPointerException.class);

        assertThat(world.machine.memory().getLong(0x1000)).isZero();
    }

    @Test
    void anAtomicOnBytesThatAreNotOneWordOfMemoryIsAFault() {
        BusWord old = new BusWord();
        assertThat(world.bus.fetchAdd(0x21000, 1, old)).isZero(); // cut by the end of RAM
        world.port.translation = dmaAddr -> dmaAddr + 4; // physically odd
        assertThat(world.bus.compareAndSwap(0x1000, 0, 1, old)).isZero();
        world.port.translation = dmaAddr -> dmaAddr;
        world.port.span = dmaAddr -> 4; // in two pieces
        assertThat(world.bus.fetchAdd(0x1000, 1, old)).isZero();

        assertThat(old.value()).isEqualTo(-1L);
        assertThat(world.machine.memory().mismatch(0x1000, new byte[16], 0, 16)).isEqualTo(-1);
        assertThat(world.machine.memory().getByte(0x21000)).isZero();
        List<BusFault> faults = world.machine.faults().recent();
        assertThat(faults).extracting(BusFault::code).containsOnly(DeviceBus.SPLIT_ATOMIC);
        assertThat(faults.get(0).reason()).isEqualTo("the eight bytes are not one aligned word of memory");
    }

    @Test
    void concurrentAtomicsOfTwoDevicesLoseNothing() throws InterruptedException {
        Device other = world.machine.addDevice(DeviceConfig.named("other"));
        Thread[] threads = new Thread[2];
        for (int i = 0; i < threads.length; i++) {
            DeviceBus bus = i == 0 ? world.bus : other.bus();
            threads[i] = new Thread(() -> {
                BusWord old = new BusWord();
                for (int n = 0; n < 5000; n++) {
                    bus.fetchAdd(0x1000, 1, old);
                }
            });
            threads[i].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }

        assertThat(world.machine.memory().getLong(0x1000)).isEqualTo(10_000);
    }
}
