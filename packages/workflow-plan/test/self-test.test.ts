import { afterEach, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { failureOf } from "../../workflow-agents/test/published.ts";
import { ConfigError } from "../src/entry/index.ts";
import { checkSandbox, testSandbox } from "../src/entry/service.ts";

setDefaultTimeout(90_000);
const bubblewrap = Bun.which("bwrap");
const missing = bubblewrap ? "" : " (left out: bubblewrap is not installed)";
const inSandbox = test.skipIf(missing !== "");

let home = "";
let project = "";
beforeEach(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), "uncaged-home-")));
  project = join(home, "site");
  for (const folder of [project, join(home, "bin"), join(home, "plans")]) mkdirSync(folder);
  writeFileSync(join(home, "plans/secrets.json"), "{}", { mode: 0o600 });
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const question = (more: Record<string, string> = {}) => ({
  ...{ planHome: join(home, "plans"), root: home },
  env: { PATH: `${join(home, "bin")}:${process.env.PATH}`, HOME: home, ...more },
});

/** Puts a bubblewrap first on PATH that changes its arguments, which a shell script sees in "$@". */
function weaken(script: string): void {
  const text = `#!/bin/bash
[ "$1" = --help ] && exec ${bubblewrap} "$@"
args=()
${script}
exec ${bubblewrap} "\${args[@]}"
`;
  writeFileSync(join(home, "bin/bwrap"), text, { mode: 0o755 });
}

const without = (...names: string[]) =>
  `while [ $# -gt 0 ]; do case "$1" in ${names.join("|")}) ;; *) args+=("$1") ;; esac; shift; done`;

const check = () => checkSandbox({ metadata: { cwd: project, sandbox: "bubblewrap" } }, question());

inSandbox(`a working sandbox is reported with its effective limits${missing}`, async () => {
  const report = await check();
  expect(report).toMatchObject({ mode: "bubblewrap", project: "read-write", allow: [] });
  expect(report.facts.slice(0, 2)).toEqual([
    "bubblewrap",
    expect.stringContaining("the project can"),
  ]);
  expect(report.text).toBe(report.facts.join("; "));
  expect(report.text).toContain("public addresses can be reached");
  expect(await testSandbox({ sandbox: "bubblewrap" }, question())).toStartWith("bubblewrap; ");
  expect(await testSandbox({ sandbox: "off" }, question())).toContain("the steps have your rights");
});

// Each case removes one barrier. The self-test must find the hole.
inSandbox.each([
  ["the network of this machine", without("--unshare-net"), "connect"],
  ["its processes", without("--unshare-pid"), "processes of this machine"],
  ["further user namespaces", without("--disable-userns"), "user namespaces"],
  [
    "a writable outside folder",
    `while [ $# -gt 0 ]; do case "$1" in --chdir) args+=(--bind HOME HOME "$1") ;; *) args+=("$1") ;; esac; shift; done`,
    "write",
  ],
  [
    "the secrets of the plan home",
    `while [ $# -gt 0 ]; do case "$1" in --chdir) args+=(--ro-bind HOME/plans HOME/plans "$1") ;; *) args+=("$1") ;; esac; shift; done`,
    "read",
  ],
])(`a sandbox that leaves %s open is refused${missing}`, async (_, script, what) => {
  weaken(script.replaceAll("HOME", home));
  const error = (await failureOf(check())) as ConfigError;
  expect(error).toBeInstanceOf(ConfigError);
  expect(error.message).toStartWith("the sandbox leaves open: ");
  expect(error.message).toContain(`${what} (`);
});

/** Replaces or removes the mount of a path inside the sandbox. */
const mounting = (to: string, words: string) =>
  `while [ $# -gt 0 ]; do if [ "$3" = ${to} ]; then args+=(${words}); shift 3; else args+=("$1"); shift; fi; done`;

inSandbox.each([
  [
    "a writable file that controls the host",
    mounting("/workspace/project/.env", '--bind-fd "$2" "$3"'),
    "/workspace/project/.env can be written and must not be",
  ],
  [
    "replaceable git hooks",
    mounting("/workspace/project/.git/hooks", ""),
    "/workspace/project/.git/hooks is not a mount point",
  ],
  [
    "another folder in the project's place",
    mounting("/workspace/project", '--bind HOME/other "$3"'),
    "/workspace/project was replaced while the sandbox was set up",
  ],
])(`a sandbox that shows %s is refused before its command starts${missing}`, async (...row) => {
  const [, script, problem] = row;
  for (const folder of [project, join(home, "other")]) {
    mkdirSync(join(folder, ".git/hooks"), { recursive: true });
    for (const file of [".env", ".git/HEAD"]) writeFileSync(join(folder, file), "");
  }
  expect((await check()).mode).toBe("bubblewrap");
  weaken(script.replaceAll("HOME", home));
  expect(String(await failureOf(check()))).toContain(problem);
});

inSandbox(`the self-test finds system settings that root can write${missing}`, async () => {
  if (process.getuid?.() !== 0) return;
  weaken(
    `while [ $# -gt 0 ]; do case "$1" in --ro-bind) if [ "$2" = /proc/sys ]; then shift 2; else args+=("$1"); fi ;; *) args+=("$1") ;; esac; shift; done`,
  );
  expect(String(await failureOf(check()))).toContain("system settings (/proc/sys/");
});

inSandbox(
  `an old bubblewrap and a bubblewrap without namespaces are refused in one line${missing}`,
  async () => {
    writeFileSync(join(home, "bin/bwrap"), "#!/bin/sh\necho '--bind SRC DEST'\n", { mode: 0o755 });
    expect(String(await failureOf(check()))).toMatch(/bwrap is too old: it lacks --bind-fd/);
    const refuses = `#!/bin/sh\n[ "$1" = --help ] && exec ${bubblewrap} --help\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n`;
    const other = join(home, "other");
    mkdirSync(other);
    writeFileSync(join(other, "bwrap"), refuses, { mode: 0o755 });
    const found = checkSandbox(
      { metadata: { cwd: project, sandbox: { mode: "auto", required: true } } },
      question({ PATH: other }),
    );
    const message = String(await failureOf(found));
    expect(message).toContain("bubblewrap can't create namespaces here: bwrap: No permissions");
    expect(message).not.toContain("\n");
  },
);

inSandbox(`a bubblewrap that a step could have written is not used${missing}`, async () => {
  const planted = join(project, "node_modules/.bin");
  mkdirSync(planted, { recursive: true });
  writeFileSync(join(planted, "bwrap"), `#!/bin/sh\ntouch ${home}/executed\n`, { mode: 0o755 });
  const report = await checkSandbox(
    { metadata: { cwd: project, sandbox: "bubblewrap" } },
    question({ PATH: `${planted}:${process.env.PATH}` }),
  );
  expect(report.mode).toBe("bubblewrap");
  expect(await Bun.file(join(home, "executed")).exists()).toBe(false);
});

inSandbox(
  `a bubblewrap that a step of another plan could have written is not used${missing}`,
  async () => {
    const other = join(home, "projects/other/bin");
    mkdirSync(other, { recursive: true });
    const roots = [{ path: join(home, "projects"), allowReadWrite: true }];
    const allowlist = { allowedRoots: roots, blockedPatterns: [], nonMainReadOnly: false };
    writeFileSync(join(home, "plans/mount-allowlist.json"), JSON.stringify(allowlist));
    writeFileSync(join(other, "bwrap"), `#!/bin/sh\ntouch ${home}/executed\n`, { mode: 0o755 });
    const report = await checkSandbox(
      { metadata: { cwd: project, sandbox: "bubblewrap" } },
      question({ PATH: `${other}:${process.env.PATH}` }),
    );
    expect(report.mode).toBe("bubblewrap");
    expect(await Bun.file(join(home, "executed")).exists()).toBe(false);
  },
);

inSandbox(
  `an agent runs once inside the sandbox before a plan is confirmed${missing}`,
  async () => {
    const tools = join(home, "tools");
    mkdirSync(tools);
    const write = (name: string, text: string) =>
      writeFileSync(join(tools, name), text, { mode: 0o755 });
    const tryAgent = (agentCommand: string) =>
      checkSandbox(
        { metadata: { cwd: project, sandbox: "bubblewrap" } },
        { ...question({ PATH: `${tools}:${process.env.PATH}` }), agentCommand },
      );
    write("works", "#!/bin/sh\necho 1.0\n");
    expect((await tryAgent("works")).probe).toEqual({
      visible: [join(tools, "works")],
      warning: null,
    });
    write("lacks", "#!/nowhere/interpreter\n");
    expect(String(await failureOf(tryAgent("lacks")))).toContain('the agent "lacks" can\'t run');
    write("starts", "#!/bin/sh\nexec helper-of-mine\n");
    write("helper-of-mine", "#!/bin/sh\n");
    expect(String(await failureOf(tryAgent("starts")))).toContain("helper-of-mine");
    write("fails", "#!/bin/sh\necho 'no such option' >&2\nexit 2\n");
    expect((await tryAgent("fails")).probe?.warning).toContain("no such option");
    expect(String(await failureOf(tryAgent("none-such")))).toContain("not found on PATH");
  },
);
