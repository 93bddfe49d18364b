import { afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Attempt, Step } from "@uncaged/workflow";
import { buildSource, openLocalHost, type ThreadRef } from "@uncaged/workflow/host";
import { removeStores, TestStore } from "../../workflow/test/fixtures/store.ts";
import { codeOf, until } from "../../workflow/test/fixtures/until.ts";
import { stepsBefore } from "../src/state/path.ts";
import { stepsSource } from "../src/source.ts";
import { countsOf } from "./generated/run.ts";

setDefaultTimeout(180_000);
afterEach(removeStores);

let marking = "";
beforeAll(async () => {
  const path = fileURLToPath(new URL("./bundles/marking.ts", import.meta.url));
  marking = new TextDecoder().decode((await buildSource(path)).bytes);
});

const linesIn = (store: TestStore): string[] => {
  const path = join(store.folder, "lines");
  return existsSync(path) ? readFileSync(path, "utf8").trimEnd().split("\n") : [];
};

const logOf = (store: TestStore, { hash, threadId }: ThreadRef): string =>
  readFileSync(join(store.root, "logs", hash, `${threadId}.data.jsonl`), "utf8");

/** The last value that was written to each variable, whole or in parts. */
function writesIn(steps: readonly Step[]): Record<string, unknown> {
  const writes = steps.flatMap(({ role, meta }) =>
    role.includes("/") ? [] : ((meta.variables ?? []) as { path: string[]; value: unknown }[]),
  );
  return Object.fromEntries(writes.map(({ path, value }) => [path.join("."), value]));
}

describe("a loop of a hundred whose worker is killed at 60", () => {
  test("goes on at 60, and does none of them twice", async () => {
    const store = new TestStore();
    const ref = await store.start(await store.add(marking), "loop", { maxRounds: 1000 });
    await until(() => existsSync(join(store.folder, "held")));
    await store.signalWorkers("SIGKILL");
    const killed = await store.read(ref);
    expect([killed.status, killed.steps.length, linesIn(store).length]).toEqual([
      "interrupted",
      60,
      60,
    ]);
    const last = { in: "Loop_Hundred", child: "Tool_Hundred", iteration: 59 };
    expect(killed.steps.at(-1)?.meta.path).toContainEqual(last);
    writeFileSync(join(store.folder, "go"), "");
    await openLocalHost({ path: store.root }).control(ref, { kind: "resume", env: store.env });
    const { steps } = await store.whenStatus(ref, "completed");
    expect(linesIn(store)).toEqual(Array.from({ length: 100 }, (_, at) => `hundred ${at}`));
    expect(writesIn(steps)).toEqual({ $sum: 4950 });
  });
});

describe("four iterations at once that stream", () => {
  const textOf = ({ turns }: Attempt): string =>
    turns.map((turn) => (turn.kind === "text" ? turn.text : "")).join("");
  const asked = (attempts: readonly Attempt[], status: Attempt["status"]): Attempt[] =>
    attempts
      .filter((attempt) => attempt.role === "LLM_A" && attempt.status === status)
      .toSorted((one, other) => (JSON.stringify(one.path) < JSON.stringify(other.path) ? -1 : 1));

  test("have each their own text, live, killed, resumed and in a fork", async () => {
    const store = new TestStore();
    const host = openLocalHost({ path: store.root });
    const path = fileURLToPath(new URL("./bundles/streaming.ts", import.meta.url));
    const hash = await store.add(new TextDecoder().decode((await buildSource(path)).bytes));
    const ref = await store.start(hash, "", { maxRounds: 1000 });
    const begun = [0, 1, 2, 3].map((index) => `part ${index}: `);
    const whole = begun.map((text, index) => `${text}done part ${index}`);
    await until(async () => {
      const live = asked(await host.attempts(ref), "running");
      return live.map(textOf).join() === begun.join();
    });
    await store.signalWorkers("SIGKILL");
    await store.whenStatus(ref, "interrupted");
    expect(asked(await host.attempts(ref), "lost").map(textOf)).toEqual(begun);
    writeFileSync(join(store.folder, "go"), "");
    await host.control(ref, { kind: "resume", env: store.env });
    await store.whenStatus(ref, "completed");
    const fork = await host.fork(ref, { keep: { atStep: 4 }, env: store.env });
    await store.whenStatus(fork, "completed");
    for (const thread of [ref, fork]) {
      const attempts = await host.attempts(thread);
      const done = asked(attempts, "committed");
      expect(done.map(textOf)).toEqual(whole);
      expect(done.map(({ usage }) => usage?.output_tokens)).toEqual([1, 2, 3, 4]);
      expect(done.map(({ input }) => input?.resolvedInputs)).toMatchObject(
        [0, 1, 2, 3].map((index) => ({ prompt: `part ${index}` })),
      );
      expect(done.map(({ path: at }) => at)).toEqual(
        [0, 1, 2, 3].map((iteration) => [{ in: "Loop_A", child: "LLM_A", iteration }]),
      );
      expect(attempts.find(({ role }) => role === "Set_B")?.status).toBe("skipped");
    }
  });
});

describe("a thread with a fork, loops, a branch and a child, killed at random", () => {
  test("does no committed step again and ends as one that nobody disturbed", async () => {
    const store = new TestStore();
    const hash = await store.add(marking);
    const calm = await store.start(hash, "all", { maxRounds: 1000 });
    const { steps: whole } = await store.whenStatus(calm, "completed");
    const ref = await store.start(hash, "all", { maxRounds: 1000 });
    let kills = 0;
    for (let wanted = 1; kills < 8 && wanted < whole.length - 2; kills += 1) {
      const { status, steps } = await store.whenSteps(ref, wanted);
      if (status === "completed") break;
      await store.signalWorkers("SIGKILL");
      wanted = steps.length + 1 + Math.floor(Math.random() * 3);
      await openLocalHost({ path: store.root }).control(ref, { kind: "resume", env: store.env });
    }
    const { steps } = await store.whenStatus(ref, "completed");
    expect(kills).toBeGreaterThan(0);
    expect(countsOf(steps)).toEqual(countsOf(whole));
    expect(writesIn(steps)).toEqual(writesIn(whole));
    expect(writesIn(steps)).toMatchObject({ $sum: 16, $left: 10, "$ways.0": "even", "$ways.1": 2 });
  });
});

describe("a Pause", () => {
  const asking = {
    version: "3.18",
    name: "asking",
    registry: { vars: ["$answer(OBJECT)", "$said(STRING)"] },
    steps: [
      { id: "Pause_Ask", reason: "Ship it?", resumeResultTarget: "$answer", next: "Set_Said" },
      { id: "Set_Said", target: "$said", value: "='said ' + $answer.text", next: "RETURN" },
    ],
  };

  async function waiting() {
    const store = new TestStore();
    const file = join(store.folder, "asking.json");
    writeFileSync(file, JSON.stringify(asking));
    const sources = [stepsSource(() => undefined)];
    const add = (path: string) =>
      openLocalHost({ path: store.root }).register("asking", path, { sources });
    const { hash } = await add(file);
    const ref = await store.start(hash);
    const { steps } = await store.whenStatus(ref, "waiting");
    const answer = (text: string) =>
      openLocalHost({ path: store.root }).control(ref, {
        kind: "answer",
        env: {},
        input: { content: text, value: { text }, meta: { token: steps[0]?.meta.token } },
      });
    return { store, ref, file, add, answer };
  }

  test("survives the end of its worker, and of two answers at once one wins", async () => {
    const { store, ref, answer } = await waiting();
    await store.signalWorkers("SIGKILL");
    expect((await openLocalHost({ path: store.root }).read(ref)).status).toBe("waiting");
    const codes = await Promise.all([codeOf(answer("one")), codeOf(answer("two"))]);
    const won = codes.findIndex((code) => code.startsWith("no error"));
    expect(codes.filter((code) => code.startsWith("no error"))).toHaveLength(1);
    const { steps } = await store.whenStatus(ref, "completed");
    const text = ["one", "two"][won] as string;
    expect(writesIn(steps)).toEqual({ $answer: { text }, $said: `said ${text}` });
    expect(steps.map(({ role }) => role)).toEqual([
      "__wait__",
      "__input__",
      "Pause_Ask",
      "Set_Said",
    ]);
  });

  test("goes on as it began when its file was changed meanwhile", async () => {
    const { store, ref, file, add, answer } = await waiting();
    const again = join(store.folder, "again.json");
    writeFileSync(again, JSON.stringify(asking, null, 4));
    expect((await add(again)).hash).toBe(ref.hash);
    const [ask, said] = asking.steps;
    writeFileSync(file, JSON.stringify({ ...asking, steps: [ask, { ...said, value: "changed" }] }));
    expect((await add(file)).hash).not.toBe(ref.hash);
    await store.signalWorkers("SIGKILL");
    await answer("yes");
    const { steps } = await store.whenStatus(ref, "completed");
    expect(writesIn(steps)).toMatchObject({ $said: "said yes" });
  });

  test("can be rerun with other values: a fork, and the old log stays as it was", async () => {
    const { store, ref, answer } = await waiting();
    await answer("yes");
    const { steps } = await store.whenStatus(ref, "completed");
    const before = logOf(store, ref);
    const atStep = stepsBefore(steps, "Set_Said") ?? 0;
    const overrides = { $answer: { text: "no" } };
    const meta = { for: "rerun", stepID: "Set_Said", overrides };
    const fork = await openLocalHost({ path: store.root }).fork(ref, {
      env: {},
      keep: { atStep },
      input: { content: "again", meta },
    });
    const rerun = await store.whenStatus(fork, "completed");
    expect(writesIn(rerun.steps)).toMatchObject({ $said: "said no" });
    expect(rerun.steps.slice(0, atStep)).toEqual(steps.slice(0, atStep));
    expect(logOf(store, ref)).toBe(before);
  });
});
