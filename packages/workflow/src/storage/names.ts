import { WorkflowError } from "../contract/error.ts";
import { show } from "../contract/show.ts";

export { show };

/** Workflow names: what is a file name on every system and an argument in every shell. */
const workflowName = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
/** Names that Windows keeps for devices, with or without an ending. */
const deviceName = /^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)/i;
const hashPattern = /^[0-9A-HJKMNP-TV-Z]{13}$/;
const hashBeginning = /^[0-9A-HJKMNP-TV-Z]{4,13}$/;
/** A ULID in its canonical upper case. */
export const threadIdPattern = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/;

/** Whether the text is a bundle hash: 13 digits of Crockford Base32. */
export const isHash = (text: string): boolean => hashPattern.test(text);

/** Whether the text, standing alone, may be the beginning of a hash, or a whole one: 4 digits or more. */
export const isHashBeginning = (text: string): boolean => hashBeginning.test(text);

/** Whether the text is a thread id. */
export const isThreadId = (text: string): boolean => threadIdPattern.test(text);

/** The name, when a workflow may bear it; else throws `BAD_NAME` (usage). */
export function checkWorkflowName(name: string): string {
  if (workflowName.test(name) && !deviceName.test(name) && !name.endsWith(".")) return name;
  throw new WorkflowError({
    code: "BAD_NAME",
    kind: "usage",
    message: `${show(name)} can't be a workflow's name${deviceName.test(name) ? ": Windows keeps it" : ""}`,
    hint: "use 1 to 64 letters, digits, dots, dashes and underscores, beginning with a letter or a digit and not ending with a dot",
  });
}

/** The id, when it is one; else throws `BAD_THREAD_ID` (usage). */
export function checkThreadId(id: string): string {
  if (isThreadId(id)) return id;
  throw new WorkflowError({
    code: "BAD_THREAD_ID",
    kind: "usage",
    message: `${show(id)} is no thread id`,
    hint: "a thread id is a ULID: 26 digits and capital letters",
  });
}
