import { type CaseRun, EvalRecord, type EvalHead } from "@uncaged/workflow-evals";

export const [first, second] = ["0000000000001", "0000000000002"] as const;
export const id = "AAAAAAAAAAAAA";
const head: EvalHead = {
  ...{ version: 1, id, createdAt: 1_770_000_000_000 },
  ...{ dataset: { file: "cases.jsonl", hash: first }, scorer: { file: "score.ts", hash: second } },
  cases: [
    { id: "a", prompt: "x".repeat(1000), expected: { is: ["this"] } },
    { id: "b", prompt: "short" },
  ],
};

const run = (of: string, score: number | null, more: Partial<CaseRun> = {}): CaseRun => ({
  ...{ case: of, n: 1, threadId: "01ARZ3NDEKTSV4RRFFQ69G5FAV", outcome: "scored", score },
  ...{ pass: score === 1, reason: null, error: null, cost: 0.5, unpriced: 0, tokens: 7 },
  ...{ durationMs: 1000, at: 1 },
  ...more,
});

/** Records an eval of two versions. In the second version, one case has a worse score and one case is running. */
export function recordEval(root: string): void {
  const record = EvalRecord.open(root, head);
  record.openVersion({ hash: first, workflow: "review" });
  record.openVersion({ hash: second, workflow: "review" });
  for (const of of ["a", "b"]) record.finish(first, run(of, 1));
  const failed = {
    outcome: "failed",
    durationMs: null,
    error: { code: "E", message: "no" },
  } as const;
  record.finish(second, run("a", null, failed));
  record.start(second, { case: "b", n: 1, threadId: "01ARZ3NDEKTSV4RRFFQ69G5FAV" });
  record.close();
}
