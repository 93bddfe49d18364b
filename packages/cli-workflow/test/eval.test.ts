import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { samplesIn } from "../../../test/samples.ts";
import type { EvalReport } from "../src/eval/report.ts";
import { command, prepared } from "./evaluated.ts";
import { removeFolders, Store } from "./program.ts";

afterAll(removeFolders);
setDefaultTimeout(180_000);

const call = ["eval", "v1.ts", ...command];

test("the data set, the scorer and the commands of the guide to evals work", async () => {
  const guide = readFileSync(join(import.meta.dir, "../../../docs/guides/evals.md"), "utf8");
  const [cases = ""] = samplesIn(guide, "jsonl");
  const [scorer = ""] = samplesIn(guide, "ts");
  const commands = samplesIn(guide, "sh").flatMap((text) => text.trim().split("\n"));
  expect(commands).toHaveLength(4);
  const store = new Store();
  const put = (name: string, text: string) => writeFileSync(join(store.folder, name), text);
  const version = (files: string) => `
    import { createRoleModerator, END } from "@uncaged/workflow";
    const planner = async ({ start }) =>
      ({ content: "", meta: { files: start.content.includes("typo") ? ["README.md"] : ${files} } });
    export const descriptor = { description: "", roles: { planner: { description: "", schema: {} } } };
    export const run = createRoleModerator({
      roles: { planner },
      moderator: ({ steps }) => (steps.length > 0 ? END : "planner"),
    });`;
  put("plan.ts", version('["a.ts"]'));
  const baseline = (await store.ok(["add", "plan", "plan.ts"])).trim();
  put("plan.ts", version('["a.ts", "b.ts"]'));
  await store.ok(["add", "plan", "plan.ts"]);
  put("cases.jsonl", cases);
  put("score.ts", scorer);
  const [compare = "", threshold = "", record = "", replay = ""] = commands;
  const words = (line: string) =>
    line
      .replace(/@[A-Z0-9]{7}/, `@${baseline}`)
      .split(" ")
      .slice(1);
  expect(await store.ok(words(compare))).toContain("no case got worse; 1 case got better");
  await store.ok(words(threshold));
  mkdirSync(join(store.folder, "fixtures"));
  const [exported = "", file = ""] = record.split(" > ");
  for (const { id } of cases
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { id: string })) {
    put(file.replace("rename", id), await store.ok(words(exported)));
  }
  expect((await store.run(words(replay))).code).toBe(0);
});

test("an eval without any score ends with 1, and shows the scorer's line that threw", async () => {
  const cases = ["a", "b"].map((id) => ({ id, prompt: id, metadata: { breaks: true } }));
  const store = prepared(cases);
  const { code, stderr, stdout } = await store.run(call);
  expect(code).toBe(1);
  expect(stderr).toMatch(/v1\.ts@\S{13}: no run has a score\n/);
  expect(stdout).toContain("the scorer failed: score.ts:3:37: TypeError: this one breaks");
  expect(stdout.split("> 3 |     if (metadata?.breaks) throw new TypeError").length).toBe(2);
  const missed = await store.run([...call, "--min-pass", "0.5"]);
  expect(missed.code).toBe(3);
  const { runs } = JSON.parse((await store.run([...call, "--json"])).stdout) as EvalReport;
  expect(runs[0]?.error).toMatchObject({
    code: "SCORER_FAILED",
    thrown: { name: "TypeError", at: { file: "score.ts", line: 3, column: 37 } },
  });
});

test("a case answers its thread's questions; without a valid answer it has no score", async () => {
  const store = new Store();
  const workflow = `import { durable } from "@uncaged/workflow";
    export const descriptor = { description: "", roles: {} };
    export const run = durable(async function* (step) {
      const name = yield* step.wait("name", { content: "Who are you?" });
      yield* step.sleep("10ms");
      const age = yield* step.wait("age", { content: "How old?", schema: { type: "integer" } });
      return name.content + " is " + String(age.meta.value);
    });`;
  writeFileSync(join(store.folder, "v1.ts"), workflow);
  const scorer = "export default ({ expected }, { result }) => result.summary === expected;";
  writeFileSync(join(store.folder, "score.ts"), scorer);
  const age = { content: "three", meta: { value: 3 } };
  const cases = [
    { id: "texts", prompt: "", answers: ["Ada", "36"], expected: "Ada is 36" },
    { id: "whole", prompt: "", answers: ["Bob", age, "unused"], expected: "Bob is 3" },
    { id: "short", prompt: "", answers: ["Eve"] },
    { id: "none", prompt: "" },
    { id: "wrong", prompt: "", answers: ["Eve", "old"] },
  ];
  writeFileSync(
    join(store.folder, "cases.jsonl"),
    cases.map((one) => JSON.stringify(one)).join("\n"),
  );
  const { runs } = JSON.parse(await store.ok([...call, "--json"])) as EvalReport;
  expect(runs.map(({ case: id, error, pass }) => [id, pass, error?.message ?? null])).toEqual([
    ["texts", true, null],
    ["whole", true, null],
    ["short", false, 'no answer to "How old?": add it to the "answers" of the case'],
    ["none", false, 'no answer to "Who are you?": add it to the "answers" of the case'],
    ["wrong", false, expect.stringContaining("integer")],
  ]);
  writeFileSync(join(store.folder, "cases.jsonl"), '{"prompt":"","answers":["a",1]}');
  const { code, stderr } = await store.run(call);
  expect(code).toBe(2);
  expect(stderr).toContain("cases.jsonl:1:24: answer 2 is neither a string nor");
});
