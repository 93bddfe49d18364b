import type { Step } from "@uncaged/workflow-server/api-types";
import { isRecord } from "../schema/json.ts";

/** What stands in an event for a value of more than 10 KB; see step-workflow events, `_truncated`. */
export type Truncated = {
  _truncated: true;
  type: string;
  length: number;
  preview: string;
  /** Where the thread keeps it in full, if it does. */
  at?: number;
};

/** Whether a value stands for a longer one. */
export const isTruncated = (value: unknown): value is Truncated =>
  isRecord(value) && value._truncated === true && typeof value.preview === "string";

/** The path of a file that stands for its content; null when a value is none. */
export const filePathOf = (value: unknown): string | null =>
  isRecord(value) && value._file === true && typeof value.path === "string" ? value.path : null;

/** The value that was cut, when this is its JSON: what a crash of the system left of it is not. */
export function keptIn(cut: Truncated, json: string): { value: unknown } | null {
  return isJSONOf(cut, json) ? { value: JSON.parse(json) as unknown } : null;
}

/**
 * The value that was cut, when what is committed has it in full: among the prompt, and the contents,
 * metas and variables of the steps. Null when it is nowhere: an event is all that told of it.
 */
export function fullOf(
  cut: Truncated,
  prompt: string,
  steps: readonly Step[],
): { value: unknown } | null {
  for (const value of candidates(prompt, steps)) {
    const json = JSON.stringify(value);
    if (json !== undefined && isJSONOf(cut, json)) return { value };
  }
  return null;
}

function isJSONOf({ length, preview }: Truncated, json: string): boolean {
  const begin = preview.endsWith("...") ? preview.slice(0, -3) : preview;
  return json.length === length && json.startsWith(begin);
}

function* candidates(prompt: string, steps: readonly Step[]): Generator {
  yield prompt;
  for (const { content, meta } of steps.toReversed()) {
    yield content;
    yield meta;
    for (const [name, value] of Object.entries(meta)) {
      yield value;
      if (name === "variables" && Array.isArray(value)) yield* writtenValues(value);
      else if (isRecord(value)) yield* Object.values(value);
    }
  }
}

function* writtenValues(writes: unknown[]): Generator {
  for (const write of writes) if (isRecord(write)) yield write.value;
}
