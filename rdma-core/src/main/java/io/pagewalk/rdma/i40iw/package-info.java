/**
 * A provider in the manner of hardware: keys and lists of page buffers lie in tables that the device reads over its
 * bus. Implements rdma:STAG-1 to STAG-5 and PBLE-1 to PBLE-10.
 */
@org.jspecify.annotations.NullMarked
package io.pagewalk.rdma.i40iw;
