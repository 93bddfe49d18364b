import { afterAll, expect, test } from "bun:test";
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { programWords } from "./command.ts";
import { Store, playBundle, playStore, removeFolders, untilNoWorker } from "./program.ts";
import { until } from "../../workflow/test/fixtures/until.ts";

afterAll(removeFolders);

type Problems = { ok: boolean; problems: { code: string; message: string; hint: string }[] };

async function codes(store: Store): Promise<string[]> {
  const { code, stdout } = await store.run(["doctor", "--json"]);
  const { ok, problems } = JSON.parse(stdout) as Problems;
  expect(code).toBe(ok ? 0 : 1);
  return problems.map((problem) => problem.code);
}

test("doctor prints one line if there are no problems", async () => {
  const store = await playStore();
  await store.play({}, "--wait");
  expect(await store.run(["doctor"])).toEqual({
    code: 0,
    stdout: `all is well: ${store.root}\n`,
    stderr: "",
  });
});

test("doctor names each problem on a line, with a hint", async () => {
  const store = await playStore();
  const id = await store.play({ ms: 600_000 });
  await store.killWorkers();
  await store.until(id, "interrupted");
  // The system may still be closing the worker's files and sockets.
  let found: string[] = [];
  await until(async () => !(found = await codes(store)).includes("WORKER_STUCK"));
  expect(found).toEqual(["SOCKET_STALE", "THREAD_INTERRUPTED"]);
  const { stdout } = await store.run(["doctor"]);
  expect(stdout.trimEnd().split("\n")).toHaveLength(2);
  expect(stdout).toContain(`uncaged-workflow resume ${id}`);
  rmSync(join(store.root, "bundles"), { recursive: true });
  expect(await codes(store)).toContain("BUNDLE_MISSING");
  writeFileSync(join(store.root, "workflow.yaml"), "workflows: [\n");
  expect(await codes(store)).toContain("REGISTRY_BROKEN");
  chmodSync(store.root, 0o777);
  expect(await codes(store)).toEqual(["ROOT_OPEN_TO_OTHERS"]);
});

test("a command reports that its temporary folder is missing", async () => {
  const store = await playStore();
  const env = { TMPDIR: join(store.folder, "nowhere") };
  writeFileSync(join(store.folder, "flow.ts"), readFileSync(playBundle));
  for (const args of [
    ["add", "flow", "flow.ts"],
    ["run", "flow.ts"],
    ["build", "flow.ts"],
  ]) {
    const { code, stderr } = await store.run(args, { env });
    const what = `the temporary folder ${env.TMPDIR} is not readable and writable: no bundle can be built or added`;
    const error = `error: ${what}; hint: set TMPDIR to a readable and writable folder\n`;
    expect({ args, code, stderr }).toEqual({ args, code: 1, stderr: error });
  }
});

test("doctor reports a worker that does not answer", async () => {
  const store = await playStore();
  const id = await store.play({ ms: 600_000 });
  const { pid } = await store.json<{ pid: number }>(["thread", id]);
  process.kill(pid, "SIGSTOP");
  try {
    expect(await codes(store)).toEqual(["WORKER_SILENT"]);
  } finally {
    process.kill(pid, "SIGCONT");
  }
  await store.ok(["kill", id]);
}, 180_000);

test("doctor reports all problems, not only the first", async () => {
  const store = await playStore();
  const id = await store.play({}, "--wait");
  const { hash } = await store.json<{ hash: string }>(["thread", id]);
  await untilNoWorker(store.root);
  writeFileSync(join(store.root, "workflow.yaml"), "workflows: [\n");
  appendFileSync(join(store.root, "logs", hash, `${id}.data.jsonl`), "{broken}\n");
  mkdirSync(join(store.root, "index"), { recursive: true, mode: 0o700 });
  writeFileSync(join(store.root, "index/threads.sqlite"), "", { mode: 0o400 });
  const env = { TMPDIR: join(store.folder, "nowhere"), UNCAGED_WORKFLOW_IDLE_MS: "soon" };
  const { code, stdout } = await store.run(["doctor", "--json"], { env });
  const { ok, problems } = JSON.parse(stdout) as Problems;
  expect({ code, ok }).toEqual({ code: 1, ok: false });
  expect(problems.map((problem) => problem.code)).toEqual([
    ...["BAD_VARIABLE", "TMPDIR_UNUSABLE", "REGISTRY_BROKEN", "INDEX_UNUSABLE", "LOG_CORRUPT"],
  ]);
  for (const { message, hint } of problems) {
    expect(message).toMatch(/^[^\n]+$/);
    expect(hint).toMatch(/^[^\n]+$/);
  }
  const { problems: inOpen } = JSON.parse(
    (await store.run(["doctor", "--json", "--root", join(store.root, "workflow.yaml")], { env }))
      .stdout,
  ) as Problems;
  expect(inOpen.map((problem) => problem.code)).toEqual([
    ...["BAD_VARIABLE", "TMPDIR_UNUSABLE", "ROOT_NOT_A_FOLDER"],
  ]);
});

test("verify accepts a valid store, and names the file and the line of a fault", async () => {
  const store = await playStore();
  const id = await store.play({}, "--wait");
  const sound = await store.run(["verify"]);
  expect(sound).toMatchObject({ code: 0, stdout: "", stderr: "1 bundle and 1 thread are sound\n" });
  const { hash } = await store.json<{ hash: string }>(["thread", id]);
  const log = join(store.root, "logs", hash, `${id}.data.jsonl`);
  const lines = readFileSync(log, "utf8").split("\n");
  writeFileSync(log, [lines[0], "{broken", ...lines.slice(2)].join("\n"));
  appendFileSync(join(store.root, "bundles", `${hash}.esm.js`), "// changed");
  const { code, stdout, stderr } = await store.run(["verify"]);
  expect(code).toBe(1);
  expect(stdout).toContain(`${log}:2: `);
  expect(stdout).toContain(`${hash}.esm.js: `);
  expect(stderr).toBe("2 problems in 1 bundle and 1 thread\n");
});

test("gc deletes unneeded files, and a dry run deletes nothing", async () => {
  const store = await playStore();
  const changed = join(store.folder, "other.esm.js");
  writeFileSync(changed, `${readFileSync(playBundle, "utf8")}\n// other\n`);
  const hash = await store.ok(["add", "other", changed]);
  await store.ok(["remove", "other"]);
  expect(await store.ok(["gc", "--dry-run"])).toBe("");
  const longAgo = new Date(Date.now() - 7_200_000);
  for (const ending of ["esm.js", "yaml"]) {
    utimesSync(join(store.root, "bundles", `${hash}.${ending}`), longAgo, longAgo);
  }
  const before = store.tree();
  expect(await store.ok(["gc", "--dry-run"])).toBe(hash);
  expect(store.tree()).toEqual(before);
  const { stdout, stderr } = await store.run(["gc"]);
  expect(stdout).toBe(`${hash}\n`);
  expect(stderr).toContain("1 bundle moved to the trash");
  expect(await store.ok(["gc"])).toBe("");
});

test("a removed thread is listed in the trash, restored, and deleted by gc --trash after seven days", async () => {
  const store = await playStore();
  const id = (await store.play({}, "--wait")).split("\n")[0] ?? "";
  const removed = await store.run(["thread", "rm", id]);
  expect(removed.stderr).toContain(`${id} is in the trash for at least 7 days`);
  expect((await store.run(["thread", id])).code).not.toBe(0);
  expect(await store.ok(["thread", "restore"])).toContain(id);
  expect(await store.ok(["thread", "restore", id])).toBe(`restored ${id}`);
  expect((await store.json<{ status: string }>(["thread", id])).status).toBe("completed");
  await store.ok(["thread", "rm", id]);
  const gc = async () => (await store.run(["gc", "--trash"])).stderr;
  expect(await gc()).toContain("0 removed threads deleted from the trash");
  const [name = ""] = readdirSync(join(store.root, "trash"));
  const [removedAt = ""] = name.split("-");
  const older = name.replace(removedAt, String(Number(removedAt) - 8 * 86_400_000));
  renameSync(join(store.root, "trash", name), join(store.root, "trash", older));
  await store.run(["gc"]);
  expect(await store.ok(["thread", "restore"])).toContain(id);
  expect(await gc()).toContain("1 removed thread deleted from the trash");
  expect((await store.run(["thread", "restore", id])).code).not.toBe(0);
});

test("version prints the package's version", async () => {
  const store = new Store();
  const { version } = JSON.parse(
    readFileSync(join(import.meta.dir, "../package.json"), "utf8"),
  ) as { version: string };
  for (const args of [["version"], ["--version"], ["-V"]])
    expect(await store.ok(args)).toBe(version);
});

test("commands that need the working folder fail with one line if it was deleted", async () => {
  const store = await playStore();
  const gone = join(store.folder, "gone");
  const call = async (args: string[]) => {
    const script = 'mkdir "$0" && cd "$0" && rmdir "$0" && exec "$@"';
    const child = Bun.spawn(["/bin/sh", "-c", script, gone, ...programWords, ...args], {
      env: store.env,
      stdout: "pipe",
      stderr: "pipe",
    });
    return { code: await child.exited, stderr: await child.stderr.text() };
  };
  expect(await call(["list"])).toEqual({ code: 0, stderr: "" });
  const { code, stderr } = await call(["run", "play"]);
  expect(code).toBe(1);
  expect(stderr).toMatch(/^error: [^\n]*was deleted[^\n]*\n$/);
});

test("gc reports a worktree that git can't remove, with the command that removes the worktree later", async () => {
  const store = await playStore();
  const repository = join(store.folder, "repository/.git");
  const worktrees = join(store.root, "worktrees/01KQXKW18CT8G75T53R8F4G7YG");
  const config = join(repository, "config");
  mkdirSync(dirname(repository));
  expect(Bun.spawnSync(["git", "init", "-q", dirname(repository)]).exitCode).toBe(0);
  const sound = readFileSync(config, "utf8");
  writeFileSync(config, `${sound}[broken\n`);
  mkdirSync(join(worktrees, "thread"), { recursive: true });
  writeFileSync(join(worktrees, "thread.json"), JSON.stringify({ repository }));
  const before = new Date(Date.now() - 7_200_000);
  utimesSync(worktrees, before, before);
  for (const args of [["gc"], ["gc", "--trash"]]) {
    const { code, stderr } = await store.run(args);
    const warning = stderr.split("\n").find((line) => line.startsWith("warning: "));
    expect({ code, warning }).toEqual({
      code: 0,
      warning: expect.stringMatching(
        new RegExp(
          `^warning: ${worktrees} was not deleted: ${repository}: can't delete the refs of the thread's worktrees: fatal: .*; fix the problem, then: uncaged-workflow ${args.join(" ")}$`,
        ),
      ),
    });
  }
  const { problems } = await store.json<{ problems: object[] }>(["gc"]);
  expect(problems).toMatchObject([{ path: worktrees }]);
  writeFileSync(config, sound);
  expect((await store.run(["gc"])).stderr).not.toContain("warning");
  expect(existsSync(worktrees)).toBe(false);
});
