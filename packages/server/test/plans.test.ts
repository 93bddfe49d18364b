import { afterAll, beforeAll, expect, test } from "bun:test";
import { chmodSync, existsSync } from "node:fs";
import { join } from "node:path";
import { anthropicServer } from "../../workflow-agents/test/anthropic-server.ts";
import type { Reply } from "../../workflow-agents/test/wire.ts";
import type {
  Plan,
  PlanRow,
  PlannerEvents,
  PlanView,
  StartedPlan,
} from "../src/entry/api-types.ts";
import { type ApiDescription, ApiDocument } from "./api-document.ts";
import { ServingProcess, stopServing } from "./serving.ts";

/*
 * Plans over HTTP, from a request to a run, with a scripted model. Every response is checked against the description.
 */

const agent = join(import.meta.dir, "../../cli-workflow/test/agents/agent.sh");
const replies: Reply[] = [];
let model: Awaited<ReturnType<typeof anthropicServer>>;
let serving: ServingProcess;
let document: ApiDocument;

beforeAll(async () => {
  model = await anthropicServer(() => replies.shift() ?? { text: "?" });
  serving = await ServingProcess.startWith({
    ANTHROPIC_API_KEY: model.key,
    ANTHROPIC_BASE_URL: model.url,
    UNCAGED_PLAN_AGENT_COMMAND: agent,
    UNCAGED_PLAN_SANDBOX_MODE: "off",
  });
  document = new ApiDocument(await serving.ok<ApiDescription>("/api/openapi.json"));
}, 60_000);
afterAll(async () => {
  await stopServing();
  await model.stop();
}, 60_000);

const definition = (ids: string[], policy = "stop") => ({
  ...{ name: "Failing builds", description: "which fail?" },
  trigger: { type: "manual" as const },
  steps: ids.map((id) => ({
    ...{ id, description: `do ${id}`, agent: "claude" as const, inputs: {}, depends_on: [] },
  })),
  failure_policy: { on_step_failure: policy, max_retries: 0, retry_delay_ms: 0 },
});
const made = (ids: string[], policy?: string): Reply => ({
  text: "Here it is.",
  tools: [{ name: "create_workflow", input: definition(ids, policy) }],
});

type AskOptions = { status?: number; send?: unknown; id?: string; query?: string };

/** Sends a request and checks the answer against the description. */
async function ask<Answer>(
  described: string,
  { status = 200, send, id = "", query = "" }: AskOptions = {},
): Promise<Answer> {
  const [method = "", template = ""] = described.split(" ");
  const response = await serving.fetch(template.replace(/\{\w+\}/, id) + query, {
    method,
    ...(send !== undefined && {
      ...{ body: JSON.stringify(send), headers: { "Content-Type": "application/json" } },
    }),
  });
  const type = response.headers.get("content-type")?.split(";")[0] ?? "";
  const text = await response.text();
  const isStream = type === "text/event-stream";
  const answer = { status: response.status, type, text: isStream ? "" : text };
  const errors = document.errorsOf(described, answer);
  expect({ described, got: response.status, errors }).toEqual({
    described,
    got: status,
    errors: [],
  });
  return (isStream ? text : JSON.parse(text)) as Answer;
}

type Message = {
  [Name in keyof PlannerEvents]: { name: Name; data: PlannerEvents[Name] };
}[keyof PlannerEvents];

const messagesIn = (stream: string): Message[] =>
  [...stream.matchAll(/^event: (\w+)\ndata: (.*)$/gm)].map(
    ([, name, data = ""]) => ({ name, data: JSON.parse(data) as unknown }) as Message,
  );

async function converse(described: string, text: string, id = ""): Promise<Message[]> {
  return messagesIn(await ask<string>(described, { send: { text }, id }));
}

async function plan(ids: string[], policy?: string): Promise<Plan> {
  replies.push(made(ids, policy));
  const last = (await converse("POST /api/plans", "which builds fail?")).at(-1);
  if (last?.name !== "turn" || !last.data.workflow) throw new Error(JSON.stringify(last));
  return last.data.workflow;
}

async function until(id: string, fits: (view: PlanView) => boolean): Promise<PlanView> {
  for (let tries = 0; tries < 600; tries += 1) {
    const view = await ask<PlanView>("GET /api/plans/{id}", { id });
    if (fits(view)) return view;
    await Bun.sleep(50);
  }
  throw new Error("the plan does not match");
}

test("a conversation streams the model's text, and ends with its turn", async () => {
  replies.push({ tools: [{ name: "ask_question", input: { question: "Which ones?" } }] });
  const [asked] = (await converse("POST /api/plans", "which builds fail?")).slice(-1);
  expect(asked).toMatchObject({
    name: "turn",
    data: { turn: { type: "question" }, workflow: null },
  });
  const session = asked?.name === "turn" ? asked.data.session : "";
  replies.push(made(["look"]));
  const answered = await converse("POST /api/planner/{session}", "mine", session);
  expect(answered.length).toBeGreaterThan(1);
  expect(answered.map(({ name }) => name).slice(0, 2)).toEqual(["begin", "token"]);
  expect(answered.at(-1)?.name).toBe("turn");
  const lost = await converse("POST /api/planner/{session}", "mine", "ps_none");
  expect(lost).toMatchObject([{ name: "error", data: { code: "PLANNER_ERROR" } }]);
  const [row] = await ask<PlanRow[]>("GET /api/plans");
  expect(row).toMatchObject({ phase: "awaiting_confirmation", next_fire_at: null });
  replies.push(made(["look", "report"]));
  const changed = (await converse("POST /api/plans/{id}/modify", "and report", row?.id)).at(-1);
  expect(changed?.name === "turn" && changed.data.workflow?.steps.length).toBe(2);
  await ask("POST /api/plans/{id}/reject", { id: row?.id });
  await ask("DELETE /api/plans/{id}", { id: row?.id });
}, 60_000);

test("only the shown definition of an edited plan can be confirmed; a failed step is retried after a decision", async () => {
  const { id } = await plan(["look"], "ask_user");
  const { hash } = await ask<PlanView>("GET /api/plans/{id}", { id });
  const other = definition(["look", "report"], "ask_user");
  const edited = await ask<PlanView>("POST /api/plans/{id}/definition", { id, send: other });
  expect(edited.steps.map((step) => step.id)).toEqual(["look", "report"]);
  expect(edited.preview.sandbox).toStartWith("none");
  const replace = "POST /api/plans/{id}/definition";
  await ask(replace, { id, query: `?hash=${hash}`, send: definition(["lost"]), status: 409 });
  await ask(replace, { id, query: `?hash=${edited.hash}`, send: other });
  const metadata = {
    missed_slots: "skip",
    container: { additionalMounts: [{ hostPath: "/tmp" }] },
  };
  const more = { ...other, metadata: { ...metadata, bundle: { name: "x", hash: "y" } } };
  const mounted = await ask<PlanView>("POST /api/plans/{id}/definition", { id, send: more });
  expect(mounted.metadata).toMatchObject(metadata);
  expect(mounted.metadata?.bundle).toBeUndefined();
  expect(mounted.hash).not.toBe(edited.hash);
  const odd = { ...other, metadata: { missed_slots: "all" } };
  await ask("POST /api/plans/{id}/definition", { id, send: odd, status: 400 });
  const restored = { ...other, metadata: edited.metadata };
  await ask("POST /api/plans/{id}/definition", { id, send: restored });
  const broken = { ...other, steps: [{ ...other.steps[0], id: "a_b" }] };
  await ask("POST /api/plans/{id}/definition", { id, send: broken, status: 400 });
  await ask("POST /api/plans/{id}/confirm", { id, send: { hash }, status: 409 });
  await Bun.write(join(serving.folder, "broken"), "do look\n");
  const started = await ask<StartedPlan>("POST /api/plans/{id}/confirm", {
    ...{ id, send: { hash: edited.hash } },
  });
  expect(started).toMatchObject({ workflowId: id, phase: "executing" });
  await ask("POST /api/plans/{id}/run", { id, status: 409 });
  await ask("DELETE /api/plans/{id}", { id, status: 409 });
  const { wanted } = await until(id, (one) => one.wanted[0]?.stepId === "look");
  await ask("POST /api/plans/{id}/pause", { id });
  await ask("POST /api/plans/{id}/resume", { id });
  await ask("POST /api/plans/{id}/answer", { id, send: { decision: "maybe" }, status: 400 });
  const { question = "" } = wanted[0] ?? {};
  const stale = { decision: "abort", question: `${question}x` };
  await ask("POST /api/plans/{id}/answer", { id, send: stale, status: 409 });
  await ask("POST /api/plans/{id}/answer", { id, send: { decision: "abort", question } });
  const failed = await until(id, ({ phase }) => phase === "failed");
  expect(failed.runs[0]?.steps.map(({ status }) => status).toSorted()).toEqual([
    "failed",
    "succeeded",
  ]);
  await Bun.file(join(serving.folder, "broken")).delete();
  await ask<StartedPlan>("POST /api/plans/{id}/retry", { id });
  const done = await until(id, ({ phase }) => phase === "completed");
  expect(done.runs.map(({ status }) => status)).toEqual(["completed", "failed"]);
  await ask("POST /api/plans/{id}/cancel", { id, status: 409 });
  await ask<StartedPlan>("POST /api/plans/{id}/run", { id, send: { data: "x" } });
  const again = await until(
    id,
    ({ runs }) => runs[0]?.trigger_data === "x" && runs[0].status === "completed",
  );
  expect(again.runs).toHaveLength(3);
}, 90_000);

test("an edited definition is stored and returned without secret values", async () => {
  const { id } = await plan(["look"]);
  const path = join(serving.path, "plans/secrets.json");
  await Bun.write(path, JSON.stringify({ A_TOKEN: "value-of-a-token" }));
  chmodSync(path, 0o600);
  const given = definition(["look"]);
  const [step] = given.steps;
  const send = { ...given, steps: [{ ...step, description: "use value-of-a-token" }] };
  const edited = await ask<PlanView>("POST /api/plans/{id}/definition", { id, send });
  expect(edited.steps[0]?.description).toBe("use [secret:A_TOKEN]");
  const bad = { ...given, steps: [{ ...step, id: "value-of-a-token_" }] };
  const refused = await ask("POST /api/plans/{id}/definition", { id, send: bad, status: 400 });
  const shown = await ask("GET /api/plans/{id}", { id });
  expect(JSON.stringify([edited, refused, shown])).not.toContain("value-of-a-token");
  await ask("POST /api/plans/{id}/cancel", { id });
  await ask("DELETE /api/plans/{id}", { id });
}, 60_000);

test("reading plans creates no plan home", async () => {
  const own = await ServingProcess.startWith({});
  const home = join(own.path, "plans");
  expect(await own.ok<PlanRow[]>("/api/plans")).toEqual([]);
  expect((await own.fetch("/api/plans/none")).status).toBe(404);
  expect((await own.fetch("/api/plans/none/run", { method: "POST" })).status).toBe(404);
  expect(existsSync(home)).toBe(false);
}, 60_000);

test("a missing plan is reported, and an invalid plan is refused", async () => {
  for (const path of ["confirm", "run", "retry", "pause", "resume", "cancel", "reject"]) {
    await ask(`POST /api/plans/{id}/${path}`, { id: "none", status: 404 });
  }
  await ask("GET /api/plans/{id}", { id: "none", status: 404 });
  await ask("POST /api/plans", { send: { text: "" }, status: 400 });
});
