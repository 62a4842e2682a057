/** dma-debug on every backend: right programs get no report, wrong ones get theirs. */
@org.jspecify.annotations.NullMarked
package io.pagewalk.debug;
