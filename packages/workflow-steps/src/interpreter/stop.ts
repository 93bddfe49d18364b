import { RETURN } from "../document/constants.ts";
import { toText } from "../expression/value.ts";
import type { Done, Task } from "./task.ts";

/** What a Stop says; the run ends when that is committed. */
export function stop({ context, step }: Task): Done {
  const reason = step.reason === undefined ? null : toText(context.evaluate(step.reason));
  return { next: RETURN, stop: { reason } };
}
