package io.pagewalk.trace.workload;

/** Takes the operations of a workload in the order of the trace. */
@FunctionalInterface
public interface OperationSink {
    /**
     * Takes one operation.
     *
     * @param operation the operation
     */
    void accept(Operation operation);
}
