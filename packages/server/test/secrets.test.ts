import { afterAll, beforeAll, expect, test } from "bun:test";
import { appendFileSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { asking } from "./flows.ts";
import { ServingRoot, stopServing } from "./serving.ts";

let serving: ServingRoot;

beforeAll(async () => {
  serving = await ServingRoot.startWith({ SECRET_OF_ITS_OWN: "sesame-sesame" }, "counter", "asker");
  await serving.add("asking", JSON.stringify(asking), "asking.json");
}, 180_000);
afterAll(stopServing, 180_000);

/** Returns the status and the code of an error response, and checks that it reveals no secret. */
async function refusal(first: string, body?: string, type = "application/json"): Promise<string> {
  const [method = "", path = ""] = first.split(" ");
  const headers = { "Content-Type": type };
  const sent = body === undefined ? {} : { body, headers };
  const response = await serving.fetch(path, { method, ...sent });
  const text = await response.text();
  for (const secret of [serving.folder, serving.token, "sesame", import.meta.dir]) {
    expect({ first, text, isTold: text.includes(secret) }).toEqual({ first, text, isTold: false });
  }
  const { error, code } = JSON.parse(text) as { error: { code: string }; code?: string };
  return `${response.status} ${code ?? error.code}`;
}

/** Returns an ended thread with the path of its log. */
async function ended(): Promise<{ id: string; log: string }> {
  const id = await serving.run("counter");
  const { hash } = await serving.until(id, "completed");
  return { id, log: join(serving.path, "logs", hash, `${id}.data.jsonl`) };
}

test("no response reveals the path of a damaged log", async () => {
  const { id, log } = await ended();
  appendFileSync(log, "{\n{}\n");
  const thread = `/api/threads/${id}`;
  for (const verb of ["pause", "resume", "kill"]) {
    expect(await refusal(`POST ${thread}/${verb}`)).toBe("409 LOG_CORRUPT");
  }
  expect(await refusal(`POST ${thread}/input`, '{"content": "x"}')).toBe("409 LOG_CORRUPT");
  rmSync(log);
  symlinkSync("/etc/passwd", log);
  for (const first of [`GET ${thread}`, `GET ${thread}/steps`, `POST ${thread}/fork`]) {
    expect(await refusal(first)).toBe("409 PLANTED_LINK");
  }
  rmSync(log);
  mkdirSync(log);
  expect(await refusal(`DELETE ${thread}`)).toBe("409 NOT_A_FILE");
});

test("no response reveals the path of a changed or missing bundle", async () => {
  const { hash } = await serving.ok<{ hash: string }>("/api/bundles/asker");
  const bundle = join(serving.path, "bundles", `${hash}.esm.js`);
  appendFileSync(bundle, "// more");
  expect(await refusal("GET /api/bundles/asker")).toBe("409 BUNDLE_CHANGED");
  expect(await refusal("POST /api/threads", '{"workflow": "asker"}')).toBe("409 BUNDLE_CHANGED");
  rmSync(bundle);
  expect(await refusal("GET /api/bundles/asker/source")).toBe("404 BUNDLE_MISSING");
});

test("no response reveals the path of a damaged registry", async () => {
  const registry = join(serving.path, "workflow.yaml");
  renameSync(registry, `${registry}.kept`);
  writeFileSync(registry, "{");
  for (const [first, body] of [
    ["GET /api/workflows"],
    ["DELETE /api/workflows/counter"],
    ["POST /workflow/run", '{"workflowName": "asking"}'],
  ] as const) {
    expect(await refusal(first, body)).toBe("409 REGISTRY_BROKEN");
  }
  renameSync(`${registry}.kept`, registry);
});

test("no response reveals an upload's folder, or the server's arguments", async () => {
  const path = "POST /api/workflows/new?file=a.ts";
  const source = (code: string) => refusal(path, code, "application/octet-stream");
  expect(await source('import x from "./nope.ts"; export const y = x;')).toBe("400 BUILD_FAILED");
  const run = "export async function* run() {}";
  const thrown = `throw new Error(JSON.stringify(process.env) + process.argv + import.meta.url); ${run}`;
  const descriptor = 'export const descriptor = { description: "d", roles: {} };';
  const bundle = "POST /api/workflows/new?file=a.esm.js";
  expect(await refusal(bundle, descriptor + thrown, "application/octet-stream")).toMatch(
    /^400 BUNDLE/,
  );
});
