import { AsyncLocalStorage } from "node:async_hooks";
import type { Attempts, AttemptSpec } from "../contract/attempt.ts";
import { fixtureFormat } from "../contract/fixture.ts";
import {
  type RoleOutput,
  type Step,
  WAIT,
  type WorkflowFn,
  type WorkflowOptions,
} from "../contract/contract.ts";
import { codeIn } from "../contract/error.ts";
import { isStepQuestion } from "../contract/question.ts";
import { isRecord } from "../contract/show.ts";
import { withoutDelays } from "../durable/tries.ts";
import { beginGenerator } from "../engine/generator.ts";
import {
  failedIn,
  isRouted,
  isSameStep,
  isWorkOf,
  iterationsIn,
  type Recording,
  rolesAround,
  sideOf,
  type Work,
  workOf,
} from "./recording.ts";
import { environment } from "./surroundings.ts";

/**
 * A version's next action after some recorded steps. `asked` are the names of the steps that it requests first.
 * `isWanted`: it requests the wanted step before it needs an answer that is not recorded. `given` is that step, if the
 * workflow yielded it. `started` is the work that has started. `isUnhandled`: a step whose failure the wanted
 * step handles has started, and no later task on its path has started.
 */
export type Probe = {
  asked: string[];
  started: Work[];
  isWanted: boolean;
  given: RoleOutput | null;
  isUnhandled: boolean;
  end: ProbeEnd;
};

/** `blocked`: a role or a user must act. `silent`: nothing happened within the time limit. */
type ProbeEnd =
  | { by: "blocked" | "returned" | "silent" }
  | { by: "threw"; thrown: unknown; isDivergence: boolean };

const inside = new AsyncLocalStorage<Task>();
const later = setTimeout;
const cancel = clearTimeout;
const turn = setImmediate;

/** An opened attempt, with the attempts opened in it. */
type Task = Work & { path: string; inner: Task[]; isSkipped: boolean };

/** Whether a task is work of its own: neither skipped nor the container of work in flight. */
const isLeaf = ({ inner, isSkipped }: Task): boolean =>
  !isSkipped && inner.every((task) => task.isSkipped);

/** Whether a task of a role has started, and no later task on its path has started. */
function isLastOnPath(tasks: readonly Task[], role: string): boolean {
  return tasks.some((task, index) => {
    const isOther = (one: Task) => one.path === task.path && one.role !== role;
    return task.role === role && !tasks.slice(index + 1).some(isOther);
  });
}

const mostYields = 1_000;
const mostAtOnce = 1_000_000;
/** Turns of the event loop without a new task, after which the started tasks count as blocked. */
const quietTurns = 50;
const pollMs = 5;

/**
 * `wanted` is the recorded step to look for, `limitMs` the time for each answer in milliseconds. With `isIdle` no role
 * gets an answer: all roles stay in flight. `isBroad` answers roles and questions from the whole record, so that all
 * concurrent work continues, and looks for the step among all steps before the first step that the record lacks. Use it
 * only for records that keep the routes of steps, because it ignores their order.
 */
export type ProbeOptions = {
  wanted?: RoleOutput | null;
  limitMs: number;
  isIdle?: boolean;
  isBroad?: boolean;
};

/**
 * Starts a workflow after the first `count` recorded steps, as a resume does. The record answers the roles, up to the
 * wanted step if there is one. Roles never run: the first role without an answer ends the probe.
 */
export async function probe(
  run: WorkflowFn,
  recording: Recording,
  count: number,
  { wanted = null, limitMs, isIdle = false, isBroad = false }: ProbeOptions,
): Promise<Probe> {
  const tasks: Task[] = [];
  const yielded: RoleOutput[] = [];
  const leaves = () => tasks.filter(isLeaf);
  const given = () => (wanted && yielded.find((output) => isSameStep(output, wanted))) ?? null;
  const isWanted = () => {
    if (wanted === null) return false;
    if (given() !== null) return true;
    if (isStepQuestion(wanted)) return leaves().length > 0;
    return leaves().some((task) => isWorkOf(task, wanted));
  };
  let asked: string[] | null = null;
  const names = () => [...new Set([...yielded.map(sideOf), ...leaves().map(({ role }) => role)])];
  const ended = (end: ProbeEnd): Probe => {
    const started = [...leaves(), ...(isIdle ? yielded.map(workOf) : [])];
    const failed = wanted ? failedIn(wanted) : [];
    const isUnhandled = failed.some((role) => isLastOnPath(tasks, role));
    const found = { isWanted: isWanted(), given: given(), isUnhandled };
    return { asked: asked ?? names(), started, ...found, end };
  };
  try {
    const answered = isBroad ? recording.steps.length : count + Number(wanted !== null);
    const left = recording.steps.slice(count);
    const working = isBroad || isIdle ? new Set((isBroad ? left : []).flatMap(rolesAround)) : null;
    const attempts = attemptsOf(tasks, working);
    const generator = begin(run, recording, { count, answered }, attempts);
    let answer: Step | undefined;
    while (yielded.length < mostYields) {
      const next = await within(generator.next(answer), limitMs, () => tasks.length);
      if (next === null) return ended({ by: tasks.length > 0 ? "blocked" : "silent" });
      if (next.done === true) return ended({ by: "returned" });
      if (isRecord(next.value)) yielded.push(next.value);
      asked ??= names();
      if (given() !== null && !isIdle) break;
      const index = left.findIndex((one) => isSameStep(next.value, one));
      if (index < 0 && isRouted(recording.steps)) break;
      if (isBroad ? index < 0 : next.value?.role === WAIT) break;
      answer = isBroad && next.value.role === WAIT ? left[index + 1] : undefined;
      if (isBroad) left.splice(index, answer ? 2 : 1);
    }
    return ended({ by: "blocked" });
  } catch (thrown) {
    const code = isRecord(thrown) ? codeIn(thrown) : undefined;
    if (code === "NO_RECORDED_ANSWER") return ended({ by: "blocked" });
    return ended({ by: "threw", thrown, isDivergence: code === "DIVERGED" });
  }
}

function begin(
  run: WorkflowFn,
  recording: Recording,
  { count, answered }: { count: number; answered: number },
  attempts: Attempts,
) {
  const { start, steps } = recording;
  const { threadId, name, hash, forkFrom } = start;
  const { prompt, params, options } = start.parameters;
  const given = params === undefined ? {} : { params };
  const fixture = {
    ...{ format: fixtureFormat, version: 1, threadId, workflow: name, hash, prompt, ...given },
    steps: steps.slice(0, answered),
  };
  const all: WorkflowOptions = {
    ...options,
    // The order of concurrent work depends on these limits.
    ...{ maxConcurrency: mostAtOnce, maxParallelSteps: mostAtOnce },
    ...{ threadId, env: environment(), attempts, fixture },
    ...(forkFrom && { forkFrom }),
    signal: new AbortController().signal,
    [withoutDelays as never]: true,
  };
  return beginGenerator(run, { prompt, steps: steps.slice(0, count), ...given }, all);
}

/** `working` are the roles whose work continues; null for all. Other roles stay in flight. */
function attemptsOf(tasks: Task[], working: ReadonlySet<string> | null): Attempts {
  return {
    open({ role, path = [] }: AttemptSpec) {
      const task: Task = {
        ...{ role, path: JSON.stringify(path), iterations: iterationsIn(path) },
        ...{ inner: [], isSkipped: false },
      };
      inside.getStore()?.inner.push(task);
      tasks.push(task);
      const isWorking = working?.has(role) ?? true;
      return {
        id: undefined,
        path,
        run: (fn) => (isWorking ? inside.run(task, fn) : (new Promise(() => {}) as never)),
        end: (outcome) => (task.isSkipped ||= outcome === "skipped"),
      };
    },
  };
}

/**
 * Returns the value of a promise; null after a time limit in milliseconds, or when all work is blocked. `started`
 * returns the number of started tasks.
 */
async function within<T>(
  promise: Promise<T>,
  limitMs: number,
  started: () => number,
): Promise<T | null> {
  const { promise: over, resolve } = Promise.withResolvers<null>();
  const timer = later(() => resolve(null), limitMs);
  let [seen, quiet, isOver] = [0, 0, false];
  const look = () => {
    quiet = started() > seen ? 0 : quiet + 1;
    seen = started();
    if (seen > 0 && quiet > quietTurns) resolve(null);
    else if (!isOver && seen > 0) turn(look);
    else if (!isOver) later(look, pollMs);
  };
  turn(look);
  try {
    return await Promise.race([promise, over]);
  } finally {
    isOver = true;
    cancel(timer);
  }
}
