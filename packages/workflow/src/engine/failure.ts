import { isRecord } from "../contract/show.ts";
import { codeIn, errorName, messageOf } from "../contract/error.ts";
import { withoutPasswords } from "../contract/url.ts";
import type { AttemptError } from "../contract/event.ts";

const longestStack = 4000;
const longestMessage = 500;
const mostCauses = 8;
const mostErrors = 5;

/**
 * A thrown value as an attempt's error, with the whole chain of its causes. A value without a name has its type as
 * its name. `rewrite` makes stacks of the bundle those of its sources. Never throws, whatever a bundle throws.
 */
export function errorOf(
  thrown: unknown,
  rewrite: (error: AttemptError) => AttemptError,
): AttemptError {
  const record = { ...recordOf(thrown, [thrown]), message: messageOf(thrown) };
  return fitted(rewrite(record));
}

/** An error on one line, with the author's line that threw. */
export function errorLine(error: AttemptError): string {
  const { name, message, at } = error;
  const where = at ? `, at ${at.file}:${at.line}:${at.column}  ${at.text ?? ""}` : "";
  return `${name}: ${message}${where}`.trimEnd();
}

/** An event cuts a value that is longer, and an error without its name is none. */
const longest = 9000;

/** The error with no more around it than an event takes: first the inner errors lose what they need least. */
function fitted(error: AttemptError): AttemptError {
  const isShort = (one: AttemptError) => JSON.stringify(one).length <= longest;
  const parts = (one: AttemptError, shorter: (inner: AttemptError) => AttemptError) => ({
    ...one,
    ...(one.cause && { cause: shorter(one.cause) }),
    ...(one.errors && { errors: one.errors.map(shorter) }),
  });
  const bare = (one: AttemptError): AttemptError => {
    const at = one.at && { ...one.at, frame: undefined };
    return parts({ ...one, stack: undefined, at }, bare);
  };
  const { cause: _, errors: __, ...alone } = error;
  const shorter = [() => error, () => parts(error, bare), () => bare(error), () => bare(alone)];
  return shorter.map((make) => make()).find(isShort) ?? bare(alone);
}

/** `above` has what it is the cause or a part of, and itself: a cycle ends there. */
function recordOf(thrown: unknown, above: readonly unknown[]): AttemptError {
  const message = messageOf(thrown).slice(0, longestMessage);
  const record: AttemptError = { name: nameOf(thrown), message };
  try {
    if (!isRecord(thrown)) return record;
    const code = codeIn(thrown);
    if (code !== undefined) record.code = code.slice(0, 200);
    if (typeof thrown.stack === "string")
      record.stack = withoutPasswords(thrown.stack).slice(0, longestStack);
    const { cause } = thrown;
    if (isNew(cause, above)) record.cause = recordOf(cause, [...above, cause]);
    const errors = partsOf(thrown).filter((part) => isNew(part, above));
    if (errors.length > 0) record.errors = errors.map((part) => recordOf(part, [...above, part]));
  } catch {
    // A stranger's error may throw when it is looked at; its message is known.
  }
  return record;
}

const isNew = (value: unknown, above: readonly unknown[]): boolean =>
  value !== undefined && value !== null && above.length <= mostCauses && !above.includes(value);

function partsOf({ errors }: Record<string, unknown>): unknown[] {
  return Array.isArray(errors) ? (errors.slice(0, mostErrors) as unknown[]) : [];
}

/** The name of what was thrown, which may be anything: a Proxy that throws at each touch, a name that is no string. */
export function nameOf(thrown: unknown): string {
  try {
    if (!isRecord(thrown)) return typeof thrown;
    const { name } = thrown;
    const known = errorName(thrown) ?? (thrown instanceof Error ? String(name) : "object");
    return known.slice(0, 200);
  } catch {
    return "unknown";
  }
}
