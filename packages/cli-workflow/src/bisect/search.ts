/** The result of testing a version. */
export type TestResult = "good" | "bad" | "skip";

/** A tested version, by its hash. */
export type Tested = { version: string; result: TestResult };

/** The first bad version. If skipped versions hide it, `firstBad` is null and `suspects` has the candidates. */
export type Found = { firstBad: string | null; suspects: string[]; tested: Tested[] };

/**
 * Searches for the first bad version by bisection. `versions` are in the order of their registration: the first is good,
 * the last bad. Each test uses the version nearest to the middle, without skipped versions.
 */
export async function firstBad(
  versions: readonly string[],
  test: (version: string) => Promise<TestResult>,
): Promise<Found> {
  const tested: Tested[] = [];
  const skipped = new Set<number>();
  let [good, bad] = [0, versions.length - 1];
  for (;;) {
    const middle = (good + bad) / 2;
    const [next] = versions
      .map((_, index) => index)
      .filter((index) => index > good && index < bad && !skipped.has(index))
      .sort((a, b) => Math.abs(a - middle) - Math.abs(b - middle));
    if (next === undefined) break;
    const version = versions[next] as string;
    const result = await test(version);
    tested.push({ version, result });
    if (result === "skip") skipped.add(next);
    else if (result === "good") good = next;
    else bad = next;
  }
  const suspects = versions.slice(good + 1, bad + 1);
  return { firstBad: suspects.length === 1 ? (suspects[0] as string) : null, suspects, tested };
}
