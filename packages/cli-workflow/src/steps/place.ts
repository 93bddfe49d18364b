import { show, type Step, WorkflowError } from "@uncaged/workflow/host";
import { stepsBefore } from "@uncaged/workflow-steps";

/** Where a rerun begins: the step, and how many steps of the thread come before its run. */
export type Place = { stepID: string; kept: number };

/**
 * The place that `--from-step` names: a step's last run, or with `step#2` its second. `ids` are those of
 * the workflow's steps.
 *
 * @throws WorkflowError `NO_SUCH_STEP` (missing).
 */
export function placeOf(text: string, ids: readonly string[], steps: readonly Step[]): Place {
  const [, named = text, nth] = ids.includes(text)
    ? []
    : (/^(.+)#([1-9]\d{0,8})$/.exec(text) ?? []);
  if (!ids.includes(named)) throw unknownStep(named, ids);
  const kept = stepsBefore(steps, named, nth === undefined ? undefined : Number(nth));
  if (kept !== null) return { stepID: named, kept };
  throw new WorkflowError({
    code: "NO_SUCH_STEP",
    kind: "missing",
    message: `the step ${show(named)} has not run ${nth} times`,
    hint: `begin with its last run: --from-step ${named}`,
  });
}

const mostShown = 30;

function unknownStep(name: string, ids: readonly string[]): WorkflowError {
  const more = ids.length > mostShown ? ` and ${ids.length - mostShown} more` : "";
  return new WorkflowError({
    code: "NO_SUCH_STEP",
    kind: "missing",
    message: `the workflow has no step ${show(name)}`,
    hint: `its steps: ${ids.slice(0, mostShown).join(", ")}${more}`,
  });
}
