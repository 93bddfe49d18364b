import { afterAll, beforeAll, expect, test } from "bun:test";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { playStore, programWords, removeFolders, type Store } from "./program.ts";

afterAll(removeFolders);

let store: Store;
let id: string;

beforeAll(async () => {
  store = await playStore();
  id = await store.play({}, "--wait");
});

const candidates = async (...words: string[]): Promise<string[]> => {
  const lines = (await store.ok(["__complete", "--", ...words])).split("\n");
  return lines.map((line) => line.split("\t")[0] ?? "");
};

test("a command is completed from its beginning", async () => {
  expect(await candidates("r")).toEqual([
    ...["rollback", "remove", "run", "resume", "retry", "rerun"],
  ]);
  expect(await candidates("")).not.toContain("__complete");
});

test("an option is completed, and what it takes", async () => {
  expect(await candidates("run", "--p")).toEqual(["--prompt", "--prompt-file", "--params"]);
  expect(await candidates("threads", "--status", "c")).toEqual(["completed", "corrupt"]);
  expect(await candidates("run", "play", "--durability", "")).toEqual(["step", "os"]);
  expect(await candidates("threads", "--workflow", "p")).toEqual(["play"]);
  expect(await candidates("fork", "@last", "--on", "")).toEqual(["play"]);
  expect(await candidates("rerun", "@last", "--from-step", "p")).toEqual(["planner"]);
  expect(await candidates("rerun", "@last", "--set", "")).toEqual([""]);
});

test("a workflow's name and a thread's id are completed from the store", async () => {
  expect(await candidates("run", "")).toEqual(["play"]);
  expect(await candidates("thread", "")).toEqual(["rm", "@last", id]);
  expect(await candidates("thread", "rm", "")).toEqual(["@last", id]);
  expect(await candidates("kill", "@last", id.slice(0, 6).toLowerCase())).toEqual([id]);
  expect(await candidates("--root", store.root, "show", "")).toEqual(["play"]);
});

test("a path is left to the shell", async () => {
  expect(await candidates("add", "play", "")).toEqual([":files"]);
  expect(await candidates("run", "play", "--prompt-file", "")).toEqual([":files"]);
  expect(await candidates("completion", "")).toEqual(["bash", "zsh", "fish"]);
});

test("a storage root that can't be read has nothing to complete, and prints nothing", async () => {
  const { code, stdout, stderr } = await store.run(["__complete", "--", "run", ""], {
    env: { UNCAGED_WORKFLOW_STORAGE_ROOT: join(import.meta.dir, "program.ts") },
  });
  expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: "", stderr: "" });
});

/** A folder that has the program under its own name. */
function programFolder(): string {
  const folder = join(store.folder, "bin");
  mkdirSync(folder, { recursive: true });
  const words = programWords.map((word) => `'${word}'`).join(" ");
  const path = join(folder, "uncaged-workflow");
  writeFileSync(path, `#!/bin/sh\nexec ${words} "$@"\n`);
  chmodSync(path, 0o700);
  return folder;
}

test.if(Bun.which("bash") !== null)("bash completes with the script that is printed", async () => {
  const script = `
    eval "$(uncaged-workflow completion bash)"
    complete_line() {
      COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
      _uncaged_workflow
      echo "\${COMPREPLY[*]}"
    }
    complete_line uncaged-workflow hi
    complete_line uncaged-workflow run pl
    complete_line uncaged-workflow thread ${id.slice(0, 10)}
    cd /; complete_line uncaged-workflow add x /et
    complete -p uncaged-workflow
  `;
  const child = Bun.spawn(["bash", "--norc", "-c", script], {
    env: { ...store.env, PATH: `${programFolder()}:${process.env.PATH}` },
    stdout: "pipe",
  });
  const lines = (await child.stdout.text()).trimEnd().split("\n");
  expect(lines).toEqual([
    "history",
    "play",
    id,
    "/etc",
    "complete -F _uncaged_workflow uncaged-workflow",
  ]);
});

for (const shell of ["zsh", "fish"].filter((name) => Bun.which(name) !== null)) {
  test(`${shell} reads its script without a complaint`, async () => {
    const script = await store.ok(["completion", shell]);
    const child = Bun.spawn([shell, "-n", "/dev/stdin"], {
      stdin: new TextEncoder().encode(script),
      stderr: "pipe",
    });
    expect(await child.stderr.text()).toBe("");
    expect(await child.exited).toBe(0);
  });
}
