/** JMH benchmarks of every backend, and the command that runs them and prints ratios. */
@NullMarked
package io.pagewalk.benchmarks;

import org.jspecify.annotations.NullMarked;
