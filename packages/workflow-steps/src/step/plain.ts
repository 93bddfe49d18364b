import { WorkflowError } from "@uncaged/workflow";
import { messageOf } from "../adapter/error.ts";

/** The most characters that a result's JSON may have: it is committed with its step. */
const longestResult = 32 * 1024 * 1024;
/** How deeply a result may be nested. */
const deepestResult = 500;

/**
 * A copy of what an adapter gave, as the JSON that it will be in the log; nothing at all is null. The
 * copy is the run's own: an adapter that changes its value later changes nothing.
 *
 * @param what Who gave it, for the message.
 * @throws WorkflowError `RESULT_NO_JSON` for a cycle, a BigInt, a function; `RESULT_TOO_LARGE` for more
 *   than 32 Mi characters or 500 levels.
 */
export function plain(value: unknown, what: string): unknown {
  if (value === undefined || value === null) return null;
  const json = jsonOf(value, what);
  if (json.length > longestResult) {
    throw tooLarge(`${what} gave ${json.length} characters of JSON; ${longestResult} is the most`);
  }
  const copy: unknown = JSON.parse(json);
  if (isDeeper(copy, deepestResult)) {
    throw tooLarge(`${what} gave a value of more than ${deepestResult} levels`);
  }
  return copy;
}

function jsonOf(value: unknown, what: string): string {
  try {
    const json: unknown = JSON.stringify(value);
    if (typeof json === "string") return json;
    throw new TypeError(`it is a ${typeof value}`);
  } catch (cause) {
    const message = `${what} gave a value that can't be written as JSON: ${messageOf(cause)}`;
    const hint = "give text, numbers, true, false, null, arrays and plain objects";
    throw new WorkflowError({ code: "RESULT_NO_JSON", kind: "failed", message, hint });
  }
}

// Level by level: a value may be deeper than the stack.
function isDeeper(value: unknown, levels: number): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    const nested = level.filter((one): one is object => typeof one === "object" && one !== null);
    if (nested.length > 0 && depth >= levels) return true;
    level = nested.flatMap((one): unknown[] => Object.values(one));
  }
  return false;
}

const tooLarge = (message: string): WorkflowError =>
  new WorkflowError({
    code: "RESULT_TOO_LARGE",
    kind: "failed",
    message,
    hint: "write it to a file, and give the file's path",
  });

/** Whether a value is an object with names: no array, and not null. */
export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
