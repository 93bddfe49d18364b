import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { removeFolders, Store } from "../../cli-workflow/test/program.ts";
import type { Ledger } from "../src/ledger/ledger.ts";
import { type Model, models } from "./models.ts";
import { until } from "../../workflow/test/fixtures/until.ts";
import type { Counted, Reply, WireServer } from "./wire.ts";
import { some } from "../../workflow/test/fixtures/cases.ts";

/* What an answer that broke off had cost: reported alike by all commands, and what its server has reported. */
const store = new Store();
let server: WireServer<{ model: string }>;

beforeAll(async () => {
  await store.ok(["add", "answer", join(import.meta.dir, "spend/answer.ts")]);
}, 180_000);
afterEach(async () => await server.stop());
afterAll(removeFolders);

type View = { status: string; pid: number | null; steps: { content: string }[] };

const slow: Reply = { text: "It takes me a while to say this. ".repeat(200), tokenMs: 5 };
const ledgerOf = (id: string) => store.json<Ledger>(["thread", id, "--ledger"]);
const grouped = (tokens: number) => tokens.toLocaleString("en-US");

/** What the server has reported of its answers, whole or not. */
function reported() {
  const sum = (name: keyof Counted) =>
    server.came.reduce((all, one) => all + one.reported[name], 0);
  return {
    input_tokens: sum("input"),
    output_tokens: sum("output"),
    thinking_tokens: sum("thinking"),
    cache_read_tokens: sum("cacheRead"),
    cache_write_tokens: sum("cacheWrite"),
  };
}

async function start(model: Model, replies: Reply[]) {
  server = await model.serve(replies);
  const env = model.env(server);
  const id = await store.ok(["run", "answer", "--option", `by=${model.name}`], { env });
  return { id, env };
}

/** Waits until the last request's answer is being streamed, and its beginning is in the log. */
async function streaming(id: string, requests: number, beginning = "It takes"): Promise<void> {
  const tokens = async () => (await store.ok(["logs", id])).split("llm_usage").at(-1) ?? "";
  await until(() => server.came.length === requests);
  await until(async () => (await tokens()).includes(beginning));
}

/** The process of the worker that drives a thread: a busy machine may let it answer late. */
async function pidOf(id: string): Promise<number> {
  let pid: number | null = null;
  await until(async () => (pid = (await store.json<View>(["thread", id])).pid) !== null);
  if (pid === null) throw new Error("nobody drives it");
  return pid;
}

/** The thread's ledger, after all that show it have shown the same. */
async function agreed(id: string): Promise<Ledger> {
  const ledger = await ledgerOf(id);
  const { total, unknown } = ledger;
  const sum = total.tokens > 0 ? `${grouped(total.tokens)} tokens, $${total.cost.toFixed(4)}` : "";
  const calls =
    unknown === 1
      ? "1 call had not reported when it"
      : `${unknown} calls had not reported when they`;
  const rest = unknown > 0 ? `what ${calls} broke off` : "";
  const line = [sum, rest].filter((part) => part !== "").join(", and ");
  expect(await store.ok(["thread", id])).toContain(`spent     ${line}\n`);
  const followed = await store.run(["follow", id]);
  expect(followed.stderr.split("\n")[0]).toBe(line);
  return ledger;
}

describe.each(some(models))("with $name", (model) => {
  const tellsAtOnce = model.name === "anthropic";

  test("a thread that is killed in an answer has what its provider had reported", async () => {
    const { id } = await start(model, [{ text: "done" }, slow]);
    await streaming(id, 2);
    await store.ok(["kill", id]);
    const ledger = await agreed(id);
    expect(ledger.total.usage).toEqual(reported());
    expect(ledger.unknown).toBe(1);
    expect(ledger.lost.tokens > 0).toBe(tellsAtOnce);
    expect(ledger.attempts.map(({ kind, step }) => [kind, step])).toEqual(
      tellsAtOnce
        ? [
            ["own", 1],
            ["lost", null],
          ]
        : [["own", 1]],
    );
  }, 180_000);

  test("a thread that fails by a stream that broke off has it, too", async () => {
    const cut: Reply = { text: "It breaks. ".repeat(9), fault: { kind: "silence", after: 8 } };
    const { id } = await start(model, [{ text: "done" }, cut]);
    await streaming(id, 2, "It breaks");
    server.came[1]?.disconnect();
    await store.until<View>(id, "failed");
    const ledger = await agreed(id);
    expect(ledger.total.usage).toEqual(reported());
    expect(ledger.unknown).toBe(1);
    expect(ledger.lost.tokens > 0).toBe(tellsAtOnce);
  }, 180_000);

  test("a call that the provider declined has cost nothing, and nothing is unknown", async () => {
    const fault = { kind: "status", status: 429, type: "", message: "slow down" } as const;
    const { id, env } = await start(model, [{ text: "done" }, { fault }, { text: "done again" }]);
    const { steps } = await store.until<View>(id, "failed");
    const ledger = await agreed(id);
    expect(ledger.total.usage).toEqual(reported());
    expect([ledger.lost.tokens, ledger.unknown]).toEqual([0, 0]);

    // It stands by its name in the record and in the log, with what to do, and retry goes on there.
    const shown = await store.ok(["thread", id]);
    expect(shown).toContain("error     LLM_RATE_LIMIT\n");
    expect(shown).toMatch(/^hint +wait, and retry the thread$/m);
    expect(await store.ok(["logs", id])).toMatch(/llm_error .*slow down.*LLM_RATE_LIMIT/);
    const again = await store.json<{ threadId: string }>(["retry", id, "--wait"], { env });
    const { steps: all } = await store.json<View>(["thread", again.threadId]);
    expect(all.map(({ content }) => content)).toEqual(["done", "done again"]);
    expect(all[0]).toEqual(steps[0]);
  }, 180_000);

  test("a resumed thread shows in ps what its killed worker has spent, and the running attempt so far", async () => {
    const { id, env } = await start(model, [slow, { text: "done" }, slow]);
    await streaming(id, 1);
    process.kill(await pidOf(id), "SIGKILL");
    await store.until<View>(id, "interrupted");
    await store.ok(["resume", id], { env });
    await streaming(id, 3);
    const { total, unknown, attempts } = await ledgerOf(id);
    expect(unknown).toBe(1);
    expect(attempts).toContainEqual(expect.objectContaining({ step: 1, kind: "own" }));
    const row = (await store.ok(["ps"])).split("\n").find((line) => line.startsWith(id));
    const [, tokens = "none", cost = ""] = / ([\d,]+) \+ \? {2}\$([\d.]+) /.exec(row ?? "") ?? [];
    expect(Number(tokens.replaceAll(",", ""))).toBeGreaterThanOrEqual(total.tokens);
    expect(Number(cost)).toBeGreaterThanOrEqual(Number(total.cost.toFixed(4)));
    await store.ok(["kill", id]);
    const ended = await agreed(id);
    expect(ended.unknown).toBe(2);
    expect(ended.total.usage).toEqual(reported());
  }, 180_000);
});
