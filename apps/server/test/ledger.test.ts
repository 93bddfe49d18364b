import { afterAll, expect, test } from "bun:test";
import { bundleOf } from "../../../packages/workflow/test/fixtures/bundles.ts";
import type { Ledger, ThreadRow } from "../src/api-types.ts";
import { Serving, stopServing } from "./serving.ts";
import { until } from "../../../packages/workflow/test/fixtures/until.ts";

afterAll(stopServing, 180_000);

/** Commits a step, then is in the middle of an answer of a model. */
const answering = `import { channel } from "node:diagnostics_channel";
${bundleOf(`
  const publish = (type, payload) => channel("uncaged.workflow").publish({ type, stepID: "coder", payload });
  const call = { call_id: "one", model: "m" };
  yield step("coder", "done", { usage: { input_tokens: 5 }, model: "m", cost: 0.25 });
  publish("llm_start", call);
  publish("llm_usage", { ...call, usage: { input_tokens: 7 }, cost_usd: 0.5, state: "open" });
  await sleep(60_000);
`)}`;

const spentIn = async (serving: Serving) => {
  const [row] = await serving.ok<ThreadRow[]>("/api/threads?details=true");
  return row?.spent;
};

test("the ledger has what a killed worker spent, as that of the command line", async () => {
  const serving = await Serving.start();
  await serving.add("answering", answering);
  const id = await serving.run("answering");
  const log = async () => await (await serving.fetch(`/api/threads/${id}/log`)).text();
  await until(async () => (await log()).includes("llm_usage"));
  expect(await spentIn(serving)).toEqual({ tokens: 5, cost: 0.25, unpriced: 0 });
  await serving.killWorkers();
  await serving.until(id, "interrupted");
  const ledger = await serving.ok<Ledger>(`/api/threads/${id}/ledger`);
  expect(ledger).toMatchObject({
    total: { tokens: 12, cost: 0.75 },
    lost: { tokens: 7, cost: 0.5 },
    unknown: 1,
    roles: { coder: { tokens: 12 } },
    attempts: [
      { step: 1, role: "coder", kind: "own" },
      { step: null, role: "coder", kind: "lost" },
    ],
  });
  const printed: unknown = await serving.spawn("thread", id, "--ledger", "--json").stdout.json();
  expect(printed).toEqual(ledger);
  // The list, asked before by the same server, and while the thread runs again.
  expect(await spentIn(serving)).toEqual({ tokens: 12, cost: 0.75, unpriced: 0 });
  await serving.ok(`/api/threads/${id}/resume`, {});
  await serving.until(id, "running", 2);
  expect(await spentIn(serving)).toEqual({ tokens: 17, cost: 1, unpriced: 0 });
}, 180_000);
