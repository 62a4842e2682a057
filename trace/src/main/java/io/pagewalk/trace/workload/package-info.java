/**
 * What the events of a trace mean: maps with their unmaps, rebuilt lists, allocations, and what does not fit together.
 */
@org.jspecify.annotations.NullMarked
package io.pagewalk.trace.workload;
