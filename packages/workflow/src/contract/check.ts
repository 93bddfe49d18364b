import { type RoleOutput, WAIT, type WorkflowResult } from "./contract.ts";
import { messageOf } from "./error.ts";
import { jsonText, maxJsonLength, toJson } from "./json.ts";
import { isPlainObject, isRecord, kindOf, show } from "./show.ts";

/** Reason why a value breaks the contract, with its path: `meta.files[2] is a function`. */
export type Refused = { ok: false; reason: string };

/**
 * A valid step. `json` is its text, with exactly the keys role, content and meta; `step` is the parsed copy. `attempt`
 * is the attempt id in the step, if any.
 */
export type CheckedStep = { ok: true; step: RoleOutput; json: string; attempt?: string } | Refused;

/** A valid result, or the reason why it is invalid. */
export type CheckedResult = { ok: true; result: WorkflowResult } | Refused;

/**
 * Checks a yielded value: `role` and `content` must be strings, `meta` a plain object that `toJson` accepts. Drops
 * other keys. Does not compile schemas, because it runs for every step.
 *
 * Reads every property once and makes the text from these reads, so a getter, a `toJSON` or a Proxy can't put an
 * unchecked value into the log. Never throws.
 */
export function checkStep(value: unknown): CheckedStep {
  try {
    return judgeStep(value);
  } catch (error) {
    return refuse(`the step can't be read: ${messageOf(error)}`);
  }
}

/** Checks a generator's return value, and drops unknown keys. Never throws. */
export function checkResult(value: unknown): CheckedResult {
  try {
    return judgeResult(value);
  } catch (error) {
    return refuse(`the result can't be read: ${messageOf(error)}`);
  }
}

function judgeStep(value: unknown): CheckedStep {
  if (!isRecord(value)) return refuse(`the step is ${kindOf(value)}, not {role, content, meta}`);
  if (Symbol.asyncIterator in value) {
    return refuse("the step is a generator: write yield* instead of yield");
  }
  const { role, content, meta: given, attempt } = value;
  const problem = problemOfRole(role) ?? problemOfText("content", content);
  if (problem !== null) return refuse(problem);
  if (!isPlainObject(given)) return refuse(`meta is ${kindOf(given)}, not a plain object`);
  const meta = toJson(given, "meta");
  if (!meta.ok) return meta;
  const json = `{"role":${jsonText(role)},"content":${jsonText(content)},"meta":${meta.json}}`;
  if (json.length > maxJsonLength) return refuse(tooLong("the step"));
  const parsed = JSON.parse(meta.json) as RoleOutput["meta"];
  const step = { role: role as string, content: content as string, meta: parsed };
  const wrong = step.role === WAIT ? problemOfWait(step.meta) : null;
  if (wrong !== null) return refuse(wrong);
  return typeof attempt === "string" ? { ok: true, step, json, attempt } : { ok: true, step, json };
}

function judgeResult(value: unknown): CheckedResult {
  if (!isRecord(value)) {
    return refuse(`the result is ${kindOf(value)}, not {returnCode, summary}`);
  }
  const { returnCode, summary } = value;
  if (typeof returnCode !== "number") {
    return refuse(`returnCode is ${kindOf(returnCode)}, not a number`);
  }
  if (!Number.isInteger(returnCode) || returnCode < 0 || returnCode > 255) {
    return refuse(`returnCode is ${returnCode}, not a whole number from 0 to 255`);
  }
  const problem = problemOfText("summary", summary);
  if (problem !== null) return refuse(problem);
  const result = { returnCode: returnCode + 0, summary: summary as string };
  if (value.value === undefined) return { ok: true, result };
  const json = toJson(value.value, "value");
  if (!json.ok) return json;
  if (json.json.length + result.summary.length > maxJsonLength)
    return refuse(tooLong("the result"));
  return { ok: true, result: { ...result, value: JSON.parse(json.json) as unknown } };
}

const refuse = (reason: string): Refused => ({ ok: false, reason });

const tooLong = (what: string): string =>
  `${what} is longer than ${maxJsonLength / 1024 / 1024} Mi characters`;

function problemOfText(name: string, value: unknown): string | null {
  if (typeof value !== "string") return `${name} is ${kindOf(value)}, not a string`;
  return value.length > maxJsonLength ? tooLong(name) : null;
}

const controlCharacter = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/;

function problemOfRole(role: unknown): string | null {
  if (typeof role !== "string") return `role is ${kindOf(role)}, not a string`;
  if (role === "") return "role is empty";
  if (controlCharacter.test(role)) return `role ${show(role)} has a control character`;
  if (role.startsWith("__") && role !== WAIT) {
    return `role ${show(role)} is reserved: of the roles that begin with "__", a workflow may yield only ${WAIT}`;
  }
  return null;
}

function problemOfWait({ for: what, schema, expiresAt, sleep }: RoleOutput["meta"]): string | null {
  if (typeof what !== "string") return `meta.for is ${kindOf(what)}, not a string`;
  if (what === "") return "meta.for is empty";
  if (schema !== undefined && typeof schema !== "boolean" && !isRecord(schema)) {
    return `meta.schema is ${kindOf(schema)}, not a JSON Schema`;
  }
  if (expiresAt !== undefined && typeof expiresAt !== "number") {
    return `meta.expiresAt is ${kindOf(expiresAt)}, not milliseconds since the epoch`;
  }
  if (sleep === true && expiresAt === undefined) return "meta.sleep needs a meta.expiresAt";
  return null;
}
