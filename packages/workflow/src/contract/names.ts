import { isBase32 } from "./base32.ts";
import { badName, badThreadId } from "./errors.ts";

/** Matches workflow names, which are valid as a file name on every system and as an argument in every shell. */
const workflowName = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
/** Matches names that Windows reserves for devices, with or without an extension. */
const deviceName = /^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)/i;
/** Matches a ULID in its canonical upper case. */
export const threadIdPattern = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/;

/** Returns whether a text has the form of a bundle's hash. */
export const isHash = (text: string): boolean => text.length === 13 && isBase32(text);
/** Returns whether a text has the form of a hash, or of a prefix of a hash with at least 4 digits. */
export const isHashPrefix = (text: string): boolean =>
  text.length >= 4 && text.length <= 13 && isBase32(text);
/** Returns whether a value has the form of a thread's id, a ULID. */
export const isThreadId = (id: unknown): id is string =>
  typeof id === "string" && threadIdPattern.test(id);

/** Returns a valid workflow name. @throws WorkflowError `BAD_NAME` (usage) */
export function checkWorkflowName(name: string): string {
  if (workflowName.test(name) && !deviceName.test(name) && !name.endsWith(".")) return name;
  throw badName(name, deviceName.test(name));
}

const devEnding = "@dev";

/** Returns the name under which `dev` registers the versions of a workflow's source. */
export const devNameOf = (name: string): string => `${name}${devEnding}`;
/** Returns whether a name is a result of {@link devNameOf}. */
export const isDevName = (name: string): boolean => name.endsWith(devEnding);

/**
 * Returns a valid name of the registry: a workflow name, or a result of {@link devNameOf}. @throws WorkflowError
 * `BAD_NAME`
 */
export function checkRegisteredName(name: string): string {
  checkWorkflowName(isDevName(name) ? name.slice(0, -devEnding.length) : name);
  return name;
}

/** Returns a valid thread id. @throws WorkflowError `BAD_THREAD_ID` (usage) */
export function checkThreadId(id: string): string {
  if (isThreadId(id)) return id;
  throw badThreadId(id);
}
