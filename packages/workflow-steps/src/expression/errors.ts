import { WorkflowError } from "@uncaged/workflow";

/* The errors of values. Syntax and evaluation errors of an expression are made by its parser, with their offset. */

export const valueTooDeep = (most: number): WorkflowError =>
  new WorkflowError({
    code: "VALUE_TOO_DEEP",
    message: `a value has more than ${most} levels, or contains itself`,
    hint: "use values that JSON can hold, less deeply nested",
  });
