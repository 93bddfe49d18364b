const form = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const zeros = /^0+$/;
const longest = 512;

/** A caller's trace and span, and whether the caller records its trace. */
export type TraceParent = { traceId: string; spanId: string; isSampled: boolean };

/**
 * Parses a `traceparent` of the W3C Trace Context; null when it is invalid: the caller then ignores it. Later versions
 * may append fields. @see https://www.w3.org/TR/trace-context/#traceparent-header
 */
export function readTraceparent(text: unknown): TraceParent | null {
  if (typeof text !== "string" || text.length > longest) return null;
  const [, version, traceId = "", spanId = "", flags = "", more] = form.exec(text) ?? [];
  if (version === undefined || version === "ff" || (version === "00" && more !== undefined))
    return null;
  if (zeros.test(traceId) || zeros.test(spanId)) return null;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 };
}
