import { afterAll, beforeAll, expect, test } from "bun:test";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { programWords } from "./command.ts";
import { until } from "../../workflow/test/fixtures/until.ts";
import { playBundle, playStore, removeFolders, type Store } from "./program.ts";

afterAll(removeFolders);

let store: Store;
let id: string;

beforeAll(async () => {
  store = await playStore();
  const other = join(store.folder, "second.esm.js");
  writeFileSync(other, `// another version\n${readFileSync(playBundle, "utf8")}`);
  await store.ok(["add", "play", other]);
  id = await store.play({}, "--wait");
  writeFileSync(join(store.folder, "flow-of-mine.ts"), "");
});

const candidates = async (...words: string[]): Promise<string[]> => {
  const lines = (await store.ok(["__complete", "--", ...words])).split("\n");
  return lines.map((line) => line.split("\t")[0] ?? "");
};

test("a command is completed from a prefix", async () => {
  expect(await candidates("r")).toEqual([
    ...["rollback", "remove", "run", "resume", "retry", "rerun"],
  ]);
  expect(await candidates("")).not.toContain("__complete");
});

test("an option and its value are completed", async () => {
  expect(await candidates("run", "--p")).toEqual(["--prompt", "--prompt-file", "--params"]);
  expect(await candidates("threads", "--status", "c")).toEqual(["completed", "corrupt"]);
  expect(await candidates("run", "play", "--durability", "")).toEqual(["step", "os"]);
  expect(await candidates("threads", "--workflow", "p")).toEqual(["play"]);
  expect(await candidates("fork", "@last", "--on", "")).toEqual(["play"]);
  expect(await candidates("rerun", "@last", "--from-step", "p")).toEqual(["planner"]);
  expect(await candidates("rerun", "@last", "--set", "")).toEqual([""]);
});

test("a workflow's name and a thread's id are completed from the store", async () => {
  expect(await candidates("run", "")).toEqual(["play", ":files"]);
  expect(await candidates("run", "./flow")).toEqual([":files"]);
  expect(await candidates("eval", "pl")).toEqual(["play", ":files"]);
  expect(await candidates("eval", "play@X,pl")).toEqual(["play@X,play", ":files"]);
  expect(await candidates("eval", "play", "")).toEqual([":files"]);
  expect(await candidates("threads", "")).toEqual(["play"]);
  expect(await candidates("thread", "")).toEqual(["rm", "restore", "@last", id]);
  expect(await candidates("thread", "rm", "")).toEqual(["@last", id]);
  expect(await candidates("kill", "@last", id.slice(0, 6).toLowerCase())).toEqual([id]);
  expect(await candidates("--root", store.root, "show", "")).toEqual(["play"]);
});

test("the shell completes paths", async () => {
  expect(await candidates("add", "play", "")).toEqual([":files"]);
  expect(await candidates("run", "play", "--prompt-file", "")).toEqual([":files"]);
  expect(await candidates("completion", "")).toEqual(["bash", "zsh", "fish"]);
});

test("an unreadable storage root yields no completions and no output", async () => {
  const { code, stdout, stderr } = await store.run(["__complete", "--", "show", ""], {
    env: { UNCAGED_WORKFLOW_STORAGE_ROOT: join(import.meta.dir, "program.ts") },
  });
  expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: "", stderr: "" });
});

/** Creates a folder with the program under its own name. */
function programFolder(): string {
  const folder = join(store.folder, "bin");
  mkdirSync(folder, { recursive: true });
  const words = programWords.map((word) => `'${word}'`).join(" ");
  const path = join(folder, "uncaged-workflow");
  writeFileSync(path, `#!/bin/sh\nexec ${words} "$@"\n`);
  chmodSync(path, 0o700);
  return folder;
}

type Shell = { name: string; argv: string[]; setUp: string[]; clear: string };

const clearLine = "\x15";
/** Shells without the user's own settings. `argv` starts a shell, and the lines in `setUp` prepare it. */
const shells: Shell[] = [
  { name: "bash", argv: ["bash", "--norc", "--noprofile", "-i"], setUp: [], clear: clearLine },
  {
    name: "zsh",
    argv: ["zsh", "-f", "-i"],
    setUp: ["autoload -Uz compinit; compinit -u -D"],
    clear: clearLine,
  },
];

/** Returns the screen of a plain terminal after it received a text. */
function drawn(text: string): string {
  const lines: string[][] = [[]];
  let column = 0;
  for (const char of text) {
    const line = lines.at(-1) as string[];
    if (char === "\n") lines.push([]);
    else if (char === "\b") column -= 1;
    else if (char === "\r") column = 0;
    else line[column++] = char;
  }
  return lines.map((line) => line.join("")).join("\n");
}

/**
 * Types lines, each followed by a tab. Waits until the terminal shows the wanted completion. Returns the lines on the
 * terminal.
 */
async function completed(
  { name, argv, setUp, clear }: Shell,
  lines: [typed: string, wanted: string][],
) {
  let shown = "";
  const shell = Bun.spawn(argv, {
    cwd: store.folder,
    env: {
      ...store.env,
      PATH: `${programFolder()}:${process.env.PATH}`,
      PS1: "% ",
      TERM: "dumb",
    },
    terminal: {
      cols: 400,
      rows: 50,
      data: (_terminal, bytes) => void (shown += new TextDecoder().decode(bytes)),
    },
  });
  const type = (text: string) => void shell.terminal?.write(text);
  const isShown = (wanted: string) =>
    until(() => drawn(shown).includes(wanted)).then(
      () => true,
      () => false,
    );
  try {
    for (const line of [...setUp, `eval "$(uncaged-workflow completion ${name})"`])
      type(`${line}\n`);
    type("echo rea''dy\n");
    await isShown("ready");
    const found: [string, string][] = [];
    for (const [typed, wanted] of lines) {
      shown = "";
      type(`${typed}\t`);
      found.push([typed, (await isShown(wanted)) ? wanted : JSON.stringify(shown)]);
      type(clear);
    }
    return found;
  } finally {
    shell.kill("SIGKILL");
    await shell.exited;
  }
}

/** Returns pairs of a typed text and its expected completion. */
async function typedAndWanted(): Promise<[typed: string, wanted: string][]> {
  const [current = "", first = ""] = (
    await store.json<{ hash: string }[]>(["history", "play"])
  ).map(({ hash }) => hash);
  return (
    [
      ["hi", "history"],
      ["run pl", "run play"],
      [`thread ${id.slice(0, 12)}`, `thread ${id}`],
      ["thread @la", "thread @last"],
      ["follow @", "follow @last"],
      ["fork @last --from-role pl", "--from-role planner"],
      ["fork @last --from-role coder#2", "--from-role coder#2"],
      [`rollback play ${first.slice(0, 5)}`, `rollback play ${first}`],
      [`run play@${current.slice(0, 5)}`, `run play@${current}`],
      ["threads --status=comp", "threads --status=completed"],
      ["run play --prompt 'two words' --dura", "--durability"],
      ["add x /et", "add x /etc/"],
      ["run /et", "run /etc/"],
      ["run flow", "run flow-of-mine.ts"],
    ] as const
  ).map(([typed, wanted]) => [`uncaged-workflow ${typed}`, wanted]);
}

for (const shell of shells) {
  const missing = Bun.which(shell.name) === null ? `: ${shell.name} is not on this machine` : "";
  test.skipIf(missing !== "")(
    `${shell.name} completes typed lines${missing}`,
    async () => {
      const lines = await typedAndWanted();
      expect(await completed(shell, lines)).toEqual(lines);
    },
    180_000,
  );
}

const noFish = Bun.which("fish") === null ? ": fish is not on this machine" : "";
test.skipIf(noFish !== "")(
  `fish completes typed lines${noFish}`,
  async () => {
    const lines = await typedAndWanted();
    const script = [
      "uncaged-workflow completion fish | source",
      ...lines.map(([typed]) => `complete -C ${JSON.stringify(typed)}; echo =`),
    ];
    const child = Bun.spawn(["fish", "--no-config", "-c", script.join("\n")], {
      cwd: store.folder,
      env: { ...store.env, PATH: `${programFolder()}:${process.env.PATH}` },
      stdout: "pipe",
      stderr: "pipe",
    });
    const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text()]);
    expect(stderr).toBe("");
    const found = stdout.split("=\n").slice(0, -1);
    for (const [at, [typed, wanted]] of lines.entries()) {
      const words = found[at]?.split("\n").map((line) => line.split("\t")[0]) ?? [];
      expect([typed, words]).toEqual([typed, expect.arrayContaining([wanted.split(" ").at(-1)])]);
    }
  },
  180_000,
);
