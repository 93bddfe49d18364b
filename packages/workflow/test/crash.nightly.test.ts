import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Audit, audit } from "../../../scripts/audit.ts";
import { isWhole } from "./fixtures/cases.ts";

const program = join(import.meta.dir, "../../../scripts/crashtest/crashtest.ts");
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "crash-test-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("the crash test (F4)", () => {
  test("kills and freezes commands, a server and workers, and finds no lost and no duplicate records", async () => {
    const command = [
      process.execPath,
      program,
      "--minutes",
      isWhole ? "0.2" : "0.1",
      "--seed",
      "20",
    ];
    const child = Bun.spawn(command, { stdout: "pipe", stderr: "ignore" });
    const [printed, code] = [await new Response(child.stdout).text(), await child.exited];
    expect(printed).toMatch(/^lost +0$/m);
    expect(printed).toMatch(/^doubled +0$/m);
    expect(printed).toMatch(/^kills, freezes +[1-9]\d*, [1-9]/m);
    expect(printed).toMatch(/^seed +20$/m);
    expect({ printed, code }).toEqual({ printed, code: 0 });
  }, 240_000);

  test("prints its usage for an invalid number of minutes", () => {
    const child = Bun.spawnSync([process.execPath, program, "--minutes", "soon"]);
    expect([child.exitCode, child.stderr.toString()]).toEqual([
      2,
      "usage: bun run crashtest [--minutes N] [--seed S] [--keep]\n" +
        "       bun run crashtest --cluster [--faults N] [--nodes 1|3] [--kinds KIND,…] [--seed S]\n" +
        "       bun run crashtest --database [--faults N] [--kinds KIND,…] [--seed S]\n",
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
  const killed = { role: "__end__", meta: { reason: "killed" } };

  function found(
    logs: Record<string, unknown[]>,
    notes: string[] = [],
    { tail = "", registry = "", bundles = [] as string[] } = {},
  ): Audit {
    const root = mkdtempSync(join(folder, "root-"));
    for (const name of ["logs/H", "bundles"]) mkdirSync(join(root, name), { recursive: true });
    for (const [threadId, lines] of Object.entries(logs)) {
      const text = lines.map((line) => `${JSON.stringify(line)}\n`).join("");
      writeFileSync(join(root, "logs/H", `${threadId}.data.jsonl`), text + tail);
    }
    if (registry !== "") writeFileSync(join(root, "workflow.yaml"), registry);
    for (const hash of bundles) writeFileSync(join(root, "bundles", `${hash}.esm.js`), "");
    writeFileSync(join(root, "notes"), notes.join("\n"));
    return audit(root, join(root, "notes"));
  }
  const problems = ({ lost, doubled, broken }: Audit) => [
    lost.length,
    doubled.length,
    broken.length,
  ];
  const whole = [start(a), step(0), step(1), end];
  const effects = [`effect ${a} 0 0:x`, `effect ${a} 1 1:x`];

  test("accepts whole logs with all shown and acknowledged records", () => {
    const logs = {
      [a]: [start(a), step(0), step(1), input("yes"), step(3), end],
      [b]: [start(b, { forkFrom: { threadId: a, steps: 2 } }), step(0), step(1), killed],
    };
    const notes = [
      `started ${a} H`,
      ...effects,
      `step ${a} 1 1:x`,
      `seen ${a} 1 1:x`,
      `try-answer ${a} yes`,
      `answered ${a} yes`,
      `effect ${a} 3 3:y`,
      `effect ${a} 3 3:x`,
      `forked ${b} ${a} 2`,
      `killed ${b}`,
      `ended ${b} killed`,
      `ended ${a} completed`,
    ];
    expect(found(logs, notes)).toMatchObject({ threads: 2, steps: 6, acknowledged: 4, shown: 4 });
    expect(problems(found(logs, notes))).toEqual([0, 0, 0]);
  });

  test("does not count the records of a removed thread as lost", () => {
    const notes = [`try-remove ${b}`, `started ${b} H`, `seen ${b} 0 0:x`, `removed ${b}`];
    expect(problems(found({ [a]: whole }, notes))).toEqual([0, 0, 0]);
    expect(problems(found({ [b]: [start(b), end] }, notes))).toEqual([1, 0, 1]);
  });

  const losses: [string, Record<string, unknown[]>, string[]][] = [
    ["a thread that was started", { [a]: whole }, [`started ${b} H`]],
    ["a thread's version", { [a]: whole }, [`started ${a} G`]],
    ["a step that was committed", { [a]: whole }, [`step ${a} 2 2:x`]],
    ["a step that was shown and then repeated", { [a]: whole }, [`seen ${a} 1 1:y`]],
    ["a step in the middle", { [a]: [start(a), step(0), step(2), end] }, []],
    ["an end that was shown", { [a]: [start(a), killed] }, [`ended ${a} completed`]],
    ["an answer", { [a]: whole }, [`answered ${a} yes`]],
    ["a kill", { [a]: whole }, [`killed ${a}`]],
    ["a version", { [a]: whole }, ["added one EYHPV6X8XHTCS"]],
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
    ["an answer", [start(a), input("yes"), input("yes"), end], [`try-answer ${a} yes`]],
    ["the commit of a step", whole, [...effects, `step ${a} 1 1:x`, `step ${a} 1 1:xy`]],
    ["the effect of a step", whole, [...effects, `seen ${a} 1 1:x`, `effect ${a} 1 1:z`]],
  ];
  for (const [what, lines, notes] of doubles) {
    test(`finds that ${what} is duplicated`, () => {
      expect(found({ [a]: lines }, notes).doubled.length).toBeGreaterThan(0);
    });
  }

  test("finds a log that continues after its end, has no end, is torn or not JSON, or belongs to a thread that never ran", () => {
    expect(found({ [a]: [start(a), end, step(0)] }).doubled).toHaveLength(1);
    expect(problems(found({ [a]: [start(a), step(0)] }))).toEqual([0, 0, 1]);
    expect(problems(found({ [a]: whole }, [], { tail: '{"ro' }))).toEqual([0, 0, 1]);
    expect(problems(found({ [a]: whole }, [], { tail: "{\n" }))).toEqual([0, 0, 1]);
    expect(problems(found({ [a]: [start(b), end] }))).toEqual([0, 0, 1]);
    expect(problems(found({ [a]: whole }, effects.slice(0, 1)))).toEqual([0, 0, 1]);
  });

  test("finds a bundle that is missing or does not match its hash", () => {
    const registry = 'workflows:\n  one:\n    hash: "EYHPV6X8XHTCS"\n';
    const bundles = ["EYHPV6X8XHTCS", "H"];
    const hash = (what: Audit) =>
      [what.lost, what.broken].map((all) => all.join().includes("EYHP"));
    expect(hash(found({ [a]: whole }, [], { registry, bundles }))).toEqual([false, false]);
    expect(hash(found({ [a]: whole }, [], { registry }))).toEqual([true, false]);
    const other = registry.replace("EYHP", "0YHP");
    const changed = found({ [a]: whole }, [], { registry: other, bundles: ["0YHPV6X8XHTCS"] });
    expect(changed.broken.filter((text) => text.includes("0YHP"))).toHaveLength(1);
  });
});
