/** What queues are made of. Not part of the library's surface. */
@NullMarked
package io.pagewalk.rdma.ring;

import org.jspecify.annotations.NullMarked;
