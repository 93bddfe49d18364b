const most = 10 * 1024;
const previewLength = 200;
const listing = ["resolvedInputs", "outputs"];

/** What stands in an event for a value whose JSON is longer than 10 KB. `length` counts its characters. */
export type TruncatedValue = {
  _truncated: true;
  type: "object" | "string";
  length: number;
  preview: string;
};

/** A value as an event may hold it: itself, or what stands for it when its JSON is longer than 10 KB. */
export function truncated<T>(value: T): T | TruncatedValue {
  if (typeof value === "string" && value.length * 6 + 2 <= most) return value;
  const json = JSON.stringify(value) ?? "null";
  if (json.length <= most) return value;
  const type = typeof value === "string" ? "string" : "object";
  const preview = `${json.slice(0, previewLength)}...`;
  return { _truncated: true, type, length: json.length, preview };
}

/**
 * The JSON of an event's payload, its values cut as the documented format says: each of its own, and
 * each of those that `resolvedInputs` and `outputs` list.
 */
export function truncatedJson(json: string): string {
  if (json.length <= most) return json;
  const payload: unknown = JSON.parse(json);
  if (!isRecord(payload)) return JSON.stringify(truncated(payload));
  const cut = (value: unknown, name: string) =>
    listing.includes(name) && isRecord(value) ? mapped(value, truncated) : truncated(value);
  return JSON.stringify(mapped(payload, cut));
}

function mapped(
  record: object,
  change: (value: unknown, name: string) => unknown,
): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(record).map(([name, value]) => [name, change(value, name)]),
  );
}

const isRecord = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value);
