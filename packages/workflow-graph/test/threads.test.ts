import { afterEach, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildSource, openLocalHost } from "@uncaged/workflow/host";
import { removeStores, TestStore } from "../../workflow/test/fixtures/store.ts";
import { until } from "../../workflow/test/fixtures/until.ts";

setDefaultTimeout(180_000);
afterEach(removeStores);

let held = "";
beforeAll(async () => {
  const path = fileURLToPath(new URL("./bundles/held.ts", import.meta.url));
  held = new TextDecoder().decode((await buildSource(path)).bytes);
});

const begun = (store: TestStore): string[] => {
  const path = join(store.folder, "begun");
  return existsSync(path) ? readFileSync(path, "utf8").trimEnd().split("\n") : [];
};

test("finished work is not repeated after kills with running agents, at a question and after an answer", async () => {
  const store = new TestStore();
  const host = openLocalHost({ path: store.root });
  const ref = await store.start(await store.add(held), "go");
  const kill = async () => {
    await store.signalWorkers("SIGKILL");
    return await store.whenStatus(ref, "interrupted", "waiting");
  };
  const resume = () => host.control(ref, { kind: "resume", env: store.env });

  // Wait until one agent has finished. The concurrent agent is still running.
  await store.whenSteps(ref, 2);
  await until(() => begun(store).length === 2);
  expect((await kill()).status).toBe("interrupted");
  writeFileSync(join(store.folder, "go-slow"), "");
  await resume();

  // A waiting thread needs no worker.
  await store.whenStatus(ref, "waiting");
  expect((await kill()).status).toBe("waiting");
  const value = { decision: "reject", note: "shorter" };
  const input = { content: JSON.stringify(value), value };
  await host.control(ref, { kind: "answer", env: store.env, input });
  await store.whenSteps(ref, 7);
  await store.whenStatus(ref, "waiting");

  // The question has an answer, and the next nodes run.
  const late = { content: "yes", meta: { token: "ask#1" } };
  const again = host.control(ref, { kind: "answer", env: store.env, input: late });
  expect(again).rejects.toMatchObject({ code: "ANSWER_TOKEN" });
  const yes = { content: "yes", meta: { token: "ask#2" } };
  await host.control(ref, { kind: "answer", env: store.env, input: yes });
  await until(() => begun(store).includes("writer"));
  expect((await kill()).status).toBe("interrupted");
  writeFileSync(join(store.folder, "go-writer"), "");
  await resume();
  const { result, steps } = await store.whenStatus(ref, "completed");

  expect(steps.map(({ role }) => role)).toEqual([
    ...["s", "quick", "slow", "__wait__", "__input__", "quick", "__wait__", "__input__", "writer"],
  ]);
  expect(begun(store)).toEqual(["quick", "slow", "slow", "quick", "writer", "writer"]);
  const revised = "quick(quick(go)\n\nslow(go)\n\nReviewer feedback (rejected): shorter)";
  expect(steps[5]?.content).toBe(revised);
  expect(result?.summary).toBe(`writer(${revised})`);

  const attempts = await host.attempts(ref);
  const shown = attempts.map(({ path, role, status }) => [role, status, path]);
  expect(shown).toContainEqual(["slow", "lost", []]);
  expect(shown).toContainEqual(["slow", "committed", []]);
  expect(shown).toContainEqual([
    "quick",
    "committed",
    [{ in: "run", child: "quick", iteration: 1 }],
  ]);
});
