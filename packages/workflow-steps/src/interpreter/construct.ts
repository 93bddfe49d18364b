import {
  BREAK,
  ENTRY,
  failure,
  LoopMode,
  type ParallelErrorStrategy,
  RETURN,
} from "../document/document.ts";
import type { StepDocument } from "../document/format.ts";
import { chainKey, hasEnded, startAt } from "../state/position.ts";
import type { Inside } from "../state/state.ts";
import { Chain, type ChainEnd, type Done, type Interpreter, type Task } from "./interpreter.ts";
import { ParallelExecutor, type ParallelTask } from "./parallel.ts";

type Fork = { id: string; children: readonly string[]; strategy: ParallelErrorStrategy };

/** Runs the children of a step concurrently. Gives whether one of them ended with a BREAK. */
export function runFork(
  { chain, inside, interpreter, step, turn }: Task,
  id: string,
  children: readonly string[],
): Promise<boolean> {
  const fork = { id, children, strategy: strategyOf(interpreter, step.errorStrategy) };
  return turn.aside(() => join(interpreter, chain, inside, fork));
}

/** Runs a workflow that has several entries: a fork that no step stands for. */
export async function runEntries(interpreter: Interpreter, chain: Chain): Promise<void> {
  const children = interpreter.run.workflow.outline.entries;
  const fork = { id: ENTRY, children, strategy: strategyOf(interpreter) };
  await join(interpreter, chain, chain.position.inside, fork);
}

const strategyOf = (interpreter: Interpreter, own?: string): ParallelErrorStrategy =>
  (own as ParallelErrorStrategy | undefined) ?? interpreter.run.setup.errorStrategy;

async function concurrent(
  { run }: Interpreter,
  tasks: Iterable<ParallelTask<unknown>>,
  errorStrategy: ParallelErrorStrategy,
  signal: AbortSignal,
): Promise<void> {
  const { maxConcurrency } = run.setup;
  await new ParallelExecutor({ maxConcurrency, errorStrategy, signal }).run(tasks);
}

async function join(
  interpreter: Interpreter,
  chain: Chain,
  inside: Inside | null,
  { id, children, strategy }: Fork,
): Promise<boolean> {
  let isBroken = false;
  const pending = children.filter((child) => {
    const before = inside?.chains.get(child);
    if (!before || !hasEnded(before)) return true;
    isBroken ||= before.next === BREAK;
    return false;
  });
  const tasks = pending.map((child) => ({
    stepID: child,
    run: async (signal: AbortSignal) => {
      const path = [...chain.path, { in: id, child }];
      const position = inside?.chains.get(child) ?? startAt(child);
      const inner = new Chain({ path, locals: chain.locals, signal, position });
      if ((await interpreter.runChain(inner)) === BREAK) isBroken = true;
    },
  }));
  await concurrent(interpreter, tasks, strategy, chain.signal);
  return isBroken;
}

/** Runs the chain of the first case that holds, if one does. */
export async function chooseCase(task: Task): Promise<Done> {
  const { chain, inside, interpreter, step, turn } = task;
  const [entered] = inside?.chains.keys() ?? [];
  const selected = entered ?? firstCase(task);
  if (selected === null) return { selected };
  // A case that leads back to where this Branch was come to is no part of it: it goes on from there.
  if (interpreter.run.workflow.outline.isCycle(step.id, selected))
    return { selected, next: selected };
  const inner = new Chain({
    path: [...chain.path, { in: step.id, child: selected }],
    locals: chain.locals,
    signal: chain.signal,
    position: inside?.chains.get(selected) ?? startAt(selected),
  });
  const end = await turn.aside(() => interpreter.runChain(inner));
  return end === BREAK ? { selected, next: BREAK } : { selected };
}

function firstCase({ context, step }: Task): string | null {
  const holds = ([when]: NonNullable<StepDocument["cases"]>[number]): boolean =>
    when === "ELSE" || context.condition(when);
  return step.cases?.find(holds)?.[1] ?? null;
}

/** Runs the iterations of a loop that are not done yet. */
export async function runLoop(task: Task): Promise<Done> {
  const { inside, step, turn } = task;
  const source = step.while === undefined ? sourceOf(task) : null;
  const total = source?.length ?? step.maxIterations ?? 0;
  const first = inside?.finished ?? 0;
  const loop: Loop = { task, total, first, source, isBroken: (inside?.broken ?? null) !== null };
  const ran = await turn.aside(() =>
    step.mode === LoopMode.parallel ? runParallel(loop) : runSerial(loop),
  );
  // Of a source all count as done: what was dropped, or not started, is not to be done later either.
  return { iterations: source === null ? ran : total };
}

/** A loop that runs. `first` is the first iteration that is not done. */
type Loop = {
  task: Task;
  total: number;
  first: number;
  source: readonly unknown[] | null;
  isBroken: boolean;
};

function sourceOf({ context, step }: Task): readonly unknown[] {
  // A copy: its body may write to what it goes over.
  const source = context.resolve(step.source) ?? [];
  if (Array.isArray(source)) return source;
  throw failure(
    "BAD_SOURCE",
    `the source of ${step.id} is no array but ${typeof source}`,
    "give an array, or nothing for no iteration",
  );
}

/** Gives how many iterations are done. */
async function runSerial(loop: Loop): Promise<number> {
  const { task, first, total, source } = loop;
  const { context, step } = task;
  if (loop.isBroken) return total;
  for (let index = first; index < total; index += 1) {
    if (source === null) {
      context.locals._index = index;
      if (!isBegun(loop, index) && !context.condition(step.while)) return index;
    }
    if ((await runIteration(loop, index, task.signal)) === BREAK) return total;
  }
  return total;
}

const isBegun = ({ task: { inside, step } }: Loop, index: number): boolean =>
  (step.children ?? []).some((child) => inside?.chains.has(chainKey(child, index)));

async function runParallel(loop: Loop): Promise<number> {
  const { task, first, total } = loop;
  const { chain, interpreter, step } = task;
  function* tasks(): Generator<ParallelTask<void>> {
    for (let index = first; index < total; index += 1) {
      if (loop.isBroken && !isBegun(loop, index)) continue;
      const run = async (signal: AbortSignal): Promise<void> => {
        if ((await runIteration(loop, index, signal)) === BREAK) loop.isBroken = true;
      };
      yield { stepID: step.id, run };
    }
  }
  const strategy = strategyOf(interpreter, step.errorStrategy);
  await concurrent(interpreter, tasks(), strategy, chain.signal);
  return total;
}

/** Runs the children of one iteration. */
async function runIteration(loop: Loop, index: number, signal: AbortSignal): Promise<ChainEnd> {
  const { total, source, task } = loop;
  const { chain, inside, interpreter, step } = task;
  const children = step.children ?? [];
  const before = (child: string) => inside?.chains.get(chainKey(child, index));
  const pending = children.filter((child) => !hasEnded(before(child) ?? startAt(child)));
  let end: ChainEnd = children.some((child) => before(child)?.next === BREAK) ? BREAK : RETURN;
  const locals = {
    ...chain.locals,
    _item: source?.[index] ?? null,
    _index: index,
    _iterDir: `${step.id}_${index}`,
    ...inside?.given.get(index),
  };
  const tasks = pending.map((child) => ({
    stepID: child,
    run: async (within: AbortSignal): Promise<void> => {
      const path = [...chain.path, { in: step.id, child, iteration: index }];
      const position = before(child) ?? startAt(child);
      const parts = { path, locals, signal: within, position, iterations: total };
      if ((await interpreter.runChain(new Chain(parts))) === BREAK) {
        end = BREAK;
        loop.isBroken = true;
      }
    },
  }));
  await concurrent(interpreter, tasks, strategyOf(interpreter, step.errorStrategy), signal);
  return end;
}
