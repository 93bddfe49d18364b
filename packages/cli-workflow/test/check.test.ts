import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Host } from "@uncaged/workflow/host";
import { checkVersion, type VersionCheckJson } from "@uncaged/workflow/internal";
import { until } from "../../workflow/test/fixtures/until.ts";
import { newFolder, playBundle, playStore, removeFolders, type Store } from "./program.ts";

setDefaultTimeout(60_000);
afterAll(removeFolders);

const core = join(import.meta.dir, "../../workflow/src/entry/index.ts");
const source = `import { durable } from "${core}";
export const descriptor = {
  description: "a draft that a person approves",
  roles: { writer: { description: "writes", schema: true }, mailer: { description: "sends", schema: true } },
};
export const run = durable(async function* (step) {
  const draft = yield* step("writer", () => "a draft");
  const { value } = yield* step.wait("approval");
  yield* step("mailer", () => draft + value);
  return "sent";
});
`;

let store: Store;
let waiting: string;
let done: string;
const file = (name: string, text: string): string => {
  const path = join(store.folder, name);
  writeFileSync(path, text);
  return path;
};

beforeAll(async () => {
  store = await playStore({ inMemory: true });
  await store.ok(["add", "letter", file("letter.ts", source)]);
  done = await store.ok(["run", "letter"]);
  await store.until(done, "waiting");
  await store.ok(["resume", done, "--input", "yes", "--wait"]);
  waiting = await store.ok(["run", "letter"]);
  await store.until(waiting, "waiting");
});

test("a version with the same steps continues each thread, and nothing is written", async () => {
  const before = store.tree();
  const other = file("other.ts", source.replace('"a draft"', '"another"').replace("sent", "gone"));
  const args = ["add", "letter", other, "--check"];
  const found = await store.json<VersionCheckJson>(args);
  expect(found).toEqual({
    ...{ hash: found.hash, checked: 2, continues: 0, diverges: 0, waits: 1, ended: 1 },
    threads: [
      { threadId: waiting, status: "waits", at: null },
      { threadId: done, status: "ended", at: null },
    ],
  });
  const newest = await store.json<VersionCheckJson>([...args, "--threads", "1"]);
  expect(newest.threads.map(({ threadId }) => threadId)).toEqual([waiting]);
  expect(store.tree()).toEqual(before);
});

test("a renamed role diverges with its line and exit code 1, before and after it is added", async () => {
  const renamed = file("renamed.ts", source.replace('step("mailer"', 'step("sender"'));
  const before = store.tree();
  const checked = await store.run(["add", "letter", renamed, "--check"]);
  expect([checked.code, ...checked.stdout.split("\n")]).toEqual([
    1,
    "2 threads: 1 diverge, 1 wait",
    `${done} diverges at step 4: recorded: mailer; this version: sender`,
    '    renamed.ts:9:10  yield* step("sender", () => draft + value);',
    "",
  ]);
  expect(store.tree()).toEqual(before);
  const { hash } = await store.json<{ hash: string }>(["add", "letter", renamed]);
  const { code, stdout } = await store.run(["check", "letter", "--on", hash, "--json"]);
  const found = JSON.parse(stdout) as VersionCheckJson;
  expect({ code, ...found, threads: found.threads[1] }).toEqual({
    ...{ code: 1, hash, checked: 2, continues: 0, diverges: 1, waits: 1, ended: 0 },
    threads: {
      ...{ threadId: done, status: "diverges" },
      at: { step: 4, recorded: "mailer", expected: "sender" },
    },
  });
});

test("branches on the clock, random numbers and the environment are reported with their line", async () => {
  for (const condition of [
    "Date.now() % 2 === 0",
    "new Date() > new Date(Date.now() - 1).setHours(12)",
    `new Date().getFullYear() > ${new Date().getFullYear()}`,
    'crypto.randomUUID() < "1"',
    "crypto.getRandomValues(new Uint8Array(1))[0] === 0",
    "process.env.PLANTED",
    "options.env.PATH === undefined",
    // Each replay differs.
    "calls++ % 2 === 1",
  ]) {
    const text = source
      .replace("(step)", "(step, _, options)")
      .replace("  const { value }", `  if (${condition}) yield* step("planted", () => 0);\n$&`);
    const path = file("branch.ts", `let calls = 0;\n${text}`);
    const { code, stdout } = await store.run(["add", "letter", path, "--check"]);
    expect({ condition, code, stdout }).toEqual({
      ...{ condition, code: 1 },
      stdout: expect.stringMatching(
        /at step 2: recorded: __wait__ "approval"; .*planted[^]*branch.ts:\d+:/,
      ) as string,
    });
  }
  const guarded = source.replace(
    "  const draft",
    '  if (!process.env.PATH) throw new Error("no PATH");\n$&',
  );
  const { code } = await store.run(["add", "letter", file("guarded.ts", guarded), "--check"]);
  expect(code).toBe(0);
});

test("code that ends the process diverges at its step", async () => {
  const text = source.replace("  const { value }", "  process.exit(3);\n  const { value }");
  const { code, stdout } = await store.run(["add", "letter", file("ends.ts", text), "--check"]);
  expect([code, stdout.split("\n")[1]]).toEqual([
    1,
    `${waiting} diverges at step 2: recorded: __wait__ "approval"; this version: its process ended with code 3`,
  ]);
});

test("an abort ends a check and removes its files, which contain the environment", async () => {
  const endless = source.replace("  const { value }", "  for (;;);\n$&");
  const { hash } = await store.json<{ hash: string }>([
    ...["add", "endless", file("endless.ts", endless)],
  ]);
  const folder = newFolder();
  const { TMPDIR } = process.env;
  process.env.TMPDIR = folder;
  try {
    const controller = new AbortController();
    const { signal } = controller;
    const checked = checkVersion(store.memory as Host, "letter", hash, { signal });
    const names = () => readdirSync(folder, { encoding: "utf8", recursive: true });
    await until(() => names().some((name) => name.includes("/cwd-")));
    controller.abort(new Error("stopped"));
    expect(String(await checked.catch((error: unknown) => error))).toContain("stopped");
    expect(readdirSync(folder)).toEqual([]);
  } finally {
    if (TMPDIR === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = TMPDIR;
  }
});

test("a step workflow diverges where a loop has another round or leaves at another item", async () => {
  const text = await Bun.file(join(import.meta.dir, "../../../examples/steps/loops.json")).text();
  await store.ok(["add", "loops", file("loops.json", text)]);
  const id = await store.ok(["run", "loops"]);
  await store.until(id, "completed");
  const changes = [
    ["$power < 1000", "$power < 2000", "28: recorded: Loop_While; this version: Set_Power"],
    ["_item == 'stop'", "_item == 'three'", "5: recorded: Noop_Enough; this version: Branch_Stop"],
    ["_item + '!'", "_item + '?'", null],
  ] as const;
  for (const [from, to, found] of changes) {
    const path = file("changed.json", text.replace(from, to));
    const { stdout } = await store.run(["add", "loops", path, "--check"]);
    expect(stdout.split("\n").slice(0, 2)).toEqual(
      found === null
        ? ["1 thread: 1 ended", ""]
        : ["1 thread: 1 diverge", `${id} diverges at step ${found}`],
    );
  }
});

test("a step workflow diverges where the iterations of a parallel loop exchange their branches", async () => {
  const text = JSON.stringify({
    ...{ version: "3.18", name: "sort", registry: { params: [], vars: ["$found([INT]) = []"] } },
    steps: [
      {
        id: "Loop_All",
        source: [1, 2],
        mode: "parallel",
        children: ["Branch_One"],
        next: "Stop_All",
      },
      {
        id: "Branch_One",
        cases: [
          ["=_item == 1", "Set_One"],
          ["ELSE", "Set_Two"],
        ],
        next: "RETURN",
      },
      { id: "Set_One", target: "$found[_index]", value: 1, next: "RETURN" },
      { id: "Set_Two", target: "$found[_index]", value: 2, next: "RETURN" },
      { id: "Stop_All" },
    ],
  });
  await store.ok(["add", "sort", file("sort.json", text)]);
  const id = await store.ok(["run", "sort"]);
  await store.until(id, "completed");
  const changed = file("sorted.json", text.replace("_item == 1", "_item == 2"));
  const { stdout } = await store.run(["add", "sort", changed, "--check"]);
  expect(stdout).toStartWith(`1 thread: 1 diverge\n${id} diverges at step 1: recorded: Set_`);
});

test("a step workflow that waits for its first answer in a loop does not diverge", async () => {
  const asking = {
    ...{ version: "3.18", name: "asking", registry: { vars: ["$answer(STRING)"] } },
    steps: [
      { id: "Loop_All", source: [1, 2], children: ["Pause_Ask"], next: "Stop_Done" },
      { id: "Pause_Ask", reason: "go on?", resumeResultTarget: "$answer", next: "RETURN" },
      { id: "Stop_Done", reason: "done" },
    ],
  };
  const path = file("asking.json", JSON.stringify(asking));
  await store.ok(["add", "asking", path]);
  await store.until(await store.ok(["run", "asking"]), "waiting");
  expect(await store.ok(["add", "asking", path, "--check"])).toBe("1 thread: 1 wait");
});

test("for a version that runs its roles itself, only the names of roles are compared", async () => {
  const id = await store.play();
  await store.until(id, "completed");
  const { code, stdout, stderr } = await store.run(["add", "play", playBundle, "--check"]);
  expect([code, stdout, stderr]).toEqual([
    0,
    "1 thread: 1 ended\n",
    "this version runs its roles itself: only the names of its roles were compared\n",
  ]);
});

test("invalid arguments are refused in one line", async () => {
  for (const [args, code] of [
    [["add", "--check"], 2],
    [["add", "letter", playBundle, "--threads", "2"], 2],
    [["add", "letter", playBundle, "--check", "--threads", "0"], 2],
    [["check", "letter"], 2],
    [["check", "nothing", "--on", "letter"], 4],
    [["check", "letter", "--on", "ZZZZZZZZZZZZZ"], 4],
  ] as const) {
    const { code: exit, stdout, stderr } = await store.run([...args]);
    expect({ args, exit, stdout, lines: stderr.trimEnd().split("\n").length }).toEqual({
      ...{ args, exit: code, stdout: "" },
      lines: 1,
    });
  }
});
