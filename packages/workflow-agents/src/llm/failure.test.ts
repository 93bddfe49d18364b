import { expect, test } from "bun:test";
import { providerError } from "./error.ts";
import { failureIn, failureInBody } from "./failure.ts";

/* Tests error bodies as services and gateways send them. */
const target = { provider: "A", model: "m", baseUrl: "http://a", secrets: [], timeoutMs: 1 };

function verdict(status: number, body: unknown) {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const { code, message, retryAfterMs } = providerError(failureInBody(text, status), target);
  const said = message.replace(/^A answered \d+ ?(\S*) for model m: /, "");
  return { code, said, retryAfterMs };
}

const upstream = (raw: unknown) => ({
  error: { message: "Provider returned error", code: 400, metadata: { raw } },
});
const tooLong = {
  type: "error",
  error: { type: "invalid_request_error", message: "prompt is too long: 2 > 1" },
};

test("the reason includes the error of the service behind a gateway", () => {
  for (const raw of [tooLong, JSON.stringify(tooLong)]) {
    expect(verdict(400, upstream(raw))).toMatchObject({
      code: "LLM_CONTEXT_FULL",
      said: "Provider returned error: prompt is too long: 2 > 1",
    });
  }
});

test.each([
  [
    "a list with one error",
    [{ error: { code: 400, message: "no", status: "INVALID_ARGUMENT" } }],
    "no",
  ],
  ["a string in `error`", { code: "Client specified an invalid argument", error: "no" }, "no"],
  ["a top-level message", { object: "error", message: "no", type: "x", code: null }, "no"],
  ["details", { detail: "no" }, "no"],
  ["a JSON string", '"no"', "no"],
  ["an empty body", "", "no message"],
  ["null", "null", "null"],
  ["a web page", "<html><head><title>502 Bad Gateway</title></head><p>x</html>", "502 Bad Gateway"],
  ["a web page without a title", "<!doctype html><body><b>Sorry</b></body>", "Sorry"],
])("the reason in %s is found", (_, body, said) => {
  expect(verdict(502, body).said).toBe(said);
});

test("the message includes all validation details", () => {
  const message = { detail: [{ type: "extra_forbidden", loc: ["body", "stream_options"] }] };
  expect(verdict(422, { object: "error", message }).said).toContain("stream_options");
});

test("the delay that Google's services request is read", () => {
  const message = "You exceeded your current quota, please check your plan and billing details.";
  const error = { code: 429, message, status: "RESOURCE_EXHAUSTED" };
  const details = [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "34.5s" }];
  const limited = verdict(429, [{ error: { ...error, details } }]);
  expect(limited).toMatchObject({ code: "LLM_RATE_LIMIT", retryAfterMs: 34_500 });
  expect(verdict(429, [{ error }]).code).toBe("LLM_QUOTA");
});

const of = (message: string, more: object = {}) => ({ error: { message, ...more } });
test.each([
  ["LLM_AUTH", 400, of("API key not valid. Please pass a valid API key.")],
  ["LLM_AUTH", 400, of("Incorrect API key provided: xa***")],
  ["LLM_REFUSED", 403, of("m requires moderation. Your input was flagged", { code: 403 })],
  ["LLM_REFUSED", 400, of("Content Exists Risk", { type: "invalid_request_error" })],
  ["LLM_REFUSED", 400, of("no", { code: "data_inspection_failed" })],
  ["LLM_NO_MODEL", 404, of('model "m" not found, try pulling it', { type: "api_error" })],
  ["LLM_BAD_REQUEST", 400, of("m does not support tools", { type: "api_error" })],
  ["LLM_BAD_REQUEST", 404, of("No endpoints found that can handle the requested parameters.")],
  ["LLM_BAD_REQUEST", 404, of("Item with id 'fc_1' not found.")],
  ["LLM_BAD_REQUEST", 500, of("Failed to parse grammar", { type: "server_error" })],
  ["LLM_SERVER_ERROR", 500, of("boom", { type: "api_error" })],
  ["LLM_CONTEXT_FULL", 413, "<html><title>413 Request Entity Too Large</title></html>"],
  ["LLM_CONTEXT_FULL", 413, of("Request too large: TPM", { code: "rate_limit_exceeded" })],
  ["LLM_CONTEXT_FULL", 429, of("The input or output tokens must be reduced in order to run.")],
  ["LLM_CONTEXT_FULL", 400, { message: "Input is too long for requested model." }],
  ["LLM_CONTEXT_FULL", 400, of("The prompt is longer than the maximum model length of 4096.")],
  ["LLM_CONTEXT_FULL", 422, { error: "`inputs` tokens + `max_new_tokens` must be <= 4096" }],
  ["LLM_RATE_LIMIT", 429, { message: "Too many tokens, please wait before trying again." }],
] as const)("%s: %d %j", (code, status, body) => {
  expect(verdict(status, body).code).toBe(code);
});

test("a server error about a schema is free, so that another mode of structured output is tried", () => {
  const { isFree } = providerError(failureInBody('{"error":"bad grammar"}', 500), target);
  expect(isFree).toBe(true);
});

test("a value without a reason is a failure with an empty message", () => {
  for (const value of [undefined, null, 5, [], [null], { error: [] }, { error: { message: {} } }]) {
    expect(failureIn(value)).toMatchObject({ kind: "http", word: "", message: "" });
  }
});
