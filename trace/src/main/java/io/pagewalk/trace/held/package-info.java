/** What a machine holds, as JSON. */
@org.jspecify.annotations.NullMarked
package io.pagewalk.trace.held;
