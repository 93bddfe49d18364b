import { describe, expect, test } from "bun:test";
import { WorkflowError } from "@uncaged/workflow";
import { buildErrorMap, LLMError, type LLMErrorType, typeOfStatus } from "./error.ts";

const retryable: LLMErrorType[] = [
  "rate_limit",
  "timeout",
  "service_unavailable",
  "connection_error",
  "json_parse_error",
];
const final: LLMErrorType[] = [
  "auth_error",
  "bad_request",
  "context_length_exceeded",
  "content_policy_violation",
  "schema_validation_error",
  "internal_error",
  "unknown_error",
];

describe("an LLMError", () => {
  test.each(retryable)("%s is retryable", (type) => {
    expect(new LLMError(type, "no").retryable).toBe(true);
  });

  test.each(final)("%s is not retryable", (type) => {
    expect(new LLMError(type, "no").retryable).toBe(false);
  });

  test("has its type's name as code", () => {
    const cause = new Error("socket");
    const payloads = new LLMError("rate_limit", "slow", { retryable: false, status: 429, cause });
    expect(payloads).toMatchObject({ code: "RATE_LIMIT", retryable: false, status: 429, cause });
    expect(new LLMError("bad_request", "no", { code: "NO_MODEL" }).code).toBe("NO_MODEL");
    expect(payloads.hint).toContain("wait");
  });
});

describe("_error", () => {
  const cases: [string, unknown, object][] = [
    [
      "of an LLMError has its type, message and code",
      new LLMError("timeout", "late", { code: "LATE" }),
      { type: "timeout", message: "late", code: "LATE", retryable: true },
    ],
    [
      "of an agent's error has its type, code and retryable flag",
      Object.assign(new WorkflowError({ code: "LLM_QUOTA", kind: "failed", message: "used up" }), {
        type: "rate_limit",
        retryable: false,
        status: 429,
      }),
      { type: "rate_limit", message: "used up", code: "LLM_QUOTA", retryable: false },
    ],
    [
      "of a user's mistake is a bad request",
      new WorkflowError({ code: "TARGET", kind: "usage", message: "no such variable" }),
      { type: "bad_request", message: "no such variable", code: "TARGET", retryable: false },
    ],
    [
      "of any other known error is an internal error",
      new WorkflowError({ code: "EXPRESSION", kind: "failed", message: "1 / 0" }),
      { type: "internal_error", code: "EXPRESSION", retryable: false },
    ],
    [
      "of a plain error is unknown",
      new Error("first\n  second"),
      { type: "unknown_error", message: "first second", code: null, retryable: false },
    ],
    [
      "of a client's error follows its HTTP status",
      Object.assign(new Error("busy"), { status: 529 }),
      { type: "service_unavailable", retryable: true },
    ],
    [
      "of a broken connection follows its code",
      Object.assign(new Error("no"), { code: "ECONNREFUSED" }),
      { type: "connection_error", code: "ECONNREFUSED", retryable: true },
    ],
    ["of an abort has the code ABORTED", new DOMException("", "AbortError"), { code: "ABORTED" }],
    [
      "of a timeout has the type timeout",
      new DOMException("late", "TimeoutError"),
      { type: "timeout", code: "TIMEOUT", message: "late", retryable: true },
    ],
    [
      "of a text has the text as message",
      "boom",
      { type: "unknown_error", message: "boom", code: null },
    ],
    ["of null is readable", null, { type: "unknown_error", message: "null" }],
    ["of undefined is readable", undefined, { message: "undefined" }],
    ["of an object has the object's message", { message: "so" }, { message: "so" }],
    ["of an object without a message has its JSON as message", { a: 1 }, { message: '{"a":1}' }],
    [
      "of an object with an unknown type has the type unknown_error",
      { type: "toString" },
      { type: "unknown_error" },
    ],
  ];

  test.each(cases)("%s", (_, thrown, expected) => {
    expect(buildErrorMap(thrown)).toMatchObject({ ...expected, stepID: null });
  });

  test("names the given step, otherwise the step of the error", () => {
    const error = Object.assign(new Error("no"), { stepID: "Set_A" });
    expect(buildErrorMap(error).stepID).toBe("Set_A");
    expect(buildErrorMap(error, "LLM_B").stepID).toBe("LLM_B");
  });

  test("is created even for unreadable errors", () => {
    const hostile = {
      get message(): string {
        throw new Error("gotcha");
      },
      get type(): string {
        throw new Error("gotcha");
      },
    };
    expect(buildErrorMap(hostile)).toEqual({
      type: "unknown_error",
      message: "a value that can't be shown was thrown",
      code: null,
      retryable: false,
      stepID: null,
    });
    expect(buildErrorMap(Object.create(null)).message).toBe("{}");
  });

  test("shortens a long message", () => {
    expect(buildErrorMap(new Error("x".repeat(100_000))).message).toHaveLength(2001);
  });
});

test("each HTTP status has an error type", () => {
  const statuses = [400, 401, 403, 404, 408, 429, 500, 502, 503, 504, 599, 302];
  expect(statuses.map(typeOfStatus).join(" ")).toBe(
    "bad_request auth_error auth_error bad_request timeout rate_limit internal_error service_unavailable service_unavailable timeout internal_error unknown_error",
  );
});
