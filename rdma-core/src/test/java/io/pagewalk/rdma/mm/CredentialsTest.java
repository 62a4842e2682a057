package io.pagewalk.rdma.mm;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

@DisplayName("What a process may lock (rdma:MM-2, MM-3)")
class CredentialsTest {

    @Test
    void processStartsWithEightMegabytesAndNoCapability() {
        try (World world = new World()) {
            assertThat(world.process.memlockLimitBytes()).isEqualTo(8L << 20);
            assertThat(world.process.credentials().memlockLimitPages()).isEqualTo(2048);
            assertThat(world.process.hasCapIpcLock()).isFalse();
            assertThat(world.process.canDoMlock()).isTrue();
        }
    }

    @Test
    void limitOfNothingForbidsUnlessTheCapabilityIsHeld() {
        try (World world = new World()) {
            world.process.setMemlockLimit(0);
            assertThat(world.process.canDoMlock()).isFalse();
            world.process.setCapIpcLock(true);
            assertThat(world.process.canDoMlock()).isTrue();
            assertThat(world.process.hasCapIpcLock()).isTrue();
        }
    }

    @Test
    void limitBelowAPageAllowsInPrincipleAndNotOnePage() {
        // EX-2
        try (World world = new World()) {
            world.process.setMemlockLimit(4095);
            assertThat(world.process.canDoMlock()).isTrue();
            assertThat(world.process.credentials().memlockLimitPages()).isZero();
        }
    }

    @Test
    void limitIsUnsigned() {
        try (World world = new World()) {
            world.process.setMemlockLimit(Credentials.RLIM_INFINITY);
            assertThat(world.process.canDoMlock()).isTrue();
            assertThat(world.process.credentials().memlockLimitPages()).isEqualTo((1L << 52) - 1);
        }
    }

    @Test
    void onlyTheEffectiveSetCounts() {
        try (World world = new World()) {
            Credentials credentials = world.process.credentials();
            assertThat(credentials.raiseCapIpcLock(true)).isFalse();
            assertThat(world.process.hasCapIpcLock()).isFalse();
            world.process.setCapIpcLock(true);
            assertThat(credentials.raiseCapIpcLock(false)).isTrue();
            assertThat(world.process.hasCapIpcLock()).isFalse();
            assertThat(credentials.raiseCapIpcLock(true)).isTrue();
            assertThat(world.process.hasCapIpcLock()).isTrue();
        }
    }

    @Test
    void rootOfAnotherUserNamespaceLacksTheCapability() {
        try (World world = new World()) {
            world.process.setCapIpcLock(true);
            assertThat(world.process.credentials().isInInitialNamespace()).isTrue();
            world.process.credentials().unshareUserNamespace();
            assertThat(world.process.credentials().isInInitialNamespace()).isFalse();
            assertThat(world.process.hasCapIpcLock()).isFalse();
            assertThat(world.process.credentials().raiseCapIpcLock(true)).isTrue();
            assertThat(world.process.hasCapIpcLock()).isFalse();
        }
    }

    @Test
    void childInheritsLimitCapabilityAndNamespace() {
        try (World world = new World()) {
            world.process.setMemlockLimit(4096);
            world.process.setCapIpcLock(true);
            Process child = World.child(world.process);
            assertThat(child.memlockLimitBytes()).isEqualTo(4096);
            assertThat(child.hasCapIpcLock()).isTrue();
            child.setMemlockLimit(0);
            assertThat(world.process.memlockLimitBytes()).isEqualTo(4096);
            child.credentials().unshareUserNamespace();
            Process grandchild = World.child(child);
            assertThat(grandchild.hasCapIpcLock()).isFalse();
            assertThat(grandchild.pid()).isEqualTo(1002);
        }
    }
}
