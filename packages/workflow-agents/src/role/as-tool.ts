import { object, string } from "zod/mini";
import type { Role, ThreadContext } from "@uncaged/workflow";
import { checkedLimits, withinBudget } from "../ledger/budget.ts";
import type { Limits } from "../ledger/raise.ts";
import { originalOf } from "../run/copy.ts";
import { currentRun, withRun } from "../run/run.ts";
import type { Tool, ToolExecution } from "../tools/tools.ts";
import type { RoleEntry } from "./role.ts";
import { badDepth, roleRecursion, roleTooDeep, roleWithoutThread } from "./errors.ts";

/** Options of {@link asTool}. The defaults are in parentheses. */
export type RoleToolOptions = {
  /** The name of the tool, and of the role in its attempts. */
  name: string;
  /** The description of the tool (default: the role's description). */
  description?: string;
  /**
   * The limit of one call, including its nested calls. The spending of the call also counts toward the thread's limit.
   */
  budget?: Limits;
  /** Maximum depth of nested role calls from here on, including this call (3 by default). */
  maxDepth?: number;
  /** Timeout of a call, in milliseconds (none). */
  timeoutMs?: number;
};

const input = object({ message: string() });

/**
 * Makes a role a tool of another role's agent. The role gets the message as its prompt, and does not get the thread's
 * steps. The tool's result is the text of the role's answer; if the role fails, the model gets the error. Calls of one
 * turn run in parallel, each in its own attempt within the caller's attempt. The caller's step includes the spending of
 * its calls.
 *
 *     const tools = toolRegistry([asTool(researcher, { name: "researcher", budget: { maxCost: 0.5 } })]);
 *
 * @throws WorkflowError `BAD_BUDGET` or `BAD_DEPTH` at definition. In a call, `ROLE_RECURSION`, `ROLE_TOO_DEEP` and
 *   `NO_THREAD` are reported to the model.
 */
export function asTool(
  role: Role<object> & { readonly descriptor: RoleEntry },
  {
    name,
    description = role.descriptor.description,
    budget,
    maxDepth = 3,
    timeoutMs,
  }: RoleToolOptions,
): Tool<typeof input> {
  checkedLimits(budget ?? {});
  if (!Number.isInteger(maxDepth) || maxDepth < 1) throw badDepth(name, maxDepth);
  return {
    ...{ name, description, input },
    timeoutMs: timeoutMs ?? Number.POSITIVE_INFINITY,
    async execute({ message }, execution) {
      const outer = currentRun();
      const { roles = [], levels = Number.POSITIVE_INFINITY } = outer;
      const line = [...roles.map((each) => each.name), name].join(" → ");
      if (roles.some((each) => each.role === role)) throw roleRecursion(name, line);
      if (levels < 1) throw roleTooDeep(name, line);
      const ctx = called(name, message, execution, timeoutMs === undefined);
      const work = async () => await role(ctx);
      const within = { ...outer, levels: Math.min(levels, maxDepth) - 1 };
      const { content, meta } = await withRun(within, () =>
        budget ? withinBudget(name, budget, work) : work(),
      );
      return { result: content, meta };
    },
  };
}

/** Returns the thread context of a called role. The key of the call separates the role's journal entries. */
function called(
  name: string,
  message: string,
  { thread: given, signal, key }: ToolExecution,
  isUnlimited: boolean,
): ThreadContext {
  if (!given) throw roleWithoutThread(name);
  const thread = originalOf(given);
  const { attempt: _, ...rest } = thread;
  return {
    ...rest,
    ...{ role: name, key, steps: [], allSteps: thread.allSteps ?? thread.steps },
    start: { ...thread.start, content: message },
    // Use the thread's own signal if possible, because it identifies shared tool servers.
    signal: isUnlimited ? thread.signal : signal,
  };
}
