import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Audit, audit } from "../../../scripts/audit.ts";

const program = join(import.meta.dir, "../../../scripts/crashtest.ts");
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "crash-test-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("the crash test (F4)", () => {
  test("kills workers for some seconds and finds nothing lost and nothing doubled", async () => {
    const command = [process.execPath, program, "--minutes", "0.16", "--seed", "20"];
    const child = Bun.spawn(command, { stdout: "pipe", stderr: "ignore" });
    const [printed, code] = [await new Response(child.stdout).text(), await child.exited];
    expect(printed).toMatch(/^lost +0$/m);
    expect(printed).toMatch(/^doubled +0$/m);
    expect(printed).toMatch(/^kills +[1-9]/m);
    expect(printed).toMatch(/^seed +20$/m);
    expect({ printed, code }).toEqual({ printed, code: 0 });
  }, 180_000);

  test("says how it is called when the minutes are none", () => {
    const child = Bun.spawnSync([process.execPath, program, "--minutes", "soon"]);
    expect([child.exitCode, child.stderr.toString()]).toEqual([
      2,
      "usage: bun run crashtest [--minutes N] [--seed S] [--keep]\n",
    ]);
  });
});

describe("the auditor", () => {
  const a = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
  const b = "01BRZ3NDEKTSV4RRFFQ69G5FAV";
  const start = (threadId: string, more = {}) => ({ threadId, hash: "H", ...more });
  const step = (n: number, nonce = "x") => ({ role: "count", content: `${n}:${nonce} ` });
  const input = (content: string) => ({ role: "__input__", content });
  const end = { role: "__end__", meta: { reason: "returned" } };

  function found(logs: Record<string, unknown[]>, notes: string[] = [], tail = ""): Audit {
    const root = mkdtempSync(join(folder, "root-"));
    mkdirSync(join(root, "logs/H"), { recursive: true });
    for (const [threadId, lines] of Object.entries(logs)) {
      const text = lines.map((line) => `${JSON.stringify(line)}\n`).join("");
      writeFileSync(join(root, "logs/H", `${threadId}.data.jsonl`), text + tail);
    }
    writeFileSync(join(root, "notes"), notes.join("\n"));
    return audit(root, join(root, "notes"));
  }
  const problems = ({ lost, doubled, broken }: Audit) => [
    lost.length,
    doubled.length,
    broken.length,
  ];

  test("is content with whole logs that hold what was acknowledged", () => {
    const logs = {
      [a]: [start(a), step(0), step(1), input("yes"), step(3), end],
      [b]: [start(b, { forkFrom: { threadId: a, steps: 2 } }), step(0), step(1), end],
    };
    const notes = [`started ${a}`, `step ${a} 1 x`, `answered ${a} yes`, `forked ${b} ${a} 2`];
    expect(found(logs, notes)).toMatchObject({ threads: 2, steps: 6, acknowledged: 4 });
    expect(problems(found(logs, notes))).toEqual([0, 0, 0]);
  });

  const whole = [start(a), step(0), step(1), end];
  const losses: [string, Record<string, unknown[]>, string[]][] = [
    ["a thread that was started", { [a]: whole }, [`started ${b}`]],
    ["a step that was acknowledged", { [a]: whole }, [`step ${a} 2 x`]],
    ["a step that was acknowledged and then made again", { [a]: whole }, [`step ${a} 1 y`]],
    ["a step in the middle", { [a]: [start(a), step(0), step(2), end] }, []],
    ["an answer", { [a]: whole }, [`answered ${a} yes`]],
    ["a kill", { [a]: whole }, [`killed ${a}`]],
    [
      "a fork's prefix",
      { [a]: whole, [b]: [start(b, { forkFrom: { threadId: a, steps: 1 } }), step(0, "y"), end] },
      [],
    ],
  ];
  for (const [what, logs, notes] of losses) {
    test(`finds that ${what} is lost`, () => {
      expect(problems(found(logs, notes))).toEqual([1, 0, 0]);
    });
  }

  const doubles: [string, unknown[], string[]][] = [
    ["a step", [start(a), step(0), step(0), end], []],
    ["an end", [start(a), step(0), end, end], []],
    ["an answer", [start(a), input("yes"), input("yes"), end], [`answered ${a} yes`]],
    ["the running of a step", whole, [`step ${a} 1 x`, `step ${a} 1 xy`]],
  ];
  for (const [what, lines, notes] of doubles) {
    test(`finds that ${what} is doubled`, () => {
      expect(found({ [a]: lines }, notes).doubled.length).toBeGreaterThan(0);
    });
  }

  test("finds what goes on after its end, has none, is torn, or is no JSON", () => {
    expect(found({ [a]: [start(a), end, step(0)] }).doubled).toHaveLength(1);
    expect(problems(found({ [a]: [start(a), step(0)] }))).toEqual([0, 0, 1]);
    expect(problems(found({ [a]: whole }, [], '{"ro'))).toEqual([0, 0, 1]);
    expect(problems(found({ [a]: whole }, [], "{\n"))).toEqual([0, 0, 1]);
    expect(problems(found({ [a]: [start(b), end] }))).toEqual([0, 0, 1]);
  });
});
