import type { Path } from "../contract/attempt.ts";
import type { AttemptError, EventRecord } from "../contract/event.ts";
import type { Usage } from "../contract/usage.ts";
import type { Spent } from "./spending.ts";

/** One action of an agent. Times are in milliseconds since the epoch. */
export type AttemptTurn =
  | { kind: "thinking" | "text"; text: string; at: number }
  | {
      kind: "tool";
      id: string;
      name: string;
      input: unknown;
      /** Absent until the tool has returned. */
      output?: unknown;
      status: "running" | "done" | "failed";
      /** Set when the step continued although the tool failed. */
      continued?: true;
      /** Messages of the tool while it ran. */
      messages: string[];
      at: number;
      endedAt: number | null;
    };

/** An error in a flattened tree: the thrown error, its chain of causes, and the parts of an aggregate error. */
export type ErrorPart = {
  relation: "thrown" | "cause" | "part";
  /** Nesting depth: the number of enclosing errors with parts. */
  depth: number;
  error: AttemptError;
};

/** Returns an error, its parts and its causes, in display order. */
export function errorParts(
  error: AttemptError,
  relation: ErrorPart["relation"] = "thrown",
  depth = 0,
): ErrorPart[] {
  return [
    { relation, depth, error },
    ...(error.errors ?? []).flatMap((part) => errorParts(part, "part", depth + 1)),
    ...(error.cause ? errorParts(error.cause, "cause", depth) : []),
  ];
}

/** A retry of a model call or of a step. `attempt` is the failed attempt of a step, absent for a model call. */
export type Retry = { at: number; delayMs: number | null; error: string; attempt?: string };

/**
 * One execution of a role, computed from the log and the events. Times are in milliseconds since the epoch.
 *
 * `attempt` is its id; a record of an older log without an id is an attempt `step-<n>`. `step` is the number, from 1,
 * of the step that it committed. Its status is `lost` when its process was lost before it ended. `usage`, `cost` and
 * `models` come from the committed step, else from its calls; `unknown` counts calls that were cut off before all of
 * their tokens were reported. `paid`, by model, is this thread's share if another thread paid for a part, else null.
 * `input` and `output` are the payloads of its `step_start` and `step_done`; `notes` has all other events. `saved`
 * means that a fork copied the attempt and another thread paid for it. `version` counts its changes.
 */
export type Attempt = {
  readonly attempt: string;
  role: string | null;
  path: Path;
  parent: string | null;
  title: string | null;
  stepID: string | null;
  step: number | null;
  /**
   * `parked`: the process ended while this attempt, or an attempt in it, waited for an answer. Another attempt
   * continues its work.
   */
  status: "running" | "committed" | "failed" | "skipped" | "cancelled" | "lost" | "parked";
  /** Null when the time is not recorded. */
  startedAt: number | null;
  endedAt: number | null;
  turns: AttemptTurn[];
  usage: Usage | null;
  cost: number | null;
  /** The last model that was called. */
  model: string | null;
  models: Record<string, Spent>;
  /** Whether `models` come from the record of the step or of the role, and so include its children. */
  recorded: boolean;
  unknown: number;
  paid: Record<string, Spent> | null;
  retries: Retry[];
  error: AttemptError | null;
  /** Breaches of the bundle's descriptor by the attempt's step. */
  warnings: string[];
  session: { agent: string; session_id: string } | null;
  input: Record<string, unknown> | null;
  output: Record<string, unknown> | null;
  notes: EventRecord[];
  saved: boolean;
  version: number;
};

/**
 * Sorts attempts for display: attempts without their own step follow their caller, in the order of their starts.
 * `depth` is the number of parents.
 */
export function nestedAttempts<T>(
  all: readonly T[],
  attemptOf: (one: T) => Attempt,
): { one: T; depth: number }[] {
  const ids = new Set(all.map((one) => attemptOf(one).attempt));
  const callerOf = ({ parent, step, attempt }: Attempt): string | null =>
    step === null && parent !== null && parent !== attempt && ids.has(parent) ? parent : null;
  const called = Map.groupBy(all, (one) => callerOf(attemptOf(one)));
  if (called.size < 2) return all.map((one) => ({ one, depth: 0 }));
  const nested = new Map<T, { one: T; depth: number }>();
  const add = (one: T, depth: number): void => {
    if (nested.has(one)) return;
    nested.set(one, { one, depth });
    const within = called.get(attemptOf(one).attempt) ?? [];
    const start = (each: T) => attemptOf(each).startedAt ?? 0;
    for (const each of within.toSorted((a, b) => start(a) - start(b))) add(each, depth + 1);
  };
  // Add all attempts again: in a foreign log an attempt may contain itself, and is then unreachable from the top.
  for (const one of [...(called.get(null) ?? []), ...all]) add(one, 0);
  return [...nested.values()];
}

/** Returns an attempt in its public JSON form, without unknown or empty fields. */
export function attemptJson(attempt: Attempt) {
  const { parent, title, stepID, models, session, saved, warnings } = attempt;
  return {
    attempt: attempt.attempt,
    role: attempt.role,
    path: attempt.path,
    ...(parent !== null && { parent }),
    ...(title !== null && { title }),
    ...(stepID !== null && { stepID }),
    step: attempt.step,
    status: attempt.status,
    startedAt: attempt.startedAt,
    endedAt: attempt.endedAt,
    turns: attempt.turns,
    usage: attempt.usage,
    cost: attempt.cost,
    ...(Object.keys(models).length > 0 && { models }),
    retries: attempt.retries,
    error: attempt.error,
    ...(warnings.length > 0 && { warnings }),
    ...(session !== null && { session }),
    ...(saved && { saved }),
  };
}

/**
 * Whether the work within an attempt stopped at a question, such as a Pause in a loop. `lastAt` is the time of the
 * attempt's last event or record; `questions` has the time of each attempt's question.
 */
export function stoppedAtQuestion(
  id: string,
  lastAt: number,
  { all, questions }: { all: ReadonlyMap<string, Attempt>; questions: ReadonlyMap<string, number> },
): boolean {
  const isWithin = (inner: string): boolean => {
    const seen = new Set<string>();
    let around = all.get(inner)?.parent ?? null;
    while (around !== null && around !== id && !seen.has(around)) {
      seen.add(around);
      around = all.get(around)?.parent ?? null;
    }
    return around === id;
  };
  const asked = [...questions].filter(([inner, at]) => at >= lastAt && isWithin(inner));
  const askedAt = asked.at(-1)?.[1];
  if (askedAt === undefined) return false;
  return ![...all].some(([inner, { startedAt }]) => (startedAt ?? 0) > askedAt && isWithin(inner));
}
