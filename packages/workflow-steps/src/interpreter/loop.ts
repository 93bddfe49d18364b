import { WorkflowError } from "@uncaged/workflow";
import { BREAK, LoopMode } from "../document/constants.ts";
import { type MarkChanges, noChanges } from "../state/marks.ts";
import { chainKey, hasEnded, startAt } from "../state/position.ts";
import { Chain } from "./chain.ts";
import { strategyOf } from "./fork.ts";
import { outside } from "./gate.ts";
import { ParallelExecutor } from "./parallel.ts";
import type { Done, Task } from "./task.ts";

/** Runs the iterations of a loop that are not done yet. */
export async function runLoop(task: Task): Promise<Done> {
  const { interpreter, step } = task;
  const source = step.while === undefined ? sourceOf(task) : null;
  if (!task.inside) interpreter.run.leave({ marks: interpreter.clear([step.id]) });
  await outside(interpreter.gate, async () => {
    if (source === null) await runRounds(task);
    else if (step.mode === LoopMode.parallel) await runSideBySide(task, source);
    else await runInOrder(task, source);
  });
  return {};
}

function sourceOf({ context, step }: Task): readonly unknown[] {
  // A copy: its body may write to what it goes over.
  const source = context.resolve(step.source) ?? [];
  if (Array.isArray(source)) return source;
  throw new WorkflowError({
    code: "BAD_SOURCE",
    kind: "failed",
    message: `the source of ${step.id} is no array but ${typeof source}`,
    hint: "give an array, or nothing for no iteration",
  });
}

async function runInOrder(task: Task, source: readonly unknown[]): Promise<void> {
  const first = task.inside?.finished ?? 0;
  for (let index = first; index < source.length; index += 1) {
    const end = await runIteration(task, { index, item: source[index] }, () => index + 1);
    if (end === BREAK) return;
  }
}

async function runRounds(task: Task): Promise<void> {
  const { context, inside, step } = task;
  const most = step.maxIterations ?? 0;
  for (let index = inside?.finished ?? 0; index < most; index += 1) {
    const isEntered = isBegun(task, index);
    context.locals._index = index;
    if (!isEntered && !context.condition(step.while)) return;
    if ((await runIteration(task, { index }, () => index + 1)) === BREAK) return;
  }
}

const isBegun = ({ inside, step }: Task, index: number): boolean =>
  (step.children ?? []).some((child) => inside?.chains.has(chainKey(child, index)));

async function runSideBySide(task: Task, source: readonly unknown[]): Promise<void> {
  const { chain, inside, interpreter, step } = task;
  const first = inside?.finished ?? 0;
  let isBroken = false;
  let open = 0;
  let next = first;
  // The mark of the whole loop rides on the last iteration to end.
  const finished = (): number | null => {
    open -= 1;
    return open === 0 && (isBroken || next >= source.length) ? source.length : null;
  };
  function* tasks() {
    for (; next < source.length; ) {
      const index = next;
      next += 1;
      open += 1;
      yield {
        stepID: step.id,
        run: async (signal: AbortSignal) => {
          const iteration = { index, item: source[index], signal };
          isBroken ||= (await runIteration(task, iteration, finished)) === BREAK;
        },
      };
    }
  }
  const executor = new ParallelExecutor({
    maxConcurrency: interpreter.run.setup.maxConcurrency,
    errorStrategy: strategyOf(interpreter, step.errorStrategy),
    signal: chain.signal,
    mayStart: () => !isBroken,
  });
  await executor.run(tasks());
}

type Iteration = { index: number; item?: unknown; signal?: AbortSignal };

/** Runs the children of one iteration; `finished` gives the loop's progress when it has ended. */
async function runIteration(
  task: Task,
  { index, item, signal }: Iteration,
  finished: () => number | null,
): Promise<typeof BREAK | null> {
  const { chain, inside, interpreter, step } = task;
  const children = step.children ?? [];
  const before = (child: string) => inside?.chains.get(chainKey(child, index));
  const pending = children.filter((child) => !hasEnded(before(child) ?? startAt(child)));
  let isBroken = children.some((child) => before(child)?.next === BREAK);
  let open = pending.length;
  const onEnd = (): MarkChanges => {
    open -= 1;
    return open === 0 ? iterationDone(task, finished()) : noChanges();
  };
  const locals = {
    ...chain.locals,
    _item: item ?? null,
    _index: index,
    _iterDir: `${step.id}_${index}`,
  };
  const run = async (child: string, within: AbortSignal): Promise<void> => {
    const path = [...chain.path, { in: step.id, child, iteration: index }];
    const position = before(child) ?? startAt(child);
    const inner = new Chain({ path, locals, signal: within, position, onEnd });
    isBroken = (await interpreter.runChain(inner)) === BREAK || isBroken;
  };
  const [only, ...others] = pending;
  const surrounding = signal ?? chain.signal;
  if (pending.length === 0) finished();
  else if (only !== undefined && others.length === 0) await run(only, surrounding);
  else {
    const executor = new ParallelExecutor({
      maxConcurrency: interpreter.run.setup.maxConcurrency,
      errorStrategy: strategyOf(interpreter, step.errorStrategy),
      signal: surrounding,
    });
    await executor.run(
      pending.map((child) => ({ stepID: child, run: (within) => run(child, within) })),
    );
  }
  return isBroken ? BREAK : null;
}

function iterationDone({ interpreter, step }: Task, progress: number | null): MarkChanges {
  const inner = interpreter.clearInside(step.children ?? []);
  if (progress === null) return inner;
  const own = { ...noChanges(), loopProgress: { [step.id]: progress } };
  interpreter.mark(own);
  return {
    completedBranches: inner.completedBranches,
    loopProgress: { ...inner.loopProgress, ...own.loopProgress },
  };
}
