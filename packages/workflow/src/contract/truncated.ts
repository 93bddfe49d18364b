/** The most characters of JSON that a value may have in an event. */
export const longestShown = 10 * 1024;
const previewLength = 200;

/** The values of an event's payload that list others: each of those is cut, and not the list. */
export const listNames: readonly string[] = ["resolvedInputs", "outputs"];

/**
 * What stands in an event for a value whose JSON is longer than 10 KB. `length` counts its characters.
 * `at`, in a recorded event only, is the byte of the thread's file of values at which the whole of it
 * begins; without it the rest is lost.
 */
export type TruncatedValue = {
  _truncated: true;
  type: "object" | "string";
  length: number;
  preview: string;
  at?: number;
};

/**
 * A value as an event may hold it: itself, or what stands for it when its JSON is longer than 10 KB.
 * Who records events does the same and keeps the whole: cut only what is told in full elsewhere.
 */
export function truncated<T>(value: T): T | TruncatedValue {
  if (typeof value === "string" && value.length * 6 + 2 <= longestShown) return value;
  const json = JSON.stringify(value) ?? "null";
  return json.length <= longestShown ? value : markerOf(json);
}

/** What stands for the value that has this JSON. */
export function markerOf(json: string): TruncatedValue {
  const type = json.startsWith('"') ? "string" : "object";
  const preview = `${json.slice(0, previewLength)}...`;
  return { _truncated: true, type, length: json.length, preview };
}
