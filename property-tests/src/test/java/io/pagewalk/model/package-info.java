/**
 * Models of what the specification says, and stateful properties that hold every backend to them: data, isolation,
 * conservation, rollback, agreement, overflow, and what misuse does.
 */
@NullMarked
package io.pagewalk.model;

import org.jspecify.annotations.NullMarked;
