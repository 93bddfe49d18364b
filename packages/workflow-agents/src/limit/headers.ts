/** The status and headers of a response that report limits. */
export type ResponseHead = { status: number; headers: { get(name: string): string | null } };

/** A limited quantity: calls, all tokens, or input tokens. */
export type LimitName = (typeof limitNames)[number];
export const limitNames = ["requests", "tokens", "input-tokens"] as const;

/** A limit in a response. `resetAt` is the time at which the whole limit is available again, or null if unknown. */
export type SeenLimit = { limit: number; remaining: number; resetAt: number | null };

/** The limits in a response's headers. Times are in milliseconds since the epoch, by this machine's clock. */
export type SeenLimits = {
  status: number;
  retryAfterMs: number | null;
  limits: Partial<Record<LimitName, SeenLimit>>;
};

/**
 * Returns the limits in the headers of Anthropic and OpenAI, whose names other providers use, too. Ignores invalid
 * values.
 */
export function limitsIn({ status, headers }: ResponseHead, now: number): SeenLimits {
  const limits: SeenLimits["limits"] = {};
  for (const name of limitNames) {
    const seen =
      seenIn((part) => headers.get(`anthropic-ratelimit-${name}-${part}`), headers, now) ??
      seenIn((part) => headers.get(`x-ratelimit-${part}-${name}`), headers, now);
    if (seen) limits[name] = seen;
  }
  return { status, retryAfterMs: retryAfterIn(headers), limits };
}

type Headers = ResponseHead["headers"];

const dayMs = 86_400_000;

function seenIn(
  get: (part: string) => string | null,
  headers: Headers,
  now: number,
): SeenLimit | null {
  const limit = numberIn(get("limit"));
  const remaining = numberIn(get("remaining"));
  if (limit === null || remaining === null || limit < 1 || remaining > limit) return null;
  const resetAt = resetIn(get("reset"), headers, now);
  if (resetAt !== null && resetAt > now + dayMs) return null;
  return { limit, remaining, resetAt };
}

const numberIn = (text: string | null): number | null =>
  text !== null && /^\s*\d{1,15}(\.\d+)?\s*$/.test(text) ? Number(text) : null;

const unitsMs: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: dayMs };
const duration = /^\s*(?:\d+(?:\.\d+)?(?:ms|[smhd]))+\s*$/;

/** Parses a time (RFC 3339), a duration (`6m0s`, `120ms`), seconds from now, or seconds since the epoch. */
function resetIn(text: string | null, headers: Headers, now: number): number | null {
  if (text === null) return null;
  if (duration.test(text)) {
    const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|[smhd])/g)];
    return parts.reduce((at, [, n, unit = ""]) => at + Number(n) * (unitsMs[unit] ?? 0), now);
  }
  const seconds = numberIn(text);
  if (seconds !== null)
    return seconds > 1e9 ? inOwnTime(seconds * 1000, headers, now) : now + seconds * 1000;
  const at = /^\d{4}-\d\d-\d\dT/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(at)) return null;
  // A whole second may have been rounded down.
  return inOwnTime(/\.\d/.test(text) ? at : at + 1000, headers, now);
}

/** Converts a time by the provider's clock to a time by this machine's clock. The header `date` has whole seconds. */
function inOwnTime(at: number, headers: Headers, now: number): number {
  const difference = now - Date.parse(headers.get("date") ?? "");
  return Math.abs(difference) > 2000 ? at + difference : at;
}

/**
 * Returns the delay that a provider requests in the headers `retry-after-ms` or `retry-after` (RFC 9110, 10.2.3), in
 * milliseconds, or null if the headers are missing or invalid.
 */
export function retryAfterIn(headers: Headers): number | null {
  const ms = Number.parseFloat(headers.get("retry-after-ms") ?? "");
  if (ms >= 0 && Number.isFinite(ms)) return ms;
  const text = headers.get("retry-after")?.trim() ?? "";
  if (/^[0-9]+(\.[0-9]+)?$/.test(text)) return Number(text) * 1000;
  const at = Date.parse(text);
  return Number.isNaN(at) || !/[a-z]{3}/i.test(text) ? null : Math.max(0, at - Date.now());
}
