import { afterEach, describe, expect, test } from "bun:test";
import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pauseThread, resumeThread } from "../src/local/workers/control.ts";
import type { ThreadRef } from "../src/record/thread.ts";
import { asker } from "./fixtures/bundles.ts";
import { removeStores, TestStore } from "./fixtures/store.ts";
import { codeOf, until } from "./fixtures/until.ts";

afterEach(removeStores);

async function asked(wait: Record<string, unknown> = {}, more: Record<string, unknown> = {}) {
  const store = new TestStore();
  const ref = await store.start(await store.add(asker), "", { options: { wait, ...more } });
  const answer = (content: string, value?: unknown) =>
    resumeThread(store.root, ref, {
      env: {},
      input: value === undefined ? { content } : { content, value },
    });
  await until(() => store.roles(ref).includes("__wait__"));
  return { store, ref, answer };
}

type Asked = Awaited<ReturnType<typeof asked>>;

/** A question whose answer takes effect only after `open`. */
async function gated(): Promise<Asked & { open: () => void }> {
  const gate = join(tmpdir(), randomUUID());
  return { ...(await asked({}, { gate })), open: () => writeFileSync(gate, "") };
}

describe("an answer (F23)", () => {
  test("from a program has its given value, or the value of its text as JSON", async () => {
    for (const [content, value, heard] of [
      ['{"ok":true}', undefined, { ok: true }],
      ["3", "three", "three"],
      ["no JSON", undefined, null],
    ] as const) {
      const { store, ref, answer } = await asked(value === undefined ? {} : { schema: true });
      await answer(content, value);
      const { steps } = await store.whenStatus(ref, "completed");
      expect(steps[2]?.meta).toEqual({ value: heard });
    }
  });

  test("after the timeout is refused, and the thread continues with onTimeout", async () => {
    const { store, ref, answer } = await asked({ expiresAt: Date.now() + 150, onTimeout: "late" });
    const { steps } = await store.whenStatus(ref, "completed");
    expect(steps.map(({ role }) => role)).toEqual(["__wait__", "__input__", "heard"]);
    expect(steps[1]?.meta).toEqual({ for: "leave", timedOut: true, value: "late" });
    expect(await codeOf(answer("yes"))).toBe("THREAD_ENDED");
  });

  test("to a paused thread is kept until it continues", async () => {
    const { store, ref, answer } = await asked();
    if ((await codeOf(pauseThread(store.root, ref))).startsWith("no error")) {
      await answer("yes");
      await store.whenStatus(ref, "paused");
      expect(store.roles(ref)).toEqual([undefined, "__wait__", "__input__"]);
      await resumeThread(store.root, ref, { env: {} });
    }
    expect((await store.whenStatus(ref, "completed")).steps).toHaveLength(3);
  });

  test("arrives unchanged for every kind of text", async () => {
    const odd = '\0\u2028\u2029 é 漢 😀 \r\n \ud800 "__proto__"';
    const { store, ref, answer } = await asked();
    await answer(odd);
    const { steps } = await store.whenStatus(ref, "completed");
    expect(steps[1]?.content.replace(/[\ud800\ufffd]/, "?")).toBe(odd.replace("\ud800", "?"));
  });
});

describe("an answer with a token", () => {
  const wait = { token: "t1", stepID: "Pause_Ask" };
  const giver = (store: TestStore, ref: ThreadRef) => (content: string, meta: object) =>
    codeOf(resumeThread(store.root, ref, { env: {}, input: { content, meta: { ...meta } } }));

  test("is refused by a question without a token, and an answer without a token is accepted", async () => {
    const { store, ref } = await asked();
    expect(await giver(store, ref)("no", { token: "t0" })).toBe("ANSWER_TOKEN");
    const other = await asked(wait);
    expect(await giver(other.store, other.ref)("yes", {})).toStartWith("no error");
  });

  test("to a thread without a worker or a question is recorded as an event", async () => {
    const { store, ref } = await gated();
    const give = giver(store, ref);
    await give("yes", {});
    await store.signalWorkers("SIGKILL");
    expect(await give("again", { token: "t1" })).toBe("NOT_WAITING");
    await until(() => store.notes(ref).includes("pause_rejected"));
    expect(eventsOf(store, ref, "pause_rejected")).toMatchObject([{ stepID: null }]);
  });
});

/** The events of a type in a thread's debug log. */
const eventsOf = (store: TestStore, ref: ThreadRef, type: string) =>
  store
    .notes(ref)
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter((line) => line.type === type)
    .map(({ stepID, payload }) => ({ stepID, payload }));
