import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { RunResult } from "../src/entry/api-types.ts";
import { agent, approval, Drawn, graphOf, type Message, start } from "./graph-client.ts";
import { until } from "../../workflow/test/fixtures/until.ts";

const home = mkdtempSync(join(tmpdir(), "graph-project-"));
const folder = join(home, "data", "runs");
setDefaultTimeout(180_000);

let drawn: Drawn;

beforeAll(async () => {
  drawn = await Drawn.start(() => ({ text: "fine" }), { PROJECT_ROOT: home });
}, 180_000);
afterAll(async () => {
  await drawn.stop();
  rmSync(home, { recursive: true, force: true });
});

const graph = graphOf([start("tea"), approval("ok"), agent("a")], "s ok", "ok approve a");

async function recorded(runId: string, status: RunResult["status"]): Promise<RunResult> {
  const file = join(folder, `run_${runId}.json`);
  const read = () => JSON.parse(readFileSync(file, "utf8")) as RunResult;
  // The record shows an approval at once, and its question when a client can answer.
  const isSettled = ({ question, status: now }: RunResult) =>
    now === status && (now !== "paused" || question !== null);
  await until(
    () => existsSync(file) && isSettled(read()),
    () => `${file} is ${existsSync(file) ? read().status : "not there"}`,
  );
  return read();
}

test("a record is a copy of the run at its pause and at its end, even if another program causes the pause or the end", async () => {
  const { runId } = (await drawn.post("run", { graph })).body;
  expect(await recorded(runId, "paused")).toEqual(await drawn.run(runId));
  await drawn.serving.ok(`/api/threads/${runId}/input`, {
    content: "Please reject",
    value: "reject",
  });
  expect(await recorded(runId, "completed")).toEqual(await drawn.run(runId));
  const other = (await drawn.post("run", { graph })).body.runId;
  await drawn.serving.ok(`/api/threads/${other}/kill`, {});
  expect(await recorded(other, "cancelled")).toMatchObject({ waitingForInput: false });
});

test("a record is written before the answer's response, and before the stream ends", async () => {
  const read = (runId: string) =>
    JSON.parse(readFileSync(join(folder, `run_${runId}.json`), "utf8")) as RunResult;
  const asked = await drawn.post("run", { graph });
  expect(read(asked.body.runId)).toMatchObject({ status: "paused", question: asked.body.question });
  const seen: string[] = [];
  const noteAt = ({ type, ...rest }: Message): boolean => {
    if (type === "done") seen.push(read((rest as { result: RunResult }).result.runId).status);
    return type === "done";
  };
  await drawn.stream("run-stream", { graph: graphOf([start("tea"), agent("a")], "s a") }, noteAt);
  const resumed = { runId: asked.body.runId, input: "reject", question: asked.body.question };
  await drawn.stream("resume-stream", resumed, noteAt);
  expect(seen).toEqual(["completed", "completed"]);
  const other = (await drawn.post("run", { graph })).body.runId;
  await drawn.post("cancel", { runId: other });
  expect(read(other).status).toBe("cancelled");
});

test("a graph with an invalid node id is refused as a client error", async () => {
  for (const id of ["x".repeat(300), "a\0b", "\ud83d"]) {
    const { status, body } = await drawn.post("run", {
      graph: graphOf([start("tea"), agent(id)], `s ${id}`),
    });
    expect([status, body.error]).toEqual([400, "Invalid workflow graph payload"]);
  }
});

test("the default graph is read from PROJECT_ROOT", async () => {
  expect((await drawn.serving.ask("/api/default-workflow")).status).toBe(404);
  mkdirSync(join(home, ".config"));
  writeFileSync(join(home, ".config", "default-workflow.json"), JSON.stringify(graph));
  expect((await drawn.serving.ask("/api/default-workflow")).body).toEqual(graph);
});

test("a garbage-collected version is built again", async () => {
  const { runId } = (await drawn.post("run", { graph: graphOf([start("once")]) })).body;
  await drawn.serving.ok(`/api/threads/${runId}`, undefined, "DELETE");
  const now = Date.now() + 7 * 24 * 3_600_000;
  // Retry, because the worker of the thread may still be running.
  await until(async () => (await drawn.serving.host.collect({ now })).removed.length > 0);
  const again = await drawn.post("run", { graph: graphOf([start("once")]) });
  expect([again.status, again.body.status]).toEqual([200, "completed"]);
});

test("a run continues if its record can't be written, and the failure is reported", async () => {
  // Rename instead of delete, because the server may be writing a record in the folder.
  renameSync(folder, join(home, "before"));
  writeFileSync(folder, "no folder");
  const { status, body } = await drawn.post("run", { graph });
  expect([status, body.status]).toEqual([200, "paused"]);
  const done = await drawn.post("resume", { runId: body.runId, input: "yes" });
  expect(done.body).toMatchObject({ status: "completed", state: { a: "fine" } });
});
