import { describe, expect, test } from "bun:test";
import type { ApiAdapter, ApiRequest } from "../adapter/adapter.ts";
import type { ApiDocument, StepDocument } from "../document/format.ts";
import { carryOut } from "../../test/calling.ts";

const url = "http://127.0.0.1:80/v1";

/** Runs API_users against an endpoint and returns its request. */
async function asking(
  api: Partial<ApiDocument>,
  inputs: Record<string, unknown> = {},
  answer: Partial<Awaited<ReturnType<ApiAdapter["request"]>>> = {},
  env: Record<string, string> = {},
) {
  const asked: ApiRequest[] = [];
  const adapter: ApiAdapter = {
    async request(request) {
      asked.push(request);
      return { status: 200, headers: { "x-id": "1" }, data: { ok: true }, ...answer };
    },
  };
  const registry = { apis: [{ id: "users", url, ...api }] };
  const went = await carryOut({ id: "API_010_users" }, { api: adapter }, { inputs, registry, env });
  return { went, asked: asked[0], error: went.error as { type?: string; message?: string } | null };
}

describe("an API step", () => {
  test("calls the endpoint of the registry and returns the response's data", async () => {
    const { asked, went } = await asking(
      { method: "post", url: `${url}/users/{id}/:part`, headers: { "X-Key": "k" } },
      {
        body: { name: "Ada" },
        query: { page: 2 },
        pathParams: { id: "a/b c", part: 7 },
        headers: { "X-Trace": "t" },
        timeout: 500,
      },
    );
    expect(asked).toEqual({
      id: "users",
      method: "POST",
      url: `${url}/users/a%2Fb%20c/7`,
      headers: { "x-key": "k", "x-trace": "t" },
      body: { name: "Ada" },
      query: { page: 2 },
      timeout: 500,
      signal: expect.any(AbortSignal),
    });
    expect(went.called).toEqual({
      locals: { _result: { ok: true }, _meta: { status: 200, headers: { "x-id": "1" } } },
    });
  });

  test("uses GET by default, and adds the step's headers before the registry's", async () => {
    const { asked } = await asking({ headers: { Accept: "a" } }, { headers: { accept: "b" } });
    expect(asked).toMatchObject({ method: "GET", url, headers: { accept: "b" } });
    expect(asked).not.toHaveProperty("body");
  });

  const auths: [unknown, object][] = [
    ["Token ${KEY}", { authorization: "Token k€y" }],
    [{ type: "bearer", token: "${KEY}" }, { authorization: "Bearer k€y" }],
    [
      { type: "basic", username: "ada", password: "${KEY}" },
      { authorization: "Basic YWRhOmvigqx5" },
    ],
    [{ type: "header", name: "X-Api-Key", value: "${KEY}" }, { "x-api-key": "k€y" }],
    [null, {}],
  ];

  test.each(auths)("sends the credential %j", async (auth, headers) => {
    const { asked } = await asking({ auth }, {}, {}, { KEY: "k€y" });
    expect(asked?.headers).toEqual(headers as Record<string, string>);
  });

  const statuses: [number, string][] = [
    [400, "bad_request"],
    [401, "auth_error"],
    [404, "bad_request"],
    [429, "rate_limit"],
    [500, "internal_error"],
    [503, "service_unavailable"],
  ];

  test.each(statuses)("with status %d fails with %s", async (status, type) => {
    const { error } = await asking({}, {}, { status, data: { error: "so\nand so" } });
    expect(error).toMatchObject({ type, status, code: `HTTP_${status}` });
    expect(error?.message).toContain(`users answered ${status}: {"error":"so`);
  });

  test("accepts nulls for the optional results of an adapter", async () => {
    const none = { status: null, headers: null, data: 7 } as never;
    const { went } = await asking({}, {}, none);
    expect(went.called?.locals).toEqual({ _result: 7, _meta: { status: 200, headers: {} } });
  });

  const bad: [string, object, object, string][] = [
    ["a missing path parameter", { url: `${url}/{id}` }, {}, "bad_request"],
    [
      "a path parameter that leads to the parent folder",
      { url: `${url}/{id}` },
      { pathParams: { id: ".." } },
      "bad_request",
    ],
    ["pathParams as a text", { url: `${url}/{id}` }, { pathParams: "x" }, "bad_request"],
    [
      "a path parameter that is only inherited",
      { url: `${url}/{toString}` },
      { pathParams: {} },
      "bad_request",
    ],
    ["a query that is not an object", {}, { query: "a=1" }, "bad_request"],
    ["a timeout as a text", {}, { timeout: "soon" }, "bad_request"],
    ["a header as an object", {}, { headers: { a: {} } }, "bad_request"],
    ["an unset variable", { auth: "${NONE}" }, {}, "auth_error"],
    ["an unknown auth", { auth: { type: "magic" } }, {}, "bad_request"],
    ["an auth without its token", { auth: { type: "bearer" } }, {}, "bad_request"],
    ["an auth as a number", { auth: 7 }, {}, "bad_request"],
  ];

  test.each(bad)("refuses %s", async (_, api, inputs, type) => {
    const { error, asked } = await asking(api, { ...inputs });
    expect(error).toMatchObject({ type });
    expect(asked).toBeUndefined();
  });

  test("names an unknown endpoint and a missing adapter", async () => {
    const unknown = await carryOut({ id: "API_none" }, {});
    expect(String(unknown.error)).toContain("no API none found in the registry");
    const registry = { apis: [{ id: "users", url }] };
    const missing = await carryOut({ id: "API_users" }, {}, { registry });
    expect(String(missing.error)).toContain('missing adapter "api"');
  });
});

describe("a Download step", () => {
  const bytes = new Uint8Array([0x50, 0x4b, 0xff]);
  const fetching = async (inputs: Record<string, unknown>, data: unknown = bytes, status = 200) => {
    const asked: ApiRequest[] = [];
    const headers = { "content-type": "application/zip" };
    const api: ApiAdapter = {
      request: async (request) => (asked.push(request), { status, headers, data }),
    };
    return { asked, went: await carryOut({ id: "Download_A" }, { api }, { inputs }) };
  };

  test("writes the fetched file to its target", async () => {
    const source = `${url}/a.zip`;
    const inputs = { source, target: "/in/a.zip", headers: { "X-A": "1" }, timeout: 9 };
    const { asked, went } = await fetching(inputs);
    expect(asked).toMatchObject([
      { method: "GET", url: source, bytes: true, headers: { "x-a": "1" }, timeout: 9 },
    ]);
    expect(went.files).toEqual([{ path: "in/a.zip", data: bytes, mode: "overwrite" }]);
    expect(went.called?.locals).toMatchObject({
      _result: { path: "in/a.zip", size_bytes: 3, content_type: "application/zip" },
      _meta: { status: 200, size_bytes: 3 },
    });
  });

  test("returns text as text and other content as bytes, without a target", async () => {
    const text = new TextEncoder().encode("grüß");
    expect((await fetching({ source: url }, text)).went.called?.locals._result).toBe("grüß");
    expect((await fetching({ source: url }, { a: 1 })).went.called?.locals._result).toBe('{"a":1}');
    expect((await fetching({ source: url })).went.called?.locals._result).toEqual(bytes);
  });

  test("writes bytes to files but not to variables", async () => {
    const headers = {};
    const api: ApiAdapter = { request: async () => ({ status: 200, headers, data: bytes }) };
    const fetched = (out: StepDocument["out"]) =>
      carryOut({ id: "Download_A", out }, { api }, { inputs: { source: url } });
    const kept = await fetched({ "/a.zip": "=_result", $meta: "=_meta" });
    expect(kept.called?.locals._result).toEqual(bytes);
    for (const out of ["$a", { $a: "=_result" }]) {
      expect(String((await fetched(out)).error)).toContain("is binary, and $a needs text");
    }
  });

  test.each([undefined, "", "a.zip", "file:///etc/passwd", "ftp://x/y", 7])(
    "refuses the source %p",
    async (source) => {
      const { went, asked } = await fetching({ source, target: "/a" });
      expect(went.error).toMatchObject({ type: "bad_request" });
      expect([asked, went.files]).toEqual([[], []]);
    },
  );

  test("writes no file for status 404", async () => {
    const { went } = await fetching({ source: url, target: "/a" }, bytes, 404);
    expect(went.error).toMatchObject({ code: "HTTP_404" });
    expect(went.files).toEqual([]);
  });
});
