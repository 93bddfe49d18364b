import { expect, test } from "bun:test";
import { readTraceparent } from "./traceparent.ts";

const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
const spanId = "00f067aa0ba902b7";

test("a valid traceparent names a trace, a span and whether the trace is recorded", () => {
  expect(readTraceparent(`00-${traceId}-${spanId}-01`)).toEqual({
    traceId,
    spanId,
    isSampled: true,
  });
  expect(readTraceparent(`00-${traceId}-${spanId}-00`)?.isSampled).toBe(false);
  expect(readTraceparent(`00-${traceId}-${spanId}-03`)?.isSampled).toBe(true);
});

test("a later version may append fields", () => {
  expect(readTraceparent(`cc-${traceId}-${spanId}-01`)?.traceId).toBe(traceId);
  expect(readTraceparent(`cc-${traceId}-${spanId}-01-what-comes`)?.traceId).toBe(traceId);
  expect(readTraceparent(`cc-${traceId}-${spanId}-01.what`)).toBeNull();
});

test.each([
  ["undefined", undefined],
  ["an empty text", ""],
  ["a number", 7],
  ["version ff", `ff-${traceId}-${spanId}-01`],
  ["upper case", `00-${traceId.toUpperCase()}-${spanId}-01`],
  ["a trace id of zeros", `00-${"0".repeat(32)}-${spanId}-01`],
  ["a span id of zeros", `00-${traceId}-${"0".repeat(16)}-01`],
  ["a short trace id", `00-${traceId.slice(1)}-${spanId}-01`],
  ["more fields in version 00", `00-${traceId}-${spanId}-01-more`],
  ["a text without flags", `00-${traceId}-${spanId}`],
  ["a line break", `00-${traceId}-${spanId}-01\n`],
  ["a very long text", `cc-${traceId}-${spanId}-01-${"x".repeat(600)}`],
])("%s is ignored", (_, text) => expect(readTraceparent(text)).toBeNull());
