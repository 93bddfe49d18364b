import { messageOf } from "../contract/error.ts";

/** A failure as it is recorded. */
export type FailureRecord = { name: string; message: string; code?: string };

/**
 * What a durable workflow catches when the work of a step threw. It is the same on a replay, so a
 * workflow may decide by it: `role`, and of the original its `name`, its `message` (one line, at most
 * 2,000 characters) and its `code` when that is a string. `cause` is the original, on the first run
 * only: nothing may be decided by it.
 */
export class StepFailure extends Error {
  readonly role: string;
  readonly code: string | undefined;

  constructor(role: string, record: FailureRecord, cause?: unknown) {
    super(record.message, cause === undefined ? undefined : { cause });
    this.role = role;
    this.name = record.name;
    this.code = record.code;
    if (cause instanceof Error && typeof cause.stack === "string") this.stack = cause.stack;
  }

  /** The failure that something thrown by the work of a step is. */
  static of(role: string, thrown: unknown): StepFailure {
    return new StepFailure(role, recordOf(thrown), thrown);
  }

  toRecord(): FailureRecord {
    const { name, message, code } = this;
    return code === undefined ? { name, message } : { name, message, code };
  }
}

function recordOf(thrown: unknown): FailureRecord {
  const message = messageOf(thrown);
  if (!(thrown instanceof Error)) return { name: "Error", message };
  const code = "code" in thrown && typeof thrown.code === "string" ? thrown.code : undefined;
  return { name: thrown.name, message, code };
}
