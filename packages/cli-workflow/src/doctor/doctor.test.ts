import { expect, test } from "bun:test";
import { checkFree, foldProblems } from "./doctor.ts";

const alike = (code: string, number: number) =>
  Array.from({ length: number }, (_, at) => ({ code, message: `${code} ${at}`, hint: "fix it" }));

test("a few problems of one kind are all shown", () => {
  const problems = [...alike("WORKER_SILENT", 9), ...alike("THREAD_INTERRUPTED", 5)];
  expect(foldProblems(problems)).toEqual(problems);
});

test("of many interrupted threads only the first are shown, with the command that resumes all", () => {
  const lines = foldProblems([...alike("THREAD_INTERRUPTED", 400), ...alike("SOCKET_STALE", 1)]);
  expect(lines.map(({ message }) => message)).toEqual([
    ...[0, 1, 2, 3, 4].map((at) => `THREAD_INTERRUPTED ${at}`),
    "and 395 more, 400 in all",
    "SOCKET_STALE 0",
  ]);
  expect(lines[5]?.hint).toContain(
    "resume $(uncaged-workflow threads -q --status interrupted --limit 400)",
  );
});

test("the hint for a nearly full disk frees space at once", () => {
  expect([...checkFree("/store", 200 << 20)]).toEqual([]);
  const [problem] = checkFree("/store", 3 << 20);
  expect(problem?.message).toBe("the disk of /store has 3 MiB left");
  expect(problem?.hint).toContain("delete /store/trash");
});
