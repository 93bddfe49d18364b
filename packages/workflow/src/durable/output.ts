import type { RoleOutput } from "../contract/contract.ts";
import { codeIn, errorName, messageOf } from "../contract/error.ts";
import { markFailedStep } from "../contract/attempt.ts";
import { toJson } from "../contract/json.ts";
import { isPlainObject, isRecord } from "../contract/show.ts";
import type { Surrounded } from "../moderator/surround.ts";
import { contentNotJson, reservedMeta, valueNotJson } from "./errors.ts";

/**
 * Key of the helper's own data in a step's meta, if role, content and meta do not suffice. `returned` is the type of
 * the work's return value; without it, the value is the content if meta is empty, else content and meta. `member` is
 * the index among steps of one name in a `step.all`, from 0. `failure` is the thrown error. `retry` has the number of a
 * failed try, the number of tries, and the time of the next try. `spent` is the work's spending if its meta lacks it.
 */
const mark = "__durable__";
type Mark = {
  returned?: "json" | "nothing" | "output";
  member?: number;
  failure?: StepFailureRecord;
  retry?: FailedTry;
  spent?: Record<string, unknown>;
};

/** A failed try before another try. `at` is the start of the next try, in milliseconds since the epoch. */
export type FailedTry = { try: number; of: number; delayMs: number; at: number };

/**
 * Returns the step that records the return value and the spending of a role's work.
 *
 * @throws WorkflowError `BAD_STEP_VALUE`
 */
export function outputOf(
  role: string,
  member: number | null,
  { value: returned, spent }: Surrounded<unknown>,
): RoleOutput {
  const record = (content: string, meta: RoleOutput["meta"], note: Mark) =>
    marked(role, content, meta, { ...note, ...(spent && { spent }) }, member);
  if (returned === undefined) return record("", {}, { returned: "nothing" });
  if (typeof returned === "string") return record(returned, {}, {});
  if (!isOutput(returned)) {
    return record(jsonOf(role, returned, "its value"), {}, { returned: "json" });
  }
  const meta = JSON.parse(jsonOf(role, returned.meta, "meta")) as RoleOutput["meta"];
  if (Object.hasOwn(meta, mark)) throw reservedMeta(role, mark);
  return record(returned.content, meta, isEmpty(meta) ? { returned: "output" } : {});
}

/** Returns the step that records the failure of a role's work. */
export function failureOutput(
  failure: StepFailure,
  member: number | null,
  retry: FailedTry | null,
): RoleOutput {
  const { role, name, message, code } = failure;
  const record = { name, message, ...(code !== undefined && { code }) };
  const note: Mark = { failure: record, ...(retry && { retry }) };
  return marked(role, message, {}, note, member);
}

/** Returns the key of a step among concurrent steps: its role, and its index in a `step.all`. */
export const memberKey = (role: string, member: number | null): string => `${member ?? ""} ${role}`;

/** Returns the failed try that a step records; null for any other step. */
export const tryOf = ({ meta }: RoleOutput): FailedTry | null =>
  (meta[mark] as Mark | undefined)?.retry ?? null;

/** Returns the work's return value from its step; throws a recorded failure. */
export function valueOf({ role, content, meta: recorded, attempt }: RoleOutput): unknown {
  const { [mark]: note, ...meta } = recorded;
  const { returned, failure } = (note ?? {}) as Mark;
  if (failure !== undefined) {
    const replayed = new StepFailure(role, failure);
    markFailedStep(replayed, { role, attempt });
    throw replayed;
  }
  if (returned === "nothing") return undefined;
  if (returned === "json") return parsed(role, content);
  return returned === "output" || !isEmpty(meta) ? { content, meta } : content;
}

/** Returns a step's index among steps of its name in a `step.all`; null when no other step has its name. */
export function memberOf({ meta }: RoleOutput): number | null {
  return (meta[mark] as Mark | undefined)?.member ?? null;
}

function marked(
  role: string,
  content: string,
  meta: RoleOutput["meta"],
  note: Mark,
  member: number | null,
): RoleOutput {
  const whole: Mark = member === null ? note : { ...note, member };
  return { role, content, meta: isEmpty(whole) ? meta : { ...meta, [mark]: whole } };
}

const isEmpty = (object: object): boolean => Object.keys(object).length === 0;

function isOutput(value: unknown): value is { content: string; meta: Record<string, unknown> } {
  if (!isPlainObject(value) || Object.keys(value).length !== 2) return false;
  return typeof value.content === "string" && isPlainObject(value.meta);
}

function jsonOf(role: string, value: unknown, name: string): string {
  const text = toJson(value, name);
  if (text.ok) return text.json;
  throw valueNotJson(role, text.reason);
}

function parsed(role: string, content: string): unknown {
  try {
    return JSON.parse(content);
  } catch (cause) {
    throw contentNotJson(role, cause);
  }
}

/** The recorded fields of a failure. */
export type StepFailureRecord = { name: string; message: string; code?: string };

/**
 * Error that a durable workflow catches when the work of a step threw, with the `name`, the `message` (one line) and
 * the `code` of the original. These fields are the same on a replay, so a workflow may branch on them. `cause`, the
 * original error, exists on the first run only: do not branch on it.
 */
export class StepFailure extends Error {
  declare readonly role: string;
  declare readonly code: string | undefined;

  constructor(role: string, record: StepFailureRecord, cause?: unknown) {
    super(record.message, cause === undefined ? undefined : { cause });
    this.role = role;
    this.name = record.name;
    this.code = record.code;
    if (cause instanceof Error && typeof cause.stack === "string") this.stack = cause.stack;
  }

  /** Converts a value thrown by a role's work to a failure. Never throws. */
  static of(role: string, thrown: unknown): StepFailure {
    const message = messageOf(thrown);
    try {
      if (isRecord(thrown)) {
        const name = errorName(thrown) ?? "Error";
        return new StepFailure(role, { name, message, code: codeIn(thrown) }, thrown);
      }
    } catch {
      // A getter of the thrown value threw. The message is already known.
    }
    return new StepFailure(role, { name: "Error", message }, thrown);
  }
}
