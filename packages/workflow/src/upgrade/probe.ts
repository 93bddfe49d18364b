import { AsyncLocalStorage } from "node:async_hooks";
import type { Attempts, AttemptSpec } from "../contract/attempt.ts";
import { fixtureFormat } from "../contract/fixture.ts";
import {
  type RoleOutput,
  WAIT,
  type WorkflowFn,
  type WorkflowOptions,
} from "../contract/contract.ts";
import { codeIn } from "../contract/error.ts";
import { isStepQuestion } from "../contract/question.ts";
import { isRecord } from "../contract/show.ts";
import { withoutDelays } from "../durable/tries.ts";
import { beginGenerator } from "../engine/generator.ts";
import { isSameStep, type Recording, sideOf } from "./recording.ts";

/**
 * A version's next action after some recorded steps. `asked` are the steps that it asks for first, by name.
 * `isWanted`: the wanted step is among all steps that it asks for before it needs an answer that is not recorded.
 */
export type Probe = { asked: string[]; isWanted: boolean; end: ProbeEnd };

/** `blocked`: a role or a person must act. `silent`: nothing happened within the time limit. */
type ProbeEnd =
  | { by: "blocked" | "returned" | "silent" }
  | { by: "threw"; thrown: unknown; isDivergence: boolean };

const inside = new AsyncLocalStorage<Task>();
const later = setTimeout;
const cancel = clearTimeout;

/** An opened attempt. `isOuter`: another attempt was opened in it. */
type Task = { role: string; isOuter: boolean; isSkipped: boolean };

const mostYields = 1_000;
/** Time in milliseconds for concurrent tasks to start, once one has started. */
const quietMs = 1_000;

/**
 * Starts a workflow after the first `count` recorded steps, as a resume does. Roles are answered by the record up to
 * the next step, and never run: the first role without an answer ends the probe.
 */
export async function probe(
  run: WorkflowFn,
  recording: Recording,
  count: number,
  { wanted = null, limitMs }: { wanted?: RoleOutput | null; limitMs: number },
): Promise<Probe> {
  const tasks: Task[] = [];
  const yielded: RoleOutput[] = [];
  const leaves = () => tasks.filter(({ isOuter, isSkipped }) => !isOuter && !isSkipped);
  const isWanted = () => {
    if (wanted === null) return false;
    if (yielded.some((output) => isSameStep(output, wanted))) return true;
    if (isStepQuestion(wanted)) return leaves().length > 0;
    const role = wanted.role === WAIT ? wanted.meta.role : wanted.role;
    return leaves().some((task) => task.role === role);
  };
  let asked: string[] | null = null;
  const names = () => [...new Set([...yielded.map(sideOf), ...leaves().map(({ role }) => role)])];
  const ended = (end: ProbeEnd): Probe => ({ asked: asked ?? names(), isWanted: isWanted(), end });
  try {
    const generator = begin(run, recording, count, attemptsOf(tasks));
    while (yielded.length < mostYields) {
      const next = await within(generator.next(), () => (tasks.length > 0 ? quietMs : limitMs));
      if (next === null) return ended({ by: tasks.length > 0 ? "blocked" : "silent" });
      if (next.done === true) return ended({ by: "returned" });
      if (isRecord(next.value)) yielded.push(next.value);
      asked ??= names();
      if (isWanted() || next.value?.role === WAIT) break;
    }
    return ended({ by: "blocked" });
  } catch (thrown) {
    const code = isRecord(thrown) ? codeIn(thrown) : undefined;
    if (code === "NO_RECORDED_ANSWER") return ended({ by: "blocked" });
    return ended({ by: "threw", thrown, isDivergence: code === "DIVERGED" });
  }
}

function begin(run: WorkflowFn, recording: Recording, count: number, attempts: Attempts) {
  const { start, steps } = recording;
  const { threadId, name, hash, forkFrom } = start;
  const { prompt, params, options } = start.parameters;
  const given = params === undefined ? {} : { params };
  const { env } = process;
  const fixture = {
    ...{ format: fixtureFormat, version: 1, threadId, workflow: name, hash, prompt, ...given },
    steps: steps.slice(0, count + 1),
  };
  const all: WorkflowOptions = {
    ...options,
    ...{ threadId, env: { ...env } as Record<string, string>, attempts, fixture },
    ...(forkFrom && { forkFrom }),
    signal: new AbortController().signal,
    [withoutDelays as never]: true,
  };
  return beginGenerator(run, { prompt, steps: steps.slice(0, count), ...given }, all);
}

function attemptsOf(tasks: Task[]): Attempts {
  return {
    open({ role, path = [] }: AttemptSpec) {
      const task: Task = { role, isOuter: false, isSkipped: false };
      const parent = inside.getStore();
      if (parent) parent.isOuter = true;
      tasks.push(task);
      return {
        id: undefined,
        path,
        run: (fn) => inside.run(task, fn),
        end: (outcome) => (task.isSkipped ||= outcome === "skipped"),
      };
    },
  };
}

/** Returns the value of a promise; null after a time limit, which is read again when it is over. */
async function within<T>(promise: Promise<T>, limitMs: () => number): Promise<T | null> {
  const { promise: over, resolve } = Promise.withResolvers<null>();
  const startedAt = performance.now();
  let timer: ReturnType<typeof setTimeout>;
  const look = () => {
    const left = startedAt + limitMs() - performance.now();
    if (left <= 0) resolve(null);
    else timer = later(look, Math.min(left, 100));
  };
  timer = later(look, 100);
  try {
    return await Promise.race([promise, over]);
  } finally {
    cancel(timer);
  }
}
