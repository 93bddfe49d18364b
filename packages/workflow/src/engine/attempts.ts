import {
  type AttemptOutcome,
  type AttemptSpec,
  type Attempts,
  attemptIds,
  type OpenAttempt,
} from "../contract/attempt.ts";
import { messageOf } from "../contract/error.ts";
import { OwnSet } from "../contract/own-collections.ts";
import type { AttemptError, EventPayloads } from "../contract/event.ts";
import { system } from "../system/system.ts";
import { nameOf } from "./ending.ts";

/** What the attempts of a thread need of the worker: its debug log, and its async contexts. */
export type AttemptParts = {
  /** Records that an attempt begins. */
  onStart: (id: string, payload: EventPayloads["attempt_start"]) => void;
  /** Records that an attempt has ended without a step of its own. */
  onEnd: (id: string, payload: EventPayloads["attempt_end"]) => void;
  /** An attempt was committed, or came to nothing: takes its start back if nothing of it was recorded yet. */
  takeBack: (id: string) => boolean;
  /** Runs a function in the async context of an attempt. */
  enter: <T>(id: string, fn: () => T) => T;
  /** The attempt in whose context the running code is. */
  current: () => string | null;
  now: () => number;
};

const longestStack = 4000;
// Which role a plain bundle executes is known when it yields.
const unknownRole = { role: null };

/**
 * The attempts of one thread that have not ended. A workflow that opens attempts names one in each step that
 * it yields. For any other the engine opens one at each `next()`: the step that comes of it, and every event
 * meanwhile, is of that attempt.
 */
export class ThreadAttempts {
  /** What the workflow gets as `options.attempts`. */
  readonly forWorkflow: Attempts;
  /** The attempt of the running `next()`, for events that are published in no other; null when there is none. */
  pulled: string | null = null;
  /** The attempt that failed last. */
  failed: string | undefined;
  readonly #parts: AttemptParts;
  readonly #nextId: () => string;
  readonly #open = new OwnSet<string>();
  /** Those that have ended and whose step may still come: a failure that the workflow has caught. */
  readonly #ended = new OwnSet<string>();
  #opensOwn: boolean;

  /** @param opensOwn Whether the workflow is known to open its attempts itself. */
  constructor(parts: AttemptParts, opensOwn: boolean) {
    this.#parts = parts;
    this.#opensOwn = opensOwn;
    this.#nextId = attemptIds(parts.now, () => system.random());
    const open = (spec: AttemptSpec) => this.#openOne(spec);
    this.forWorkflow = {
      open,
      get current() {
        return parts.current();
      },
    };
  }

  /** The generator is asked for its next step. */
  pull(): void {
    if (this.#opensOwn) return;
    this.pulled = this.#nextId();
    this.#parts.onStart(this.pulled, unknownRole);
  }

  /** The attempt of a step that was yielded with this id; undefined when it has none. */
  of(named: string | undefined): string | undefined {
    const isOurs = named !== undefined && (this.#open.has(named) || this.#ended.has(named));
    if (!isOurs) return this.pulled ?? undefined;
    if (this.pulled !== null) {
      this.#opensOwn = true;
      // It stands for nothing: the workflow opens its attempts itself.
      this.#drop(this.pulled, "skipped");
      this.pulled = null;
    }
    return named;
  }

  /** The step of an attempt is in the log. */
  committed(id: string): void {
    if (this.pulled === id) this.pulled = null;
    else if (!this.#open.delete(id)) this.#ended.delete(id);
    this.#parts.takeBack(id);
  }

  /** The generator has returned: what it did since its last step has come to its end. */
  returned(): void {
    if (this.pulled !== null) this.#drop(this.pulled, "committed");
    this.pulled = null;
  }

  /** The generator has thrown. */
  threw(error: unknown): void {
    if (this.pulled !== null) this.#end(this.pulled, "failed", error);
    this.pulled = null;
  }

  /** The thread has ended: whatever is still open was cancelled with it. */
  close(): void {
    if (this.pulled !== null) this.#drop(this.pulled, "cancelled");
    this.#open.forEach((id) => this.#drop(id, "cancelled"));
    this.pulled = null;
  }

  #openOne({ role, path = [], title }: AttemptSpec): OpenAttempt {
    const parent = this.#parts.current();
    const id = this.#nextId();
    this.#open.add(id);
    this.#parts.onStart(id, {
      role,
      ...(path.length > 0 && { path }),
      ...(title !== undefined && { title }),
      ...(parent !== null && { parent }),
    });
    return {
      id,
      path,
      run: (fn) => this.#parts.enter(id, fn),
      end: (outcome, error) => this.#end(id, outcome, error),
    };
  }

  #drop(id: string, outcome: AttemptOutcome): void {
    if (this.#parts.takeBack(id)) this.#open.delete(id);
    else this.#end(id, outcome);
  }

  #end(id: string, outcome: AttemptOutcome, error?: unknown): void {
    if (!this.#open.delete(id) && id !== this.pulled) return;
    if (outcome === "failed") this.failed = id;
    if (outcome !== "committed") this.#ended.add(id);
    this.#parts.onEnd(id, {
      outcome,
      ...(error !== undefined && { error: errorOf(error) }),
    });
  }
}

/** A thrown value as an attempt's error. Never throws, whatever a bundle throws. */
function errorOf(thrown: unknown): AttemptError {
  const record: AttemptError = { name: nameOf(thrown), message: messageOf(thrown) };
  try {
    if (!(thrown instanceof Error)) return record;
    if ("code" in thrown && typeof thrown.code === "string") record.code = thrown.code;
    if (typeof thrown.stack === "string") record.stack = thrown.stack.slice(0, longestStack);
  } catch {
    // A stranger's error may throw when it is looked at; its message is known.
  }
  return record;
}
