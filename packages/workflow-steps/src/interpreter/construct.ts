import { BREAK, ENTRY, LoopMode, type ParallelErrorStrategy } from "../document/document.ts";
import type { StepDocument } from "../document/format.ts";
import { chainKey, hasEnded, insideOf, startAt } from "../state/position.ts";
import type { Inside } from "../state/state.ts";
import { type Chain, chainAt, type Done, type Interpreter, type Task } from "./interpreter.ts";
import { ParallelExecutor, type ParallelTask } from "./parallel.ts";
import { sourceNotArray } from "./errors.ts";

/** Runs the children of a step concurrently. Returns whether a child ended with a BREAK. */
export function runFork({ chain, inside, interpreter, step, turn }: Task): Promise<boolean> {
  return turn.aside(() => join(interpreter, chain, inside, step));
}

/** Runs a workflow with several entries as an implicit fork. */
export async function runEntries(interpreter: Interpreter, chain: Chain): Promise<void> {
  const { entries } = interpreter.run.workflow.outline;
  await join(interpreter, chain, insideOf(chain.position), { id: ENTRY, children: [...entries] });
}

type Construct = Pick<StepDocument, "id" | "children"> & { errorStrategy?: string };

type Iteration = Pick<Chain, "locals" | "signal"> & {
  index: number;
  total: number;
  onBreak: () => void;
};

/** Runs the unfinished chains of a construct or an iteration. */
async function join(
  interpreter: Interpreter,
  chain: Chain,
  inside: Inside | null,
  construct: Construct,
  iteration?: Iteration,
): Promise<boolean> {
  const { id, children = [] } = construct;
  const { locals, signal: around } = iteration ?? chain;
  const before = (child: string) => inside?.chains.get(chainKey(child, iteration?.index));
  const pending = children.filter((child) => !hasEnded(before(child) ?? startAt(child)));
  let isBroken = children.some((child) => before(child)?.next === BREAK);
  const tasks = pending.map((child) => ({
    stepID: child,
    run: async (signal: AbortSignal): Promise<void> => {
      const part = { in: id, child, ...(iteration && { iteration: iteration.index }) };
      const path = [...chain.path, part];
      const position = before(child) ?? startAt(child);
      const inner = chainAt({ path, locals, signal, position, iterations: iteration?.total });
      if ((await interpreter.runChain(inner)) !== BREAK) return;
      isBroken = true;
      iteration?.onBreak();
    },
  }));
  await concurrent(interpreter, construct, tasks, around);
  return isBroken;
}

async function concurrent(
  { run }: Interpreter,
  { errorStrategy: own }: Construct,
  tasks: Iterable<ParallelTask<unknown>>,
  signal: AbortSignal,
): Promise<void> {
  const { maxConcurrency, errorStrategy: common } = run.setup;
  const errorStrategy = (own as ParallelErrorStrategy | undefined) ?? common;
  await new ParallelExecutor({ maxConcurrency, errorStrategy, signal }).run(tasks);
}

/** Runs the chain of the first case whose condition is true. */
export async function chooseCase(task: Task): Promise<Done> {
  const { chain, context, inside, interpreter, step, turn } = task;
  const [entered] = inside?.chains.keys() ?? [];
  const holds = ([when]: NonNullable<StepDocument["cases"]>[number]): boolean =>
    when === "ELSE" || context.condition(when);
  const selected = entered ?? step.cases?.find(holds)?.[1] ?? null;
  if (selected === null) return { selected };
  // A case that leads back to the Branch is not inside it: the chain continues at that step.
  if (interpreter.run.workflow.outline.isCycle(step.id, selected)) {
    return { selected, next: selected };
  }
  const inner = chainAt({
    path: [...chain.path, { in: step.id, child: selected }],
    locals: chain.locals,
    signal: chain.signal,
    position: inside?.chains.get(selected) ?? startAt(selected),
    branch: task,
  });
  const end = await turn.aside(() => interpreter.runChain(inner));
  return end === BREAK ? { selected, next: BREAK } : { selected };
}

/** Runs the remaining iterations of a loop. */
export async function runLoop(task: Task): Promise<Done> {
  const { chain, context, inside, interpreter, signal, step, turn } = task;
  const source = step.while === undefined ? sourceOf(task) : null;
  const total = source?.length ?? step.maxIterations ?? 0;
  const first = inside?.finished ?? 0;
  let isBroken = inside !== null && inside.broken !== null;
  const onBreak = (): void => void (isBroken = true);
  const isBegun = (index: number): boolean =>
    (step.children ?? []).some((child) => inside?.chains.has(chainKey(child, index)));

  async function iterate(index: number, around: AbortSignal): Promise<void> {
    const own = { _item: source?.[index] ?? null, _index: index, _iterDir: `${step.id}_${index}` };
    const locals = { ...chain.locals, ...own, ...inside?.given.get(index) };
    const iteration = { index, total, locals, signal: around, onBreak };
    if (await join(interpreter, chain, inside, step, iteration)) onBreak();
  }

  /** Runs the iterations in sequence. Returns the number of finished iterations. */
  async function runSerial(): Promise<number> {
    for (let index = first; index < total && (!isBroken || isBegun(index)); index += 1) {
      if (source === null) context.locals._index = index;
      const isTested = source === null && !isBegun(index);
      if (isTested && !context.condition(step.while)) return index;
      await iterate(index, signal);
    }
    return total;
  }

  async function runParallel(): Promise<number> {
    function* tasks(): Generator<ParallelTask<void>> {
      for (let index = first; index < total; index += 1) {
        if (isBroken && !isBegun(index)) continue;
        yield { stepID: step.id, run: (around) => iterate(index, around) };
      }
    }
    await concurrent(interpreter, step, tasks(), signal);
    return total;
  }

  const ran = await turn.aside(step.mode === LoopMode.parallel ? runParallel : runSerial);
  // A loop over a source counts all iterations as done, because dropped and skipped iterations never run later.
  return { iterations: source === null ? ran : total };
}

function sourceOf({ context, step }: Task): readonly unknown[] {
  // Copies the source, because the body may write to it.
  const source = context.resolve(step.source) ?? [];
  if (Array.isArray(source)) return source;
  throw sourceNotArray(step.id, typeof source);
}
