import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { ApiRequest } from "../src/adapter/adapter.ts";
import { apiAdapter } from "../src/adapters/api.ts";
import { carryOut } from "./calling.ts";

type Came = { method?: string; url?: string; headers: IncomingMessage["headers"]; body: string };

let server: Server;
let at: string;
const came: Came[] = [];

beforeAll(async () => {
  server = createServer((request, response) => {
    void (async () => {
      const { method, url = "", headers } = request;
      const parts: Buffer[] = [];
      for await (const part of request) parts.push(part as Buffer);
      came.push({ method, url, headers, body: Buffer.concat(parts).toString() });
      const json = { "content-type": "application/problem+json; charset=utf-8" };
      if (url.startsWith("/json")) response.writeHead(200, json).end('{"ok":true}');
      else if (url === "/broken") response.writeHead(200, json).end("{");
      else if (url === "/failed") response.writeHead(503, json).end("{");
      else if (url === "/empty") response.writeHead(204).end();
      else if (url === "/bytes") response.end(Buffer.from([0xff, 0xfe]));
      else if (url === "/long") response.end("x".repeat(5000));
      else if (url === "/cut") response.write("half", () => response.destroy());
      else if (url !== "/hang") response.writeHead(200, { "x-a": "1" }).end("grüß");
    })();
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  at = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const { signal } = new AbortController();
const ask = (path: string, more: Partial<ApiRequest> = {}, options = {}) =>
  apiAdapter(options).request({
    id: "users",
    method: "GET",
    url: at + path,
    headers: {},
    signal,
    ...more,
  });
const failureOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => "no failure",
    (error: unknown) => error,
  );

describe("the API adapter", () => {
  test("reads JSON, text, bytes and an empty answer", async () => {
    expect(await ask("/json")).toMatchObject({ status: 200, data: { ok: true } });
    expect(await ask("/text")).toMatchObject({ data: "grüß", headers: { "x-a": "1" } });
    expect((await ask("/bytes")).data).toEqual(Buffer.from([0xff, 0xfe]));
    expect(await ask("/empty")).toMatchObject({ status: 204, data: null });
  });

  test("returns bytes on request", async () => {
    expect((await ask("/json", { bytes: true })).data).toEqual(Buffer.from('{"ok":true}'));
  });

  test("sends the query, the headers and the body", async () => {
    const query = { q: "a&b", list: [1, 2], none: null, o: { x: 1 } };
    await ask("/json?p=0", {
      method: "POST",
      query,
      headers: { "x-key": "k" },
      body: { name: "Ada" },
    });
    expect(came.at(-1)).toMatchObject({
      method: "POST",
      url: "/json?p=0&q=a%26b&list=1&list=2&o=%7B%22x%22%3A1%7D",
      headers: { "x-key": "k", "content-type": "application/json" },
      body: '{"name":"Ada"}',
    });
    await ask("/json", { method: "PUT", body: "text", headers: { "content-type": "text/csv" } });
    expect(came.at(-1)).toMatchObject({ body: "text", headers: { "content-type": "text/csv" } });
    await ask("/json", { method: "PUT", body: null });
    expect(came.at(-1)?.body).toBe("null");
  });

  const failures: [string, () => Promise<unknown>, object][] = [
    [
      "a slow server",
      () => ask("/hang", { timeout: 30 }),
      { type: "timeout", message: "users did not answer within 30 ms" },
    ],
    ["invalid JSON", () => ask("/broken"), { type: "json_parse_error" }],
    ["an incomplete answer", () => ask("/cut"), { type: "connection_error" }],
    [
      "an unreachable server",
      () => ask("", { url: "http://127.0.0.1:1/x?token=s3cret" }),
      { type: "connection_error", message: expect.stringContaining("can't reach 127.0.0.1:1") },
    ],
    [
      "a long answer",
      () => ask("/long", {}, { mostBytes: 100 }),
      { type: "bad_request", code: "ANSWER_TOO_LARGE" },
    ],
    ["an invalid URL", () => ask("", { url: "users" }), { code: "BAD_URL" }],
    ["a file URL", () => ask("", { url: "file:///etc/passwd" }), { code: "BAD_URL" }],
    ...["a\nb", "k€y", "a\0b"].map((value): [string, () => Promise<unknown>, object] => [
      `a header that can't be sent: ${JSON.stringify(value)}`,
      () => ask("/json", { headers: { "x-key": value } }),
      { type: "bad_request", retryable: false, message: expect.not.stringContaining(value) },
    ]),
    [
      "a header without a name",
      () => ask("/json", { headers: { "": "x" } }),
      { type: "bad_request" },
    ],
    ["an invalid method", () => ask("/json", { method: "GE T" }), { type: "bad_request" }],
    ["a GET with a body", () => ask("/json", { body: {} }), { type: "bad_request" }],
  ];

  test.each(failures)("reports %s", async (_, work, expected) => {
    const failure = await failureOf(work());
    expect(failure).toMatchObject(expected);
    expect(String(failure)).not.toContain("s3cret");
  });

  test("returns error statuses to the step, and the step's failure has the server's answer", async () => {
    expect(await ask("/failed")).toMatchObject({ status: 503, data: "{" });
    const registry = { apis: [{ id: "users", url: `${at}/failed` }] };
    const went = await carryOut({ id: "API_users" }, { api: apiAdapter() }, { registry });
    expect(went.error).toMatchObject({ type: "service_unavailable", status: 503 });
  });

  test("ends with the run, and closes the connection", async () => {
    const abort = new AbortController();
    const asked = failureOf(ask("/hang", { signal: abort.signal }));
    abort.abort(new Error("stopped"));
    expect(await asked).toMatchObject({ message: "stopped" });
  });
});
