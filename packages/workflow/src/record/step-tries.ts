import type { Step } from "../contract/contract.ts";
import type { AttemptError } from "../contract/event.ts";
import { isRecord } from "../contract/show.ts";
import { readAmount } from "../contract/usage.ts";
import type { Attempt, Retry } from "./attempt.ts";
import { textOr } from "./spending.ts";

/** Collects the failed tries of durable steps from their records. */
export class StepTries {
  readonly #tries = new Map<string, Retry[]>();

  /** Adds a record and its attempt. Copies the earlier tries of the same step to the attempt. */
  take(attempt: Attempt, { role, meta, timestamp: at }: Step): void {
    const mark = isRecord(meta.__durable__) ? meta.__durable__ : {};
    const key = `${readAmount(mark.member) ?? ""} ${role}`;
    const before = this.#tries.get(key) ?? [];
    const ofModels = attempt.retries.filter((retry) => retry.attempt === undefined);
    attempt.retries = [...before, ...ofModels];
    if (!isRecord(mark.retry)) return void this.#tries.delete(key);
    const delayMs = readAmount(mark.retry.delayMs);
    const error = attempt.error?.message ?? "";
    this.#tries.set(key, [...before, { at, delayMs, error, attempt: attempt.attempt }]);
  }
}

/** Returns the caught failure that a durable step records, or null. */
export function recordedFailure(meta: Record<string, unknown>): AttemptError | null {
  const mark = meta.__durable__;
  const failure = isRecord(mark) ? mark.failure : undefined;
  if (!isRecord(failure) || typeof failure.message !== "string") return null;
  const { name, message, code } = failure;
  return { name: textOr(name, "Error"), message, ...(typeof code === "string" && { code }) };
}

/** Returns the error of a failed attempt in an end record, or null. */
export function failureIn(record: Record<string, unknown>, message = ""): AttemptError | null {
  if (typeof record.name !== "string") return null;
  const { step: _, attempt: __, role: ___, hint: ____, kept: _____, ...error } = record;
  return { ...(error as Omit<AttemptError, "message">), message };
}
