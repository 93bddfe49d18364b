import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { findBubblewrap } from "@uncaged/workflow/sandbox";
import { codex } from "../src/command/codex.ts";
import { commandAgent } from "../src/command/command.ts";
import { runCommand } from "../src/tools/run-command.ts";

setDefaultTimeout(180_000);
const player = join(import.meta.dir, "sandbox/play.ts");
const bwrap = Bun.which("bwrap") ?? "";
const hasSandbox = typeof (await findBubblewrap({ PATH: process.env.PATH })) !== "string";
const asNobody = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"];
const runs = (argv: string[]) =>
  Bun.which(argv[0] ?? "") !== null && Bun.spawnSync([...argv, "--version"]).success;
const canBeNobody = process.getuid?.() === 0 && runs([...asNobody, process.execPath]);
const users = [
  { user: "this user", as: [] as string[], isHere: hasSandbox },
  { user: "an ordinary user", as: asNobody, isHere: hasSandbox && canBeNobody },
];

// The folder is not in /tmp, because a sandbox has its own /tmp. It is accessible to the ordinary user too.
let folder = "";
let home = "";
let cwd = "";
beforeEach(() => {
  folder = mkdtempSync("/var/tmp/uncaged-confined-");
  home = join(folder, "home");
  cwd = join(home, "project");
  mkdirSync(cwd, { recursive: true });
  mkdirSync(join(home, ".ssh"));
  writeFileSync(join(home, ".ssh/id"), "private");
  writeFileSync(join(home, "letter"), "private");
  mkdirSync(join(cwd, ".git/hooks"), { recursive: true });
  writeFileSync(join(cwd, ".git/HEAD"), "ref: refs/heads/main\n");
  mkdirSync(join(cwd, ".uncaged"));
  writeFileSync(join(cwd, ".uncaged/workflow.yaml"), "private");
  for (const path of [folder, home, cwd, join(cwd, ".git/hooks")]) chmodSync(path, 0o777);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

type Played = { text: string; warnings: string[]; code?: string; message?: string };

async function played(
  calls: object[],
  { as = [], env = {}, at = cwd }: { as?: string[]; env?: object; at?: string } = {},
): Promise<Played[]> {
  const given = { PATH: process.env.PATH ?? "", HOME: home, ...env };
  const argv = [...as, process.execPath, player, JSON.stringify({ calls, cwd: at, env: given })];
  const child = Bun.spawn(argv, { stdout: "pipe", stderr: "inherit", cwd: "/" });
  const lines = (await child.stdout.text()).trim().split("\n");
  return lines.map((line) => JSON.parse(line) as Played);
}

const auto = { sandbox: "auto" };

describe.each(users)("a command of $user in a sandbox", ({ as, isHere }) => {
  const inSandbox = test.skipIf(!isHere);

  inSandbox(
    "works in the thread's directory at its own path, and sees no other files",
    async () => {
      const script = `pwd; echo made >made; cat ${home}/.ssh/id ${home}/letter ${cwd}/.uncaged/workflow.yaml;
      echo hook >.git/hooks/post-commit; echo x >${home}/escaped; echo "$HOME $TMPDIR"; ls -A ${home}`;
      const [tool, agent] = await played(
        [
          { tool: `(${script}) 2>/dev/null`, options: auto },
          { agent: `(${script}) 2>/dev/null`, options: auto },
        ],
        { as },
      );
      const seen = [cwd, "/workspace/home /tmp", "project"].join("\n");
      expect([tool?.text, agent?.text?.trim()]).toEqual([seen, seen]);
      expect([tool?.warnings, agent?.warnings]).toEqual([[], []]);
      expect(readFileSync(join(cwd, "made"), "utf8")).toBe("made\n");
      expect(existsSync(join(home, "escaped"))).toBe(false);
      expect(readdirSync(join(cwd, ".git/hooks"))).toEqual([]);
    },
  );

  inSandbox("has a home directory for each role of the thread", async () => {
    const keep = "echo kept >~/note; cat ~/note";
    const look = "cat ~/note 2>&1 || true";
    const calls = [
      { agent: keep, options: auto },
      { agent: look, options: auto },
      { agent: look, role: "tester", options: auto },
      { tool: look, options: auto },
    ];
    const texts = (await played(calls, { as })).map(({ text }) => text.trim());
    expect(texts.slice(0, 2)).toEqual(["kept", "kept"]);
    for (const text of texts.slice(2)) expect(text).toContain("No such file");
    const run = join(home, ".cache/uncaged-workflow/runs/01K0000000000000000000SAND");
    expect(readdirSync(join(run, "homes"))).toHaveLength(3);
    expect(readdirSync(join(run, "launch"))).toEqual([]);
  });

  inSandbox(
    'reaches only the model\'s address and the allowed addresses, or no address with `network: "none"`',
    async () => {
      const serve = () =>
        Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response("in") });
      using model = serve();
      using allowed = serve();
      using other = serve();
      const ask = [model, allowed, other]
        .map(({ port }) => `curl -s -m 20 --noproxy '' http://127.0.0.1:${port}/ || echo no`)
        .join("; echo; ");
      const options = { ...auto, env: ["ANTHROPIC_BASE_URL"] };
      const [some, none] = await played(
        [
          { tool: ask, options: { ...options, allow: [`127.0.0.1:${allowed.port}`] } },
          { tool: ask, options: { ...options, network: "none" } },
        ],
        { as, env: { ANTHROPIC_BASE_URL: `http://127.0.0.1:${model.port}` } },
      );
      expect(some?.text.split("\n").slice(0, 2)).toEqual(["in", "in"]);
      expect(some?.text.split("\n")[2]).not.toBe("in");
      expect(some?.warnings.join()).toContain(`127.0.0.1:${other.port}`);
      expect(none?.text).not.toContain("in");
    },
  );

  inSandbox("has the host's login for Claude Code only if it is Claude Code", async () => {
    mkdirSync(join(home, ".claude"));
    writeFileSync(join(home, ".claude/.credentials.json"), '{"token":1}', { mode: 0o644 });
    const claude = join(folder, "claude");
    const result = `{"type":"result","subtype":"success","result":"%s"}`;
    writeFileSync(
      claude,
      `#!/bin/sh\nprintf '${result}' "$(tr -d '"' <$CLAUDE_CONFIG_DIR/.credentials.json)"\n`,
      { mode: 0o755 },
    );
    const [lent, tool] = await played(
      [
        { claude, options: auto },
        { tool: "ls -A ~/.claude 2>&1 || true", options: auto },
      ],
      { as },
    );
    expect(lent?.text).toBe("{token:1}");
    expect(tool?.text).toContain("No such file");
  });

  inSandbox(
    "ends with all its processes, and reports the same errors as without a sandbox",
    async () => {
      const mark = `mark-${crypto.randomUUID()}`;
      const [left, failed, missing] = await played(
        [
          {
            tool: `setsid sh -c ': ${mark}; sleep 600; true' >/dev/null 2>&1 & echo done`,
            options: auto,
          },
          { tool: "echo said; exit 7", options: auto },
          { agent: "exit 3", options: auto },
        ],
        { as },
      );
      expect(left?.text).toBe("done");
      expect(Bun.spawnSync(["ps", "-eo", "args"]).stdout.toString()).not.toContain(mark);
      expect(failed?.text).toBe("said\n[exit code 7]");
      expect(missing?.code).toBe("COMMAND_FAILED");
    },
  );
});

describe.skipIf(!hasSandbox)("on a machine without bubblewrap", () => {
  const as = [bwrap, "--dev-bind", "/", "/", "--ro-bind", "/dev/null", bwrap, "--"];
  const problem = "bubblewrap is not installed";

  test("a command runs without a sandbox and warns, or is refused if a sandbox is required", async () => {
    const [tool, agent, required, network, agentRequired] = await played(
      [
        { tool: "echo ran", options: auto },
        { agent: "echo ran", options: auto },
        { tool: "echo ran", options: { sandbox: "required" } },
        { tool: "echo ran", options: { ...auto, network: "none" } },
        { agent: "echo ran", options: { sandbox: "required" } },
      ],
      { as },
    );
    const warning = `the command runs without a sandbox: ${problem}`;
    for (const one of [tool, agent]) {
      expect(one?.text.trim()).toBe("ran");
      expect(one?.warnings.filter((text) => text === warning)).toHaveLength(1);
    }
    const refusal = `a sandbox is required: ${problem}`;
    for (const one of [required, network]) expect(one?.text).toContain(refusal);
    expect(agentRequired).toMatchObject({ code: "SANDBOX_MISSING", message: refusal });
  });
});

test.skipIf(!hasSandbox)(
  "a command in the root directory runs without a sandbox and warns, or is refused if a sandbox is required",
  async () => {
    const [auto1, required] = await played(
      [
        { tool: "pwd", options: auto },
        { tool: "pwd", options: { sandbox: "required" } },
      ],
      { at: "/" },
    );
    const problem = "the thread's directory is the whole file system";
    expect(auto1).toMatchObject({ text: "/" });
    expect(auto1?.warnings).toContain(`the command runs without a sandbox: ${problem}`);
    expect(required?.text).toContain(`a sandbox is required: ${problem}`);
  },
);

test.each([
  [{ sandbox: "read-only" }, 'sandbox can\'t be "read-only"'],
  [{ sandbox: "auto", network: "off" }, 'network can\'t be "off"'],
  [{ sandbox: "auto", allow: ["here"] }, 'allow: "here" is not host:port'],
  [{ network: "none" }, "network and allow need a sandbox"],
])("invalid options are refused at definition: %j", (options, message) => {
  const given = options as object;
  for (const make of [
    () => runCommand(given),
    () => codex(given),
    () => commandAgent({ argv: ["x"], ...given }),
  ])
    expect(make).toThrow(message);
});
