import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Failure, Thread } from "../src/entry/api-types.ts";
import { failing } from "./flows.ts";
import { Serving, stopServing } from "./serving.ts";

let serving: Serving;
let id: string;

beforeAll(async () => {
  serving = await Serving.start("asker", "endless");
  await serving.add("failing", JSON.stringify(failing), "failing.json");
  id = await serving.run("endless");
}, 180_000);
afterAll(stopServing, 180_000);

const nested = (levels: number, inner = "") => "[".repeat(levels) + inner + "]".repeat(levels);
const deep = nested(100_000);

async function post(path: string, body: string): Promise<string> {
  const headers = { "Content-Type": "application/json" };
  const response = await serving.fetch(path, { method: "POST", headers, body });
  const { error, code } = (await response.json()) as Failure & { code?: string };
  return `${response.status} ${code ?? error.code}`;
}

test("a body nested too deeply is refused on every path, and the server survives", async () => {
  const bodies: [string, string][] = [
    ["/api/threads", `{"workflow": "endless", "params": ${deep}}`],
    ["/api/threads", `{"workflow": "endless", "options": {"a": ${deep}}}`],
    [`/api/threads/${id}/fork`, `{"keep": {"atStep": 1}, "edit": {"meta": {"a": ${deep}}}}`],
    [`/api/threads/${id}/input`, `{"content": "x", "value": ${deep}}`],
    ["/workflow/run", `{"workflow": {"a": ${deep}}}`],
    ["/workflow/rerun", `{"checkpoint": {"a": ${deep}}}`],
    [`/workflow/${id}/resume`, `{"token": "x", "payload": ${deep}}`],
  ];
  for (const [path, body] of bodies) expect(await post(path, body)).toBe("400 BODY_TOO_DEEP");
  expect(await serving.ok<Thread>(`/api/threads/${id}`)).toMatchObject({ status: "running" });
});

test("an answer whose text is deeply nested JSON stays text", async () => {
  const asked = await serving.run("asker");
  await serving.until(asked, "waiting");
  const path = `/api/threads/${asked}/input`;
  await serving.ok(path, { content: deep });
  await serving.until(asked, "completed");
});

test("a workflow in the request is checked as sent, however deeply nested", async () => {
  const broad = nested(900, Array.from({ length: 100_000 }, () => 1).join());
  const step = `{"id": "Set_A", "target": "$a", "value": ${broad}}`;
  const workflow = `{"version": "3.16", "name": "n", "registry": {}, "steps": [${step}]}`;
  expect(await post("/workflow/run", `{"workflow": ${workflow}}`)).toBe("400 STEPS_INVALID");
});
