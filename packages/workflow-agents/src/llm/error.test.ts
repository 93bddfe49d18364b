import { expect, test } from "bun:test";
import { type ClientError, providerError, type Target } from "./error.ts";

const asked: Target = {
  provider: "Anthropic",
  model: "m",
  baseUrl: "https://user:pass@host.example:8443/v1?key=abc",
  secrets: ["sk-secret-123"],
  timeoutMs: 5,
};

const http = (status: number, word: string, message = "no"): ClientError => {
  return { kind: "http", status, word, message };
};

const verdict = (fault: ClientError) => {
  const { code, type, retryable } = providerError(fault, asked);
  return [code, type, retryable];
};

test("the provider's error type takes precedence over the status", () => {
  expect(verdict(http(429, "insufficient_quota"))).toEqual(["LLM_QUOTA", "rate_limit", false]);
  expect(verdict(http(429, "rate_limit_error"))).toEqual(["LLM_RATE_LIMIT", "rate_limit", true]);
  expect(verdict(http(400, "context_length_exceeded"))).toEqual([
    "LLM_CONTEXT_FULL",
    "context_length_exceeded",
    false,
  ]);
  expect(verdict(http(0, "api_error"))).toEqual(["LLM_SERVER_ERROR", "internal_error", true]);
});

test("the status decides when the error type is unknown, even if the type is named like a property of objects", () => {
  expect(verdict(http(503, "constructor"))).toEqual([
    "LLM_OVERLOADED",
    "service_unavailable",
    true,
  ]);
  expect(verdict(http(500, ""))).toEqual(["LLM_SERVER_ERROR", "internal_error", true]);
  expect(verdict(http(418, ""))).toEqual(["LLM_BAD_REQUEST", "bad_request", false]);
  expect(verdict(http(402, ""))).toEqual(["LLM_BILLING", "auth_error", false]);
});

test.each([
  [400, "invalid_request_error", "Your credit balance is too low to access the Anthropic API."],
  [400, "billing_hard_limit_reached", "Billing hard limit has been reached"],
  [429, "billing_not_active", "Your account is not active, please check your billing details"],
  [403, "", "Insufficient Balance"],
])(
  "a response about an account that can't pay is a billing error: %d %s",
  (status, word, message) => {
    expect(verdict(http(status, word, message))).toEqual(["LLM_BILLING", "auth_error", false]);
  },
);

test.each([
  [400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"],
  [400, "", "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000"],
  [413, "request_too_large", "Request exceeds the maximum allowed number of bytes"],
  [400, "invalid_request_error", "Your input exceeds the context window of this model."],
  [400, "BadRequestError", "This model's maximum context length is 4096 tokens. However, you"],
  [400, "exceed_context_size_error", "the request exceeds the available context size"],
  [
    400,
    "",
    "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)",
  ],
  [400, "", "This model's maximum prompt length is 131072 but the request contains 537812 tokens"],
])(
  "a response about a conversation that is too long is a context error: %d %s",
  (status, word, message) => {
    const full = ["LLM_CONTEXT_FULL", "context_length_exceeded", false];
    expect(verdict(http(status, word, message))).toEqual(full);
  },
);

test("an error message names the host, without the key and the rest of the address", () => {
  const fault: ClientError = { kind: "connection", reason: "refused sk-secret-123" };
  expect(providerError(fault, asked).message).toBe(
    "can't reach Anthropic at host.example:8443: refused ***",
  );
});

test("a long message is shortened after the key is masked, and never within the mask", () => {
  const { message } = providerError(
    http(400, "", `${"x".repeat(295)}sk-secret-123 and more`),
    asked,
  );
  expect(message).not.toContain("sk-");
  expect(message).toEndWith("xx*** a…");
});
