import { AsyncLocalStorage } from "node:async_hooks";
import type { Step, ThreadContext } from "@uncaged/workflow";
import { surroundSteps, threadOf } from "@uncaged/workflow/interpreter";
import { openAccount } from "../ledger/budget.ts";
import { runSpending } from "../role/spending.ts";
import type { RoleRun } from "../run/run.ts";
import { stepsOf } from "../run/thread-steps.ts";
import { StepCalls } from "./calls.ts";

type Scope = { ctx: ThreadContext; opened: Opened | null };
type Opened = { calls: StepCalls; run: RoleRun; close: (isRecorded: boolean) => void };

const scopes = new AsyncLocalStorage<Scope>();

/**
 * Returns the calls of the step to which the running code belongs: a step of `durable`, or a role of
 * `createRoleModerator`. Returns null outside steps.
 */
export function currentCalls(): StepCalls | null {
  const scope = scopes.getStore();
  if (!scope) return null;
  return (scope.opened ??= open(scope)).calls;
}

function open({ ctx }: Scope): Opened {
  const { close, ...account } = openAccount(ctx);
  const run: RoleRun = { stepID: ctx.role ?? "step", ...account, memory: {} };
  return { calls: new StepCalls(ctx, run), run, close };
}

surroundSteps(async (step, work) => {
  const given = "input" in step ? threadOf(step) : step;
  // The moderator adds its steps to its context.
  const steps: Step[] | null = given.allSteps ? null : stepsOf(given.steps);
  const ctx = steps ? { ...given, allSteps: steps } : given;
  const scope: Scope = { ctx, opened: null };
  let isDone = false;
  try {
    const value = await scopes.run(scope, async () => await work());
    isDone = true;
    const run = scope.opened?.run;
    if (!run || run.spent.length === 0) return { value };
    const { agent: _, ...spent } = runSpending(run);
    const meta = { __durable__: { spent } };
    steps?.push({ role: run.stepID, content: "", meta, timestamp: 0 });
    return { value, spent };
  } finally {
    scope.opened?.close(isDone);
  }
});
