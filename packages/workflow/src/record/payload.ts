import { listNames, longestShown, markerOf } from "../contract/event.ts";
import type { Mask } from "../contract/mask.ts";
import { isRecord } from "../contract/show.ts";

/** Stores the JSON of a value. Returns the byte offset of the stored JSON, or null when storing fails. */
export type Keep = (json: string) => number | null;

const cut = '"_truncated":true';

/**
 * Returns the JSON of an event's payload with secrets masked. Passes each value with more than {@link longestShown}
 * characters of JSON to `keep`, then truncates the value. In the lists named by {@link listNames}, truncates each item
 * separately. Never throws.
 */
export function payloadJson(payload: unknown, mask: Mask, keep: Keep): string {
  try {
    // Skip serializing the whole payload when a long text will be truncated anyway.
    const json = hasLongText(payload) ? null : (JSON.stringify(payload) ?? "null");
    if (json !== null && json.length <= longestShown) return maskedJson(json, mask);
    return cutJson(json !== null && ownJson(payload) ? JSON.parse(json) : payload, mask, keep);
  } catch {
    // The payload can't be serialized: it has a cycle or a BigInt.
    return `{${cut}}`;
  }
}

function hasLongText(value: unknown, levels = 4): boolean {
  if (levels === 0 || !isListing(value)) return false;
  return Object.values(value).some((one) => isLong(one) || hasLongText(one, levels - 1));
}

const isLong = (value: unknown): boolean =>
  typeof value === "string" && value.length > longestShown;

function cutJson(payload: unknown, mask: Mask, keep: Keep): string {
  const whole = (value: unknown): string | undefined => {
    const json: string | undefined = JSON.stringify(value);
    const shown = json === undefined ? json : maskedJson(json, mask);
    if (shown === undefined || shown.length <= longestShown) return shown;
    const at = keep(shown);
    return JSON.stringify({ ...markerOf(shown), ...(at !== null && { at }) });
  };
  const payloadOf = (given: Record<string, unknown>): string =>
    recordJson(given, mask, (value, name) => {
      if (listNames.includes(name) && isListing(value)) return recordJson(value, mask, whole);
      return isEvent(value) ? recordJson(value, mask, inEvent) : whole(value);
    });
  const inEvent = (value: unknown, name: string): string | undefined =>
    name === "payload" && isListing(value) ? payloadOf(value) : whole(value);
  return isListing(payload) ? payloadOf(payload) : (whole(payload) ?? "null");
}

/** Whether a value is an event of a child workflow, whose values are truncated separately. */
const isEvent = (value: unknown): value is Record<string, unknown> =>
  isListing(value) && typeof value.type === "string" && isListing(value.payload);

function recordJson(
  record: Record<string, unknown>,
  mask: Mask,
  jsonOf: (value: unknown, name: string) => string | undefined,
): string {
  const parts = Object.entries(record).flatMap(([name, value]) => {
    const json = jsonOf(value, name);
    return json === undefined ? [] : [`${JSON.stringify(mask(name))}:${json}`];
  });
  return `{${parts.join(",")}}`;
}

/**
 * Whether each entry of an object is truncated separately. The marker of a truncated value counts as a single value.
 */
const isListing = (value: unknown): value is Record<string, unknown> =>
  isRecord(value) && value._truncated !== true && !ownJson(value);

const ownJson = (value: unknown): boolean => isRecord(value) && typeof value.toJSON === "function";

// Mask only texts: a secret may look like a number or like JSON syntax.
function maskedJson(json: string, mask: Mask): string {
  if (mask(json) === json && !json.includes(cut)) return json;
  return JSON.stringify(mask.value(JSON.parse(json)), (_name, value: unknown) =>
    isRecord(value) && value._truncated === true ? withoutBegun(value, mask) : value,
  );
}

// A publisher may have truncated a value in the middle of a secret.
function withoutBegun(value: Record<string, unknown>, mask: Mask): Record<string, unknown> {
  const { preview } = value;
  if (typeof preview !== "string") return value;
  const text = preview.replace(/\.\.\.$/, "");
  return { ...value, preview: `${text.slice(0, text.length - mask.pending(text))}...` };
}
