import { afterAll, describe, expect, test } from "bun:test";
import {
  appendFileSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Fixture } from "@uncaged/workflow/host";
import { type CaseRun, changesOf, type Outcome, percentile, summaryOf } from "./compare.ts";
import { readDataset } from "./dataset.ts";
import { EvalRecord, type EvalHead, listEvals, readEval } from "./record.ts";
import { scoreOf } from "./score.ts";

const fixture: Fixture = {
  ...{ format: "uncaged-workflow-fixture", version: 1, threadId: "T", workflow: "w", hash: "H" },
  ...{ prompt: "recorded", params: { n: 1 }, steps: [] },
};
const read = (text: string) => readDataset(text, "set.jsonl", async () => fixture);

describe("a data set", () => {
  test("has one case per line, with any line ends and with or without a byte order mark", async () => {
    const text = `\uFEFF{"id":"a","prompt":"p","params":{},"expected":1,"metadata":{"m":1}}\r\n\r\n{"prompt":""}\n`;
    expect(await read(text)).toEqual([
      { id: "a", prompt: "p", params: {}, expected: 1, metadata: { m: 1 } },
      { id: "3", prompt: "" },
    ]);
  });

  test("takes missing prompts and params from the case's fixture", async () => {
    const inline = JSON.stringify({ fixture });
    const cases = await read(
      `{"fixture":"a.json"}\n${inline}\n{"prompt":"own","fixture":"a.json"}`,
    );
    expect(cases.map(({ prompt, params }) => [prompt, params])).toEqual([
      ["recorded", { n: 1 }],
      ["recorded", { n: 1 }],
      ["own", undefined],
    ]);
    expect(cases[0]?.fixture).toEqual(fixture);
  });

  test.each([
    ["", "set.jsonl has no cases"],
    ["\n\n", "set.jsonl has no cases"],
    ['{"prompt":"a"}\n{', "set.jsonl:2: invalid JSON"],
    ["[]", "set.jsonl:1: not a JSON object"],
    ["null", "set.jsonl:1: not a JSON object"],
    ["{}", "set.jsonl:1: missing prompt"],
    ['{"prompt":1}', "set.jsonl:1: prompt is not a string"],
    ['{"prompt":"a","id":""}', "id is neither"],
    ['{"prompt":"a","id":{}}', "id is neither"],
    ['{"prompt":"a","id":1.5}', "id is neither"],
    ['{"prompt":"a","metadata":[]}', "metadata is not an object"],
    ['{"prompt":"a","expcted":1}', 'unknown field "expcted"'],
    ['{"prompt":"a","id":"2"}\n{"prompt":"b"}', 'set.jsonl:2: id "2" is already used in line 1'],
    ['{"prompt":"a","fixture":{}}', "invalid fixture"],
    ['{"prompt":"a","fixture":7}', "invalid fixture"],
  ])("with %j is refused: %s", async (text, why) => {
    expect(String(await read(text).catch((thrown: unknown) => thrown))).toContain(why);
  });

  test("reports at most 20 invalid lines", async () => {
    const error = await read("x\n".repeat(10_000)).catch((thrown: unknown) => thrown);
    expect((error as { details: string[] }).details).toHaveLength(20);
  });

  test("can have 10,000 lines", async () => {
    const line = (index: number) => JSON.stringify({ id: `c${index}`, prompt: "p" });
    const text = Array.from({ length: 10_000 }, (_, index) => line(index)).join("\n");
    expect(await read(text)).toHaveLength(10_000);
  });
});

describe("a score", () => {
  test.each([
    [true, { score: 1, pass: true, reason: null }],
    [false, { score: 0, pass: false, reason: null }],
    [0.5, { score: 0.5, pass: true, reason: null }],
    [0.49, { score: 0.49, pass: false, reason: null }],
    [
      { score: 0.9, pass: false, reason: "rude" },
      { score: 0.9, pass: false, reason: "rude" },
    ],
    [{ pass: true }, { score: 1, pass: true, reason: null }],
  ])("is computed from the result %j", (returned, score) =>
    expect(scoreOf(returned)).toEqual(score),
  );

  test.each([
    [Number.NaN, "its score is NaN"],
    [Number.POSITIVE_INFINITY, "its score is Infinity"],
    [-0.1, "its score is -0.1"],
    [1.1, "its score is 1.1"],
    [undefined, "it returned nothing"],
    [null, "it returned null"],
    ["0.5", "it returned"],
    [{}, "neither a score nor a pass"],
    [{ score: "1" }, "its score is 1"],
    [{ pass: 1 }, "its pass is not a boolean"],
    [{ pass: true, reason: 1 }, "its reason is not a string"],
  ])("cannot be computed from the result %j: %s", (returned, why) =>
    expect(() => scoreOf(returned)).toThrow(why),
  );
});

const runOf = (id: string, score: number | null, more: Partial<CaseRun> = {}): CaseRun => ({
  ...{ case: id, n: 1, threadId: `T${id}`, outcome: "scored", score, pass: (score ?? 0) >= 0.5 },
  ...{ reason: null, error: null, cost: 0.1, unpriced: 0, tokens: 10, durationMs: 100, at: 1 },
  ...more,
});
const version = (hash: string, runs: CaseRun[]) => ({ hash, workflow: "w", runs });

describe("a comparison", () => {
  test("counts a run without a score as not passed, with score 0", () => {
    const of = (outcome: Outcome) => runOf(outcome, null, { outcome, durationMs: null });
    const runs = [
      runOf("a", 1),
      of("failed"),
      of("waits"),
      of("budget"),
      of("rounds"),
      of("unscored"),
    ];
    expect(summaryOf(version("H", runs))).toEqual({
      ...{ hash: "H", workflow: "w", runs: 6, passed: 1, passRate: 1 / 6, score: 0.166666666667 },
      ...{ cost: 0.6, unpriced: 0, tokens: 60, p50Ms: 100, p95Ms: 100 },
      outcomes: { scored: 1, failed: 1, waits: 1, budget: 1, rounds: 1, unscored: 1 },
    });
    expect(summaryOf(version("H", []))).toMatchObject({ passRate: null, score: null, p50Ms: null });
  });

  test("uses actual values as percentiles", () => {
    const times = Array.from({ length: 100 }, (_, index) => index + 1);
    expect([percentile(times, 0.5), percentile(times, 0.95), percentile([7], 0.95)]).toEqual([
      50, 95, 7,
    ]);
  });

  test("lists worse and better cases among the cases that ran on both versions", () => {
    const before = [
      runOf("a", 1),
      runOf("b", 0.2),
      runOf("c", 0.7),
      runOf("d", 1),
      runOf("e", 0.9),
    ];
    const after = [
      runOf("a", 0.4),
      runOf("b", 0.3),
      runOf("c", 0.7),
      runOf("x", 1),
      runOf("e", 0.8),
    ];
    const { worse, better } = changesOf(version("A", before), version("B", after));
    expect(worse.map((one) => one.case)).toEqual(["a", "e"]);
    expect(better.map((one) => one.case)).toEqual(["b"]);
    expect(worse[0]).toMatchObject({
      before: { passed: 1, score: 1 },
      after: { passed: 0, threadIds: ["Ta"] },
    });
  });

  test("uses all runs of a case", () => {
    const runs = (scores: number[]) =>
      scores.map((score, index) => runOf("a", score, { n: index + 1 }));
    const changes = changesOf(version("A", runs([1, 0, 1])), version("B", runs([1, 0, 0])));
    expect(changes.worse).toMatchObject([
      { before: { passed: 2, runs: 3 }, after: { passed: 1, runs: 3 } },
    ]);
  });
});

describe("a record", () => {
  const root = mkdtempSync(join(tmpdir(), "uncaged-evals-"));
  afterAll(() => rmSync(root, { recursive: true, force: true }));
  const head = (id: string, createdAt = 1): EvalHead => ({
    ...{ version: 1, id, createdAt, cases: [{ id: "a", prompt: "p" }] },
    ...{ dataset: { file: "d", hash: "D" }, scorer: { file: "s", hash: "S" } },
  });
  const hash = "0123456789ABC";
  const opened = (id: string) => {
    const record = EvalRecord.open(root, head(id));
    record.openVersion({ hash, workflow: "w" });
    return record;
  };

  test("returns recorded results and started runs", () => {
    const id = "AAAAAAAAAAAAA";
    const record = opened(id);
    record.start(hash, { case: "a", n: 1, threadId: "T1" });
    record.start(hash, { case: "a", n: 2, threadId: "T2" });
    record.finish(hash, runOf("a", 1));
    record.close();
    const again = opened(id);
    expect(again.result(hash, { case: "a", n: 1 })).toEqual(runOf("a", 1));
    expect(again.thread(hash, { case: "a", n: 1 })).toBeNull();
    expect(again.thread(hash, { case: "a", n: 2 })).toBe("T2");
    again.close();
    expect(readEval({ root }, id)?.versions).toEqual([
      { hash, workflow: "w", runs: [runOf("a", 1)], started: 1 },
    ]);
    expect(readEval({ root }, "BBBBBBBBBBBBB")).toBeNull();
    expect(readEval({ root }, "../etc")).toBeNull();
    expect(listEvals({ root }).map((one) => one.id)).toEqual([id]);
    expect(listEvals({ root: join(root, "none") })).toEqual([]);
  });

  test("keeps all complete lines after a crash", () => {
    const id = "CCCCCCCCCCCCC";
    const record = opened(id);
    record.start(hash, { case: "a", n: 1, threadId: "T1" });
    record.finish(hash, runOf("a", 1));
    record.close();
    const path = join(root, "evals", id, `${hash}.jsonl`);
    const whole = readFileSync(path);
    for (let length = 0; length <= whole.length; length += 7) {
      writeFileSync(path, whole.subarray(0, length));
      const again = opened(id);
      const known = again.result(hash, { case: "a", n: 1 });
      if (known === null) again.finish(hash, runOf("a", 1));
      again.close();
      expect(readEval({ root }, id)?.versions[0]?.runs).toEqual([runOf("a", 1)]);
    }
  });

  test("has the same contents when only appended lines are read", () => {
    const id = "GGGGGGGGGGGGG";
    const path = join(root, "evals", id, `${hash}.jsonl`);
    const anew = () => {
      const copy = readFileSync(path);
      rmSync(path);
      writeFileSync(`${path}.new`, copy);
      renameSync(`${path}.new`, path);
      return readEval({ root }, id);
    };
    const record = opened(id);
    expect(readEval({ root }, id)?.versions[0]).toMatchObject({ runs: [], started: 0 });
    record.start(hash, { case: "a", n: 1, threadId: "T1" });
    expect(readEval({ root }, id)?.versions[0]).toMatchObject({ runs: [], started: 1 });
    record.finish(hash, runOf("a", 1));
    appendFileSync(path, '{"kind":"result"');
    const seen = readEval({ root }, id);
    expect(seen?.versions[0]).toMatchObject({ runs: [runOf("a", 1)], started: 0 });
    expect(seen).toEqual(anew());
    record.close();
    const again = opened(id);
    again.start(hash, { case: "a", n: 1, threadId: "T2" });
    again.close();
    const later = readEval({ root }, id);
    expect(later?.versions[0]).toMatchObject({ runs: [], started: 1 });
    expect(later).toEqual(anew());
    appendFileSync(path, "{]\n");
    expect(() => readEval({ root }, id)).toThrow(`${hash}.jsonl:5: invalid JSON`);
  });

  test("of 10,000 cases is read again in less than a tenth of the CPU time", () => {
    const id = "HHHHHHHHHHHHH";
    opened(id).close();
    const path = join(root, "evals", id, `${hash}.jsonl`);
    const line = (index: number) =>
      `${JSON.stringify({ kind: "result", ...runOf(`c${index}`, 1) })}\n`;
    appendFileSync(path, Array.from({ length: 10_000 }, (_, index) => line(index)).join(""));
    const cost = () => {
      const before = process.cpuUsage();
      expect(readEval({ root }, id)?.versions[0]?.runs.length).toBeGreaterThanOrEqual(10_000);
      const { user, system } = process.cpuUsage(before);
      return user + system;
    };
    const whole = cost();
    const later = Array.from({ length: 9 }, (_, index) => {
      appendFileSync(path, line(10_000 + index));
      return cost();
    });
    expect(Math.min(...later)).toBeLessThan(whole / 10);
  });

  test("is visible only on the host of its threads", () => {
    const id = "FFFFFFFFFFFFF";
    const cluster = "restate://here:1";
    EvalRecord.open(root, { ...head(id), cluster }).close();
    expect(readEval({ root }, id)).toBeNull();
    expect(listEvals({ root, cluster }).map((one) => one.id)).toEqual([id]);
    expect(listEvals({ root, cluster: "restate://other:1" })).toEqual([]);
  });

  test("with a damaged line is refused", () => {
    const id = "DDDDDDDDDDDDD";
    opened(id).close();
    appendFileSync(join(root, "evals", id, `${hash}.jsonl`), "{]\n");
    expect(() => readEval({ root }, id)).toThrow(`${hash}.jsonl:2: invalid JSON`);
    expect(() => opened(id)).toThrow("damaged");
    rmSync(join(root, "evals", id), { recursive: true });
  });

  test("can be opened by only one writer at a time", () => {
    const id = "EEEEEEEEEEEEE";
    const record = opened(id);
    expect(() => opened(id)).toThrow("another process runs the eval");
    record.close();
    opened(id).close();
  });
});
