import { afterAll, expect, test } from "bun:test";
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRoleModerator, END, type Role } from "@uncaged/workflow";
import { runThread } from "@uncaged/workflow/testing";
import { worktree } from "../src/entry/index.ts";
import { TestRepository } from "./worktree/repository.ts";

/*
 * Tests agents that put programs into the git directories that the host's git uses. Git must not start any of these
 * programs.
 */
const folder = realpathSync(mkdtempSync(join(tmpdir(), "uncaged-worktree-hostile-")));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let count = 0;

/**
 * Creates programs and hooks that leave a file when they start. `started` returns the names of the started programs.
 */
function traps() {
  const place = join(folder, `traps-${(count += 1)}`);
  const ran = join(place, "ran");
  const hooks = join(place, "hooks");
  for (const one of [ran, hooks]) mkdirSync(one, { recursive: true });
  const program = (name: string, path = join(place, name)): string => {
    writeFileSync(path, `#!/bin/sh\n: > "${ran}/${name}"\ncat\n`, { mode: 0o755 });
    return path;
  };
  for (const name of hookNames) program(name, join(hooks, name));
  return { place, hooks, program, started: () => readdirSync(ran).toSorted() };
}

const hookNames = [
  ...["pre-commit", "post-checkout", "post-commit", "post-merge", "pre-merge-commit"],
  ...["reference-transaction", "post-index-change", "commit-msg", "prepare-commit-msg"],
];

/** Writes settings that can make git start a program into a git directory. */
function plant(gitDir: string, { place, hooks, program }: ReturnType<typeof traps>): void {
  cpSync(hooks, join(gitDir, "hooks"), { recursive: true });
  const included = join(place, "included");
  const attributes = join(place, "attributes");
  writeFileSync(included, `[core]\n\tfsmonitor = ${program("included-fsmonitor")}\n`);
  writeFileSync(attributes, "* filter=evil diff=evil merge=evil\n");
  mkdirSync(join(gitDir, "info"), { recursive: true });
  writeFileSync(join(gitDir, "info/attributes"), "* filter=evil diff=evil merge=evil\n");
  const config = `
[core]
	repositoryformatversion = 1
	hooksPath = ${hooks}
	fsmonitor = ${program("fsmonitor")}
	sshCommand = ${program("ssh")}
	pager = ${program("pager")}
	editor = ${program("editor")}
	askPass = ${program("askpass")}
	gitProxy = ${program("proxy")}
	attributesFile = ${attributes}
[include]
	path = ${included}
[commit]
	gpgsign = true
[gpg]
	program = ${program("gpg")}
[credential]
	helper = !${program("credential")}
[diff]
	external = ${program("diff-external")}
[diff "evil"]
	textconv = ${program("textconv")}
	command = ${program("diff-command")}
[filter "evil"]
	clean = ${program("clean")}
	smudge = ${program("smudge")}
[merge "evil"]
	driver = ${program("merge-driver")} %A
[protocol]
	allow = always
[protocol "ext"]
	allow = always
[remote "origin"]
	url = ext::${program("remote")}
	promisor = true
[extensions]
	partialClone = origin
	worktreeConfig = true
[submodule]
	recurse = true
[submodule "sub"]
	url = ext::${program("submodule")}
	update = !${program("submodule-update")}
`;
  appendFileSync(join(gitDir, "config"), config);
  writeFileSync(join(gitDir, "config.worktree"), config);
}

/**
 * Returns a workflow of two roles with conflicting changes and a merge. Each role calls `hostile` after its changes.
 */
function team(hostile: (cwd: string) => void) {
  const role = (name: string): Role<Record<string, unknown>> => {
    return async ({ cwd }) => {
      writeFileSync(join(cwd, "README.md"), `# ${name}\n`);
      writeFileSync(join(cwd, `${name}.txt`), name);
      hostile(cwd);
      return { content: name, meta: {} };
    };
  };
  const tree = worktree({ of: "role" });
  const order = ["one", "two", "merger"] as const;
  return createRoleModerator({
    roles: { one: tree(role("one")), two: tree(role("two")), merger: tree.merge("one", "two") },
    moderator: ({ steps }) => order[steps.length] ?? END,
  });
}

const play = (repository: TestRepository, run: ReturnType<typeof team>) => {
  const worktrees = join(folder, `root-${(count += 1)}`, "worktrees", "thread");
  const { env, folder: cwd } = repository;
  return runThread(run, { cwd, env, options: { worktrees } });
};

const newRepository = () => new TestRepository(join(folder, `repository-${(count += 1)}`));

test("git starts no program that an agent put into its repository", async () => {
  const repository = newRepository();
  const trap = traps();
  const gitDir = join(repository.folder, ".git");
  const run = team((cwd) => {
    if (!existsSync(join(gitDir, "config.worktree"))) plant(gitDir, trap);
    writeFileSync(join(cwd, ".gitattributes"), "* filter=evil diff=evil merge=evil\n");
    const entry = /gitdir: (.*)\n/.exec(readFileSync(join(cwd, ".git"), "utf8"))?.[1] ?? "";
    plant(entry, trap);
  });
  const { status, steps } = await play(repository, run);
  expect(status).toBe("completed");
  expect(steps.at(-1)?.meta.conflicts).toEqual(["README.md"]);
  // Another thread begins with the git directories that the agents changed.
  expect(
    (
      await play(
        repository,
        team(() => undefined),
      )
    ).status,
  ).toBe("completed");
  expect(trap.started()).toEqual([]);
});

test("git starts no program of a nested repository or a submodule", async () => {
  const repository = newRepository();
  const trap = traps();
  const inner = newRepository();
  const head = inner.git("rev-parse", "HEAD").trim();
  repository.write(
    ".gitmodules",
    '[submodule "sub"]\n\tpath = sub\n\turl = ../sub\n\tignore = none\n',
  );
  repository.git("add", ".gitmodules");
  repository.git("update-index", "--add", "--cacheinfo", `160000,${head},sub`);
  repository.commit("a submodule");
  const run = team((cwd) => {
    for (const name of ["sub", "nested"]) {
      rmSync(join(cwd, name), { recursive: true, force: true });
      cpSync(inner.folder, join(cwd, name), { recursive: true });
      plant(join(cwd, name, ".git"), trap);
      // The length is unchanged, so git has to read the file to detect the change.
      writeFileSync(join(cwd, name, "README.md"), "# No\n");
    }
  });
  expect((await play(repository, run)).status).toBe("completed");
  expect(trap.started()).toEqual([]);
});

test("git starts no program when an agent replaces the repository between two git commands", async () => {
  const repository = newRepository();
  const trap = traps();
  const gitDir = join(repository.folder, ".git");
  const run = team(() => {
    if (existsSync(join(repository.folder, ".old"))) return;
    renameSync(gitDir, join(repository.folder, ".old"));
    mkdirSync(gitDir);
    cpSync(join(repository.folder, ".old"), gitDir, { recursive: true });
    plant(gitDir, trap);
  });
  expect((await play(repository, run)).status).toBe("completed");
  rmSync(gitDir, { recursive: true });
  mkdirSync(gitDir);
  plant(gitDir, trap);
  expect((await play(repository, run)).status).toBe("failed");
  expect(trap.started()).toEqual([]);
});
