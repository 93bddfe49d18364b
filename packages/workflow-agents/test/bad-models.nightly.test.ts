import { afterEach, describe, expect, test } from "bun:test";
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, createServer } from "node:net";
import { ProviderError } from "../src/llm/error.ts";
import { type Model, allModels as models, threadAt } from "./models.ts";
import { until } from "../../workflow/test/fixtures/until.ts";
import { type Observed, observed, payloadOf, threadOf, typesOf } from "./published.ts";
import type { Fault, Reply, WireServer } from "./wire.ts";

const stops: (() => unknown)[] = [];
afterEach(async () => {
  await Promise.all(stops.splice(0).map((stop) => stop()));
});

type Options = Parameters<Model["agent"]>[0];

const nothingYet = (): Observed => ({ events: [], spent: [], text: "", error: null });

describe.each(models)("the $name agent fails with an error code when", (model) => {
  async function serve(...replies: Reply[]): Promise<WireServer<{ model: string }>> {
    const server = await model.serve(replies);
    stops.push(server.stop);
    return server;
  }

  /** Runs a failing agent. Expects a `ProviderError` with a one-line message and a hint, and without the key. */
  async function failing(
    server: { url: string; key: string },
    options: Options = {},
    secret = server.key,
    result = nothingYet(),
  ): Promise<Observed & { error: ProviderError }> {
    const agent = model.agent({ maxRetries: 0, ...options });
    const run = await observed(() => agent(threadAt(model, server), "You code"), {}, result);
    const { error } = run;
    if (!(error instanceof ProviderError))
      throw new Error("the agent did not fail with a ProviderError", { cause: error });
    const reported = JSON.stringify([error.message, error.hint, error.cause, run.events]);
    expect(reported).not.toContain(secret);
    expect(error.message).toMatch(/^[^\n]+$/);
    expect(error.hint).toBeTruthy();
    const { code, type, retryable, message } = error;
    expect(payloadOf(run, "llm_error")).toMatchObject({ error: message, code, type, retryable });
    expect(typesOf(run).at(-1)).toBe("llm_error");
    return Object.assign(run, { error });
  }

  const failed = async (reply: Reply, options: Options = {}) =>
    (await failing(await serve(reply), options)).error;

  const status = (code: number, message: string, type = ""): Fault => {
    return { kind: "status", status: code, type, message };
  };

  test("the key is missing", async () => {
    const run = await observed(() => model.agent()(threadOf(), ""));
    expect(run.error).toMatchObject({ code: "LLM_NO_KEY", type: "auth_error", retryable: false });
    expect((run.error as ProviderError).hint).toMatch(/set \w+_API_KEY/);
  });

  test("the key is wrong, and the server's message repeats it", async () => {
    const server = await serve({ text: "ok" });
    const { error } = await failing({ url: server.url, key: "sk-wrong-987654" });
    expect(error).toMatchObject({ code: "LLM_AUTH", type: "auth_error", status: 401 });
    expect(error.message).toContain("401");
    expect(error.message).toContain("invalid key: ***");
  });

  test("a key given in code is wrong", async () => {
    const server = await serve({ text: "ok" });
    const { error } = await failing(server, { apiKey: "sk-in-code-1234" }, "sk-in-code-1234");
    expect(error.code).toBe("LLM_AUTH");
  });

  test("the key is not a valid header value", async () => {
    const server = await serve({ text: "ok" });
    for (const key of ["sk-two\nlines-1234", "sk-schlüssel-€-1234"]) {
      const { error } = await failing({ url: server.url, key });
      expect(error.message).not.toContain("1234");
      expect(error).toMatchObject({ code: "LLM_AUTH", retryable: false });
      expect(error.hint).toContain("set the key again");
    }
  });

  test("the model does not exist", async () => {
    const { error } = await failing(await serve({}), { model: "no-such-model" });
    expect(error).toMatchObject({ code: "LLM_NO_MODEL", type: "bad_request", status: 404 });
    expect(error.message).toContain("no-such-model");
  });

  test("the server is unreachable", async () => {
    const closed = createServer().listen(0, "127.0.0.1");
    await until(() => closed.listening);
    const { port } = closed.address() as AddressInfo;
    await new Promise((done) => closed.close(done));
    const { error } = await failing({ url: `http://127.0.0.1:${port}`, key: "sk-any-12345" });
    expect(error).toMatchObject({ code: "LLM_UNREACHABLE", type: "connection_error" });
    expect(error.retryable).toBe(true);
    expect(error.message).toContain(`127.0.0.1:${port}`);
  });

  test("the base URL is invalid", async () => {
    const { error } = await failing({ url: "nowhere at all", key: "sk-any-12345" });
    expect(error.message).toContain("the address is not a URL");
    expect(error).toMatchObject({ code: "LLM_BAD_REQUEST", retryable: false });
    expect(error.hint).toContain("baseUrl");
  });

  test("the server sends no response", async () => {
    const error = await failed({ fault: { kind: "hang" } }, { timeoutMs: 60 });
    expect(error).toMatchObject({ code: "LLM_TIMEOUT", type: "timeout", retryable: true });
    expect(error.message).toContain("60 ms");
  });

  test("the server stops sending during its answer", async () => {
    const fault: Fault = { kind: "silence", after: 5 };
    const run = await failing(await serve({ text: "a long answer that stops", fault }), {
      silenceMs: 80,
    });
    expect(run.error).toMatchObject({ code: "LLM_SILENT", type: "timeout", retryable: true });
    expect(typesOf(run)).toEqual(["llm_token", "llm_error"]);
  });

  test("the connection breaks during the answer", async () => {
    const server = await serve({
      text: "cut in two, before its end",
      fault: { kind: "silence", after: 5 },
    });
    const result = nothingYet();
    const run = failing(server, {}, server.key, result);
    await until(() => typesOf(result).includes("llm_token"));
    server.came[0]?.disconnect();
    const { error, spent } = await run;
    expect(error).toMatchObject({ code: "LLM_CUT_OFF", type: "connection_error" });
    expect(error.retryable).toBe(true);
    // The usage reported so far: Anthropic reports it at the beginning, OpenAI only at the end.
    const { input, cacheRead, cacheWrite } = server.counted;
    const reported = {
      input_tokens: input,
      cache_read_tokens: cacheRead,
      cache_write_tokens: cacheWrite,
    };
    const expected =
      model.name === "anthropic" ? [{ usage: { ...reported, output_tokens: 1 } }] : [];
    expect(spent).toMatchObject(expected);
    expect(spent).toHaveLength(expected.length);
  });

  test("the connection breaks before the first event", async () => {
    const cutting = createHttpServer((_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
      setTimeout(() => response.socket?.destroy(), 50);
    }).listen(0, "127.0.0.1");
    stops.push(() => cutting.close());
    await until(() => cutting.listening);
    const { port } = cutting.address() as AddressInfo;
    const { error } = await failing({ url: `http://127.0.0.1:${port}`, key: "sk-any-12345" });
    expect(error).toMatchObject({ code: "LLM_CUT_OFF", retryable: true });
  });

  test("an answer is a web page", async () => {
    const body = "<html><body>Welcome to the proxy</body></html>";
    const error = await failed({ fault: { kind: "page", status: 200, body } });
    expect(error.code).toBe("LLM_BAD_STREAM");
    const gateway = await failed({ fault: { kind: "page", status: 502, body: body.repeat(99) } });
    expect(gateway).toMatchObject({ code: "LLM_SERVER_ERROR", status: 502 });
    expect(gateway.message.length).toBeLessThan(450);
  });

  test("the answer is empty", async () => {
    const error = await failed({});
    expect(error).toMatchObject({ code: "LLM_EMPTY", type: "unknown_error", retryable: true });
    expect((await failed({ text: " \n " })).code).toBe("LLM_EMPTY");
  });

  test("the model calls an unknown tool and returns no text", async () => {
    expect((await failed({ tools: [{ name: "readFile" }] })).code).toBe("LLM_EMPTY");
  });

  test("an answer of 50 MB is too large, and memory does not grow with it", async () => {
    const server = await serve({ text: "x".repeat(100_000), repeat: 500 });
    Bun.gc(true);
    const before = process.memoryUsage().rss;
    const { error } = await failing(server);
    expect(error.code).toBe("LLM_TOO_LARGE");
    // Freed memory returns to the system only after some garbage collections.
    await until(() => {
      Bun.gc(true);
      return process.memoryUsage().rss - before < 250 * 2 ** 20;
    });
    await server.came[0]?.closed;
    expect(server.came[0]?.finished).toBe(false);
  });

  test("the account or the request is refused, or the context is full", async () => {
    expect((await failed({ fault: status(403, "not allowed") })).code).toBe("LLM_AUTH");
    const bad = await failed({ fault: status(400, "temperature: no") });
    expect(bad).toMatchObject({ code: "LLM_BAD_REQUEST", type: "bad_request", status: 400 });
    expect(bad.message).toContain("temperature: no");
    const long = await failed({
      fault: status(400, "prompt is too long: 210000 tokens > 200000 maximum"),
    });
    expect(long).toMatchObject({ code: "LLM_CONTEXT_FULL", type: "context_length_exceeded" });
  });

  test("the server is still overloaded after the retries", async () => {
    const headers = { "retry-after-ms": "5" };
    const fault: Fault = { ...status(529, "Overloaded"), headers } as Fault;
    const server = await serve({ fault });
    const { error } = await failing(server, { maxRetries: 2 });
    expect(error).toMatchObject({ code: "LLM_OVERLOADED", type: "service_unavailable" });
    expect(error.retryable).toBe(true);
    expect(server.came.length).toBe(3);
  });

  test("the server reports an overload during its answer", async () => {
    const fault: Fault = {
      kind: "error-event",
      after: 4,
      type: "overloaded_error",
      message: "Overloaded",
    };
    const error = await failed({ text: "in the middle", fault });
    expect(error).toMatchObject({ code: "LLM_OVERLOADED", retryable: true, status: null });
  });

  test("the model refused", async () => {
    const detail = { category: "cyber", explanation: "This is not for me." };
    const stop = model.name === "anthropic" ? "refusal" : "stop";
    const error = await failed({ stop, detail });
    expect(error).toMatchObject({ code: "LLM_REFUSED", type: "content_policy_violation" });
    expect(error.message).toContain("This is not for me.");
  });

  test("the text was cut off, unless `allowTruncated` is set", async () => {
    const stop = model.name === "anthropic" ? "max_tokens" : "length";
    const error = await failed({ text: "and so it", stop });
    expect(error).toMatchObject({ code: "LLM_TRUNCATED", retryable: false });
    const server = await serve({ text: "and so it", stop });
    const agent = model.agent({ allowTruncated: true });
    expect(await agent(threadAt(model, server), "")).toBe("and so it");
  });

  test("a tool call was cut off, even if cut-off text is allowed, and the call does not run", async () => {
    const stop = model.name === "anthropic" ? "max_tokens" : "length";
    const tools = {
      definitions: async () => [],
      run: () => Promise.reject(new Error("it was run")),
    };
    const reply = { stop, tools: [{ name: "write_file", json: '{"path": "a.ts", "te' }] };
    const error = await failed(reply, { tools, allowTruncated: true });
    expect(error.code).toBe("LLM_TOOL_TRUNCATED");
    expect(error.message).toContain("write_file");
  });

  test("the model stopped for an unknown reason", async () => {
    const error = await failed({ text: "well", stop: "tired" });
    expect(error).toMatchObject({ code: "LLM_UNKNOWN", type: "unknown_error" });
    expect(error.message).toContain("tired");
  });
});

describe.each(models)("the $name agent", (model) => {
  async function serve(...replies: Reply[]): Promise<WireServer<{ model: string }>> {
    const server = await model.serve(replies);
    stops.push(server.stop);
    return server;
  }

  test("retries a request after the delay in a 429 response, and publishes the retry", async () => {
    const headers = { "retry-after-ms": "30" };
    const limit: Fault = { kind: "status", status: 429, type: "", message: "slow", headers };
    const server = await serve({ fault: limit }, { text: "now" });
    const run = await observed(() => model.agent()(threadAt(model, server), ""));
    expect(run.text).toBe("now");
    const { attempt_number, delay_ms, error } = payloadOf(run, "llm_retry");
    expect(attempt_number).toBe(2);
    expect(error).toContain("answered 429");
    expect(Number(delay_ms)).toBeGreaterThan(25);
    expect(server.came.length).toBe(2);
    expect(server.counted.requests).toBe(1);
  });

  test("waits for a server that sends only keep-alives", async () => {
    const silenceMs = 2_000;
    const agent = model.agent({ silenceMs });
    const abort = new AbortController();
    const waiting = await serve({
      text: "later",
      fault: { kind: "silence", after: 3, pings: true },
    });
    const run = agent(threadAt(model, waiting, { signal: abort.signal }), "");
    const early = await Promise.race([
      run.catch(String),
      Bun.sleep(silenceMs * 1.5).then(() => "waits"),
    ]);
    expect(early).toBe("waits");
    abort.abort();
    await run.catch(() => undefined);
  });

  const abortWhile = async (
    replies: Reply[],
    isSo: (run: Observed, server: { came: unknown[] }) => boolean,
    options: Options = {},
  ) => {
    const server = await serve(...replies);
    const abort = new AbortController();
    const thread = threadAt(model, server, { signal: abort.signal });
    const agent = model.agent({ maxRetries: 3, ...options });
    const guarded = nothingYet();
    const running = observed(async () => await agent(thread, ""), {}, guarded);
    await until(() => isSo(guarded, server));
    abort.abort(new Error("killed"));
    const run = await running;
    expect(run.error).toEqual(new Error("killed"));
    expect(typesOf(run)).not.toContain("llm_error");
    return server;
  };

  test("closes the connection when the thread is killed during an answer", async () => {
    const words = "a long answer ".repeat(100);
    const server = await abortWhile(
      [{ text: words, tokenMs: 5 }],
      ({ events }) => events.length > 3,
    );
    await server.came[0]?.closed;
    expect(server.came[0]?.finished).toBe(false);
  });

  test("stops waiting for a retry when the thread is killed", async () => {
    const headers = { "retry-after": "30" };
    const fault: Fault = { kind: "status", status: 429, type: "", message: "slow", headers };
    const server = await abortWhile([{ fault }], (_, { came }) => came.length > 0);
    expect(server.came.length).toBe(1);
  });

  test("does not wait for a tool that ignores the kill", async () => {
    let began = false;
    const tools = {
      definitions: async () => [],
      run() {
        began = true;
        return new Promise<never>(() => undefined);
      },
    };
    await abortWhile([{ tools: [{ name: "sleep" }] }], () => began, { tools });
  });

  test("accepts a key that ends with a line break", async () => {
    const server = await serve({ text: "ok" });
    const env = model.env({ url: server.url, key: `${server.key}\n` });
    expect(await model.agent()(threadOf({ env }), "")).toBe("ok");
  });
});
