import type { RoleOutput } from "../contract/contract.ts";
import { codeIn, errorName, messageOf, WorkflowError } from "../contract/error.ts";
import { markFailedStep } from "../contract/attempt.ts";
import { toJson } from "../contract/json.ts";
import { isPlainObject, isRecord, show } from "../contract/show.ts";

/**
 * The one key of a step's meta that is ours, where role, content and meta are not all: `returned` is what
 * kind of value the work returned (without it: the text, when meta is empty, and else content and meta),
 * `member` which of several steps of one name in a `step.all` this is, from 0, `failure` what was thrown,
 * `retry` that the work is tried again after it: the how manieth try of how many it was, and when the next may begin.
 */
const mark = "__durable__";
type Mark = {
  returned?: "json" | "nothing" | "output";
  member?: number;
  failure?: StepFailureRecord;
  retry?: FailedTry;
};

/** A try that has failed and is followed by another one, at a moment in milliseconds since the epoch. */
export type FailedTry = { try: number; of: number; delayMs: number; at: number };

/** The step that records what the work of a role returned. Throws `BAD_STEP_VALUE`. */
export function outputOf(role: string, member: number | null, returned: unknown): RoleOutput {
  if (returned === undefined) return marked(role, "", {}, { returned: "nothing" }, member);
  if (typeof returned === "string") return marked(role, returned, {}, {}, member);
  if (!isOutput(returned)) {
    return marked(role, jsonOf(role, returned, "its value"), {}, { returned: "json" }, member);
  }
  const meta = JSON.parse(jsonOf(role, returned.meta, "meta")) as RoleOutput["meta"];
  if (Object.hasOwn(meta, mark)) throw badValue(role, `meta.${mark}, a key that is reserved`);
  const note: Mark = Object.keys(meta).length === 0 ? { returned: "output" } : {};
  return marked(role, returned.content, meta, note, member);
}

/** The step that records that the work of a role threw. */
export function failureOutput(
  failure: StepFailure,
  member: number | null,
  retry: FailedTry | null,
): RoleOutput {
  const { role, name, message, code } = failure;
  const record = code === undefined ? { name, message } : { name, message, code };
  const note: Mark = { failure: record, ...(retry !== null && { retry }) };
  return marked(role, message, {}, note, member);
}

/** By what a step is found among all that may be open with it: its role, and which of a `step.all` it is. */
export const memberKey = (role: string, member: number | null): string => `${member ?? ""} ${role}`;

/** What the record of a failed try says of the next one; null for any other record. */
export const tryOf = ({ meta }: RoleOutput): FailedTry | null =>
  (meta[mark] as Mark | undefined)?.retry ?? null;

/** What the work returned, from the step that records it; throws when it is recorded as failed. */
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
  return returned === "output" || Object.keys(meta).length > 0 ? { content, meta } : content;
}

/** Which of several steps of its name in a `step.all` a step is, or null when it is the only one. */
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
  return { role, content, meta: Object.keys(whole).length > 0 ? { ...meta, [mark]: whole } : meta };
}

function isOutput(value: unknown): value is { content: string; meta: Record<string, unknown> } {
  if (!isPlainObject(value) || Object.keys(value).length !== 2) return false;
  return typeof value.content === "string" && isPlainObject(value.meta);
}

function jsonOf(role: string, value: unknown, name: string): string {
  const text = toJson(value, name);
  if (text.ok) return text.json;
  throw badValue(role, `what can't be recorded: ${text.reason}`);
}

function parsed(role: string, content: string): unknown {
  try {
    return JSON.parse(content);
  } catch (cause) {
    const message = `the recorded step ${show(role)} holds a JSON value, but its content is no JSON`;
    const hint = "give it JSON as content, or fork the thread before it";
    throw WorkflowError.failed("BAD_STEP_VALUE", message, hint, cause);
  }
}

const badValue = (role: string, what: string): WorkflowError =>
  WorkflowError.failed(
    "BAD_STEP_VALUE",
    `step ${show(role)} returned ${what}`,
    "return a string, {content, meta} or another value that survives JSON",
  );

export type StepFailureRecord = { name: string; message: string; code?: string };

/**
 * What a durable workflow catches when the work of a step threw, with the `name`, the `message` (one line)
 * and the `code` of the original. They are the same on a replay, so a workflow may decide by them; not by
 * `cause`, the original itself, which is there on the first run only.
 */
export class StepFailure extends Error {
  readonly role: string;
  readonly code: string | undefined;

  constructor(role: string, record: StepFailureRecord, cause?: unknown) {
    super(record.message, cause === undefined ? undefined : { cause });
    this.role = role;
    this.name = record.name;
    this.code = record.code;
    if (cause instanceof Error && typeof cause.stack === "string") this.stack = cause.stack;
  }

  static of(role: string, thrown: unknown): StepFailure {
    const message = messageOf(thrown);
    try {
      if (isRecord(thrown)) {
        const name = errorName(thrown) ?? "Error";
        return new StepFailure(role, { name, message, code: codeIn(thrown) }, thrown);
      }
    } catch {
      // A getter that throws: the message is known.
    }
    return new StepFailure(role, { name: "Error", message }, thrown);
  }
}
