import { afterAll, beforeAll, expect, test } from "bun:test";
import { bundleOf } from "../../workflow/test/fixtures/bundles.ts";
import type { Failure, LogPage } from "../src/entry/api-types.ts";
import { Serving, stopServing } from "./serving.ts";

const teller = `import { channel } from "node:diagnostics_channel";
${bundleOf(`
  const payload = { name: "read", output: { text: "ü".repeat(30_000), lines: 7 } };
  channel("uncaged.workflow").publish({ type: "tool_done", stepID: "teller", payload });
  yield step("teller");
`)}`;

let serving: Serving;
let id: string;

beforeAll(async () => {
  serving = await Serving.start();
  await serving.add("teller", teller);
  id = await serving.run("teller");
  await serving.until(id, "completed");
});
afterAll(stopServing, 180_000);

type Shortened = { output: { at: number; length: number; _truncated: true } };

async function shortened(): Promise<Shortened["output"]> {
  const { lines } = await serving.ok<LogPage>(`/api/threads/${id}/log?type=tool_done`);
  const [payload] = lines.map((line) => line.payload as Shortened);
  if (!payload) throw new Error("the thread has no event of a tool");
  return payload.output;
}

test("a value that an event shortened is returned in full, as JSON", async () => {
  const { at, length, _truncated } = await shortened();
  expect({ at, _truncated }).toEqual({ at: 0, _truncated: true });
  const response = await serving.fetch(`/api/threads/${id}/values/${at}`);
  expect(response.headers.get("content-type")).toBe("application/json");
  const text = await response.text();
  expect(text).toHaveLength(length);
  expect(JSON.parse(text)).toEqual({ text: "ü".repeat(30_000), lines: 7 });
});

test.each([
  ["values/1", "404 VALUE_NOT_FOUND"],
  ["values/-1", "400 BAD_REQUEST"],
  ["values/..%2F..%2Fworkflow.yaml", "400 BAD_REQUEST"],
  ["values/", "404 NO_SUCH_PATH"],
])("%s is refused: %s", async (path, refusal) => {
  const { status, body } = await serving.ask<Failure>(`/api/threads/${id}/${path}`);
  expect(`${status} ${body.error.code}`).toBe(refusal);
});

test("a value is refused for a missing thread and for a wrong token", async () => {
  for (const name of ["01ARZ3NDEKTSV4RRFFQ69G5FAV", "..%2F..%2Fvalues", "%00"]) {
    const { status } = await serving.ask<Failure>(`/api/threads/${name}/values/0`);
    expect(status).toBe(404);
  }
  const url = `http://127.0.0.1:${serving.port}/api/threads/${id}/values/0`;
  const response = await fetch(url, { headers: { authorization: "Bearer wrong" } });
  expect(response.status).toBe(401);
});
