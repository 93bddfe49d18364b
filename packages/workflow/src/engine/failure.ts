import { isWorkflowError } from "../contract/error.ts";
import { toJson } from "../contract/json.ts";
import { isPlainObject } from "../contract/kind.ts";
import type { FailureRecord } from "../log/record.ts";

const longestKept = 1024 * 1024;

/**
 * What the end record says of a failure beside its message: the name and the step, a `WorkflowError`'s
 * code and hint, and `kept`: what a thrown error brings in a property of that name, a plain object of
 * JSON values, as a role keeps the text that it could not understand. It is left out when it is no
 * JSON or longer than 1 Mi characters. Never throws.
 */
export function failureRecord(
  thrown: unknown,
  at: { step: number; attempt?: string },
  mask: (text: string) => string,
): FailureRecord {
  const { step, attempt } = at;
  const record: FailureRecord = { name: mask(nameOf(thrown)), step, ...(attempt && { attempt }) };
  try {
    if (isWorkflowError(thrown)) {
      const { code, hint } = thrown;
      if (typeof code === "string") record.code = code;
      if (typeof hint === "string") record.hint = mask(hint);
    }
    const kept = keptOf(thrown, mask);
    if (kept !== null) record.kept = kept;
  } catch {
    // What a stranger's error does when it is looked at is no reason to lose the record.
  }
  return record;
}

function keptOf(thrown: unknown, mask: (text: string) => string): Record<string, unknown> | null {
  if (typeof thrown !== "object" || thrown === null || !("kept" in thrown)) return null;
  const { kept } = thrown;
  if (!isPlainObject(kept)) return null;
  const text = toJson(kept, "kept");
  if (!text.ok || text.json.length > longestKept) return null;
  return JSON.parse(mask(text.json)) as Record<string, unknown>;
}

// What a bundle throws may be anything: a Proxy that throws at each touch, a name that is no string.
function nameOf(thrown: unknown): string {
  try {
    if (!(thrown instanceof Error)) return typeof thrown;
    const { name }: { name: unknown } = thrown;
    return String(name).slice(0, 200);
  } catch {
    return "unknown";
  }
}

/**
 * Whether a record could not be written for its size: the workflow's fault and not the disk's. Nothing
 * was written then, and the end can be.
 */
export const isTooLarge = (error: unknown): boolean =>
  isWorkflowError(error) && error.code === "RECORD_TOO_LARGE";
