import { afterEach, beforeEach, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bubblewrapArguments, type BubblewrapView, findBubblewrap } from "./bubblewrap.ts";
import { Handle } from "./handle.ts";
import { overlayOf, removeUnwanted, type Shown } from "./view.ts";

const found = await findBubblewrap({ PATH: process.env.PATH });
const missing = typeof found === "string" ? ` (left out: ${found})` : "";
const inSandbox = test.skipIf(missing !== "");

let top = "";
let project = "";
beforeEach(() => {
  top = realpathSync(mkdtempSync(join(tmpdir(), "uncaged-view-")));
  project = join(top, "project");
  mkdirSync(join(project, ".git/hooks"), { recursive: true });
  writeFileSync(join(project, ".git/HEAD"), "ref: refs/heads/main\n");
  writeFileSync(join(project, ".git/config"), "[core]\n");
  writeFileSync(join(project, ".env"), "A=1\n");
});
afterEach(() => rmSync(top, { recursive: true, force: true }));

const shown = (isWritable = true): Shown => ({
  ...{ handle: Handle.open(project), to: "/w", isWritable },
});

/** Runs a script in a sandbox. `before` runs after all handles are opened and before the mounts. */
function run(
  folder: Shown,
  script: string,
  { before = () => undefined, hidden = [] }: { before?: () => void; hidden?: string[] } = {},
) {
  if (typeof found === "string") throw new Error(found);
  const overlay = overlayOf(folder, hidden);
  before();
  const view: BubblewrapView = {
    writable: folder.isWritable ? [folder.handle] : [],
    shown: [folder, ...overlay.shown],
    covered: overlay.covered,
    ...{ links: [], env: {}, unsetEnv: [], cwd: "/w", hasFilter: false, temporaryBytes: 1024 ** 2 },
  };
  const { argv, descriptors } = bubblewrapArguments(found, view);
  const [command = "", ...args]: string[] = [...argv, "/bin/sh", "-c", script];
  const { status, stderr, stdout } = spawnSync(command, args, {
    ...{ encoding: "utf8", timeout: 60_000, env: { PATH: "/usr/bin:/bin" } },
    stdio: ["ignore", "pipe", "pipe", ...descriptors],
  });
  return { status, stdout, stderr };
}

inSandbox(`settings and hooks can't be changed, moved away or replaced${missing}`, () => {
  const script = `
    echo x > .env; rm -f .env; mv .env .old; echo x > .git/config; rm -rf .git/hooks
    echo x > .git/hooks/pre-commit; mv .git .gone; mv .git/hooks .git/h
    echo ok > made && echo ok > .git/index && mkdir sub && ls -a`;
  const { stdout } = run(shown(), script);
  expect(stdout.split("\n")).toContain("made");
  expect(readFileSync(join(project, ".env"), "utf8")).toBe("A=1\n");
  expect(readFileSync(join(project, ".git/config"), "utf8")).toBe("[core]\n");
  expect(readdirSync(join(project, ".git/hooks"))).toEqual([]);
  expect(readdirSync(project).sort()).toEqual([".env", ".git", "made", "sub"]);
});

inSandbox(`hooks can't be added to a repository without hooks${missing}`, () => {
  rmSync(join(project, ".git/hooks"), { recursive: true });
  run(shown(), "mkdir -p .git/hooks; echo x > .git/hooks/pre-commit; mv .git/hooks .git/h");
  expect(readdirSync(join(project, ".git/hooks"))).toEqual([]);
});

inSandbox(`a storage root below the project stays hidden at any depth${missing}`, () => {
  const root = join(project, "a/b/.uncaged");
  mkdirSync(root, { recursive: true });
  writeFileSync(join(root, "secret"), "hidden-text");
  const other = join(project, "named-otherwise");
  mkdirSync(other);
  writeFileSync(join(other, "secret"), "hidden-text");
  const script =
    "mv a a2; mv a/b c; mv named-otherwise n; cat */secret a*/b/.uncaged/secret; ls -A a/b/.uncaged";
  const { stdout, stderr } = run(shown(), script, { hidden: [other] });
  expect(stdout).toBe("");
  expect(stderr).toContain("Device or resource busy");
  expect(existsSync(join(root, "secret"))).toBe(true);
  expect(run(shown(false), "cat a/b/.uncaged/secret", { hidden: [other] }).stdout).toBe("");
});

inSandbox(`a protected file swapped for a link creates nothing on the host${missing}`, () => {
  const made = join(top, "made-on-the-host");
  const outcome = run(shown(), "echo started", {
    before() {
      rmSync(join(project, ".env"));
      symlinkSync(`/oldroot${made}`, join(project, ".env"));
    },
  });
  expect(outcome.stdout).toBe("");
  expect(existsSync(made)).toBe(false);
});

inSandbox(`a project swapped for a link does not show another folder${missing}`, () => {
  const victim = join(top, "victim");
  mkdirSync(victim);
  writeFileSync(join(victim, "secret"), "hidden-text");
  const outcome = run(shown(), "cat secret; echo x > /w/written", {
    before() {
      renameSync(project, join(top, "moved"));
      symlinkSync(victim, project);
    },
  });
  expect(outcome.stdout).not.toContain("hidden-text");
  expect(readdirSync(victim)).toEqual(["secret"]);
});

inSandbox(`a file that redirects .git to another folder is removed${missing}`, () => {
  const folder = shown();
  const { unwanted } = overlayOf(folder, []);
  run(folder, "mkdir .common; echo ../.common > .git/commondir; echo x > .git/index");
  expect(removeUnwanted(unwanted)).toEqual([join(project, ".git/commondir")]);
  expect(existsSync(join(project, ".git/commondir"))).toBe(false);
  expect(existsSync(join(project, ".git/index"))).toBe(true);
  writeFileSync(join(project, ".git/commondir"), "../.common");
  expect(() => overlayOf(folder, [])).toThrow("redirects git to another folder");
});

inSandbox(`the repositories of submodules and worktrees are protected too${missing}`, () => {
  const modules = join(project, ".git/modules");
  for (const path of ["lib", "lib/modules/inner", "libs/other"]) {
    mkdirSync(join(modules, path), { recursive: true });
    writeFileSync(join(modules, path, "HEAD"), "ref: refs/heads/main\n");
    writeFileSync(join(modules, path, "config"), "[core]\n");
  }
  const worktree = join(project, ".git/worktrees/w");
  mkdirSync(worktree, { recursive: true });
  writeFileSync(join(worktree, "HEAD"), "ref: refs/heads/w\n");
  writeFileSync(join(worktree, "commondir"), "../..\n");
  const folder = shown();
  const { unwanted } = overlayOf(folder, []);
  const script = `
    cd .git; for path in modules/lib modules/lib/modules/inner modules/libs/other; do
      echo x > $path/config; echo x > $path/hooks/pre-commit; echo x > $path/index; mv $path $path-2; done
    mv modules m; echo common > worktrees/w/commondir; echo x > worktrees/w/config.worktree`;
  run(folder, script);
  for (const path of ["lib", "lib/modules/inner", "libs/other"]) {
    expect(readFileSync(join(modules, path, "config"), "utf8")).toBe("[core]\n");
    expect(readdirSync(join(modules, path, "hooks"))).toEqual([]);
    expect(existsSync(join(modules, path, "index"))).toBe(true);
  }
  expect(readFileSync(join(worktree, "commondir"), "utf8")).toBe("../..\n");
  expect(removeUnwanted(unwanted)).toEqual([join(worktree, "config.worktree")]);
});

inSandbox(`settings of a project below the folder can't be changed${missing}`, () => {
  const files = ["by-git/.env", "deep/by-file/uncaged.json", "deep/by-file/.mcp.json"];
  for (const path of [...files, "plain/.env"]) {
    mkdirSync(join(project, path, ".."), { recursive: true });
    writeFileSync(join(project, path), "kept\n");
  }
  mkdirSync(join(project, "by-git/.git"));
  run(shown(), `for f in ${files.join(" ")} plain/.env; do echo x > $f; done; mv deep d`);
  for (const path of files) expect(readFileSync(join(project, path), "utf8")).toBe("kept\n");
  expect(readFileSync(join(project, "plain/.env"), "utf8")).toBe("x\n");
});

test("very many folders are all searched, or refused", () => {
  // Use memory: creating this many folders on a disk is slow.
  const folder = mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : top, "uncaged-view-"));
  const make = (script: string) => spawnSync("/bin/sh", ["-c", script], { cwd: folder });
  const handle = Handle.open(folder);
  const covered = () =>
    overlayOf({ handle, to: "/w", isWritable: true }, []).covered.map(({ to }) => to);
  try {
    make("mkdir -p other/.uncaged; seq -f f%.0f 3000 | xargs mkdir");
    expect(covered()).toEqual(["/w/other/.uncaged"]);
    make("seq -f f%.0f 3001 20100 | xargs mkdir");
    expect(covered).toThrow("more than 20000 folders");
  } finally {
    handle.close();
    rmSync(folder, { recursive: true });
  }
}, 60_000);

inSandbox(
  `sockets in the project can't be reached, and an unreadable folder is skipped${missing}`,
  async () => {
    const server = createServer((socket) => socket.end("reached"));
    await new Promise<void>((done) => server.listen(join(project, "app.sock"), done));
    mkdirSync(join(project, "closed"), { mode: 0o000 });
    const script =
      "test -S app.sock && echo visible; python3 -c 'import socket; s = socket.socket(socket.AF_UNIX); s.connect(\"app.sock\"); print(s.recv(9))'";
    for (const isWritable of [true, false]) expect(run(shown(isWritable), script).stdout).toBe("");
    server.close();
  },
);
