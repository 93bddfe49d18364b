import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Hono } from "hono";
import type { AuditRecord } from "../src/guard/audit.ts";
import { checkRole, needs, preparing, type Role, roles } from "../src/guard/role.ts";
import type { Failure, Thread } from "../src/entry/api-types.ts";
import { ServingProcess, ServingRoot, stopServing } from "./serving.ts";
import { until } from "../../workflow/test/fixtures/until.ts";

const tokenOf = (name: string) => `${name}-0123456789-abcdefghij`;
const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

const tokens = `# name role token expiry
reader   read    ${tokenOf("reader")}
approver answer  sha256:${sha256(tokenOf("approver"))}   2999-01-31
operator operate ${tokenOf("operator")}
former   operate ${tokenOf("former")}  2020-01-01
`;

let serving: ServingRoot;
let id: string;

beforeAll(async () => {
  serving = new ServingRoot();
  const tokenFile = serving.write("tokens", tokens);
  chmodSync(tokenFile, 0o600);
  serving.options = { tokenFile };
  await serving.begin("asker");
  id = await serving.run("asker");
  await serving.until(id, "waiting");
}, 180_000);
afterAll(stopServing, 180_000);

/** Sends a request with a token. Returns the status and the error code. */
async function outcome(token: string, method: string, path: string, body?: unknown) {
  const response = await serving.fetch(path, {
    method,
    headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    redirect: "manual",
  });
  const isJson = response.headers.get("content-type")?.includes("json");
  const text = isJson && response.status >= 400 ? await response.text() : "";
  await response.body?.cancel().catch(() => undefined);
  const { error, code } = text === "" ? { error: null, code: null } : (JSON.parse(text) as Any);
  return `${response.status} ${(typeof error === "object" ? error?.code : code) ?? ""}`.trim();
}
type Any = { error: { code: string } | string | null; code: string | null };

test("every operation refuses each lower role, and accepts its own role", async () => {
  const { paths } = await serving.ok<{ paths: Record<string, Record<string, Operation>> }>(
    "/api/openapi.json",
  );
  type Operation = { "x-role": Role };
  const needed: Record<string, Role> = {};
  for (const [path, operations] of Object.entries(paths)) {
    for (const [method, { "x-role": role }] of Object.entries(operations)) {
      needed[`${method.toUpperCase()} ${path}`] = role;
      const named = path.replaceAll(/\{[^}]+\}/g, "none");
      const names = { read: "reader", answer: "approver", operate: "operator" };
      for (const held of roles) {
        const isLower = roles.indexOf(held) < roles.indexOf(role);
        // An allowed operation of an operator would change the data of the other tests.
        if (!isLower && role === "operate") continue;
        // Without the token of a question this operation resumes a run, which needs a higher role.
        const body = path === "/workflow/{runID}/resume" ? { token: "none" } : undefined;
        const status = await outcome(tokenOf(names[held]), method.toUpperCase(), named, body);
        expect({ path, method, held, isRefused: status === "403 ROLE_TOO_LOW" }).toEqual({
          ...{ path, method, held, isRefused: isLower },
        });
      }
    }
  }
  const answers = Object.keys(needed).filter((name) => needed[name] === "answer");
  expect(answers.sort()).toEqual([
    "POST /api/plans/{id}/answer",
    "POST /api/resume",
    "POST /api/resume-stream",
    "POST /api/threads/{id}/input",
    "POST /workflow/{runID}/resume",
  ]);
  const reads = Object.keys(needed).filter((name) => needed[name] === "read");
  expect(reads.every((name) => name.startsWith("GET "))).toBe(true);
  expect(reads.length).toBeGreaterThan(30);
}, 180_000);

test("a route without a declared role refuses every role except operate", async () => {
  const app = new Hono();
  app.use(checkRole);
  app.use(
    "/prepared/*",
    preparing((_call, next) => next()),
  );
  app.get("/declared", needs("read"), (c) => c.text("yes"));
  app.get("/prepared/declared", needs("answer"), (c) => c.text("yes"));
  app.get("/undeclared", (c) => c.text("yes"));
  app.all("/prepared/undeclared", (c) => c.text("yes"));
  app.use("/middleware/*", (c) => Promise.resolve(c.text("yes")));
  app.onError((error, c) => c.text(String((error as { code?: string }).code), 403));
  const asked = (path: string, role: Role) =>
    Promise.resolve(
      app.request(path, {}, { caller: { name: "x", role, via: "api" }, noted: {} }),
    ).then((response) => response.text());
  for (const [path, role] of [
    ["/declared", "read"],
    ["/prepared/declared", "answer"],
    ["/undeclared", "operate"],
    ["/prepared/undeclared", "operate"],
    ["/middleware/x", "operate"],
  ] as const) {
    for (const held of roles) {
      const isLower = roles.indexOf(held) < roles.indexOf(role);
      expect([path, held, await asked(path, held)]).toEqual([
        ...[path, held, isLower ? "ROLE_TOO_LOW" : "yes"],
      ]);
    }
  }
});

test("only an operator can resume a run without an answer", async () => {
  const resumed = (name: string) => outcome(tokenOf(name), "POST", `/workflow/${id}/resume`, {});
  expect(await resumed("approver")).toBe("403 ROLE_TOO_LOW");
  expect(await resumed("operator")).toBe("404");
});

test("a refusal because of a lower role is explained to programs and to people", async () => {
  const headers = { Authorization: `Bearer ${tokenOf("reader")}` };
  const refused = await serving.fetch(`/api/threads/${id}/kill`, { method: "POST", headers });
  expect(refused.status).toBe(403);
  expect(((await refused.json()) as Failure).error).toMatchObject({
    code: "ROLE_TOO_LOW",
    message: "the request needs the role operate, but the token has the role read",
    hint: "use a token with the role operate",
  });
});

test("wrong, truncated and expired tokens are refused; an expired token has its own code", async () => {
  for (const token of ["x", `${tokenOf("reader")}x`, tokenOf("reader").slice(0, -1)]) {
    expect(await outcome(token, "GET", "/api/threads")).toBe("401 WRONG_TOKEN");
  }
  // The hash of a token is not the token.
  expect(await outcome(sha256(tokenOf("approver")), "GET", "/api/threads")).toBe("401 WRONG_TOKEN");
  expect(await outcome(tokenOf("former"), "GET", "/api/threads")).toBe("401 TOKEN_EXPIRED");
  const page = await fetch(`http://127.0.0.1:${serving.port}/?token=${tokenOf("former")}`, {
    headers: { Accept: "text/html" },
    redirect: "manual",
  });
  expect(page.status).toBe(401);
  expect(await page.text()).toContain("<p>The token &quot;former&quot; has expired.</p>");
});

test("a browser signs in with a named token, and its answer has the name", async () => {
  const visit = await fetch(`http://127.0.0.1:${serving.port}/?token=${tokenOf("approver")}`, {
    redirect: "manual",
  });
  expect(visit.status).toBe(303);
  const cookie = visit.headers.get("set-cookie")?.split(";")[0] ?? "";
  const post = (path: string, body: object) =>
    fetch(`http://127.0.0.1:${serving.port}${path}`, {
      method: "POST",
      headers: { cookie, "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
  expect((await post("/api/threads", { workflow: "asker" })).status).toBe(403);
  expect((await post(`/api/threads/${id}/input`, { content: "blue" })).status).toBe(200);
  const { steps } = await serving.ok<Thread>(`/api/threads/${id}`);
  const answer = steps.find(({ role }) => role === "__input__");
  expect(answer?.meta).toMatchObject({ by: { kind: "console", name: "approver" } });
});

test("the audit log has each change and each refusal in one line, and no secret", async () => {
  const path = join(serving.path, "audit.jsonl");
  const text = readFileSync(path, "utf8");
  const records = text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as AuditRecord);
  expect(records.at(-1)).toEqual({
    at: expect.stringMatching(/^20\S+Z$/) as unknown as string,
    ...{ who: "approver", role: "answer", via: "console" },
    ...{ what: `POST /api/threads/${id}/input`, thread: id, status: 200 },
  });
  const started = records.find(
    ({ what, status }) => what === "POST /api/threads" && status === 201,
  );
  expect(started).toMatchObject({ who: null, role: "operate", via: "api", thread: id });
  const refused = records.find(({ what }) => what === `POST /api/threads/${id}/kill`);
  expect(refused).toMatchObject({ who: "reader", status: 403, code: "ROLE_TOO_LOW" });
  const stranger = records.find(({ code }) => code === "WRONG_TOKEN" || code === "TOKEN_EXPIRED");
  expect(stranger).toMatchObject({ who: null, role: null, status: 401 });
  expect(records.every(({ what, status }) => !what.startsWith("GET") || status >= 400)).toBe(true);
  expect(records.every((record) => !("from" in record))).toBe(true);
  for (const secret of [...text.matchAll(/\S*-0123456789-\S*/g), "blue"])
    expect(text).not.toContain(String(secret));
});

describe("a changed token file", () => {
  const asReader = (of: ServingProcess, token: string) =>
    of.fetch("/api/threads", { headers: { Authorization: `Bearer ${token}` } });

  test("is read again, even on SIGHUP, and an invalid file changes nothing", async () => {
    const own = new ServingProcess();
    const path = own.write("tokens", tokens);
    chmodSync(path, 0o600);
    own.flags.push("--token-file", path);
    await own.begin();
    const said = own.said();
    expect((await asReader(own, tokenOf("reader"))).status).toBe(200);
    writeFileSync(path, `${tokens}late read ${tokenOf("late")}\n`);
    await until(async () => (await asReader(own, tokenOf("late"))).status === 200);
    writeFileSync(path, "late read\n");
    process.kill(own.pid, "SIGHUP");
    await until(() => said().includes(`kept the previous tokens: error: ${path}:1: expected`));
    expect((await asReader(own, tokenOf("late"))).status).toBe(200);
    writeFileSync(path, `late read ${tokenOf("later")}\n`);
    process.kill(own.pid, "SIGHUP");
    await until(async () => (await asReader(own, tokenOf("late"))).status === 401);
    expect((await asReader(own, tokenOf("later"))).status).toBe(200);
    expect(await own.stop("SIGTERM")).toBe(0);
  }, 180_000);

  test("ends the streams of a removed token", async () => {
    const tokenFile = join(serving.folder, "tokens");
    const headers = { Authorization: `Bearer ${tokenOf("reader")}` };
    const stream = await serving.fetch("/api/events", { headers });
    writeFileSync(tokenFile, tokens.replace(/^reader.*\n/m, ""));
    expect(await stream.text()).toEndWith("retry: 2000\n\n");
    expect((await serving.fetch("/api/events", { headers })).status).toBe(401);
    expect(existsSync(tokenFile)).toBe(true);
  }, 180_000);
});
