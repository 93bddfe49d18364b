import { afterAll, beforeAll, expect, test } from "bun:test";
import { anthropicServer } from "../../workflow-agents/test/anthropic-server.ts";
import type { Reply } from "../../workflow-agents/test/wire.ts";
import type { PlannerConversation } from "../src/entry/api-types.ts";
import { ServingProcess, stopServing } from "./serving.ts";
import { eventsOf, type Sent } from "./sse.ts";

/* Planner turns that another client follows, that a client stops, and that end with the server. */

const replies: Reply[] = [];
let model: Awaited<ReturnType<typeof anthropicServer>>;
let serving: ServingProcess;

beforeAll(async () => {
  model = await anthropicServer(() => replies.shift() ?? { text: "?" });
  serving = await ServingProcess.startWith({
    ANTHROPIC_API_KEY: model.key,
    ANTHROPIC_BASE_URL: model.url,
  });
}, 60_000);
afterAll(async () => {
  await stopServing();
  await model.stop();
}, 60_000);

/** An answer that ends only when the client disconnects. */
const endless: Reply = { text: "Let me think. ".repeat(20), fault: { kind: "silence", after: 12 } };
const question: Reply = { tools: [{ name: "ask_question", input: { question: "Which ones?" } }] };
const step = { id: "look", description: "do look", agent: "claude", inputs: {}, depends_on: [] };
const plan: Reply = {
  text: "Here it is.",
  tools: [
    {
      name: "create_workflow",
      input: {
        ...{ name: "Builds", description: "which fail?", trigger: { type: "manual" } },
        ...{ steps: [step], failure_policy: { on_step_failure: "stop" } },
      },
    },
  ],
};

/** Writes to the planner. Returns the turn's stream, read up to a message with a name. */
async function write(path: string, text: string) {
  const response = await serving.fetch(path, {
    ...{ method: "POST", body: JSON.stringify({ text }) },
    headers: { "Content-Type": "application/json" },
  });
  return reader(response);
}

function reader(response: Response) {
  const events = eventsOf(response);
  const sent: Sent[] = [];
  const until = async (name: string): Promise<Sent> => {
    for (;;) {
      const { done, value } = await events.next();
      if (done) throw new Error(`no message ${name}: ${JSON.stringify(sent)}`);
      sent.push(value);
      if (value.name === name) return value;
    }
  };
  return { sent, until };
}

const read = (session: string) => serving.ok<PlannerConversation>(`/api/planner/${session}`);
const follow = (session: string) => serving.fetch(`/api/planner/${session}/events`);
const sessionIn = ({ data }: Sent): string => String(data.session);

test("other clients follow a turn from its beginning, and stop it; its conversation continues", async () => {
  replies.push(endless);
  const first = await write("/api/plans", "which builds fail?");
  const session = sessionIn(await first.until("begin"));
  await first.until("token");
  expect(await read(session)).toMatchObject({ session, turn: "at work", messages: [] });
  const second = reader(await follow(session));
  expect((await second.until("begin")).data).toEqual({ session, text: "which builds fail?" });
  await second.until("token");
  await serving.ok(`/api/planner/${session}/stop`, {});
  const stopped = { turn: { type: "error", content: "stopped", stopped: true }, workflow: null };
  expect((await first.until("turn")).data).toMatchObject(stopped);
  expect((await second.until("turn")).data).toMatchObject(stopped);
  await model.came.at(-1)?.closed;
  const asked = { by: "user" as const, text: "which builds fail?" };
  expect(await read(session)).toEqual({ session, turn: null, workflow: null, messages: [asked] });
  expect((await follow(session)).status).toBe(204);
  expect((await serving.ask(`/api/planner/${session}/stop`, {})).status).toBe(409);

  replies.push(question, plan, plan);
  await (await write(`/api/planner/${session}`, "mine")).until("turn");
  const made = await (await write(`/api/planner/${session}`, "all of them")).until("turn");
  const { id } = made.data.workflow as { id: string };
  await (await write(`/api/plans/${id}/modify`, "quicker")).until("turn");
  const { messages, workflow } = await read(session);
  expect(workflow).toBe(id);
  expect(messages.map(({ by, text }) => [by, text])).toEqual([
    ["user", "which builds fail?"],
    ["user", "mine"],
    ["planner", "Which ones?"],
    ["user", "all of them"],
    ["planner", "Here it is."],
    ["planner", "Builds\n1. look: do look"],
    ["user", "quicker"],
    ["planner", "Here it is."],
    ["planner", "Builds\n1. look: do look"],
  ]);
}, 60_000);

test("a turn lost with the server is interrupted, and the conversation continues", async () => {
  replies.push(question);
  const begun = await write("/api/plans", "which builds fail?");
  const session = sessionIn(await begun.until("begin"));
  await begun.until("turn");
  replies.push(endless, endless);
  await (await write(`/api/planner/${session}`, "mine")).until("token");
  const other = await write("/api/plans", "and which tests?");
  const lost = sessionIn(await other.until("begin"));
  await other.until("token");
  const { port } = serving;
  await serving.stop("SIGKILL");
  await serving.serve(port);
  const kept = await read(session);
  expect([kept.turn, kept.messages.length]).toEqual(["interrupted", 2]);
  expect(await read(lost)).toMatchObject({ turn: "interrupted", messages: [] });
  replies.push(plan);
  await (await write(`/api/planner/${session}`, "mine, again")).until("turn");
  expect(await read(session)).toMatchObject({ turn: null, workflow: expect.any(String) });
}, 60_000);

test("an unknown conversation is reported as missing, not as an unknown path", async () => {
  for (const id of ["ps_none", "..%2Fsecrets", "x"]) {
    const { status } = await serving.ask(`/api/planner/${id}`);
    expect([404, 409]).toContain(status);
  }
  expect((await serving.ask("/api/planner/ps_none/stop", {})).status).toBe(409);
  expect((await follow("ps_none")).status).toBe(204);
});
