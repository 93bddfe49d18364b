import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { RunResult, Thread } from "../src/entry/api-types.ts";
import { agent, approval, Drawn, graphOf, linesOf, resultOf, start } from "./graph-client.ts";
import { ServingProcess } from "./serving.ts";
import { until } from "../../workflow/test/fixtures/until.ts";

setDefaultTimeout(180_000);

const served = new ServingProcess();
let drawn: Drawn;
/** Whether the agent `hung` gives no answer. */
let hangs = true;

beforeAll(async () => {
  drawn = await Drawn.start(
    (asked) => {
      const who = /you are (\w+)/.exec(asked)?.[1] ?? "";
      if (who === "hung" && hangs) return { fault: { kind: "hang" } };
      return { text: `${who} read ${asked.split("\n").at(-1)}` };
    },
    {},
    served,
  );
}, 180_000);
afterAll(() => drawn.stop(), 180_000);

const graph = graphOf(
  [start("tea"), agent("a"), approval("ok"), agent("hung"), agent("end")],
  "s a",
  "a ok",
  "ok approve hung",
  "hung end",
);

/** Kills the server and all workers like a power failure, then starts the server again. */
async function crash(): Promise<void> {
  const { port } = served;
  await served.stop("SIGKILL");
  await served.killWorkers();
  await served.serve(port);
}

const rolesOf = async (runId: string) =>
  (await drawn.serving.ok<Thread>(`/api/threads/${runId}`)).steps.map(({ role }) => role);

const requests = () => drawn.model.came.length;

test("after a crash, a waiting run can be answered, a running run continues on request, and the server updates their records", async () => {
  hangs = true;
  const paused = resultOf(await drawn.stream("run-stream", { graph }));
  const { runId } = paused;
  await crash();
  expect(await drawn.run(runId)).toEqual(paused);
  const before = requests();
  const streaming = drawn
    .stream("resume-stream", { runId, input: { approved: true, note: "go" } })
    .catch(() => undefined);
  await drawn.until(runId, () => requests() > before);
  await crash();
  await streaming;
  const lost = await drawn.run(runId);
  expect(lost.status).toBe("failed");
  expect(linesOf(lost).at(-1)).toBe("system error: Run was interrupted");
  expect(lost.state.ok_approval).toEqual({ decision: "approve", note: "go" });
  expect(await drawn.post("resume", { runId, input: "yes" })).toMatchObject({
    ...{ status: 409, body: { error: "Run is not waiting for input." } },
  });
  expect(resultOf(await drawn.follow(runId)).status).toBe("failed");
  await untilRecorded(runId, "failed");
  hangs = false;
  const { status, body } = await drawn.post("retry", { runId });
  expect([status, body.runId]).toEqual([200, runId]);
  const done = resultOf(await drawn.follow(runId));
  expect(done).toMatchObject({ status: "completed", waitingForInput: false });
  expect(await rolesOf(runId)).toEqual(["s", "a", "__wait__", "__input__", "hung", "end"]);
  expect(linesOf(done).join("\n")).not.toContain("Run was interrupted");
  // The log and the stream show the answer once, although several processes continued after it.
  const streamed = (await drawn.follow(runId)).filter(({ type }) => type === "log");
  const logged = streamed.map((message) => JSON.stringify(message));
  for (const lines of [linesOf(done), logged]) {
    expect(lines.filter((line) => line.includes("input_received"))).toHaveLength(1);
  }
  expect(requests()).toBe(before + 3);
  await untilRecorded(runId, "completed");
  expect(recorded(runId)).toEqual(done);
});

const folder = () => join(drawn.serving.path, "data", "runs");
const fileOf = (id: string) => join(folder(), `run_${id}.json`);
const recorded = (id: string) => JSON.parse(readFileSync(fileOf(id), "utf8")) as RunResult;

async function untilRecorded(id: string, status: string): Promise<void> {
  const found = () => (existsSync(fileOf(id)) ? recorded(id).status : "not there");
  await until(
    () => found() === status,
    () => `the record of ${id} is ${found()}`,
  );
}

test("a kill during the write of a record leaves the previous record intact, and the next server writes the record", async () => {
  hangs = false;
  const paused = resultOf(await drawn.stream("run-stream", { graph }));
  const { runId } = paused;
  const { port } = served;
  await served.stop("SIGKILL");
  expect(recorded(runId)).toEqual(paused);
  // Simulates a crash while the next record is written: a partial file is in the folder.
  const part = JSON.stringify({ ...paused, status: "completed" }).slice(0, 200);
  writeFileSync(join(folder(), `.run_${runId}.json.0123abcd.tmp`), part);
  expect(await served.spawn("resume", runId, "--approve", "--wait").exited).toBe(0);
  expect(recorded(runId)).toEqual(paused);
  await served.serve(port);
  await untilRecorded(runId, "completed");
  expect(recorded(runId)).toEqual(await drawn.run(runId));
});

test("paused runs of another program become waiting threads with their old ids, only once", async () => {
  hangs = false;
  const log = { timestamp: 5, nodeId: "a", type: "llm_response", content: "a read tea" };
  const old = {
    ...{ runId: "1700000000001", workflow: graph, logs: [log], status: "paused" },
    state: {
      s: "tea",
      a: "a read tea",
      previous_output: "a read tea",
      pre_approval_output: "a read tea",
    },
    ...{ currentNodeId: "ok", waitingForInput: true },
  };
  mkdirSync(folder(), { recursive: true });
  const put = (id: string, record: object | string) =>
    writeFileSync(fileOf(id), typeof record === "string" ? record : JSON.stringify(record));
  put("1700000000001", old);
  put("2", { ...old, waitingForInput: false });
  put("3", JSON.stringify(old).slice(0, 200));
  put("4", { ...old, currentNodeId: "a" });
  put("5", { ...old, state: { ...old.state, nobody: "x" } });
  put("6", { ...old, status: "completed" });
  put("7", { ...old, currentNodeId: null });
  put("8", "null");
  put("9", { ...old, workflow: { nodes: [] } });
  await crash();
  const run = await drawn.run("1700000000001");
  expect(run).toMatchObject({
    ...{ status: "paused", waitingForInput: true, currentNodeId: "ok", state: old.state },
    logs: expect.arrayContaining([log]) as unknown,
  });
  await crash();
  const again = await drawn.run("1700000000001");
  expect(again.runId).toBe(run.runId);
  for (const id of ["2", "3", "4", "6", "7", "8", "9"]) {
    expect((await drawn.serving.ask(`/api/run/${id}`)).status).toBe(404);
  }
  expect((await drawn.run("5")).status).toBe("paused");
  const done = await drawn.post("resume", { runId: "1700000000001", input: "approve" });
  expect(done.body).toMatchObject({
    status: "completed",
    state: { end: expect.any(String) as unknown },
  });
  expect(done.body.state.hung).toBe("hung read a read tea");
  await untilRecorded("1700000000001", "completed");
});
