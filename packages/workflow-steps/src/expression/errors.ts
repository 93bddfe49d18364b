import { WorkflowError } from "@uncaged/workflow";

/* The errors of values. The parser creates the syntax and evaluation errors of an expression, with their offsets. */

export const valueTooDeep = (most: number): WorkflowError =>
  new WorkflowError({
    code: "VALUE_TOO_DEEP",
    message: `a value has more than ${most} levels, or contains itself`,
    hint: "use values that JSON can hold, less deeply nested",
  });
