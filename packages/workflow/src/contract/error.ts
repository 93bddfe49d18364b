import { isRecord, kindOf } from "./show.ts";
import { withoutPasswords } from "./url.ts";

/** Class of an error for its caller: the operation failed, the call is wrong, or the named thing does not exist. */
export type ErrorKind = "failed" | "usage" | "missing";

const brand = Symbol.for("uncaged.workflow.error");

/**
 * An error as JSON: on the control socket and in `--json` output. When `message` is only the first of several findings,
 * `details` has all findings, one line each.
 */
export type ErrorRecord = {
  code: string;
  kind: ErrorKind;
  message: string;
  hint?: string;
  details?: string[];
};

type Make = (code: string, message: string, hint?: string, cause?: unknown) => WorkflowError;

const ofKind =
  (kind: ErrorKind): Make =>
  (code, message, hint, cause) =>
    new WorkflowError({ code, kind, message, hint }, { cause });

/**
 * An error that a user can act on: `message` states the problem and its place, `hint` the remedy, both without the
 * passwords of URLs. Its kind is `failed` unless another is given.
 *
 * {@link isWorkflowError} recognizes it by a brand instead of its class, because each bundle contains its own copy of
 * this file.
 */
export class WorkflowError extends Error {
  // `declare` makes these fields need no code: bundles contain this class.
  declare readonly code: string;
  declare readonly kind: ErrorKind;
  declare readonly hint: string | undefined;
  declare readonly details: string[] | undefined;

  constructor(
    record: Omit<ErrorRecord, "kind"> & { kind?: ErrorKind },
    options?: { cause?: unknown },
  ) {
    super(withoutPasswords(record.message), options?.cause === undefined ? undefined : options);
    this.name = "WorkflowError";
    this.code = record.code;
    this.kind = record.kind ?? "failed";
    this.hint = record.hint && withoutPasswords(record.hint);
    this.details = record.details?.map(withoutPasswords);
    Object.defineProperty(this, brand, { value: true });
  }

  /** Makes an error for an operation that failed in the current state. */
  static readonly failed = /* @__PURE__ */ ofKind("failed");
  /** Makes an error for a wrong call, which the caller must change. */
  static readonly usage = /* @__PURE__ */ ofKind("usage");
  /** Makes an error for a thing that does not exist. */
  static readonly missing = /* @__PURE__ */ ofKind("missing");
}

/** Returns whether a value is a {@link WorkflowError} of this or of another copy of the package. */
export function isWorkflowError(value: unknown): value is WorkflowError {
  return typeof value === "object" && value !== null && brand in value;
}

/** Converts an error to a record. A value that is not a {@link WorkflowError} gets the code `INTERNAL`. */
export function toErrorRecord(error: unknown): ErrorRecord {
  if (isWorkflowError(error)) {
    const { code, kind, message, hint, details } = error;
    return { code, kind, message, ...(hint && { hint }), ...(details && { details }) };
  }
  return { code: "INTERNAL", kind: "failed", message: messageOf(error) };
}

/**
 * Combines findings into one error: `message` has the first finding and the number of the others, `details` has all.
 */
export function foundProblems(problems: readonly string[]): {
  message: string;
  details?: string[];
} {
  const [first = "", ...others] = problems;
  if (others.length === 0) return { message: first };
  return { message: `${first} (and ${others.length} more)`, details: [...problems] };
}

/** Returns the text of a thrown value, on one line of at most 2,000 characters. Never throws. */
export function messageOf(thrown: unknown): string {
  let text: string;
  try {
    text = thrownText(thrown);
  } catch {
    text = "a value that can't be shown was thrown";
  }
  const line =
    withoutPasswords(text)
      .replace(/\s*[\r\n\u2028\u2029]+\s*/g, " ")
      .trim() || "no message";
  return line.length > 2000 ? `${line.slice(0, 2000)}…` : line;
}

/**
 * Returns the message of a thrown value, also of a plain object: clients of databases and HTTP services throw these.
 */
function thrownText(thrown: unknown): string {
  if (typeof thrown !== "object" || thrown === null) return String(thrown);
  const { message, name } = thrown as { message?: unknown; name?: unknown };
  if (typeof message === "string" && message.trim() !== "") return message;
  if (thrown instanceof Error && message === "") return String(name);
  const { toString: ownText } = thrown as { toString?: unknown };
  if (typeof ownText !== "function" || isRecord(message) || Array.isArray(thrown)) {
    return jsonOrKeys(thrown);
  }
  const own: unknown = ownText.call(thrown);
  return typeof own !== "string" || own.includes("[object ") ? jsonOrKeys(thrown) : own;
}

function jsonOrKeys(thrown: object): string {
  try {
    const json = JSON.stringify(thrown);
    if (typeof json === "string" && json !== "{}") return json;
  } catch {
    // A cycle or a BigInt: list the keys instead.
  }
  const keys = Object.keys(thrown).join(", ");
  return `${kindOf(thrown)} ${keys && `with the keys ${keys} `}was thrown`;
}

/** Returns the `code` of a thrown object as text, from a string or a number. Rethrows errors of a getter. */
export function codeIn(thrown: object): string | undefined {
  const { code } = thrown as { code?: unknown };
  if (typeof code === "string") return code;
  return typeof code === "number" && Number.isFinite(code) ? String(code) : undefined;
}

const plainNames: ReadonlySet<unknown> = new Set([
  "Error",
  "TypeError",
  "RangeError",
  "SyntaxError",
]);

/**
 * Returns the name of a thrown object; undefined without a name. An error whose class does not set `name` gets the name
 * of its class. Rethrows errors of a getter.
 */
export function errorName(thrown: object): string | undefined {
  const { name } = thrown as { name?: unknown };
  if (thrown instanceof Error && plainNames.has(name) && !Object.hasOwn(thrown, "name")) {
    const own: unknown = thrown.constructor?.name;
    // Ignore names of one or two characters: a minifier has made them.
    if (typeof own === "string" && /^[A-Z]\w{2,}$/.test(own)) return own;
  }
  return typeof name === "string" && name !== "" ? name : undefined;
}
