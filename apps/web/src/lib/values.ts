import type { TruncatedValue } from "@uncaged/workflow/records";
import type { Step } from "@uncaged/workflow-server/api-types";
import { isRecord } from "./json.ts";
import { parsing } from "./json-slices.ts";
import { ApiError, pathOf, requestText } from "./request.ts";
import { inSlices } from "./slices.ts";

/** Tells whether a value is the shortened form of a longer value. */
export const isTruncated = (value: unknown): value is TruncatedValue =>
  isRecord(value) && value._truncated === true && typeof value.preview === "string";

/** The path of a file value; null for other values. */
export const filePathOf = (value: unknown): string | null =>
  isRecord(value) && value._file === true && typeof value.path === "string" ? value.path : null;

const pathTo = (threadId: string, at: number): string =>
  pathOf("threads", threadId, "values", String(at));

type Committed = { prompt: string; steps: readonly Step[] };

/**
 * Reads the full value from its thread's store or its committed steps; null if both lack the value,
 * for example after a crash.
 * @throws ApiError if the server is unreachable.
 */
export async function readValue(
  value: TruncatedValue,
  committed: Committed & { threadId: string },
  signal?: AbortSignal,
): Promise<{ value: unknown } | null> {
  const { threadId } = committed;
  const json = value.at === undefined ? null : await keptJSON(threadId, value.at, signal);
  return wholeOf(value, json, committed, signal);
}

const keptJSON = (threadId: string, at: number, signal?: AbortSignal): Promise<string | null> =>
  requestText(pathTo(threadId, at), { signal }).catch((error: unknown) => {
    if (error instanceof ApiError && error.status === 404) return null;
    throw error;
  });

/** The full value, from stored JSON or from the committed steps. */
export async function wholeOf(
  truncated: TruncatedValue,
  kept: string | null,
  committed: Committed,
  signal?: AbortSignal,
): Promise<{ value: unknown } | null> {
  if (kept !== null && isJSONOf(truncated, kept)) {
    return { value: await inSlices(parsing(kept), signal) };
  }
  for (const value of candidates(committed)) {
    const json = JSON.stringify(value);
    if (json !== undefined && isJSONOf(truncated, json)) return { value };
  }
  return null;
}

function isJSONOf({ length, preview }: TruncatedValue, json: string): boolean {
  const begin = preview.endsWith("...") ? preview.slice(0, -3) : preview;
  return json.length === length && json.startsWith(begin);
}

function* candidates({ prompt, steps }: Committed): Generator {
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
