import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Failure } from "../src/entry/api-types.ts";
import { asking } from "./flows.ts";
import { request, send } from "./raw.ts";
import { Serving, stopServing } from "./serving.ts";

let serving: Serving;
let id: string;

beforeAll(async () => {
  serving = await Serving.start("counter");
  await serving.add("asking", JSON.stringify(asking), "asking.json");
  id = await serving.run("counter");
  await serving.until(id, "completed");
}, 180_000);
afterAll(stopServing, 180_000);

const own = () => ({
  Host: `127.0.0.1:${serving.port}`,
  Authorization: `Bearer ${serving.token}`,
});

test("a request with a host instead of a path is refused, not reported as a bug", async () => {
  const { status, body } = await send(
    serving.port,
    request(`CONNECT 127.0.0.1:${serving.port}`, own()),
  );
  expect([status, (JSON.parse(body) as Failure).error.code]).toEqual([400, "BAD_URL"]);
});

test("an unknown path of runs is refused with a message, not with a page", async () => {
  for (const path of ["/workflow/run", "/workflow/x/nowhere", "/workflow/"]) {
    const { status, body } = await serving.ask<{ error: string }>(path);
    expect([status, body.error]).toEqual([404, `no such path: GET ${path}`]);
  }
});

test("a missing file of the console is not found, without a page", async () => {
  const { status, body } = await serving.ask<Failure>("/assets/index-gone.js");
  expect([status, body.error.code]).toEqual([404, "NO_SUCH_PATH"]);
  expect((await serving.fetch("/threads/x")).headers.get("content-type")).toContain("text/html");
});

test("a page is compressed only for clients that accept it", async () => {
  const encodingFor = async (accepted: string) => {
    const headers = { ...own(), "Accept-Encoding": accepted };
    return (await send(serving.port, request("GET /", headers))).headers.get("content-encoding");
  };
  for (const accepted of ["gzip", "br, gzip;q=0.5", "GZIP", "*"]) {
    expect(await encodingFor(accepted)).toBe("gzip");
  }
  for (const accepted of ["", "identity", "gzip;q=0", "br, gzip ; q=0.000", "xgzip", "x-gzip-2"]) {
    expect(await encodingFor(accepted)).toBeUndefined();
  }
});

describe("a cookie", () => {
  const visit = async (cookie: string) => {
    const headers = { Host: `127.0.0.1:${serving.port}`, Cookie: cookie };
    return (await send(serving.port, request("GET /api/server", headers))).status;
  };
  const name = () => `uncaged-workflow-${serving.port}`;

  test("is accepted next to another cookie of the same name, which a page on another port may set", async () => {
    expect(await visit(`${name()}=x; ${name()}=${serving.token}`)).toBe(200);
    expect(await visit(`${name()}=${serving.token}; ${name()}=x`)).toBe(200);
    expect(await visit(`a; ${name()}="${serving.token}"; b=c=d;;`)).toBe(200);
  });

  test("refuses any other cookie", async () => {
    expect(await visit(`${name()}=x; ${name()}=y`)).toBe(401);
    expect(await visit(`${name()}=%zz; ${name()}; =; =${serving.token}`)).toBe(401);
    expect(await visit(`x${name()}=${serving.token}`)).toBe(401);
    expect(await visit(`${name()}= ${serving.token}x`)).toBe(401);
  });
});

describe("a number", () => {
  const places = () => [
    "/api/threads?limit=",
    "/api/threads?offset=",
    `/api/threads/${id}/steps?from=`,
    `/api/threads/${id}/steps?limit=`,
    `/api/threads/${id}/log?after=`,
    `/api/threads/${id}/log?limit=`,
    `/api/threads/${id}/log?step=`,
    "/workflow/@last/checkpoint?steps=",
    "/workflow/@last/values?step=",
  ];

  test("is a sequence of digits, and anything else is refused", async () => {
    const wrong = ["", "%20", "-1", "-0", "1.5", "1e2", "0x10", "%2B1", "1_0", "NaN", "1&offset=x"];
    for (const place of places()) {
      for (const text of [...wrong, "9".repeat(400), "%D9%A1", "true", "[]", "2025-01-01"]) {
        const path = text.includes("&") ? `${place}1&${place.split("?")[1]}1` : place + text;
        expect(`${path} ${(await serving.fetch(path)).status}`).toBe(`${path} 400`);
      }
    }
  });

  test("in a body must not be a text or null", async () => {
    for (const iteration of [null, "1", true, [], -1, 1.5]) {
      const path = [{ in: "Loop_A", child: "Set_A", iteration }];
      const body = { checkpoint: { threadId: id, steps: 0 }, stepID: "Set_A", path };
      const { status, body: error } = await serving.ask<{ code: string }>("/workflow/rerun", body);
      expect([status, error.code]).toEqual([400, "BAD_REQUEST"]);
    }
  });

  test("is described as a number", async () => {
    type Parameter = { name: string; in: string; schema: { type?: unknown } };
    type Paths = Record<string, Record<string, { parameters?: Parameter[] }>>;
    const { paths } = await serving.ok<{ paths: Paths }>("/api/openapi.json");
    const all = Object.values(paths).flatMap((path) => Object.values(path));
    const types = all
      .flatMap(({ parameters = [] }) => parameters)
      .filter(({ schema }) => JSON.stringify(schema.type ?? "").includes("integer"))
      .map(({ schema }) => schema.type);
    expect(types).toEqual(Array.from({ length: 16 }, () => "integer"));
  });
});

describe("an unknown name", () => {
  const refusal = async (path: string, sent?: unknown) => {
    const { status, body } = await serving.ask<Failure & { error: string }>(path, sent);
    const { error } = body;
    return `${status} ${typeof error === "string" ? error : (error as Failure["error"]).message}`;
  };
  const near = "unknown name; did you mean";

  test("in a query is refused with the nearest known name", async () => {
    expect(await refusal("/api/threads?limt=2")).toBe(`400 query.limt: ${near} limit?`);
    expect(await refusal("/api/threads?Status=running")).toBe(`400 query.Status: ${near} status?`);
    expect(await refusal(`/api/threads/${id}?x=1`)).toContain("there are steps");
    expect(await refusal("/api/workflows?x=1")).toBe("400 query.x: unknown name");
    expect(await refusal("/workflow/@last/checkpoint?befor=a")).toContain(`${near} before?`);
  });

  test("in a body is refused at any depth", async () => {
    const started = { workflow: "counter", promt: "x", maxRound: 3 };
    expect(await refusal("/api/threads", started)).toBe(`400 json.promt: ${near} prompt?`);
    const fork = { edit: { contents: "x" } };
    expect(await refusal(`/api/threads/${id}/fork`, fork)).toBe(
      `400 json.edit.contents: ${near} content?`,
    );
    expect(await refusal("/workflow/run", { workflowname: "asking" })).toContain("workflowName?");
    expect(await refusal(`/api/threads/${id}/kill`, { ["\n".repeat(3)]: 1 })).toContain("force");
    expect((await serving.ok<unknown[]>("/api/threads?workflow=counter")).length).toBe(1);
  });
});
