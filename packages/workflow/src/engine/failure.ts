import { isRecord } from "../contract/show.ts";
import { codeIn, errorName, messageOf } from "../contract/error.ts";
import { withoutPasswords } from "../contract/url.ts";
import type { AttemptError } from "../contract/event.ts";

const longestStack = 4000;
const longestMessage = 500;
const mostCauses = 8;
const mostErrors = 5;

/**
 * Converts a thrown value to an attempt's error, with the chain of its causes. A value without a name gets its type as
 * its name. `rewrite` maps stacks of the bundle to its sources. Never throws.
 */
export function errorOf(
  thrown: unknown,
  rewrite: (error: AttemptError) => AttemptError,
): AttemptError {
  const record = { ...recordOf(thrown, [thrown]), message: messageOf(thrown) };
  return fitted(rewrite(record));
}

/** Formats an error on one line, with the author's line that threw. */
export function errorLine(error: AttemptError): string {
  const { name, message, at } = error;
  const where = at ? `, at ${at.file}:${at.line}:${at.column}  ${at.text ?? ""}` : "";
  return `${name}: ${message}${where}`.trimEnd();
}

/** Maximum length of an error's JSON in characters. An event truncates longer values: the error would be invalid. */
const longest = 9000;

/** Shortens an error to the size of an event: removes the least important parts first, starting with inner errors. */
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

/** Converts a thrown value. `above` contains the value and the errors around it, to detect a cycle. */
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
    // Reading a foreign error may throw; its message is already known.
  }
  return record;
}

const isNew = (value: unknown, above: readonly unknown[]): boolean =>
  value !== undefined && value !== null && above.length <= mostCauses && !above.includes(value);

function partsOf({ errors }: Record<string, unknown>): unknown[] {
  return Array.isArray(errors) ? (errors.slice(0, mostErrors) as unknown[]) : [];
}

/** Returns the name of any thrown value, also of a Proxy that throws at each access. Never throws. */
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
