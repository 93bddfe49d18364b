import { afterAll, expect, test } from "bun:test";
import type { Eval, EvalRow } from "../src/entry/api-types.ts";
import { first, id, recordEval, second } from "./recorded-eval.ts";
import { Serving, stopServing } from "./serving.ts";

afterAll(stopServing, 180_000);

test("evals are listed, and compared with any of their versions as the baseline", async () => {
  const serving = await Serving.start();
  expect(await serving.ok<EvalRow[]>("/api/evals")).toEqual([]);
  recordEval(serving.path);
  const rows = await serving.ok<EvalRow[]>("/api/evals");
  expect(rows).toMatchObject([
    {
      ...{ id, cases: 2, dataset: { file: "cases.jsonl" }, scorer: { file: "score.ts" } },
      versions: [
        {
          hash: first,
          runs: 2,
          started: 0,
          passed: 2,
          passRate: 1,
          score: 1,
          cost: 1,
          p50Ms: 1000,
        },
        { hash: second, runs: 1, started: 1, passed: 0, score: 0, outcomes: { failed: 1 } },
      ],
    },
  ]);
  const shown = await serving.ok<Eval>(`/api/evals/${id}`);
  expect(shown).toMatchObject({
    ...{ id, versions: rows[0]?.versions, baseline: first },
    changes: [{ hash: second, worse: 1, better: 0 }],
    counts: { all: 2, worse: 1, better: 0, failing: 1, unscored: 1 },
    cases: [
      { id: "a", prompt: `${"x".repeat(300)}…`, expected: '{"is":["this"]}' },
      { id: "b", expected: null, runs: [{ hash: first, n: 1, pass: true }] },
    ],
  });
  expect(shown.cases[0]?.runs).toMatchObject([
    { hash: first, score: 1 },
    { hash: second, outcome: "failed", error: { message: "no" } },
  ]);
  const other = await serving.ok<Eval>(`/api/evals/${id}?baseline=${second}`);
  expect(other.changes).toEqual([{ hash: first, worse: 0, better: 1 }]);
  for (const [query, ids] of [
    ["limit=1", ["a"]],
    ["show=worse", ["a"]],
    ["show=better", []],
    [`show=better&baseline=${second}`, ["a"]],
    ["show=failing&limit=10000", ["a"]],
  ] as const) {
    const { cases, counts } = await serving.ok<Eval>(`/api/evals/${id}?${query}`);
    expect([query, cases.map((one) => one.id), counts.all]).toEqual([query, [...ids], 2]);
  }
  for (const query of ["limit=0", "limit=10001", "show=odd"]) {
    expect((await serving.fetch(`/api/evals/${id}?${query}`)).status).toBe(400);
  }
  for (const path of [`${id}?baseline=XXXXXXXXXXXXX`, "BBBBBBBBBBBBB", "..%2f..%2fetc"]) {
    const response = await serving.fetch(`/api/evals/${path}`);
    expect([response.status, (await response.text()).includes("hint")]).toEqual([404, true]);
  }
}, 180_000);
