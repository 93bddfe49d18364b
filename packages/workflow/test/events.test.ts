import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { follow } from "../src/host/rules.ts";
import { removeThread } from "../src/local/workers/control.ts";
import { openLocalHost } from "../src/local/host.ts";
import type { InfoRecord } from "../src/record/record.ts";
import { dataPath, infoPath } from "../src/disk/paths.ts";
import type { ThreadRef } from "../src/record/thread.ts";
import { bundleOf } from "./fixtures/bundles.ts";
import { removeStores, TestStore } from "./fixtures/store.ts";
import { until } from "./fixtures/until.ts";

afterAll(removeStores);

/** A bundle that imports only Node modules and publishes events. */
const publishing = (body: string) =>
  `import { channel } from "node:diagnostics_channel";
const events = channel("uncaged.workflow");
const publish = (stepID, type, payload = {}) => events.publish({ type, stepID, payload });
${bundleOf(body)}`;

/** A bundle whose steps stream their words before they are committed. */
const speaker = publishing(`
  for (let n = input.steps.length; n < (options.count ?? 3); n += 1) {
    publish("speaker", "step_start", { n });
    for (let word = 0; word < (options.words ?? 20); word += 1) {
      publish("speaker", "llm_token", { delta: n + "." + word + " " });
      if (options.delayMs) await sleep(options.delayMs);
    }
    publish("speaker", "llm_done", { n });
    yield step("speaker", String(n), { n });
  }
`);

const allEventsOf = (store: TestStore, { hash, threadId }: ThreadRef): InfoRecord[] =>
  readFileSync(infoPath(store.root, hash, threadId), "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as InfoRecord)
    .filter(({ type }) => type !== undefined);

/** The events that the workflow itself published. */
const eventsOf = (store: TestStore, ref: ThreadRef): InfoRecord[] =>
  allEventsOf(store, ref).filter(({ type }) => !/^(worker|attempt)_/.test(type ?? ""));

const deltaOf = ({ payload }: InfoRecord) => (payload as { delta?: string }).delta ?? "";

describe("an event of a workflow", () => {
  test("is in the log before its step, numbered, in few lines", async () => {
    const store = new TestStore();
    const ref = await store.start(await store.add(speaker), "", { options: { words: 500 } });
    await store.whenStatus(ref, "completed");
    const events = eventsOf(store, ref);
    const all = allEventsOf(store, ref);
    expect(all.map(({ seq }) => seq)).toEqual(all.map((_, index) => index + 1));
    expect(events.length).toBeLessThan(30);
    for (const step of [1, 2, 3]) {
      const own = events.filter((event) => event.step === step);
      expect([own[0]?.type, own.at(-1)?.type]).toEqual(["step_start", "llm_done"]);
      const words = Array.from({ length: 500 }, (_, word) => `${step - 1}.${word} `).join("");
      expect(own.map(deltaOf).join("")).toBe(words);
    }
  });

  test("is durable with its step", async () => {
    const store = new TestStore();
    const body = `publish("a", "llm_token", { delta: "said" });
      yield step("a");
      await aborted;`;
    const ref = await store.start(await store.add(publishing(body)));
    await until(() =>
      readFileSync(dataPath(store.root, ref.hash, ref.threadId), "utf8").includes('"role":"a"'),
    );
    await store.signalWorkers("SIGKILL");
    expect(eventsOf(store, ref).map(deltaOf)).toEqual(["said"]);
  });

  test("is shown while the step runs", async () => {
    const store = new TestStore();
    const body = `publish("a", "llm_token", { delta: "Hello" }); await aborted;`;
    const ref = await store.start(await store.add(publishing(body)));
    for await (const item of follow(openLocalHost({ path: store.root }), ref)) {
      if (item.kind !== "event" || item.event.type !== "llm_token") continue;
      expect(item.event).toMatchObject({ type: "llm_token", payload: { delta: "Hello" }, step: 1 });
      break;
    }
    expect((await store.read(ref)).steps).toEqual([]);
  });

  test("goes to its own thread among many in one worker", async () => {
    const store = new TestStore();
    const hash = await store.add(
      publishing(`for (let n = 0; n < 20; n += 1) {
        publish("a", "llm_token", { delta: input.prompt });
        await sleep(1);
      }
      yield step("a");`),
    );
    const prompts = Array.from({ length: 12 }, (_, n) => String.fromCharCode(97 + n));
    const refs = await Promise.all(prompts.map((prompt) => store.start(hash, prompt)));
    for (const [index, ref] of refs.entries()) {
      await store.whenStatus(ref, "completed");
      expect(eventsOf(store, ref).map(deltaOf).join("")).toBe((prompts[index] ?? "").repeat(20));
    }
  });

  test("does not fail its thread, for any value", async () => {
    const store = new TestStore();
    const body = `const trap = new Proxy({}, { get() { throw new Error("mine"); } });
      for (const odd of [trap, null, 1, "x", {}, { type: 1 }, { type: "own", stepID: {}, payload: trap }])
        events.publish(odd);
      const cycle = {}; cycle.self = cycle;
      publish("a", "own", cycle);
      publish("a", "own", { big: "x".repeat(50_000_000) });
      yield step("a");`;
    const ref = await store.start(await store.add(publishing(body)));
    await store.whenStatus(ref, "completed");
    expect(eventsOf(store, ref).map(({ payload }) => payload)).toEqual([
      { _truncated: true },
      { _truncated: true },
      { big: expect.objectContaining({ _truncated: true, length: 50_000_002 }) },
    ]);
  });

  test("does not contain a secret even if the bundle replaced the masking built-ins before its first event", async () => {
    const store = new TestStore();
    const body = `String.prototype.toUpperCase = () => "";
      publish("a", "own", { text: "it is " + env.ANTHROPIC_API_KEY });
      yield step("a");`;
    const env = { ...store.env, ANTHROPIC_API_KEY: "sk-ant-0123456789" };
    const ref = await store.start(await store.add(publishing(body)), "", { env });
    await store.whenStatus(ref, "completed");
    expect(eventsOf(store, ref).map(({ payload }) => payload)).toEqual([{ text: "it is ***" }]);
  });
});

test("the debug log of a removed thread stays deleted, even if its role continues to publish", async () => {
  const store = new TestStore();
  const body = `setInterval(() => publish("a", "own"), 1);
    await aborted;`;
  const ref = await store.start(await store.add(publishing(body)));
  const path = infoPath(store.root, ref.hash, ref.threadId);
  await until(() => existsSync(path));
  await removeThread(store.root, ref, { force: true });
  expect(existsSync(path)).toBe(false);
  const other = await store.start(ref.hash);
  await until(() => existsSync(infoPath(store.root, ref.hash, other.threadId)));
  expect(existsSync(path)).toBe(false);
});
