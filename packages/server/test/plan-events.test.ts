import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { openLocalHost } from "@uncaged/workflow/host";
import { openPlans, type Plans } from "../../workflow-plan/src/entry/service.ts";
import type { PlanRow } from "../src/entry/api-types.ts";
import { ServingProcess, stopServing } from "./serving.ts";
import { follow, type Sent } from "./sse.ts";

/* The stream of plan changes. The test's process changes the plans, as another process would. */

const path = "/api/plans/events";
let serving: ServingProcess;
let plans: Plans;

beforeAll(async () => {
  serving = await ServingProcess.startWith({ ANTHROPIC_API_KEY: "none" });
  const host = openLocalHost({ path: serving.path });
  plans = openPlans({ host, home: join(serving.path, "plans"), env: {}, cwd: serving.folder });
}, 60_000);
afterAll(async () => {
  plans.close();
  await stopServing();
}, 60_000);

let made = 0;

async function create(): Promise<string> {
  made += 1;
  const at = new Date(1_780_000_000_000 + made).toISOString();
  const step = { id: "look", description: "do look", agent: "claude" as const };
  const { id } = await plans.create({
    ...{ schema_version: "1.0", id: `wf_${made}`, name: `Plan ${made}`, description: "d" },
    ...{ trigger: { type: "manual" }, steps: [{ ...step, inputs: {}, depends_on: [] }] },
    failure_policy: { on_step_failure: "stop", max_retries: 0, retry_delay_ms: 0 },
    ...{ phase: "awaiting_confirmation", created_at: at, updated_at: at },
    metadata: { sandbox: "off" },
  });
  return id;
}

const has = (sent: Sent[], wanted: string) => sent.some(({ name }) => name === wanted);

/** Follows the stream until `enough` is true. Calls `act` once the `plans` message has arrived. */
async function watch(
  act: () => unknown,
  enough: (sent: Sent[]) => boolean,
  at = path,
): Promise<Sent[]> {
  let begun: Promise<unknown> | null = null;
  return await follow(serving, at, {
    enough: async (sent) => {
      if (has(sent, "plans")) await (begun ??= Promise.resolve(act()));
      return enough(sent);
    },
  });
}

const rowsOf = (sent: Sent[], id: string): PlanRow[] =>
  sent.flatMap(({ name, data }) =>
    name === "plan" && data.id === id ? [data as unknown as PlanRow] : [],
  );

test("a plan that another process creates, changes and removes is sent, each time with an id", async () => {
  let id = "";
  const steps = [() => plans.reject(id), () => plans.remove(id)];
  const sent = await watch(
    async () => (id = await create()),
    (all) => {
      if (rowsOf(all, id).length > 2 - steps.length) void steps.shift()?.();
      return has(all, "plan_removed");
    },
  );
  expect(sent[0]).toMatchObject({ name: "plans", id: expect.any(String), data: {} });
  expect(rowsOf(sent, id).map(({ phase, waits }) => [phase, waits])).toEqual([
    ["awaiting_confirmation", true],
    ["planning", false],
  ]);
  expect(sent.at(-1)).toMatchObject({ name: "plan_removed", data: { id } });
  expect(sent.every((one) => one.id !== null)).toBe(true);
}, 60_000);

test("a client that reconnects gets only new events, even after a restart, or the message to read the list again", async () => {
  const before = await watch(create, (all) => has(all, "plan"));
  const from = before.at(-1)?.id ?? "";
  let id = "";
  const renew = async () => void (id = await create());
  const behind = async (lastEventId: string) =>
    await follow(serving, path, { lastEventId, enough: (sent) => sent.length > 0 });
  const namesOf = (sent: Sent[]) => sent.map(({ name, data }) => [name, data.id]);
  const first = behind(from);
  await renew();
  expect(namesOf(await first)).toEqual([["plan", id]]);
  // The server keeps later messages and sends them again.
  const held = await behind(from);
  expect(namesOf(held)).toEqual([["plan", id]]);
  const last = held.at(-1)?.id ?? "";
  const { port } = serving;
  await serving.stop();
  await serving.serve(port);
  let second: Promise<Sent[]> = Promise.resolve([]);
  await watch(
    async () => {
      // The server has polled the plans by now.
      second = behind(last);
      await renew();
    },
    (all) => has(all, "plan"),
  );
  expect(namesOf(await second)).toEqual([["plan", id]]);
  await serving.stop();
  await renew();
  await serving.serve(port);
  expect(namesOf(await behind(last))).toEqual([["plans", undefined]]);
}, 90_000);

test("the stream of all changes includes the plans, and a filter lists only the waiting plans", async () => {
  let id = "";
  const sent = await watch(
    async () => (id = await create()),
    (all) => has(all, "plan"),
    "/api/events?plans=",
  );
  const of = sent.findLast(({ name }) => name === "of");
  expect(of?.data as unknown).toBe("plans");
  expect(sent.map(({ name }) => name)).toContain("reload");
  await plans.reject(id);
  const listed = async (query = "") =>
    (await serving.ok<PlanRow[]>(`/api/plans${query}`)).map((row) => row.id);
  expect(await listed()).toContain(id);
  const waiting = await listed("?waits=true");
  expect(waiting).not.toContain(id);
  expect(waiting.length).toBeGreaterThan(0);
}, 60_000);
