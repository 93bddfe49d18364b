import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { WorktreeMeta } from "@uncaged/workflow";
import { openLocalHost, retryOptions, settled, type ThreadRef } from "@uncaged/workflow/host";
import { openRoot } from "../../workflow/src/disk/root.ts";
import { signalWorkers } from "../../workflow/test/fixtures/store.ts";
import { until } from "../../workflow/test/fixtures/until.ts";
import { anthropicServer } from "./anthropic-server.ts";
import { expectCounted } from "./counted.ts";
import type { Reply, WireServer } from "./wire.ts";
import { TestRepository } from "./worktree/repository.ts";
import { some } from "../../workflow/test/fixtures/cases.ts";

/*
 * Tests kills of workers and git processes at each moment. A repeated step begins with the files of the last committed
 * step.
 */
const folder = realpathSync(mkdtempSync(join(tmpdir(), "uncaged-worktree-crash-")));
const host = openLocalHost({ path: join(folder, "root") });
const root = openRoot({ path: join(folder, "root") });
let server: WireServer<{ model: string }>;
let reply: (turn: number) => Reply = () => ({ text: "done" });

beforeAll(async () => {
  server = await anthropicServer((body) => {
    const { messages } = body as { messages: { role: string }[] };
    return reply(messages.filter(({ role }) => role === "assistant").length + 1);
  });
  await host.register("writers", join(import.meta.dir, "worktree/writers.ts"));
  await host.register("coder", join(import.meta.dir, "worktree/coder.ts"));
}, 180_000);
afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
});

let count = 0;
function repositoryOf(): TestRepository {
  const repository = new TestRepository(join(folder, `repository-${(count += 1)}`));
  repository.write(".gitignore", "ignored\n");
  repository.git("add", "-A");
  repository.commit("ignores");
  return repository;
}

/**
 * Writes a `git` command that counts its calls and stops at one of them. `dies` waits for the stop and kills the
 * worker. The command cannot kill the worker itself, because it may be in its own PID namespace.
 */
function dyingGit(repository: TestRepository): {
  path: string;
  dieAt: (moment: string) => void;
  dies: () => Promise<void>;
  calls: () => number;
} {
  const bin = `${repository.folder}-bin`;
  mkdirSync(bin);
  const real = Bun.which("git") ?? "";
  const script = `#!/bin/sh
here='${bin}'
n=0
[ -f "$here/calls" ] && read -r n < "$here/calls"
n=$((n + 1))
echo "$n" > "$here/calls"
stop() { : > "$here/stopped"; exec tail -f /dev/null; }
if [ -f "$here/die-before-$n" ]; then rm "$here/die-before-$n"; stop; fi
if [ -f "$here/die-in-$n" ]; then rm "$here/die-in-$n"; '${real}' "$@" & stop; fi
if [ -f "$here/die-after-$n" ]; then rm "$here/die-after-$n"; '${real}' "$@"; stop; fi
exec '${real}' "$@"
`;
  writeFileSync(join(bin, "git"), script, { mode: 0o755 });
  const calls = join(bin, "calls");
  return {
    path: `${bin}:${process.env.PATH}`,
    dieAt: (moment) => writeFileSync(join(bin, `die-${moment}`), ""),
    async dies() {
      await until(() => existsSync(join(bin, "stopped")));
      await signalWorkers(root, "SIGKILL");
    },
    calls: () => (existsSync(calls) ? Number(readFileSync(calls, "utf8")) : 0),
  };
}

async function start(
  repository: TestRepository,
  workflow: string,
  more: Record<string, string> = {},
) {
  const keys = { ANTHROPIC_API_KEY: server.key, ANTHROPIC_BASE_URL: server.url };
  const env = { ...repository.env, PLACE: repository.folder, ...keys, ...more };
  const ref = await host.start({ workflow, prompt: "go", env, cwd: repository.folder });
  return { ref, env };
}

async function resumed(ref: ThreadRef, env: Record<string, string>) {
  expect((await settled(host, ref)).status).toBe("interrupted");
  await host.control(ref, { kind: "resume", env });
  return await settled(host, ref);
}

const treesOf = (view: Awaited<ReturnType<typeof settled>>) =>
  view.steps.map(({ meta }) => meta.worktree as WorktreeMeta);

/** Expects the writers' work to be complete, without lost or repeated parts. */
function expectWhole(repository: TestRepository, view: Awaited<ReturnType<typeof settled>>): void {
  expect([view.status, view.steps.map(({ content }) => content)]).toEqual([
    "completed",
    ["1\n", "1\n2\n", "1\n2\n3\n"],
  ]);
  const trees = treesOf(view);
  for (const [at, { commit }] of trees.entries()) {
    const names = ["file 1", "file 2", "file 3"].slice(0, at + 1);
    expect(repository.files(commit)).toEqual([".gitignore", "README.md", ...names, "lines"]);
    expect(repository.git("show", `${commit}:file ${at + 1}`)).toBe(`whole ${at + 1}`);
    const refs = repository.git("for-each-ref", "--points-at", commit);
    expect(refs).toContain(`refs/uncaged/${view.threadId}/thread.${commit}`);
  }
  expect(repository.git("fsck", "--strict", "--no-dangling")).toBe("");
  expect(repository.git("worktree", "list").trim().split("\n").length).toBe(2);
}

test.each(some(["role 1", "role 2", "commit 1", "commit 3"], 2))(
  "a thread continues after its worker is killed at %s",
  async (place) => {
    const repository = repositoryOf();
    writeFileSync(`${repository.folder}-die`, place);
    const { ref, env } = await start(repository, "writers");
    expectWhole(repository, await resumed(ref, env));
  },
  60_000,
);

describe("a thread in worktrees", () => {
  // The number of git calls in an undisturbed run. The first test below checks it.
  const calls = 42;
  const moments = Array.from({ length: calls }, (_, at) =>
    ["before", "in", "after"].map((when) => `${when}-${at + 1}`),
  ).flat();

  test("calls git the expected number of times in an undisturbed run", async () => {
    const repository = repositoryOf();
    const git = dyingGit(repository);
    const { ref } = await start(repository, "writers", { PATH: git.path });
    expectWhole(repository, await settled(host, ref));
    expect(git.calls()).toBe(calls);
  }, 60_000);

  test.each(some(moments, 25, 4))(
    "%s",
    async (moment) => {
      const repository = repositoryOf();
      const git = dyingGit(repository);
      git.dieAt(moment);
      const { ref, env } = await start(repository, "writers", { PATH: git.path });
      await git.dies();
      expectWhole(repository, await resumed(ref, env));
      await host.remove(ref);
      await host.collect({ now: Date.now() + 8 * 86_400_000, trash: true });
      expect(repository.git("for-each-ref", "refs/uncaged")).toBe("");
      expect(repository.git("worktree", "list").trim().split("\n").length).toBe(1);
    },
    60_000,
  );
});

const write = (path: string) => ({ name: "writeFile", input: { path, content: path } });
const build = {
  name: "runCommand",
  input: { argv: ["sh", "-c", "mkdir ignored; touch ignored/built"] },
};

describe("a continued conversation finds its files", () => {
  test("after a kill of its worker", async () => {
    const repository = repositoryOf();
    let killed: Promise<unknown> | null = null;
    reply = (turn) => {
      if (turn === 1) return { tools: [write("a"), build] };
      if (killed) return turn === 2 ? { tools: [write("b")] } : { text: "done" };
      killed = signalWorkers(root, "SIGKILL");
      return { text: "I ", held: killed, fault: { kind: "hang" } };
    };
    server.came.splice(0);
    const { ref, env } = await start(repository, "coder");
    const view = await resumed(ref, env);
    await expectCounted(host, [ref], [server]);
    const [tree] = treesOf(view);
    expect(repository.files(tree?.commit ?? "")).toEqual([".gitignore", "README.md", "a", "b"]);
    expect(existsSync(join(root, "worktrees", ref.threadId, "coder/ignored/built"))).toBe(true);
  }, 60_000);

  test("in a retry, which has a separate worktree", async () => {
    const repository = repositoryOf();
    let fails = true;
    reply = (turn) => {
      if (turn === 1) return { tools: [write("a"), build] };
      if (!fails) return turn === 2 ? { tools: [write("b")] } : { text: "done" };
      fails = false;
      return {
        fault: { kind: "status", status: 400, type: "invalid_request_error", message: "no" },
      };
    };
    const { ref, env } = await start(repository, "coder");
    const failed = await settled(host, ref);
    expect(failed.status).toBe("failed");
    const before = server.came.length;
    const retried = await host.fork(ref, retryOptions(failed, { env }));
    const view = await settled(host, retried);
    expect([view.status, server.came.length - before]).toEqual(["completed", 2]);
    const [tree] = treesOf(view);
    expect(repository.files(tree?.commit ?? "")).toEqual([".gitignore", "README.md", "a", "b"]);
    expect(existsSync(join(root, "worktrees", view.threadId, "coder/ignored/built"))).toBe(true);
    // Without the worktree of the source thread, the conversation restarts too.
    rmSync(join(root, "worktrees", ref.threadId, "coder"), { recursive: true });
    const third = await host.fork(ref, retryOptions(failed, { env }));
    const anew = await settled(host, third);
    expect([anew.status, server.came.length - before]).toEqual(["completed", 5]);
    expect(repository.files(treesOf(anew)[0]?.commit ?? "")).toEqual([
      ...[".gitignore", "README.md", "a", "b"],
    ]);
  }, 60_000);
});
