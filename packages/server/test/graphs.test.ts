import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import {
  agent,
  approval,
  Drawn,
  graphOf,
  linesOf,
  type Message,
  resultOf,
  runIdOf,
  start,
} from "./graph-client.ts";

setDefaultTimeout(180_000);

let drawn: Drawn;

beforeAll(async () => {
  drawn = await Drawn.start((asked) => {
    if (asked.includes("you are slow")) return { text: "slowly", repeat: 100_000, tokenMs: 20 };
    return { text: `<${asked.split("\n").at(-1)}>`, tokenMs: 1 };
  });
}, 180_000);
afterAll(() => drawn.stop(), 180_000);

const reviewed = graphOf(
  [start("tea"), agent("a"), approval("ok"), agent("b"), agent("c")],
  "s a",
  "a ok",
  "ok approve b",
  "ok reject c",
);

test("a graph runs to its approval, and continues after the answer", async () => {
  const { status, body } = await drawn.post("run", { graph: reviewed, name: "tea\u202e party" });
  expect(status).toBe(200);
  const [row] = (await drawn.serving.host.threads({ limit: 1 })).rows;
  expect(row).toMatchObject({ workflow: "tea party", subject: "tea", status: "waiting" });
  expect(body).toMatchObject({
    ...{ status: "paused", waitingForInput: true, currentNodeId: "ok", workflow: reviewed },
    state: { a: "<tea>", pre_approval_output: "<tea>" },
  });
  expect(linesOf(body)).toEqual([
    "s step_start: start node",
    "a step_start: A agent node",
    "a start_prompt: tea",
    "a llm_response: <tea>",
    "ok step_start: approval node",
    "ok wait_input: Waiting for user approval",
  ]);
  const input = { decision: "Reject", note: "shorter" };
  const resumed = await drawn.post("resume", { runId: body.runId, input });
  expect(resumed.body).toMatchObject({
    ...{ runId: body.runId, status: "completed", waitingForInput: false, currentNodeId: null },
    state: { ok_approval: { decision: "reject", note: "shorter" } },
  });
  expect(Object.keys(resumed.body.state).filter((key) => key.startsWith("__"))).toEqual([]);
  expect(await drawn.run(body.runId)).toEqual(resumed.body);
});

test("an invalid decision, or an answer to another question, is refused, and the run still waits", async () => {
  const { question, runId } = (await drawn.post("run", { graph: reviewed })).body;
  for (const other of [0, (question ?? 0) + 1]) {
    const { status, body } = await drawn.post("resume", { runId, input: "yes", question: other });
    expect([status, body.error]).toEqual([409, expect.stringContaining(`question ${other}`)]);
  }
  for (const input of ["fine", "", {}, { decision: "–", note: "" }, { note: "yes" }, null]) {
    const answers = [
      await drawn.post("resume", { runId, input }),
      await drawn.serving.ask(`/api/threads/${runId}/input`, { value: input }),
    ];
    for (const { status, body } of answers) {
      expect([input, status, JSON.stringify(body)]).toEqual([
        ...[input, 400, expect.stringContaining("must be approve or reject")],
      ]);
    }
  }
  expect((await drawn.run(runId)).status).toBe("paused");
  const { body } = await drawn.post("resume", { runId, input: { approved: false, note: "no" } });
  expect(body.state.ok_approval).toEqual({ decision: "reject", note: "no" });
});

test("a run is streamed as data lines, to its pause and then to its end", async () => {
  const first = await drawn.stream("run-stream", { graph: reviewed });
  const kinds = (messages: Message[]) => messages.map(({ type }) => type).join(" ");
  expect(kinds(first)).toBe(`start ${"log ".repeat(6)}done`);
  const runId = runIdOf(first);
  expect(resultOf(first)).toMatchObject({ runId, status: "paused" });
  const second = await drawn.stream("resume-stream", { runId, input: "yes" });
  expect(runIdOf(second)).toBe(runId);
  const lines = second.flatMap((one) => (one.type === "log" ? [one.entry] : []));
  expect(lines[0]).toMatchObject({ nodeId: "ok", content: "User approved this step." });
  const done = resultOf(second);
  expect(done).toMatchObject({ status: "completed", state: { b: "<<tea>>" } });
  expect(done.logs).toEqual([...resultOf(first).logs, ...lines]);
  expect(kinds(await drawn.follow(runId))).toBe(`start ${"log ".repeat(done.logs.length)}done`);
});
