import { describe, expect, test } from "bun:test";
import { patchLines } from "../../ui/diff.tsx";
import { count } from "../../lib/format.ts";
import { differenceOf, rowsOf, verdictOf } from "./compare-page.tsx";

const pair = (number: number, same: boolean) => ({ number, a: null, b: null, same });
const diff = (promptIsSame: boolean, ...same: boolean[]) => ({
  same: promptIsSame && same.every(Boolean),
  firstDifference: null,
  prompt: { a: "", b: "", same: promptIsSame },
  steps: same.map((one, index) => pair(index + 1, one)),
  files: [],
});

test("equal steps are grouped", () => {
  const rows = rowsOf(diff(true, true, true, false, false, true).steps);
  expect(rows.map((row) => (row.kind === "same" ? row.pairs.length : -row.pair.number))).toEqual([
    2, -3, -4, 1,
  ]);
});

test("a patch is shown by its lines, with counts of omitted lines", () => {
  const head = "diff --git a/x b/x\n--- a/x\n+++ b/x\n";
  const patch = `${head}@@ -3,2 +3,2 @@ f\n a\n--- b\n+++ c\n\\ No newline\n@@ -9 +9,0 @@\n-d\n`;
  const shown = patchLines(patch).map((line) =>
    line.kind === "skipped" ? line.count : `${line.kind} ${line.text}`,
  );
  expect(shown).toEqual([2, "same a", "removed -- b", "added ++ c", 4, "removed d"]);
});

describe("the verdict of a comparison", () => {
  test.each([
    [diff(true, true), false, "Both have the same steps."],
    [diff(true, true, true, false), false, "They are the same up to step 2; 1 step differs."],
    [diff(false, true), false, "Their prompts differ. Their steps are the same."],
    [diff(false, true), true, "Their prompts and params differ. Their steps are the same."],
    [diff(true, true), true, "Their params differ. Their steps are the same."],
    [diff(true, false, false), false, "They differ from the first step on; 2 steps differ."],
  ])("%#", (compared, hasOtherParams, sentence) => {
    expect(verdictOf(compared, hasOtherParams)).toBe(sentence);
  });
});

test.each([
  [10, 14, "+4 (+40%)"],
  [1_000, 1, "−999 (−100%)"],
  [0, 3, "+3"],
  [5, 5, "same"],
])("the difference of %p and %p is %p", (a, b, text) => {
  expect(differenceOf(a, b, count)).toBe(text);
});
