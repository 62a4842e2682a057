/** Backends with a fault each, which the contract must find. */
@NullMarked
package io.pagewalk.kit.planted;

import org.jspecify.annotations.NullMarked;
