import type { Fixture, ThreadInput, WorkflowOptions } from "@uncaged/workflow";
import type { Adapters, FileAdapter } from "../adapter/adapter.ts";
import { failure } from "../document/document.ts";
import type { Commit, StepAt } from "../state/state.ts";
import { isCommit } from "./thread.ts";

type Naming = (role: string, path: readonly unknown[]) => string;

/** A step's name with the constructs around it. */
export const nameOf: Naming = (role, path) =>
  path.length === 0 ? role : `${role} ${JSON.stringify(path)}`;

/** How often each step was done, by a name of the step and the constructs around it. */
export class StepCounts {
  readonly #nameOf: Naming;
  readonly #done = new Map<string, number>();

  constructor(steps: ThreadInput["steps"], naming: Naming) {
    this.#nameOf = naming;
    for (const { role, meta } of steps) this.committed(role, meta);
  }

  committed(role: string, { path }: { path?: unknown }): void {
    if (!Array.isArray(path)) return;
    const name = this.#nameOf(role, path);
    this.#done.set(name, (this.#done.get(name) ?? 0) + 1);
  }

  /** The name and the number of the run that comes next, from 1. */
  next({ stepID, path }: StepAt): [name: string, n: number] {
    const name = this.#nameOf(stepID, path);
    return [name, (this.#done.get(name) ?? 0) + 1];
  }
}

/** The same in every thread: the run of a child workflow has its thread's id in its own. */
const nameInAnyThread: Naming = (role, path) =>
  nameOf(
    role,
    (path as StepAt["path"]).map((part) => ("run" in part ? { in: part.in } : part)),
  );

/** What a fixture has recorded of steps: the n-th run of a step gets what the n-th at the same path committed. */
export class RecordedSteps {
  readonly #threadId: string;
  readonly #counts: StepCounts;
  readonly #byName: Map<string, Commit[]>;

  /** @param steps Those that the thread began with. */
  constructor(fixture: Fixture, steps: ThreadInput["steps"]) {
    this.#threadId = fixture.threadId;
    this.#counts = new StepCounts(steps, nameInAnyThread);
    this.#byName = new Map();
    for (const { role, meta } of fixture.steps) {
      if (!isCommit(meta)) continue;
      const name = nameInAnyThread(role, meta.path);
      this.#byName.set(name, [...(this.#byName.get(name) ?? []), meta]);
    }
  }

  /** Those of a thread's options; null where its steps are carried out. */
  static of({ fixture, recorded }: WorkflowOptions, steps: ThreadInput["steps"]) {
    // Answers are given by a fixture that was checked, and by nothing else.
    return recorded === undefined ? null : new RecordedSteps(fixture as Fixture, steps);
  }

  committed(role: string, commit: Commit): void {
    this.#counts.committed(role, commit);
  }

  /** @throws WorkflowError `NO_RECORDED_ANSWER`. */
  answer(at: StepAt): Commit {
    const [name, n] = this.#counts.next(at);
    const found = this.#byName.get(name)?.[n - 1];
    if (found) return found;
    throw failure(
      "NO_RECORDED_ANSWER",
      `the fixture of ${this.#threadId} has no answer for run ${n} of step ${name}`,
      "give the case the fixture of a thread that went this way, or none to have the step executed",
    );
  }
}

/** The same adapters with one that writes and removes no file: a thread that is answered leaves none behind. */
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
