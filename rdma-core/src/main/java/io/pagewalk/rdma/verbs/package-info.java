/** What the verbs core and its entry from user space do before a driver is asked. */
@NullMarked
package io.pagewalk.rdma.verbs;

import org.jspecify.annotations.NullMarked;
