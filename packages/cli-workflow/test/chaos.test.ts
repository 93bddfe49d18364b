import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runChaos } from "@uncaged/workflow/internal";
import { until } from "../../workflow/test/fixtures/until.ts";
import { newFolder, playStore, removeFolders, type Store } from "./program.ts";

setDefaultTimeout(120_000);
afterAll(removeFolders);

const core = join(import.meta.dir, "../../workflow/src/entry/index.ts");
/** A workflow with the role that charges on line 10, and the place of a planted branch on line 11. */
const source = `import { appendFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { durable } from "${core}";
export const descriptor = {
  description: "charges a card",
  roles: { reader: { description: "reads", schema: true }, charger: { description: "charges", schema: true } },
};
export const run = durable(async function* (step, { prompt }, { cwd }) {
  const seen = [yield* step("reader", () => prompt)];
  yield* step("charger", () => writeFileSync(join(cwd, "charges.txt"), "one"));
  seen.push((yield* step.wait("sure")).value);
  return seen.join(" ");
});
`;
const appends = source.replace("=> writeFileSync", "=> appendFileSync");
const byChance = source.replace(
  "  seen.push(",
  '  if (Math.random() < 0.5) yield* step("auditor", () => "again");\n  seen.push(',
);

type Report = {
  seed: number;
  runs: number;
  faults: number;
  repeated: { role: string; times: number; path: string }[];
  diverged: { step: number | null; path: string }[];
  replay: string;
};

let store: Store;
let fixture: string;

const add = async (text: string): Promise<string> => {
  const path = join(store.folder, "pay.ts");
  writeFileSync(path, text);
  return await store.ok(["add", "pay", path]);
};

/** Runs the command, and returns its exit code and report. */
async function chaos(...args: string[]): Promise<{ code: number; report: Report }> {
  const { code, stdout } = await store.run(["chaos", "pay", "--json", ...args]);
  return { code, report: JSON.parse(stdout) as Report };
}

beforeAll(async () => {
  store = await playStore();
  await add(source);
  const id = await store.ok(["run", "pay", "--prompt", "hi"], { cwd: newFolder() });
  await store.until(id, "waiting");
  await store.ok(["resume", id, "--input", "yes", "--wait"]);
  fixture = join(store.folder, "pay.json");
  writeFileSync(fixture, await store.ok(["thread", id, "--fixture"]));
});

test("a sound workflow does not diverge, a seed repeats its report, and nothing is written", async () => {
  const before = store.tree();
  const found = await chaos("--seed", "7", "--live");
  expect(found).toMatchObject({ code: 0, report: { seed: 7, diverged: [] } });
  const { faults, repeated } = found.report;
  expect(faults).toBeGreaterThan(20);
  expect(repeated.find(({ role }) => role === "charger")?.path).toBe("pay.ts:10:13");
  expect(await chaos("--seed", "7", "--live")).toEqual(found);
  expect(store.tree()).toEqual(before);
});

test("a role that is not safe to repeat is named with its line, and the replay command repeats the run", async () => {
  await add(appends);
  const { code, report } = await chaos("--live", "--fixture", fixture);
  expect(code).toBe(1);
  expect(report.diverged[0]).toMatchObject({ step: null, path: "pay.ts:10:13" });
  const replayed = await store.run(["--json", ...report.replay.split(" ").slice(1)].map(unquoted));
  expect(replayed.code).toBe(1);
  expect((JSON.parse(replayed.stdout) as Report).diverged[0]?.path).toBe("pay.ts:10:13");
});

test("a branch on a random number is named with its line, from a fixture alone", async () => {
  await add(byChance);
  const { code, report } = await chaos("--seed", "1", "--fixture", fixture);
  expect(code).toBe(1);
  expect(report.diverged.map(({ path }) => path)).toContain("pay.ts:11:38");
});

test("an invalid fixture is refused in one line with its position", async () => {
  const path = join(store.folder, "broken.json");
  const export_ = "uncaged-workflow thread <id> --fixture";
  for (const [text, message] of [
    ['{\n  "steps": [,]\n}', `:2:13: a value is expected, not ","; hint: fix the file`],
    ["", ":1:1: the file is empty; hint: fix the file"],
    [
      "[]",
      `: invalid fixture: missing "format": "uncaged-workflow-fixture"; hint: export the fixture again: ${export_}`,
    ],
  ] as const) {
    writeFileSync(path, text);
    const { code, stdout, stderr } = await store.run(["chaos", "pay", "--fixture", path]);
    expect([code, stdout, stderr.split("\n").length]).toEqual([2, "", 2]);
    expect(stderr).toStartWith(`error: ${path}${message}`);
  }
  const missing = await store.run(["chaos", "pay", "--fixture", join(store.folder, "none.json")]);
  expect([missing.code, missing.stderr]).toEqual([
    4,
    expect.stringContaining('none.json" does not exist; hint:') as string,
  ]);
});

test("another order of the questions of a parallel loop is not a divergence", async () => {
  const path = join(store.folder, "ask.json");
  const step = { target: "$b[_index]", value: "=_item" };
  const registry = { params: [], vars: ["$a([STRING]) = []", "$b([INT]) = []"] };
  const steps = [
    { id: "Loop_All", source: [1, 2], mode: "parallel", children: ["Pause_A"], next: "Stop_All" },
    { id: "Pause_A", reason: "=_item", resumeResultTarget: "$a[_index]", next: "Set_B" },
    { id: "Set_B", ...step, next: "Set_C" },
    { id: "Set_C", ...step, next: "RETURN" },
    { id: "Stop_All" },
  ];
  writeFileSync(path, JSON.stringify({ version: "3.18", name: "ask", registry, steps }));
  await store.ok(["add", "ask", path]);
  await store.run(["run", "ask", "--wait"]);
  for (const answer of ["x", "y"])
    await store.run(["resume", "@last", "--input", answer, "--wait"]);
  expect(await store.ok(["chaos", "ask", "--seed", "1"])).toContain(" 0 diverged");
});

test("an abort ends the runs and removes their folder", async () => {
  const folder = newFolder();
  const { TMPDIR } = process.env;
  process.env.TMPDIR = folder;
  try {
    const controller = new AbortController();
    const code = "export const descriptor = {}; export async function* run() { for (;;); }";
    const runs = runChaos({
      ...{ workflow: "endless", code, sources: [], prompt: "", fixture: null, isLive: true },
      ...{ files: null, seed: 1, runs: 1, only: null, signal: controller.signal },
    });
    await until(() => readdirSync(folder).length > 0);
    controller.abort(new Error("stopped"));
    expect(String(await runs.catch((error: unknown) => error))).toContain("stopped");
    expect(readdirSync(folder)).toEqual([]);
  } finally {
    if (TMPDIR === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = TMPDIR;
  }
});

const unquoted = (word: string): string => word.replace(/^'(.*)'$/, "$1");
