import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { EvalReport } from "../src/eval/report.ts";
import { command, lines, prepared } from "./evaluated.ts";
import { planOf } from "./planned.ts";
import { removeFolders } from "./program.ts";

afterAll(removeFolders);
setDefaultTimeout(120_000);

const agent = fileURLToPath(new URL("../../workflow-plan/test/agents/claude.mjs", import.meta.url));

test("a plan is answered by the fixture of a thread, and no agent is started", async () => {
  const store = prepared([]);
  const plan = planOf({ list: [], report: ["list"] }) as { steps: { description: string }[] };
  for (const [index, words] of ["say apples", "fail-once"].entries()) {
    (plan.steps[index] as { description: string }).description = words;
  }
  const failure_policy = { on_step_failure: "stop", max_retries: 1, retry_delay_ms: 1 };
  writeFileSync(join(store.folder, "plan.json"), JSON.stringify({ ...plan, failure_policy }));
  const id = await store.ok(["run", "plan.json", "--option", `agentCommand=${agent}`]);
  await store.until(id, "completed");
  const calls = join(store.folder, "calls");
  expect(readFileSync(calls, "utf8").trim().split("\n")).toHaveLength(3);
  rmSync(calls);
  // An agent that is started all the same is found as `claude`, and leaves the file again.
  const bin = join(store.folder, "bin");
  mkdirSync(bin);
  symlinkSync(agent, join(bin, "claude"));
  const env = { PATH: `${bin}:${process.env.PATH}` };
  const fixture = JSON.parse(await store.ok(["thread", id, "--fixture"])) as object;
  const scorer = `export default ({ expected }, { steps }) =>
    steps.some(({ content, meta }) => meta.event === "succeeded" && content === expected);`;
  writeFileSync(join(store.folder, "score.ts"), scorer);
  const one = { id: "a", expected: "said apples", fixture };
  writeFileSync(join(store.folder, "cases.jsonl"), lines([one]));
  const report = await store.ok(["eval", "plan.json", ...command, "--json"], { env });
  expect((JSON.parse(report) as EvalReport).versions).toMatchObject([
    { runs: 1, passed: 1, cost: 0, tokens: 0 },
  ]);
  expect(() => readFileSync(calls)).toThrow("ENOENT");
});
