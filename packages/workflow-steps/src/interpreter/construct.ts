import { WorkflowError } from "@uncaged/workflow";
import {
  BREAK,
  ENTRY,
  LoopMode,
  type ParallelErrorStrategy,
  RETURN,
  type StepDocument,
} from "../document/document.ts";
import { type MarkChanges, noChanges } from "../state/checkpoint.ts";
import { chainKey, hasEnded, type Inside, startAt } from "../state/position.ts";
import { outside } from "./gate.ts";
import { Chain, type ChainEnd, type Done, type Interpreter, type Task } from "./interpreter.ts";
import { ParallelExecutor } from "./parallel.ts";

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

/** Runs the chain of the first case that holds, if one does. */
export async function chooseCase(task: Task): Promise<Done> {
  const { chain, inside, interpreter, step } = task;
  const [entered] = inside?.chains.keys() ?? [];
  const selected = entered ?? firstCase(task);
  if (selected === null) return { selected };
  // A case that leads back to where this Branch was come to is no part of it: it goes on from there.
  if (interpreter.isCycle(step.id, selected)) return { selected, next: selected };
  const inner = new Chain({
    path: [...chain.path, { in: step.id, child: selected }],
    locals: chain.locals,
    signal: chain.signal,
    position: inside?.chains.get(selected) ?? startAt(selected),
  });
  const end = await outside(interpreter.gate, () => interpreter.runChain(inner));
  return end === BREAK ? { selected, next: BREAK } : { selected };
}

function firstCase({ context, step }: Task): string | null {
  const holds = ([when]: NonNullable<StepDocument["cases"]>[number]): boolean =>
    when === "ELSE" || context.condition(when);
  return step.cases?.find(holds)?.[1] ?? null;
}

/** Runs the iterations of a loop that are not done yet. */
export async function runLoop(task: Task): Promise<Done> {
  const { interpreter, step } = task;
  const source = step.while === undefined ? sourceOf(task) : null;
  const total = source?.length ?? step.maxIterations ?? 0;
  if (!task.inside) interpreter.run.leave({ marks: interpreter.clear([step.id]) });
  await outside(interpreter.gate, async () => {
    if (source === null) await runRounds(task, total);
    else if (step.mode === LoopMode.parallel) await runSideBySide(task, source);
    else await runInOrder(task, source);
  });
  // What was dropped, or not started, is not to be done later either.
  const isMarked = source === null || interpreter.run.state.loopProgress[step.id] === total;
  return isMarked ? {} : { marks: progressOf(task, total) };
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
    const finished = (end: ChainEnd): number => (end === BREAK ? source.length : index + 1);
    if ((await runIteration(task, { index, item: source[index], finished })) === BREAK) return;
  }
}

async function runRounds(task: Task, most: number): Promise<void> {
  const { context, inside, step } = task;
  for (let index = inside?.finished ?? 0; index < most; index += 1) {
    context.locals._index = index;
    if (!isBegun(task, index) && !context.condition(step.while)) return;
    const finished = (end: ChainEnd): number => (end === BREAK ? most : index + 1);
    if ((await runIteration(task, { index, finished })) === BREAK) return;
  }
}

const isBegun = ({ inside, step }: Task, index: number): boolean =>
  (step.children ?? []).some((child) => inside?.chains.has(chainKey(child, index)));

async function runSideBySide(task: Task, source: readonly unknown[]): Promise<void> {
  const { chain, inside, interpreter, step } = task;
  let isBroken = [...(inside?.chains.values() ?? [])].some(({ next }) => next === BREAK);
  let open = 0;
  let next = inside?.finished ?? 0;
  // The mark of the whole loop rides on the last iteration to end.
  const finished = (end: ChainEnd): number | null => {
    isBroken ||= end === BREAK;
    open -= 1;
    return open === 0 && (isBroken || next >= source.length) ? source.length : null;
  };
  function* tasks() {
    while (next < source.length) {
      const index = next;
      next += 1;
      if (isBroken && !isBegun(task, index)) continue;
      open += 1;
      const run = (signal: AbortSignal) =>
        runIteration(task, { index, item: source[index], signal, finished });
      yield { stepID: step.id, run };
    }
  }
  const executor = new ParallelExecutor({
    maxConcurrency: interpreter.run.setup.maxConcurrency,
    errorStrategy: strategyOf(interpreter, step.errorStrategy),
    signal: chain.signal,
  });
  await executor.run(tasks());
}

/** One iteration; `finished` gives the loop's progress when it has ended, null when that is not known yet. */
type Iteration = {
  index: number;
  item?: unknown;
  signal?: AbortSignal;
  finished: (end: ChainEnd) => number | null;
};

/** Runs the children of one iteration. */
async function runIteration(
  task: Task,
  { index, item, signal = task.signal, finished }: Iteration,
): Promise<ChainEnd> {
  const { chain, inside, interpreter, step } = task;
  const children = step.children ?? [];
  const before = (child: string) => inside?.chains.get(chainKey(child, index));
  const pending = children.filter((child) => !hasEnded(before(child) ?? startAt(child)));
  let end: ChainEnd = children.some((child) => before(child)?.next === BREAK) ? BREAK : RETURN;
  let open = pending.length;
  const onEnd = (own: ChainEnd): MarkChanges => {
    if (own === BREAK) end = BREAK;
    open -= 1;
    return open === 0 ? iterationDone(task, finished(end)) : noChanges();
  };
  const locals = {
    ...chain.locals,
    _item: item ?? null,
    _index: index,
    _iterDir: `${step.id}_${index}`,
    ...inside?.given.get(index),
  };
  const run = (child: string, within: AbortSignal): Promise<ChainEnd> => {
    const path = [...chain.path, { in: step.id, child, iteration: index }];
    const position = before(child) ?? startAt(child);
    return interpreter.runChain(new Chain({ path, locals, signal: within, position, onEnd }));
  };
  if (pending.length === 0) finished(end);
  const errorStrategy = strategyOf(interpreter, step.errorStrategy);
  const { maxConcurrency } = interpreter.run.setup;
  await new ParallelExecutor({ maxConcurrency, errorStrategy, signal }).run(
    pending.map((child) => ({ stepID: child, run: (within) => run(child, within) })),
  );
  return end;
}

function iterationDone(task: Task, progress: number | null): MarkChanges {
  const inner = task.interpreter.clearInside(task.step.children ?? []);
  if (progress === null) return inner;
  const { loopProgress } = progressOf(task, progress);
  return { ...inner, loopProgress: { ...inner.loopProgress, ...loopProgress } };
}

const progressOf = ({ interpreter, step }: Task, progress: number): MarkChanges =>
  interpreter.mark({ ...noChanges(), loopProgress: { [step.id]: progress } });
