import { BREAK, ENTRY } from "../document/constants.ts";
import type { ParallelErrorStrategy } from "../document/constants.ts";
import { type MarkChanges, noChanges } from "../state/marks.ts";
import { hasEnded, type Inside, startAt } from "../state/position.ts";
import { Chain } from "./chain.ts";
import { outside } from "./gate.ts";
import type { Interpreter } from "./interpreter.ts";
import { ParallelExecutor } from "./parallel.ts";
import type { Task } from "./task.ts";

type Fork = { id: string; children: readonly string[]; strategy: ParallelErrorStrategy };

/** Runs the children of a step side by side. `marks` go with the step's own commit. */
export async function runFork(
  { chain, inside, interpreter, step }: Task,
  id: string,
  children: readonly string[],
): Promise<{ isBroken: boolean; marks: MarkChanges }> {
  const fork = { id, children, strategy: strategyOf(interpreter, step.errorStrategy) };
  const isBroken = await outside(interpreter.gate, () => join(interpreter, chain, inside, fork));
  return { isBroken, marks: interpreter.clear([id]) };
}

/** Runs a workflow that has several entries: a fork that no step stands for. */
export async function runEntries(interpreter: Interpreter, chain: Chain): Promise<void> {
  const children = interpreter.run.workflow.outline.entries;
  const fork = { id: ENTRY, children, strategy: strategyOf(interpreter) };
  await join(interpreter, chain, chain.position.inside, fork);
  interpreter.run.leave({ marks: interpreter.clear([ENTRY]) });
}

export const strategyOf = (interpreter: Interpreter, own?: string): ParallelErrorStrategy =>
  (own as ParallelErrorStrategy | undefined) ?? interpreter.run.setup.errorStrategy;

async function join(
  interpreter: Interpreter,
  chain: Chain,
  inside: Inside | null,
  { id, children, strategy }: Fork,
): Promise<boolean> {
  if (!inside) interpreter.run.leave({ marks: interpreter.clear([id]) });
  let isBroken = false;
  const pending = children.filter((child) => {
    const before = inside?.chains.get(child);
    if (!before || !hasEnded(before)) return true;
    isBroken ||= before.next === BREAK;
    return false;
  });
  const executor = new ParallelExecutor({
    maxConcurrency: interpreter.run.setup.maxConcurrency,
    errorStrategy: strategy,
    signal: chain.signal,
  });
  const tasks = pending.map((child) => ({
    stepID: child,
    run: async (signal: AbortSignal) => {
      const end = await interpreter.runChain(
        new Chain({
          path: [...chain.path, { in: id, child }],
          locals: chain.locals,
          signal,
          position: inside?.chains.get(child) ?? startAt(child),
          onEnd: () => childDone(interpreter, id, child),
        }),
      );
      isBroken ||= end === BREAK;
    },
  }));
  await executor.run(tasks);
  return isBroken;
}

function childDone(interpreter: Interpreter, id: string, child: string): MarkChanges {
  const before = interpreter.run.state.completedBranches[id] ?? [];
  const inner = interpreter.clearInside([child]);
  const finished = before.includes(child) ? before : [...before, child];
  const own = { ...noChanges(), completedBranches: { [id]: finished } };
  interpreter.mark(own);
  return {
    completedBranches: { ...inner.completedBranches, ...own.completedBranches },
    loopProgress: inner.loopProgress,
  };
}
