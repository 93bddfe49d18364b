import { expect, test } from "bun:test";
import { firstBad, type TestResult } from "./search.ts";

const versions = Array.from({ length: 33 }, (_, n) => String(n));

/** Searches with the first bad version at `bad`. */
const search = (bad: number, skipped: readonly number[] = []) =>
  firstBad(versions, async (version): Promise<TestResult> => {
    if (skipped.includes(Number(version))) return "skip";
    return Number(version) < bad ? "good" : "bad";
  });

test("finds each first bad version in a logarithmic number of tests", async () => {
  for (let bad = 1; bad < versions.length; bad += 1) {
    const { firstBad: found, tested } = await search(bad);
    expect([bad, found, tested.length <= 5]).toEqual([bad, String(bad), true]);
    expect(new Set(tested.map(({ version }) => version)).size).toBe(tested.length);
  }
});

test("two versions need no test", async () => {
  const never = () => Promise.reject(new Error("tested"));
  expect(await firstBad(["a", "b"], never)).toEqual({
    ...{ firstBad: "b", suspects: ["b"], tested: [] },
  });
});

test("avoids skipped versions, and lists all versions that may be the first bad one", async () => {
  expect((await search(20, [16, 17, 8])).firstBad).toBe("20");
  const hidden = await search(17, [15, 16]);
  expect([hidden.firstBad, hidden.suspects]).toEqual([null, ["15", "16", "17"]]);
  const none = await search(20, [...versions.keys()]);
  expect([none.firstBad, none.suspects.length, none.tested.length]).toEqual([null, 32, 31]);
});
