import { afterAll, afterEach, beforeEach, expect, test } from "bun:test";
import type { RunRecord } from "@uncaged/workflow-graph/run";
import { runKey, RunSession, type RunState } from "./run-session.ts";

type Handler = (request: Request) => Response | Promise<Response>;

/** Answers of the server by method and path. The last answer of a list repeats. */
let answers: Record<string, Handler[]> = {};
const asked: string[] = [];

const server = Bun.serve({
  port: 0,
  fetch(request) {
    const name = `${request.method} ${new URL(request.url).pathname}`;
    asked.push(name);
    const handlers = answers[name] ?? [];
    const handler = handlers.length > 1 ? handlers.shift() : handlers[0];
    return handler?.(request) ?? Response.json({ error: "Run not found" }, { status: 404 });
  },
});

const store = new Map<string, string>();
const storage = {
  getItem: (name: string) => store.get(name) ?? null,
  setItem: (name: string, value: string) => void store.set(name, value),
  removeItem: (name: string) => void store.delete(name),
};
const { fetch: fetchFrom } = globalThis;

beforeEach(() => {
  store.clear();
  asked.length = 0;
  answers = {};
  const relative = (path: string, init?: RequestInit) => fetchFrom(new URL(path, server.url), init);
  Object.assign(globalThis, { fetch: relative, localStorage: storage });
});
const sessions: RunSession[] = [];
afterEach(() => {
  for (const session of sessions.splice(0)) session.close();
  Object.assign(globalThis, { fetch: fetchFrom });
  Reflect.deleteProperty(globalThis, "localStorage");
});
afterAll(() => server.stop(true));

const graph = { nodes: [{ id: "s", type: "start" }], connections: [] };
const entry = (content: string) => ({ timestamp: 1, nodeId: "a", type: "warn" as const, content });
const record = (status: RunRecord["status"], more: Partial<RunRecord> = {}): RunRecord => ({
  ...{ runId: "R1", status, logs: [entry("one")], workflow: graph },
  ...more,
});
const asks = "GET /api/run/R1/events";
const paused = record("paused", {
  waitingForInput: true,
  currentNodeId: "p",
  question: 3,
  state: { pre_approval_output: "draft" },
});
const askingP = { nodeId: "p", question: 3, subject: "draft" };
const json =
  (value: unknown, status = 200) =>
  () =>
    Response.json(value, { status });
const stream =
  (...events: object[]) =>
  () =>
    new Response(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""));
const begun = { type: "start", runId: "R1" };
const log = (content: string) => ({ type: "log", entry: entry(content) });
const done = (result: RunRecord) => ({ type: "done", result });

function made(): RunSession {
  const session = new RunSession(5);
  sessions.push(session);
  return session;
}

async function until(session: RunSession, holds: (state: RunState) => boolean): Promise<RunState> {
  for (let tries = 0; tries < 400; tries += 1) {
    if (holds(session.snapshot())) return session.snapshot();
    await Bun.sleep(5);
  }
  throw new Error(`it never was so: ${JSON.stringify(session.snapshot())}`);
}

const status =
  (wanted: string) =>
  ({ run }: RunState) =>
    run?.status === wanted;

test("a run starts with a copy of the graph, and its id is stored until it ends", async () => {
  let sent: unknown;
  answers["POST /api/run-stream"] = [
    async (request) => {
      sent = await request.json();
      return stream(begun, log("one"), done(paused))();
    },
  ];
  const completed = stream(begun, log("two"), done(record("completed")));
  answers["POST /api/resume-stream"] = [
    async (request) => {
      sent = await request.json();
      return completed();
    },
  ];
  const session = made();
  const edited = structuredClone(graph);
  await session.start(edited);
  edited.nodes[0] = { id: "other", type: "agent" };
  expect(sent).toEqual({ graph });
  const { run } = session.snapshot();
  expect(run).toMatchObject({ runId: "R1", asking: askingP, graph, logs: [{ content: "one" }] });
  expect(store.get(runKey)).toBe("R1");
  await session.answer({ decision: "approve", note: "fine" });
  expect(sent).toEqual({ runId: "R1", question: 3, input: { decision: "approve", note: "fine" } });
  expect(session.snapshot()).toMatchObject({ busy: null, run: { status: "completed" } });
  expect(store.size).toBe(0);
});

test("a refusal is shown, and a run that did not start leaves no trace", async () => {
  answers["POST /api/run-stream"] = [json({ error: "OPENAI_API_KEY is required" }, 503)];
  const session = made();
  await session.start(graph);
  expect(session.snapshot()).toMatchObject({
    ...{ run: null, busy: null, problem: "OPENAI_API_KEY is required" },
  });
  expect(store.size).toBe(0);
});

test("a broken stream is followed: the run is read, then its events", async () => {
  answers["POST /api/run-stream"] = [stream(begun, log("one"))];
  answers["GET /api/run/R1"] = [json({ error: "broken" }, 500), json(record("running"))];
  answers["GET /api/run/R1/events"] = [
    stream(begun, log("one")),
    stream(begun, log("one"), log("two"), done(record("completed", { logs: [entry("1")] }))),
  ];
  const session = made();
  await session.start(graph);
  const { run, problem } = await until(session, status("completed"));
  expect([run?.logs.length, problem]).toEqual([1, null]);
});

test("after a reload an unknown run is forgotten, and an unreadable run is read again", async () => {
  store.set(runKey, "R1");
  const unknown = made();
  unknown.recover();
  expect(unknown.snapshot().busy).toBe("recovering");
  await until(unknown, ({ busy }) => busy === null);
  expect([store.size, unknown.snapshot().run]).toEqual([0, null]);
  store.set(runKey, "R1");
  answers["GET /api/run/R1"] = [
    ...[json({}, 500), json({}, 503)],
    () => new Response("gone", { status: 502 }),
    json(paused),
  ];
  answers[asks] = [stream(begun, log("one"), done(paused))];
  const kept = made();
  kept.recover();
  await until(kept, ({ problem }) => problem !== null);
  expect(store.get(runKey)).toBe("R1");
  expect((await until(kept, status("paused"))).run?.asking).toEqual(askingP);
  expect(kept.snapshot().problem).toBeNull();
  expect(store.get(runKey)).toBe("R1");
});

test("after a reload a waiting run can be answered, a lost run is reported, an ended run ends", async () => {
  const shown = async (found: RunRecord) => {
    store.set(runKey, "R1");
    answers["GET /api/run/R1"] = [json(found)];
    answers[asks] = [stream(begun, done(found))];
    const session = made();
    session.recover();
    return (await until(session, ({ run }) => run !== null)).run;
  };
  expect(await shown(paused)).toMatchObject({ asking: askingP, isLost: false });
  expect(store.size).toBe(1);
  expect(await shown(record("paused"))).toMatchObject({ asking: null, isLost: true });
  for (const ended of ["completed", "failed", "cancelled"] as const) {
    expect(await shown(record(ended))).toMatchObject({ status: ended });
    expect(store.size).toBe(0);
  }
});

test("a late answer shows the current state of the run", async () => {
  answers["POST /api/run-stream"] = [stream(begun, done(paused))];
  answers["POST /api/resume-stream"] = [json({ error: "Run is already being resumed." }, 409)];
  answers["GET /api/run/R1"] = [json(paused), json(record("completed"))];
  answers[asks] = [stream(begun, done(paused))];
  const session = made();
  await session.start(graph);
  await session.answer({ decision: "reject", note: "" });
  expect(session.snapshot()).toMatchObject({
    ...{ busy: null, problem: "Run is already being resumed.", run: { asking: askingP } },
  });
  await session.answer({ decision: "reject", note: "" });
  expect(session.snapshot()).toMatchObject({ problem: null, run: { status: "completed" } });
});

test("cancelling shows the server's status, retrying shows the run that continues", async () => {
  answers["POST /api/run-stream"] = [stream(begun, done(paused))];
  answers["POST /api/cancel"] = [json({ error: "no" }, 500), json({ status: "cancelled" })];
  answers["GET /api/run/R1"] = [json(record("cancelled"))];
  answers["POST /api/retry"] = [json({ runId: "R2" })];
  answers["GET /api/run/R2"] = [json(record("completed", { runId: "R2" }))];
  const session = made();
  await session.start(graph);
  await session.cancel();
  expect(session.snapshot()).toMatchObject({ problem: "no", run: { status: "paused" } });
  await session.cancel();
  expect(session.snapshot()).toMatchObject({ busy: null, run: { status: "cancelled" } });
  expect(store.size).toBe(0);
  await session.retry();
  expect(session.snapshot().run).toMatchObject({ runId: "R2", status: "completed" });
  session.clear();
  expect(session.snapshot().run).toBeNull();
});

test("an interrupted run is restored after each reload until it is continued to its end", async () => {
  store.set(runKey, "R1");
  const ended = { nodeId: "system", type: "error" as const, reason: "interrupted" as const };
  const lost = { ...entry("Run was interrupted"), ...ended };
  const interrupted = record("failed", { logs: [lost] });
  answers["GET /api/run/R1"] = [json(interrupted), json(interrupted), json(record("completed"))];
  for (let reloads = 0; reloads < 2; reloads += 1) {
    const session = made();
    session.recover();
    await until(session, status("failed"));
    expect(store.get(runKey)).toBe("R1");
  }
  answers["POST /api/retry"] = [json({ runId: "R1" })];
  await sessions.at(-1)?.retry();
  expect(sessions.at(-1)?.snapshot().run?.status).toBe("completed");
  expect(store.size).toBe(0);
});

test("a retry from a node shows the new run", async () => {
  let sent: unknown;
  answers["POST /api/run-stream"] = [stream(begun, done(record("completed")))];
  answers["POST /api/retry"] = [
    async (request) => {
      sent = await request.json();
      return json({ runId: "R2" })();
    },
  ];
  answers["GET /api/run/R2"] = [json({ ...paused, runId: "R2" })];
  answers["GET /api/run/R2/events"] = [stream(begun, done({ ...paused, runId: "R2" }))];
  const session = made();
  await session.start(graph);
  await session.retry("s");
  expect(sent).toEqual({ runId: "R1", nodeId: "s" });
  expect(session.snapshot().run).toMatchObject({ runId: "R2", asking: askingP });
  expect(store.get(runKey)).toBe("R2");
});

test("a replaced run is not read", async () => {
  answers["GET /api/run/R1"] = [json(record("running"))];
  answers["GET /api/run/R1/events"] = [stream(begun)];
  store.set(runKey, "R1");
  const session = made();
  session.recover();
  await until(session, status("running"));
  session.clear();
  await Bun.sleep(20);
  const { length } = asked;
  await Bun.sleep(40);
  expect(asked).toHaveLength(length);
});

test("a run starts without a storage", async () => {
  const refuse = () => {
    throw new Error("disabled");
  };
  Object.assign(globalThis, {
    localStorage: { getItem: refuse, setItem: refuse, removeItem: refuse },
  });
  answers["POST /api/run-stream"] = [stream(begun, done(record("completed")))];
  const session = made();
  session.recover();
  await session.start(graph);
  expect(session.snapshot().run?.status).toBe("completed");
});
