import { afterEach, describe, expect, test } from "bun:test";
import { origin, type Origin, redirect } from "../../workflow-agents/test/origins.ts";
import type { LLMError } from "../src/adapter/error.ts";
import { apiAdapter } from "../src/adapters/api.ts";
import type { ApiDocument } from "../src/document/format.ts";
import { carryOut } from "./calling.ts";

const servers: Origin[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.stop();
});
const serve = (answer?: (url: URL) => Response | null): Origin => {
  const server = origin(answer);
  servers.push(server);
  return server;
};

/** Starts an endpoint that redirects every call with a status, to another origin or to its own. */
function moved(status: number, isSame = false) {
  const other = serve();
  const own: Origin = serve(({ pathname }) =>
    pathname === "/old" ? redirect(status, `${isSame ? own.url : other.url}/new`) : null,
  );
  return { own, other };
}

const token = "tok-1234567";
const env = { USER_TOKEN: token };
const call = (api: Partial<ApiDocument>, url: string, inputs: Record<string, unknown> = {}) =>
  carryOut(
    { id: "API_users" },
    { api: apiAdapter() },
    { inputs, env, registry: { apis: [{ id: "users", url: `${url}/old`, ...api }] } },
  );
const fromVariable = "${USER_TOKEN}";

const carried: [string, Partial<ApiDocument>, Record<string, unknown>][] = [
  ["auth by a header", { auth: { type: "header", name: "X-Own", value: fromVariable } }, {}],
  ["auth by a bearer token", { auth: { type: "bearer", token: fromVariable } }, {}],
  ["basic auth", { auth: { type: "basic", username: "me", password: fromVariable } }, {}],
  ["auth as a text", { auth: `Bearer ${fromVariable}` }, {}],
  ["a registry's header with a variable", { headers: { "X-Own": fromVariable } }, {}],
  ["a registry's API key", { headers: { "X-Api-Key": token } }, {}],
  ["a step's cookie", {}, { headers: { Cookie: `s=${token}` } }],
  ["a body", { method: "POST" }, { body: { secret: token } }],
  ["a body that a redirect can drop", { method: "PUT" }, { body: token }],
];

describe.each([301, 302, 303, 307, 308])("an API step whose endpoint answers %i", (status) => {
  test.each(carried)("refuses another origin with %s", async (_, api, inputs) => {
    const { other, own } = moved(status);
    const error = (await call(api, own.url, inputs)).error as LLMError;
    expect(other.came).toEqual([]);
    const { code, hint, message, retryable, type } = error;
    expect([type, code, retryable]).toEqual(["bad_request", "REDIRECT_REFUSED", false]);
    expect(message).toContain(`users: ${own.url} redirects to ${other.url}`);
    expect(hint).toContain(other.url);
    expect(message).not.toContain(token);
  });

  test("follows to another origin without the headers of registry and step", async () => {
    const { other, own } = moved(status);
    const { called } = await call({ headers: { "X-Tenant": "7" } }, own.url, {
      headers: { "X-Page": "1", Accept: "text/x-own" },
    });
    expect(called?.locals._result).toMatchObject({ path: "/new", method: "GET" });
    const sent = Object.entries(other.came[0]?.headers ?? {});
    expect(sent.map(([name]) => name)).not.toContain("x-tenant");
    expect(sent.map(([name]) => name)).not.toContain("x-page");
    expect(sent.map(([, value]) => value)).not.toContain("text/x-own");
  });

  test("keeps its headers within its origin", async () => {
    const { own } = moved(status, true);
    const auth = { type: "bearer", token: fromVariable };
    expect((await call({ auth }, own.url)).error).toBeNull();
    expect(own.came[1]?.headers.authorization).toBe(`Bearer ${token}`);
  });

  test("lets a Download follow the redirect, without headers for the CDN", async () => {
    const { other, own } = moved(status);
    const headers = { Authorization: `Bearer ${token}`, "X-Own": token };
    const inputs = { source: `${own.url}/old`, target: "/in/file", headers };
    const went = await carryOut({ id: "Download_A" }, { api: apiAdapter() }, { inputs });
    expect(went.error).toBeNull();
    expect(went.files).toHaveLength(1);
    expect(own.came[0]?.headers).toMatchObject({ "x-own": token });
    expect(other.came).toHaveLength(1);
    expect(JSON.stringify(other.came)).not.toContain(token);
  });
});
