import { WorkflowError } from "@uncaged/workflow";
import type { RunControl } from "../context/context.ts";

/** What a handler in a thread can do to its run: nothing, for threads are controlled from outside. */
export const threadControl: RunControl = {
  checkpoint: () => refuse("read the checkpoint"),
  onEvent: () => refuse("listen to the events"),
  abort: () => refuse("abort"),
  resume: () => refuse("resume"),
  done: () => refuse("wait for the end"),
};

function refuse(what: string): never {
  throw new WorkflowError({
    code: "THREAD_CONTROL",
    kind: "failed",
    message: `a step in a thread can't ${what} of its own run`,
    hint: "a thread is controlled from outside: uncaged-workflow, or its client",
  });
}
