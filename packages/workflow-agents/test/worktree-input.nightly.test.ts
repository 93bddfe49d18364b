import { afterAll, describe, expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  createRoleModerator,
  END,
  eventsChannel,
  type Role,
  type Step,
  type WorktreeMeta,
} from "@uncaged/workflow";
import { type RunThreadOptions, runThread } from "@uncaged/workflow/testing";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { worktree, type WorktreeOptions } from "../src/entry/index.ts";
import { TestRepository } from "./worktree/repository.ts";

/* Tests worktrees of unusual repositories, settings and agents. */
const folder = realpathSync(mkdtempSync(join(tmpdir(), "uncaged-worktree-input-")));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let count = 0;
const next = (name: string) => join(folder, `${name}-${(count += 1)}`);
const repositoryOf = (options = {}) => new TestRepository(next("repository"), options);

type Work = (cwd: string, env: Readonly<Record<string, string>>) => void | Promise<void>;
type Play = { works: Work[]; options?: WorktreeOptions; thread?: RunThreadOptions };

/** Runs a thread with a role in a worktree. Each step of the role calls the next function in `works`. */
async function play(repository: TestRepository, { works, options, thread }: Play) {
  const worktrees = join(next("root"), "worktrees", "thread");
  const worker: Role<object> = async ({ steps, cwd, env = {} }) => {
    await works[steps.length]?.(cwd, env);
    return { content: "done", meta: {} };
  };
  const run = createRoleModerator({
    roles: { worker: worktree(options)(worker) },
    moderator: ({ steps }) => (steps.length < works.length ? "worker" : END),
  });
  const messages: string[] = [];
  const listen = (event: unknown) => {
    const { type, payload } = event as { type: string; payload: { message: string } };
    if (type === "tool_message") messages.push(payload.message);
  };
  subscribe(eventsChannel, listen);
  const outcome = await runThread(run, {
    ...{ cwd: repository.folder, env: repository.env, options: { worktrees } },
    ...thread,
  }).finally(() => unsubscribe(eventsChannel, listen));
  const error = "message" in outcome ? outcome.message : null;
  return { ...outcome, error, messages, trees: treesOf(outcome.steps), worktrees };
}

const treesOf = (steps: readonly Step[]) => steps.map(({ meta }) => meta.worktree as WorktreeMeta);

const write =
  (name: string, text = "text\n"): Work =>
  (cwd) =>
    writeFileSync(join(cwd, name), text);
const inGit =
  (...args: string[]): Work =>
  (cwd, env) => {
    const who = { GIT_AUTHOR_NAME: "A", GIT_AUTHOR_EMAIL: "a@b", GIT_COMMITTER_NAME: "A" };
    const own = { ...env, ...who, GIT_COMMITTER_EMAIL: "a@b" };
    const { exitCode, stderr } = Bun.spawnSync(["git", ...args], { cwd, env: own });
    if (exitCode !== 0) throw new Error(stderr.toString());
  };
const all =
  (...works: Work[]): Work =>
  async (cwd, env) => {
    for (const work of works) await work(cwd, env);
  };

describe("a role in a worktree fails with a one-line error for", () => {
  const bad: [string, RegExp, () => Play & { repository: TestRepository }][] = [
    [
      "a folder outside of a repository",
      /^a worktree needs a git repository, but ".*" is not in one$/,
      () => ({ repository: repositoryOf(), works: [write("a")], thread: { cwd: folder } }),
    ],
    [
      "a missing folder",
      /^a worktree needs a git repository, but ".*" does not exist$/,
      () => {
        const repository = repositoryOf();
        renameSync(repository.folder, next("moved"));
        return { repository, works: [write("a")] };
      },
    ],
    [
      "a repository without commits",
      /^no commit found in the repository .*\.git: a worktree starts from a commit$/,
      () => ({ repository: repositoryOf({ commit: false }), works: [write("a")] }),
    ],
    [
      "an unknown branch",
      /^no commit "--all" found in the repository .*\.git$/,
      () => ({ repository: repositoryOf(), works: [write("a")], options: { from: "--all" } }),
    ],
    [
      "a missing git command",
      /^a worktree needs git, which was not found$/,
      () => {
        const repository = repositoryOf();
        return { repository, works: [], thread: { env: { PATH: next("nothing") } } };
      },
    ],
    [
      "an old git",
      /^a worktree needs git 2\.25 or later: this is git version 1\.8\.3$/,
      () => {
        const bin = next("bin");
        mkdirSync(bin);
        writeFileSync(join(bin, "git"), "#!/bin/sh\necho git version 1.8.3\n", { mode: 0o755 });
        return { repository: repositoryOf(), works: [], thread: { env: { PATH: bin } } };
      },
    ],
    [
      "a missing folder for worktrees",
      /^missing folder for the thread's worktrees$/,
      () => ({ repository: repositoryOf(), works: [], thread: { options: {} } }),
    ],
    [
      "a commit that the repository does not have",
      /^the repository .* does not have the files of the last step of .*: commit 0{40}, which was made in \/elsewhere\/\.git$/,
      () => {
        const id = "0".repeat(40);
        const where = { repository: "/elsewhere/.git", branch: "b" };
        const made = { name: "thread", ...where, base: id, commit: id, tree: id };
        const steps = [{ role: "worker", content: "", meta: { worktree: made } }];
        return { repository: repositoryOf(), works: [write("a"), write("b")], thread: { steps } };
      },
    ],
  ];
  test.each(bad)("%s", async (_, message, made) => {
    const { repository, ...given } = made();
    const { status, error } = await play(repository, {
      ...given,
      works: [...given.works, write("a")],
    });
    expect([status, error]).toEqual(["failed", expect.stringMatching(message)]);
  });
});

describe("a worktree is created from", () => {
  test("a folder within a repository with a detached HEAD, and a bare repository", async () => {
    const full = repositoryOf();
    full.write("packages/a b/it.txt", "it");
    full.git("add", "-A");
    full.commit("second");
    full.git("checkout", "-q", "--detach");
    const inFolder = join(full.folder, "packages/a b");
    let seen = "";
    const look: Work = (cwd) => void (seen = cwd);
    const within = await play(full, { works: [look], thread: { cwd: inFolder } });
    expect(within.error).toBeNull();
    expect(seen.endsWith("/worktrees/thread/thread/packages/a b")).toBe(true);
    const bare = repositoryOf({ commit: false, bare: true });
    full.git("push", "-q", bare.folder, "HEAD:refs/heads/main");
    const { trees, error } = await play(bare, { works: [write("new")] });
    expect(error).toBeNull();
    expect(bare.files(trees[0]?.commit ?? "")).toEqual(["README.md", "new", "packages/a b/it.txt"]);
  });

  test("a repository with uncommitted changes, which stay in place and are not in the worktree", async () => {
    const repository = repositoryOf();
    repository.write("README.md", "changed");
    repository.write("staged", "staged");
    repository.git("add", "staged");
    repository.write(".git/index.lock", "");
    const before = readFileSync(join(repository.folder, ".git/index"));
    const { trees, error, messages } = await play(repository, { works: [write("a")] });
    expect([error, messages.length]).toEqual([null, 1]);
    expect(messages[0]).toMatch(/^uncommitted changes in .* are not in the worktree$/);
    expect(repository.git("show", `${trees[0]?.commit}:README.md`)).toBe("# It\n");
    expect(readFileSync(join(repository.folder, ".git/index"))).toEqual(before);
  });

  test("a repository with submodules, whose folders stay empty", async () => {
    const inner = repositoryOf();
    const repository = repositoryOf();
    repository.git(
      "-c",
      "protocol.file.allow=always",
      "submodule",
      "add",
      "-q",
      inner.folder,
      "sub",
    );
    repository.commit("with a submodule");
    const { trees, messages } = await play(repository, { works: [write("a"), write("b")] });
    expect(messages).toEqual([
      "the folders of submodules are empty in the worktree, and stay as they are in its commits",
    ]);
    expect(repository.files(trees[1]?.commit ?? "")).toEqual([
      ...[".gitmodules", "README.md", "a", "b", "sub"],
    ]);
  });
});

test("a partial worktree, left by a killed git, is created again", async () => {
  const repository = repositoryOf();
  const worktrees = join(next("root"), "worktrees", "thread");
  const entry = join(repository.folder, ".git/worktrees/thread");
  mkdirSync(entry, { recursive: true });
  writeFileSync(join(entry, "locked"), "initializing");
  writeFileSync(join(entry, "gitdir"), `${join(worktrees, "thread/.git")}\n`);
  const thread = { options: { worktrees } };
  const { error, trees } = await play(repository, { works: [write("a")], thread });
  expect([error, repository.files(trees[0]?.commit ?? "")]).toEqual([null, ["README.md", "a"]]);
  expect(repository.git("worktree", "list").trim().split("\n").length).toBe(2);
}, 60_000);

test("the user's hooks, programs, signing and line-ending settings do not apply", async () => {
  const repository = repositoryOf();
  const ran = next("ran");
  for (const hook of [
    "post-checkout",
    "pre-commit",
    "commit-msg",
    "reference-transaction",
    "post-index-change",
  ]) {
    const path = join(repository.folder, ".git/hooks", hook);
    writeFileSync(path, `#!/bin/sh\necho ${hook} >> '${ran}'\nexit 1\n`);
    chmodSync(path, 0o755);
  }
  const program = next("program");
  writeFileSync(program, `#!/bin/sh\necho program >> '${ran}'\nexit 1\n`, { mode: 0o755 });
  const settings = `[commit]\ngpgSign = true\n[gpg]\nprogram = ${program}\n[core]\nautocrlf = true\nsafecrlf = true\nfsmonitor = ${program}\n[user]\nuseConfigOnly = true\n`;
  writeFileSync(join(repository.env.HOME ?? "", ".gitconfig"), settings);
  const { trees, error } = await play(repository, {
    works: [write("crlf", "a\r\nb\n"), write("other")],
  });
  expect(error).toBeNull();
  expect(existsSync(ran)).toBe(false);
  expect(repository.git("show", `${trees[1]?.commit}:crlf`)).toBe("a\r\nb\n");
  const author = repository.git("log", "-1", "--format=%an <%ae> %cn", trees[0]?.commit ?? "");
  expect(author.trim()).toBe("uncaged-workflow <uncaged-workflow@localhost> uncaged-workflow");
});

test("the author of the commits has the user's name and address", async () => {
  const repository = repositoryOf();
  repository.git("config", "user.name", "Me Myself");
  repository.git("config", "user.email", "me@example.org");
  const { trees } = await play(repository, { works: [write("a")] });
  const author = repository.git("log", "-1", "--format=%an <%ae>", trees[0]?.commit ?? "");
  expect(author.trim()).toBe("Me Myself <me@example.org>");
});

test("file names may have any characters that a file system allows", async () => {
  const repository = repositoryOf();
  const names = ["a b", "new\nline", "tab\t", '"quoted"', "-dash", "ü", ":(top)x", "back\\slash"];
  const { trees } = await play(repository, { works: [all(...names.map((name) => write(name)))] });
  expect(repository.files(trees[0]?.commit ?? "").sort()).toEqual(["README.md", ...names].sort());
});

describe("an agent may", () => {
  test("commit, or create a branch: the step's commit has the agent's files", async () => {
    const repository = repositoryOf();
    const { trees, error } = await play(repository, {
      works: [
        all(write("a"), inGit("add", "-A"), inGit("commit", "-q", "-m", "mine"), write("b")),
        all(inGit("checkout", "-q", "-b", "of-agent"), write("c")),
        all(inGit("checkout", "-q", "--orphan", "empty"), write("d")),
        write("e"),
      ],
    });
    expect(error).toBeNull();
    const [first = "", second = "", third = "", last = ""] = trees.map(({ commit }) => commit);
    expect(repository.git("log", "--format=%s", first)).toBe("worker\nmine\nfirst\n");
    expect(repository.files(last)).toEqual(["README.md", "a", "b", "c", "d", "e"]);
    expect(repository.git("rev-parse", "of-agent").trim()).toBe(first);
    for (const commit of [second, third])
      repository.git("merge-base", "--is-ancestor", commit, last);
    repository.git("fsck", "--strict");
  });

  test("remove or replace the worktree's `.git`: git does not use the repository around the storage root instead", async () => {
    const outer = repositoryOf();
    outer.write("theirs", "not committed");
    const before = outer.seen();
    const worktrees = join(outer.folder, ".uncaged/worktrees/thread");
    mkdirSync(join(outer.folder, ".uncaged"), { recursive: true });
    writeFileSync(join(outer.folder, ".uncaged/.gitignore"), "*\n");
    let code = 0;
    const works: Work[] = [
      all(
        (cwd) => rmSync(join(cwd, ".git")),
        (cwd, env) => {
          code = Bun.spawnSync(["git", "add", "-A"], { cwd, env: { ...env } }).exitCode;
        },
        write("a"),
      ),
      (cwd) => writeFileSync(join(cwd, ".git"), "gitdir: /nowhere\n"),
      all((cwd) => rmSync(join(cwd, ".git")), inGit("init", "-q"), write("b")),
      write("c"),
    ];
    const { trees, error } = await play(outer, { works, thread: { options: { worktrees } } });
    expect([error, code]).toEqual([null, 128]);
    expect(outer.files(trees[3]?.commit ?? "")).toEqual(["README.md", "a", "b", "c"]);
    const { "status --porcelain": status, head } = outer.seen();
    expect([status, head]).toEqual([before["status --porcelain"], before.head]);
  });

  test("leave a lock, a broken index, or nested repositories", async () => {
    const repository = repositoryOf();
    const entryOf = (cwd: string) => readFileSync(join(cwd, ".git"), "utf8").trim().slice(8);
    const nested: Work = (cwd, env) => {
      mkdirSync(join(cwd, "clone"));
      return all(
        inGit("init", "-q"),
        write("x"),
        inGit("add", "-A"),
        inGit("commit", "-qm", "x"),
      )(join(cwd, "clone"), env);
    };
    const { trees, error, messages } = await play(repository, {
      works: [
        all(write("a"), (cwd) => writeFileSync(join(entryOf(cwd), "index.lock"), "")),
        all(write("b"), (cwd) => writeFileSync(join(entryOf(cwd), "index"), "broken")),
        all(write("c"), nested),
        all(write("d"), (cwd) => {
          mkdirSync(join(cwd, "empty"));
          return inGit("init", "-q")(join(cwd, "empty"), {});
        }),
        write("e"),
      ],
    });
    expect(error).toBeNull();
    expect(repository.files(trees[4]?.commit ?? "")).toEqual([
      ...["README.md", "a", "b", "c", "d", "e"],
    ]);
    expect(messages).toEqual([
      'the commit of the worktree leaves out: "clone" is a repository of its own',
      expect.stringMatching(/^the commit of the worktree leaves out: .*empty\//),
    ]);
  });
});

test("two concurrent roles in one worktree are refused, and two in separate worktrees are not", async () => {
  const repository = repositoryOf();
  const both = async (of: "thread" | "role") => {
    const worktrees = join(next("root"), "worktrees", "thread");
    const slow: Role<object> = async () => {
      await Bun.sleep(20);
      return { content: "", meta: {} };
    };
    const tree = worktree({ of });
    const pair: Role<Record<string, unknown>> = async (ctx) => {
      const as = (role: string) => tree(slow)({ ...ctx, worktrees, role });
      const done = await Promise.allSettled([as("a"), as("b")]);
      return { content: done.map(({ status }) => status).join(), meta: {} };
    };
    const run = createRoleModerator({
      roles: { pair },
      moderator: ({ steps }) => (steps.length > 0 ? END : "pair"),
    });
    const { steps } = await runThread(run, { cwd: repository.folder, env: repository.env });
    return steps[0]?.content;
  };
  expect(await both("thread")).toBe("fulfilled,rejected");
  expect(await both("role")).toBe("fulfilled,fulfilled");
});
