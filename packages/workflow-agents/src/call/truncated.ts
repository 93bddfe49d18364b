const most = 10 * 1024;
const previewLength = 200;

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
