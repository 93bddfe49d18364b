import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "../../workflow/test/fixtures/until.ts";
import type { EvalReport } from "../src/eval/report.ts";
import { command, lines, prepared, workIn } from "./evaluated.ts";
import { removeFolders, type Store } from "./program.ts";

afterAll(removeFolders);
setDefaultTimeout(120_000);

type Row = { threadId: string; status: string };
const threadsOf = (store: Store) => store.json<Row[]>(["threads", "--limit", "100"]);

test("a data set runs on two versions, scored and compared; finished runs are not repeated", async () => {
  const store = prepared([
    { id: "a", prompt: "apple", expected: "one apple" },
    { id: "b", prompt: "pear", expected: "two pear" },
  ]);
  await store.ok(["add", "w", "v1.ts"]);
  const { hash } = await store
    .json<{ hash: string }>(["history", "w"])
    .then((all) => (all as unknown as { hash: string }[])[0] as { hash: string });
  await store.ok(["add", "w", "v2.ts"]);
  const both = ["eval", `w@${hash},w`, ...command];
  const first = await store.run(both);
  expect(first.code).toBe(0);
  expect(first.stdout).toMatch(/^VERSION +RUNS +PASS +SCORE +COST +P50 +P95\n/);
  expect(first.stdout).toContain("50%  0.625  $0.5000");
  expect(first.stdout).toMatch(
    /1 case got worse; 1 case got better\nCASE +PASSED +SCORE +THREADS\na +1\/1 -> 0\/1 +1\.000 -> 0\.250/,
  );
  expect(first.stderr).toContain("4 of 4 runs done, 0 at work, $1.00");
  expect(first.stderr).toContain("printed by the scorer");
  const report = JSON.parse((await store.run([...both, "--json"])).stdout) as EvalReport;
  expect(report).toMatchObject({
    ...{ cases: 2, repeat: 1, dataset: { file: "cases.jsonl" }, scorer: { file: "score.ts" } },
    versions: [
      {
        hash,
        workflow: "w",
        runs: 2,
        passed: 1,
        passRate: 0.5,
        score: 0.625,
        cost: 0.5,
        tokens: 2200,
      },
      { runs: 2, passed: 1, cost: 0.5 },
    ],
    changes: [{ worse: [{ case: "a" }], better: [{ case: "b" }] }],
    runs: [
      { hash, case: "a", n: 1, outcome: "scored", score: 1, pass: true, reason: "completed 0.25" },
      { hash, case: "b", score: 0.25, pass: false },
      { case: "a" },
      { case: "b" },
    ],
  });
  expect(workIn(store)).toEqual(["apple", "apple", "pear", "pear"]);
  const known = new Set((await threadsOf(store)).map(({ threadId }) => threadId));
  expect(known).toEqual(new Set(report.runs.map(({ threadId }) => threadId as string)));
  // A call with more runs keeps the finished runs. Renamed or reordered files are the same eval.
  writeFileSync(
    join(store.folder, "same.jsonl"),
    `\uFEFF${lines([
      { prompt: "apple", expected: "one apple", id: "a" },
      { id: "b", expected: "two pear", prompt: "pear" },
    ]).replace("\n", "\r\n")}\r\n`,
  );
  const repeated = ["eval", "w", "same.jsonl", "--score", "score.ts", "--repeat", "2", "--json"];
  const { versions, id } = JSON.parse(await store.ok(repeated)) as EvalReport;
  expect([id, versions[0]?.runs]).toEqual([report.id, 4]);
  expect(workIn(store)).toHaveLength(6);
  expect((await store.run(["verify"])).code).toBe(0);
});

test("runs that fail, wait, exceed a limit or get no score are counted, and a threshold decides the exit code", async () => {
  const prompts = ["fine", "fail", "ask", "dear", "round"];
  const cases = prompts.map((prompt) => ({ id: prompt, prompt, expected: "one fine" }));
  const store = prepared([...cases, { id: "breaks", prompt: "fine", metadata: { breaks: true } }]);
  const call = ["eval", "v1.ts", ...command, "--max-rounds", "5"];
  const { code, stdout, stderr } = await store.run([...call, "--min-pass", "0.5"]);
  expect(code).toBe(3);
  expect(stderr).toContain("the pass rate is 0.16666666666666666, below 0.5");
  expect(stdout).toMatch(
    /FAILED +WAITING +OVER BUDGET +OUT OF ROUNDS +NOT SCORED\n.*1 +1 +1 +1 +1\n/,
  );
  expect(stdout).toMatch(/fail +failed +\S{26} +no luck\n/);
  expect(stdout).toContain("TypeError: this one breaks");
  // Answered runs and runs without a score are scored again; failed runs are repeated only on request.
  const asked = (await threadsOf(store)).find(({ status }) => status === "waiting") as Row;
  await store.ok(["resume", asked.threadId, "--input", "Ada"]);
  await until(async () => (await threadsOf(store)).every(({ status }) => status !== "waiting"));
  const again = JSON.parse(
    (await store.run([...call, "--json", "--min-pass", "0.1"])).stdout,
  ) as EvalReport;
  expect(again.versions[0]?.outcomes).toEqual({
    scored: 2,
    failed: 1,
    waits: 0,
    budget: 1,
    rounds: 1,
    unscored: 1,
  });
  const before = workIn(store).length;
  const retried = JSON.parse(await store.ok([...call, "--json", "--retry-failed"])) as EvalReport;
  expect(retried.versions[0]?.outcomes).toEqual(again.versions[0]?.outcomes as never);
  // The retry runs the cases `fail` and `dear` once more, and `round` five times.
  expect(workIn(store).length - before).toBe(7);
});

describe("with recorded answers", () => {
  test("no role runs, nothing is spent, and a question gets its recorded answer", async () => {
    const store = prepared([]);
    const id = await store.ok(["run", "v1.ts", "--prompt", "ask apple"]);
    await store.until(id, "waiting");
    await store.ok(["resume", id, "--input", "Ada"]);
    await store.until(id, "completed");
    mkdirSync(join(store.folder, "fixtures"));
    const fixture = await store.ok(["thread", id, "--fixture"]);
    writeFileSync(join(store.folder, "fixtures/a.json"), fixture);
    expect(JSON.parse(fixture)).toMatchObject({
      ...{ format: "uncaged-workflow-fixture", version: 1, threadId: id, workflow: "v1.ts" },
      steps: [{ role: "worker" }, { role: "__wait__" }, { role: "__input__", content: "Ada" }],
    });
    const one = { id: "a", expected: "one ask apple" };
    writeFileSync(
      join(store.folder, "cases.jsonl"),
      lines([{ ...one, fixture: "fixtures/a.json" }]),
    );
    const report = JSON.parse(
      await store.ok(["eval", "v1.ts", ...command, "--json"]),
    ) as EvalReport;
    expect(report.versions).toMatchObject([{ passed: 1, cost: 0, tokens: 0 }]);
    const threadId = report.runs[0]?.threadId as string;
    const { steps } = await store.json<{ steps: { role: string; content: string }[] }>([
      "thread",
      threadId,
    ]);
    expect(steps.map(({ role, content }) => [role, content])).toEqual(
      (JSON.parse(fixture) as { steps: { role: string; content: string }[] }).steps.map(
        ({ role, content }) => [role, content],
      ),
    );
    writeFileSync(join(store.folder, "cases.jsonl"), lines([{ ...one, prompt: "ask apple" }]));
    const folder = await store.ok([
      "eval",
      "v1.ts",
      ...command,
      "--fixtures",
      "fixtures",
      "--json",
    ]);
    expect((JSON.parse(folder) as EvalReport).versions).toMatchObject([{ passed: 1, cost: 0 }]);
    expect(workIn(store)).toEqual(["ask apple"]);
  });

  test("a role without recorded answers is named, and a workflow that can't use recorded answers is refused", async () => {
    const store = prepared([]);
    const steps = [{ role: "other", content: "", meta: {} }];
    const head = {
      format: "uncaged-workflow-fixture",
      version: 1,
      threadId: "T",
      hash: "H",
      prompt: "p",
    };
    const cases = (workflow: string) => lines([{ id: "a", fixture: { ...head, workflow, steps } }]);
    const plain = `export const descriptor = { description: "", roles: {} };
      export async function* run() { yield { role: "a", content: "executed", meta: {} }; return { returnCode: 0, summary: "" }; }`;
    writeFileSync(join(store.folder, "plain.ts"), plain);
    writeFileSync(join(store.folder, "cases.jsonl"), cases("v1"));
    const named = await store.run(["eval", "v1.ts", ...command]);
    expect(named.stdout).toContain(`no answer for execution 1 of role "worker"`);
    const other = await store.run(["eval", "plain.ts", ...command]);
    expect([other.code, other.stderr]).toEqual([
      2,
      expect.stringContaining(`belongs to the workflow "v1", not to "plain.ts"`),
    ]);
    writeFileSync(join(store.folder, "cases.jsonl"), cases("plain"));
    const refused = await store.run(["eval", "plain.ts", ...command]);
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringContaining("this version does not support fixtures"),
    ]);
    expect((await threadsOf(store)).map(({ status }) => status)).toEqual(["failed", "failed"]);
    expect(workIn(store)).toEqual([]);
  });
});

test.each([
  ["workers too", true],
  ["the command alone", false],
])("an eval that was killed continues, and starts no thread twice: %s", async (_, isAll) => {
  const cases = ["a", "b", "c gate", "d gate", "e gate"];
  const store = prepared(
    cases.map((prompt) => ({ id: prompt, prompt, expected: `one ${prompt}` })),
  );
  const call = ["eval", "v1.ts", ...command, "--concurrency", "2", "--json"];
  const killed = store.start(call);
  await until(() => workIn(store).filter((line) => line.includes("gate")).length === 2);
  killed.kill("SIGKILL");
  await killed.exited;
  if (isAll) await store.killWorkers();
  writeFileSync(join(store.folder, "gate"), "");
  const report = JSON.parse(await store.ok(call)) as EvalReport;
  expect(report.versions).toMatchObject([{ runs: 5, passed: 5, cost: 1.25 }]);
  expect(await threadsOf(store)).toHaveLength(5);
  // A killed thread repeats only the role that was running.
  expect(workIn(store)).toHaveLength(isAll ? 7 : 5);
});

test("Ctrl-C ends an eval with exit code 130, and the next call continues it", async () => {
  const store = prepared([
    { id: "a", prompt: "a" },
    { id: "b", prompt: "b gate" },
    { id: "c", prompt: "c" },
  ]);
  const call = ["eval", "v1.ts", ...command, "--concurrency", "1"];
  const child = store.start(call);
  await until(() => workIn(store).includes("b gate"));
  child.kill("SIGINT");
  const [code, stderr] = [await child.exited, await child.stderr.text()];
  expect([code, stderr]).toEqual([
    130,
    expect.stringContaining("interrupted: 1 of 3 runs have a result; run it again to continue"),
  ]);
  writeFileSync(join(store.folder, "gate"), "");
  await store.ok(call);
  expect(workIn(store)).toEqual(["a", "b gate", "c"]);
});

describe("invalid input fails with one line, and starts nothing", () => {
  const store = prepared([{ id: "a", prompt: "p" }]);
  const scorers = {
    "throws.ts": 'throw new Error("at once")',
    "none.ts": "export const x = 1",
    "syntax.ts": "export default (",
    "import.ts": 'import "no-such-package"; export default () => 1',
  };
  for (const [name, text] of Object.entries(scorers)) writeFileSync(join(store.folder, name), text);
  writeFileSync(join(store.folder, "empty.jsonl"), "\n");
  writeFileSync(join(store.folder, "broken.jsonl"), '{"prompt":"a"}\nno json\n');
  mkdirSync(join(store.folder, "fixtures"));
  const with_ = (...more: string[]) => ["eval", "v1.ts", ...command, ...more];
  test.each([
    [2, ["eval", "v1.ts", "cases.jsonl"], "eval needs a scorer"],
    [4, ["eval", "v3", ...command], 'no workflow "v3" found'],
    [2, ["eval", "v1.ts,v1.ts", ...command], "is the same version"],
    [2, ["eval", "v1.ts,", ...command], "names no workflow"],
    [4, ["eval", "v1.ts", "nope.jsonl", "--score", "score.ts"], '"nope.jsonl" does not exist'],
    [2, ["eval", "v1.ts", "empty.jsonl", "--score", "score.ts"], "empty.jsonl has no cases"],
    [
      2,
      ["eval", "v1.ts", "broken.jsonl", "--score", "score.ts"],
      "broken.jsonl:2:1: a value is expected",
    ],
    [4, with_("--score", "nope.ts"), "nope.ts"],
    [
      1,
      with_("--score", "throws.ts"),
      '"throws.ts" is not a scorer: throws.ts:1:11: Error: at once',
    ],
    [1, with_("--score", "none.ts"), "no function as its default export"],
    [1, with_("--score", "syntax.ts"), "syntax.ts:1:16: "],
    [1, with_("--score", "import.ts"), "import.ts:1:8: Could not resolve"],
    [4, with_("--fixtures", "fixtures"), 'no fixture of the case "a"'],
    ...["0", "-1", "1e9", "x"].map((n): [number, string[], string] => [
      2,
      with_(`--concurrency=${n}`),
      "--concurrency can't be",
    ]),
    [2, with_("--repeat", "0"), "--repeat can't be"],
    [2, with_("--min-score", "1.5"), "--min-score can't be"],
    [2, with_("--score-timeout", "never"), "--score-timeout can't be"],
  ] as [number, string[], string][])("exit code %i: %j", async (code, args, why) => {
    const ended = await store.run(args);
    expect([ended.code, ended.stdout]).toEqual([code, ""]);
    expect(ended.stderr).toMatch(/^error: [^\n]+\n$/);
    expect(ended.stderr).toContain(why);
    expect(
      existsSync(join(store.root, "logs")) ? readdirSync(join(store.root, "logs")) : [],
    ).toEqual([]);
  });
});

test("a scorer that hangs, exits or returns nothing fails only its own case", async () => {
  const store = prepared(["hang", "exit", "nothing", "fine"].map((id) => ({ id, prompt: id })));
  const text = `export default ({ id }) => {
    if (id === "hang") for (;;);
    if (id === "exit") process.exit(0);
    return id === "nothing" ? undefined : 1;
  }`;
  writeFileSync(join(store.folder, "score.ts"), text);
  const call = ["eval", "v1.ts", ...command, "--score-timeout", "2s", "--json"];
  const { runs } = JSON.parse(await store.ok(call)) as EvalReport;
  expect(runs.map(({ case: id, error, score }) => [id, error?.code ?? score])).toEqual([
    ["hang", "SCORER_TIMEOUT"],
    ["exit", "SCORER_FAILED"],
    ["nothing", "SCORER_FAILED"],
    ["fine", 1],
  ]);
  rmSync(join(store.folder, "work"));
  writeFileSync(join(store.folder, "score.ts"), "export default () => true");
  // A different scorer makes a different eval, with its own threads.
  expect((JSON.parse(await store.ok(call)) as EvalReport).versions).toMatchObject([{ passed: 4 }]);
  expect(workIn(store)).toHaveLength(4);
});
