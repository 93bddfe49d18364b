import { afterEach, describe, expect, test } from "bun:test";
import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { killThread, pauseThread, resumeThread } from "../src/local/control.ts";
import { dataPath } from "../src/storage/paths.ts";
import type { ThreadRef } from "../src/thread/thread.ts";
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

/** A question whose answer has no effect before {@link open}. */
async function gated(): Promise<Asked & { open: () => void }> {
  const gate = join(tmpdir(), randomUUID());
  return { ...(await asked({}, { gate })), open: () => writeFileSync(gate, "") };
}

/** A question whose worker is killed before its time is over, on a slow machine with more of it. */
async function askedInVain(ms = 400): Promise<Asked & { expiresAt: number }> {
  const expiresAt = Date.now() + ms;
  const found = await asked({ expiresAt, onTimeout: "late" });
  await found.store.signalWorkers("SIGKILL");
  const isStillAsked = found.store.roles(found.ref).at(-1) === "__wait__";
  return isStillAsked ? { ...found, expiresAt } : await askedInVain(ms * 2);
}

describe("an answer (F23)", () => {
  test("reaches the workflow, and a second one is refused", async () => {
    const { store, ref, answer } = await asked();
    await answer("yes", { ok: true });
    expect(await codeOf(answer("again"))).toMatch(/NOT_WAITING|THREAD_ENDED/);
    const { steps } = await store.whenStatus(ref, "completed");
    expect(steps.map(({ role, content }) => `${role} ${content}`)).toEqual([
      "__wait__ may I?",
      "__input__ yes",
      "heard yes",
    ]);
    expect(steps[2]?.meta).toEqual({ value: { ok: true } });
  });

  test("of a program has the value that its text is as JSON, or the one that it brings", async () => {
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

  for (const alive of [true, false]) {
    test(`of which eight are given at once is taken once, ${alive ? "by a live worker" : "when the worker is gone"}`, async () => {
      const { store, ref, answer } = await asked();
      if (!alive) await store.signalWorkers("SIGKILL");
      const said = await Promise.all(
        Array.from({ length: 8 }, (_, n) => codeOf(answer(String(n)))),
      );
      expect(said.filter((code) => code.startsWith("no error"))).toHaveLength(1);
      const { steps } = await store.whenStatus(ref, "completed");
      const taken = String(said.findIndex((code) => code.startsWith("no error")));
      expect(steps.map(({ content }) => content)).toEqual(["may I?", taken, taken]);
    });
  }

  for (const alive of [true, false]) {
    test(`that is right is taken beside wrong ones, ${alive ? "by a live worker" : "when the worker is gone"}`, async () => {
      const { store, answer } = await asked({ schema: { const: "yes" } });
      if (!alive) await store.signalWorkers("SIGKILL");
      const given = ["no", "nor", "yes", "never"].map((text) => codeOf(answer(text, text)));
      const said = await Promise.all(given);
      expect(said[2]).toStartWith("no error");
      for (const code of said.toSpliced(2, 1))
        expect(code).toMatch(/ANSWER_INVALID|NOT_WAITING|THREAD_ENDED/);
    });
  }

  test("that was acknowledged survives kill -9", async () => {
    for (let n = 0; n < 3; n += 1) {
      const { store, ref, answer, open } = await gated();
      await answer("yes");
      await store.signalWorkers("SIGKILL");
      expect(store.roles(ref)).toEqual([undefined, "__wait__", "__input__"]);
      expect((await store.read(ref)).status).toBe("interrupted");
      expect(await codeOf(answer("again"))).toBe("NOT_WAITING");
      open();
      await resumeThread(store.root, ref, { env: {} });
      const { steps } = await store.whenStatus(ref, "completed");
      expect(steps.map(({ content }) => content)).toEqual(["may I?", "yes", "yes"]);
    }
  });

  test("that breaks the schema is refused, noted, and leaves the question open", async () => {
    const { store, ref, answer } = await asked({ schema: { type: "boolean" } });
    expect(await codeOf(answer("maybe"))).toBe("ANSWER_INVALID");
    expect(store.roles(ref)).toEqual([undefined, "__wait__"]);
    await until(() => store.notes(ref).includes("answer refused"));
    await answer("true", true);
    await store.whenStatus(ref, "completed");
  });

  test("after the time is over is refused, and the thread goes on with onTimeout", async () => {
    const { store, ref, answer } = await asked({ expiresAt: Date.now() + 150, onTimeout: "late" });
    const { steps } = await store.whenStatus(ref, "completed");
    expect(steps.map(({ role }) => role)).toEqual(["__wait__", "__input__", "heard"]);
    expect(steps[1]?.meta).toEqual({ for: "leave", timedOut: true, value: "late" });
    expect(await codeOf(answer("yes"))).toBe("THREAD_ENDED");
  });

  test("after the time is over, when the worker was gone, is refused, and onTimeout is taken", async () => {
    const { store, ref, answer, expiresAt } = await askedInVain();
    await until(() => Date.now() > expiresAt);
    expect(await codeOf(answer("yes"))).toMatch(/ANSWER_LATE|NOT_WAITING|THREAD_ENDED/);
    const { steps } = await store.whenStatus(ref, "completed");
    expect(steps.map(({ content }) => content)).toEqual(["may I?", "", ""]);
  });

  test("to a thread that is paused is kept until it goes on", async () => {
    const { store, ref, answer } = await asked();
    if ((await codeOf(pauseThread(store.root, ref))).startsWith("no error")) {
      await answer("yes");
      await store.whenStatus(ref, "paused");
      expect(store.roles(ref)).toEqual([undefined, "__wait__", "__input__"]);
      await resumeThread(store.root, ref, { env: {} });
    }
    expect((await store.whenStatus(ref, "completed")).steps).toHaveLength(3);
  });

  test("to a thread that was killed is refused", async () => {
    const { store, ref, answer } = await asked();
    await killThread(store.root, ref);
    expect(await codeOf(answer("yes"))).toBe("THREAD_ENDED");
    expect(store.roles(ref)).toEqual([undefined, "__wait__", "__end__"]);
  });

  test("to a thread that asks nothing is refused, and resume without one says how", async () => {
    const { store, ref } = await asked();
    expect(await codeOf(resumeThread(store.root, ref, { env: {} }))).toBe("WAITING");
    await store.signalWorkers("SIGKILL");
    expect(await codeOf(resumeThread(store.root, ref, { env: {} }))).toBe("WAITING");
    expect((await store.read(ref)).status).toBe("waiting");
    expect(dataPath(store.root, ref.hash, ref.threadId)).toContain(ref.threadId);
  });

  test("of every kind of text arrives as it was given", async () => {
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

  test("must bring the question's own, and what is refused is an event of its step", async () => {
    const { store, ref } = await asked(wait);
    const give = giver(store, ref);
    expect(await give("no", { token: "t0" })).toBe("ANSWER_TOKEN");
    await until(() => store.notes(ref).includes("pause_rejected"));
    expect(eventsOf(store, ref, "pause_rejected")).toEqual([
      {
        stepID: "Pause_Ask",
        payload: { reason: "the answer's token is not that of leave" },
      },
    ]);
    expect(await give("yes", { token: "t1" })).toStartWith("no error");
    const { steps } = await store.whenStatus(ref, "completed");
    expect(steps[1]?.meta).toEqual({ token: "t1", for: "leave" });
  });

  test("is refused by a question that has none, and one without a token is taken", async () => {
    const { store, ref } = await asked();
    expect(await giver(store, ref)("no", { token: "t0" })).toBe("ANSWER_TOKEN");
    const other = await asked(wait);
    expect(await giver(other.store, other.ref)("yes", {})).toStartWith("no error");
  });

  test("to a thread that no worker drives and that asks nothing is an event too", async () => {
    const { store, ref } = await gated();
    const give = giver(store, ref);
    await give("yes", {});
    await store.signalWorkers("SIGKILL");
    expect(await give("again", { token: "t1" })).toBe("NOT_WAITING");
    await until(() => store.notes(ref).includes("pause_rejected"));
    expect(eventsOf(store, ref, "pause_rejected")).toMatchObject([{ stepID: null }]);
  });
});

describe("an answer with a request id", () => {
  const input = { content: "yes", meta: { requestId: "r1" } };

  test("has one effect, however often it is given and whatever has become of the thread", async () => {
    const { store, ref, open } = await gated();
    const give = () => resumeThread(store.root, ref, { env: {}, input });
    const replies = await Promise.all([give(), give(), give()]);
    await store.signalWorkers("SIGKILL");
    expect((await store.read(ref)).status).toBe("interrupted");
    replies.push(await give());
    expect((await store.read(ref)).status).toBe("interrupted");
    open();
    await resumeThread(store.root, ref, { env: {} });
    await store.whenStatus(ref, "completed");
    replies.push(await give());
    await store.signalWorkers("SIGKILL");
    replies.push(await give());
    expect(replies.map(({ threadId }) => threadId)).toEqual(Array(6).fill(ref.threadId));
    expect(store.roles(ref)).toEqual([undefined, "__wait__", "__input__", "heard", "__end__"]);
    expect(eventsOf(store, ref, "pause_rejected")).toEqual([]);
  });

  test("is judged when it was not taken", async () => {
    const { store, ref } = await asked({ schema: { type: "boolean" } });
    const give = (value: unknown, requestId: string) =>
      codeOf(
        resumeThread(store.root, ref, {
          env: {},
          input: { content: String(value), value, meta: { requestId } },
        }),
      );
    expect(await give("maybe", "r1")).toBe("ANSWER_INVALID");
    expect(await give(true, "r1")).toStartWith("no error");
    await store.whenStatus(ref, "completed");
    expect(await give(true, "r2")).toBe("THREAD_ENDED");
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
