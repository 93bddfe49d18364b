import { afterAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { AttemptLog } from "../src/record/attempt-log.ts";
import type { Attempt } from "../src/record/attempt.ts";
import type { Step } from "../src/contract/contract.ts";
import { readEvent } from "../src/contract/event.ts";
import { retryOptions } from "../src/host/rules.ts";
import { killThread, resumeThread } from "../src/local/workers/control.ts";
import { forkThread } from "../src/local/threads/start.ts";
import { readView } from "../src/local/threads/view.ts";
import type { Root } from "../src/disk/paths.ts";
import type { ThreadRef } from "../src/record/thread.ts";
import { removeStores, TestStore } from "./fixtures/store.ts";
import { until } from "./fixtures/until.ts";

const retry = async (root: Root, ref: ThreadRef, options: Parameters<typeof retryOptions>[1]) =>
  forkThread(root, ref, retryOptions(await readView(root, ref), options));

afterAll(removeStores);

const entryPoint = join(import.meta.dir, "..", "src", "entry", "index.ts");

/** A bundle of a workflow written with the package; its body can use `publish` and `say`. */
async function built(body: string): Promise<string> {
  const source = `
    import { channel } from "node:diagnostics_channel";
    import { createRoleModerator, durable, END } from ${JSON.stringify(entryPoint)};
    const events = channel("uncaged.workflow");
    const publish = (stepID, type, payload = {}) => events.publish({ type, stepID, payload });
    const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
    /** Streams "0 1 2 …" with the speaker's number, and reports the usage of the call. */
    const say = async (name, number, count = 20) => {
      publish(name, "llm_start", { call_id: name + number, model: "m" });
      for (let n = 0; n < count; n += 1) {
        publish(name, "llm_token", { delta: number + "." + n + " " });
        await sleep(number % 5);
      }
      const usage = { output_tokens: number };
      publish(name, "llm_usage", { call_id: name + number, model: "m", usage, cost_usd: number / 1000, state: "whole" });
      return "said " + number;
    };
    export const descriptor = { description: "a test", roles: {} };
    ${body}`;
  const entry = join(import.meta.dir, "entry.ts");
  const { outputs } = await Bun.build({
    entrypoints: [entry],
    files: { [entry]: source },
    target: "node",
  });
  return await (outputs[0] as Blob).text();
}

/** The attempts of a thread, folded from its two files. */
async function attemptsOf(store: TestStore, ref: ThreadRef): Promise<readonly Attempt[]> {
  const view = await store.read(ref);
  const log = new AttemptLog({ saved: view.forkFrom?.steps });
  for (const event of eventsOf(store, ref)) log.event(event);
  for (const [index, step] of view.steps.entries()) log.step(index + 1, step);
  log.close(view.result ? { meta: { reason: "returned" } } : null);
  return log.attempts;
}

const eventsOf = (store: TestStore, ref: ThreadRef) =>
  store
    .notes(ref)
    .split("\n")
    .filter(Boolean)
    .flatMap((line) => readEvent(JSON.parse(line)) ?? []);

const textOf = ({ turns }: Attempt) =>
  turns.map((turn) => (turn.kind === "tool" ? "" : turn.text)).join("");

const words = (number: number, count = 20) =>
  Array.from({ length: count }, (_, n) => `${number}.${n} `).join("");

const twenty = `export const run = durable(async function* (step) {
  const work = (number) => step("speaker", () => say("speaker", number));
  yield* step.all(Array.from({ length: 20 }, (_, number) => work(number)));
  return "done";
});`;

const numberOf = (step: Pick<Step, "content">) => Number(step.content.replace("said ", ""));

describe("twenty concurrent attempts of one role", () => {
  test.each([
    ["step.all", twenty],
    [
      "attempts that a role opens",
      `export const run = async function* (input, { attempts }) {
        const one = async (number) => {
          const attempt = attempts.open({ role: "speaker" });
          return { content: await attempt.run(() => say("speaker", number)), attempt: attempt.id };
        };
        for (const done of await Promise.all(Array.from({ length: 20 }, (_, number) => one(number)))) {
          yield { role: "speaker", meta: {}, ...done };
        }
        return { returnCode: 0, summary: "" };
      };`,
    ],
  ])("have separate texts, tokens and costs: %s", async (_, body) => {
    const store = new TestStore();
    const ref = await store.start(await store.add(await built(body)));
    const { steps } = await store.whenStatus(ref, "completed");
    const attempts = (await attemptsOf(store, ref)).filter(({ role }) => role === "speaker");
    expect(attempts.map(({ step }) => step)).toEqual(Array.from(steps.keys(), (at) => at + 1));
    for (const [at, step] of steps.entries()) {
      const number = numberOf(step);
      const attempt = attempts[at] as Attempt;
      expect(attempt).toMatchObject({ status: "committed", cost: number / 1000, unknown: 0 });
      expect([textOf(attempt), attempt.usage?.output_tokens]).toEqual([words(number), number]);
    }
  });

  test("are distinguished after a kill and in the resumed thread: interrupted attempts are lost", async () => {
    const store = new TestStore();
    const gate = join(store.folder, "gate");
    const body = twenty.replace(
      'say("speaker", number)',
      `(async () => {
        const said = await say("speaker", number, number < 10 ? 5 : 400);
        const { existsSync } = process.getBuiltinModule("node:fs");
        while (number >= 10 && !existsSync(${JSON.stringify(gate)})) await sleep(5);
        return said;
      })()`,
    );
    const ref = await store.start(await store.add(await built(body)));
    await store.whenSteps(ref, 10);
    const isAtWork = (attempt: Attempt) => attempt.step === null && textOf(attempt) !== "";
    await until(async () => (await attemptsOf(store, ref)).filter(isAtWork).length === 10);
    await store.signalWorkers("SIGKILL");
    writeFileSync(gate, "");
    const before = await attemptsOf(store, ref);
    const lost = before.filter(({ status }) => status === "lost");
    expect(lost).toHaveLength(10);
    for (const attempt of lost) expect(new Set(textOf(attempt).match(/\d+(?=\.)/g)).size).toBe(1);
    await resumeThread(store.root, ref, { env: store.env });
    const { steps } = await store.whenStatus(ref, "completed");
    const after = await attemptsOf(store, ref);
    expect(after.filter(({ status }) => status === "committed").length).toBe(steps.length);
    expect(after.filter(({ status }) => status === "lost").map((one) => one.attempt)).toEqual(
      lost.map((one) => one.attempt),
    );
    for (const attempt of after.filter(({ status }) => status === "committed")) {
      const number = numberOf(steps[(attempt.step ?? 0) - 1] as Step);
      expect(textOf(attempt)).toBe(words(number, number < 10 ? 5 : 400));
    }
  }, 180_000);
});

describe("the attempts of", () => {
  test("a quick step without events appear only in its record", async () => {
    const store = new TestStore();
    const body = `export const run = durable(async function* (step) {
      for (let n = 0; n < 50; n += 1) yield* step("quick", () => n);
      return "done";
    });`;
    const ref = await store.start(await store.add(await built(body)));
    const { steps } = await store.whenStatus(ref, "completed");
    expect(new Set(steps.map(({ attempt }) => attempt)).size).toBe(50);
    expect(eventsOf(store, ref).filter(({ type }) => type === "attempt_start").length).toBeLessThan(
      10,
    );
    expect((await attemptsOf(store, ref)).every(({ startedAt }) => startedAt !== null)).toBe(true);
  });

  test("a moderator's roles name the role while it works", async () => {
    const store = new TestStore();
    const body = `export const run = createRoleModerator({
      roles: { slow: async () => { await sleep(1e6); return { content: "", meta: {} }; } },
      moderator: (ctx) => (ctx.steps.length === 0 ? "slow" : END),
    });`;
    const ref = await store.start(await store.add(await built(body)));
    await until(() => store.notes(ref).includes("attempt_start"));
    const running = eventsOf(store, ref).filter(({ type }) => type === "attempt_start");
    expect(running.map(({ payload }) => payload.role)).toEqual(["slow"]);
    await killThread(store.root, ref);
    await store.whenStatus(ref, "killed");
    expect(await attemptsOf(store, ref)).toMatchObject([
      { role: "slow", status: "cancelled", step: null },
    ]);
  });

  test("a failure that ends the thread are named in its end record", async () => {
    const store = new TestStore();
    const body = `export const run = durable(async function* (step) {
      yield* step("fragile", () => { throw new Error("broken"); });
      return "done";
    });`;
    const ref = await store.start(await store.add(await built(body)));
    await store.whenStatus(ref, "failed");
    const [attempt] = await attemptsOf(store, ref);
    expect(attempt).toMatchObject({ role: "fragile", status: "failed", step: null });
    expect(store.lines(ref).at(-1)?.meta).toMatchObject({ error: { attempt: attempt?.attempt } });
    const { threadId } = await retry(store.root, ref, { env: store.env });
    await store.whenStatus({ ...ref, threadId }, "failed");
  });
});

test("a bundle can't fake the end of an attempt or the start of a worker by an event", async () => {
  const store = new TestStore();
  const body = `export const run = durable(async function* (step) {
    yield* step("a", () => {
      publish("a", "worker_start", { pid: 1, steps: 0 });
      publish("a", "attempt_end", { outcome: "failed" });
      return "fine";
    });
    return "done";
  });`;
  const ref = await store.start(await store.add(await built(body)));
  await store.whenStatus(ref, "completed");
  expect(await attemptsOf(store, ref)).toMatchObject([{ role: "a", status: "committed" }]);
  // The debug log is written shortly after the last step.
  const starts = () => store.notes(ref).match(/"worker_start"/g)?.length;
  await until(
    () => starts() === 2,
    () => `found worker_start ${starts()} times`,
  );
});
