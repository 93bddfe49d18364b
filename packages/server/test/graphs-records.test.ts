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
import { agent, approval, Drawn, graphOf, start } from "./graph-client.ts";
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
  // An approval is shown as soon as it is reached, and has a number when it can be answered.
  const isSettled = ({ question, status: now }: RunResult) =>
    now === status && (now !== "paused" || question !== null);
  await until(
    () => existsSync(file) && isSettled(read()),
    () => `${file} is ${existsSync(file) ? read().status : "not there"}`,
  );
  return read();
}

test("a record is a copy of the run at its pause and at its end, also when another program brings that about", async () => {
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

test("the files to begin with are those of PROJECT_ROOT", async () => {
  expect((await drawn.serving.ask("/api/default-workflow")).status).toBe(404);
  mkdirSync(join(home, ".config"));
  writeFileSync(join(home, ".config", "default-workflow.json"), JSON.stringify(graph));
  expect((await drawn.serving.ask("/api/default-workflow")).body).toEqual(graph);
});

test("a version that was collected is built again", async () => {
  const { runId } = (await drawn.post("run", { graph: graphOf([start("once")]) })).body;
  await drawn.serving.ok(`/api/threads/${runId}`, undefined, "DELETE");
  const now = Date.now() + 7 * 24 * 3_600_000;
  // Its worker is there for a little longer.
  await until(async () => (await drawn.serving.host.collect({ now })).removed.length > 0);
  const again = await drawn.post("run", { graph: graphOf([start("once")]) });
  expect([again.status, again.body.status]).toEqual([200, "completed"]);
});

test("a run does not depend on its record: one that can't be written is only reported", async () => {
  // In one step: the server may be writing a record there.
  renameSync(folder, join(home, "before"));
  writeFileSync(folder, "no folder");
  const { status, body } = await drawn.post("run", { graph });
  expect([status, body.status]).toEqual([200, "paused"]);
  const done = await drawn.post("resume", { runId: body.runId, input: "yes" });
  expect(done.body).toMatchObject({ status: "completed", state: { a: "fine" } });
});
