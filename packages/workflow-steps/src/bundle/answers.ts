import type { Fixture } from "@uncaged/workflow/interpreter";
import type { ThreadInput, WorkflowOptions } from "@uncaged/workflow";
import type { Adapters, FileAdapter } from "../adapter/adapter.ts";
import type { ErrorMap } from "../adapter/error.ts";
import type { RecordedRuns } from "../context/run.ts";
import { RunError } from "../interpreter/parallel.ts";
import type { Commit, StepAt, Write } from "../state/state.ts";
import { isCommit } from "./thread.ts";
import { noRecordedAnswer } from "./errors.ts";

type Naming = (role: string, path: readonly unknown[]) => string;

/** Returns a step's name, prefixed with its enclosing constructs. */
export const nameOf: Naming = (role, path) =>
  path.length === 0 ? role : `${role} ${JSON.stringify(path)}`;

/** Counts runs by step name and enclosing constructs. */
export class StepCounts {
  readonly #nameOf: Naming;
  readonly #done = new Map<string, number>();

  constructor(steps: ThreadInput["steps"], naming: Naming) {
    this.#nameOf = naming;
    for (const { role, meta } of steps) this.add(role, meta);
  }

  /** Counts one run of a step, committed or failed. */
  add(role: string, { path }: { path?: unknown }): void {
    if (!Array.isArray(path)) return;
    const name = this.#nameOf(role, path);
    this.#done.set(name, (this.#done.get(name) ?? 0) + 1);
  }

  /** Returns the name and the number (from 1) of the step's next run. */
  next({ stepID, path }: StepAt): [name: string, n: number] {
    const name = this.#nameOf(stepID, path);
    return [name, (this.#done.get(name) ?? 0) + 1];
  }
}

/** Returns a name without thread ids: the run id of a child workflow contains its thread's id. */
const nameInAnyThread: Naming = (role, path) =>
  nameOf(
    role,
    (path as StepAt["path"]).map((part) => ("run" in part ? { in: part.in } : part)),
  );

type Failed = { error: ErrorMap; variables: Write[] };
type Outcome = { commit: Commit } | Failed;

/**
 * Replays the recorded runs of a fixture. The n-th run of a step has the commit or failure of the n-th recorded run at
 * the same path.
 */
export class RecordedSteps implements RecordedRuns {
  readonly #threadId: string;
  readonly #counts: StepCounts;
  readonly #byName = new Map<string, Outcome[]>();
  #missing: RunError | null = null;

  /** @param steps The thread's initial steps. */
  constructor(fixture: Fixture, steps: ThreadInput["steps"]) {
    this.#threadId = fixture.threadId;
    this.#counts = new StepCounts(steps, nameInAnyThread);
    for (const { meta } of steps) {
      if (isCommit(meta)) for (const one of meta.failures ?? []) this.#counts.add(one.stepID, one);
    }
    for (const { role, meta } of fixture.steps) if (isCommit(meta)) this.#take(role, meta);
  }

  /** Returns the recorded runs in a thread's options; null if the thread executes its steps. */
  static of({ fixture, recorded }: WorkflowOptions, steps: ThreadInput["steps"]) {
    // `recorded` is set only if the fixture was checked.
    return recorded === undefined ? null : new RecordedSteps(fixture as Fixture, steps);
  }

  committed(role: string, commit: Commit): void {
    this.#counts.add(role, commit);
  }

  failed(at: StepAt): void {
    this.#counts.add(at.stepID, at);
  }

  /** @throws WorkflowError `NO_RECORDED_ANSWER`. */
  answer(at: StepAt): Commit {
    const [name, n] = this.#counts.next(at);
    const found = this.#byName.get(name)?.[n - 1];
    if (found && "commit" in found) return found.commit;
    const missing = noRecordedAnswer(this.#threadId, name, n);
    this.#missing ??= new RunError(at.stepID, missing);
    throw missing;
  }

  failure(at: StepAt): Failed | null {
    const [name, n] = this.#counts.next(at);
    const runs = this.#byName.get(name);
    // A resume repeats a failed run, because only the next commit records the failure.
    const found = runs?.[n - 1] ?? runs?.at(-1);
    return !found || "commit" in found ? null : found;
  }

  /** @throws RunError if a recorded answer was missing, even if the workflow handled or dropped that failure. */
  check(): void {
    if (this.#missing) throw this.#missing;
  }

  #take(role: string, commit: Commit): void {
    const failures = commit.failures ?? [];
    for (const { error, path, stepID, wrote } of failures) {
      const variables = commit.variables.filter(({ seq }) => wrote.includes(seq));
      this.#add(stepID, path, { error, variables });
    }
    const others = new Set(failures.flatMap(({ wrote }) => wrote));
    const variables = commit.variables.filter(({ seq }) => !others.has(seq));
    this.#add(role, commit.path, { commit: { ...commit, variables } });
  }

  #add(role: string, path: StepAt["path"], outcome: Outcome): void {
    const name = nameInAnyThread(role, path);
    const outcomes = this.#byName.get(name);
    if (outcomes) outcomes.push(outcome);
    else this.#byName.set(name, [outcome]);
  }
}

/** Returns the adapters with a file adapter that never writes or removes files, for a replayed thread. */
export function withoutFiles(given: Adapters): Adapters {
  const { file } = given;
  if (!file) return given;
  const none: Partial<FileAdapter> = {
    write: async (_, data) => ({
      size_bytes: typeof data === "string" ? new TextEncoder().encode(data).length : data.length,
    }),
    remove: async () => undefined,
  };
  const own: FileAdapter = Object.assign(Object.create(file) as FileAdapter, none);
  return { ...given, file: own };
}
