/** Returns the sum of the counts in lines such as ` 12 pass` or ` 1 fail`. */
export const countOf = (output: string, word: "pass" | "fail"): number =>
  [...output.matchAll(new RegExp(`^ *(\\d+) ${word}$`, "gm"))]
    .map((match) => Number(match[1]))
    .reduce((sum, count) => sum + count, 0);

/** Returns the output of files with a failure, without their passed tests, and the last lines. */
export function failuresIn(output: string): string {
  const [first = "", ...sections] = output.split(/^(?=\S+\.test\.ts:$)/m);
  const [last = "", ...rest] = (sections.pop() ?? first).split(/^(?=\s*\d+ (?:pass|skip|fail)$)/m);
  return [...sections, last]
    .filter((section) => /^(\(fail\)|error:|✗|Interrupted)/m.test(section))
    .map((section) => section.replace(/^\((pass|skip|todo)\) .*\n/gm, "").trim())
    .concat(rest.join("").trim())
    .join("\n\n");
}
