import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ConfigError } from "../src/entry/index.ts";
import { configEntries, readConfig, setConfig } from "../src/entry/service.ts";

const top = mkdtempSync(join(tmpdir(), "uw-plan-config-"));
afterAll(() => rmSync(top, { recursive: true }));

let count = 0;
function sources(home = "", project: string | null = null, env: Record<string, string> = {}) {
  const folder = join(top, String(++count));
  mkdirSync(join(folder, "project"), { recursive: true });
  if (home) writeFileSync(join(folder, "config.yaml"), home);
  if (project) writeFileSync(join(folder, "project/uncaged.plans.yaml"), project);
  return { home: folder, project: join(folder, "project"), env };
}

/** Returns the error message for a text as config.yaml, without its path. */
function refused(text: string, env: Record<string, string> = {}): string {
  const given = sources(text, null, env);
  try {
    readConfig(given);
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError);
    return (error as Error).message.replace(`${given.home}/`, "");
  }
  throw new Error("the file was accepted");
}

test("without a file each setting has its default", () => {
  const config = readConfig(sources());
  expect(config).toMatchObject({
    agent: { command: "claude" },
    max_parallel_steps: 4,
    max_runs: 5,
  });
  expect(config.sandbox).toEqual({
    ...{ mode: "auto", required: false, network: "on", networkAllow: [] },
  });
  expect(config.telegram.allowed_users).toEqual([]);
});

test("the environment overrides the project's file, which overrides the plan home's", () => {
  const home = "max_runs: 1\nmax_parallel_steps: 2\nagent:\n  command: one\n  model: m\n";
  const given = sources(home, "max_parallel_steps: 1\nagent: { model: two }\n", {
    UNCAGED_PLAN_AGENT_COMMAND: "three",
    UNCAGED_PLAN_TELEGRAM_ALLOWED_USERS: "1, 2",
  });
  expect(readConfig(given)).toMatchObject({
    ...{ max_runs: 1, max_parallel_steps: 1, agent: { command: "three", model: "two" } },
    telegram: { allowed_users: ["1", "2"] },
  });
  const from = Object.fromEntries(configEntries(given).map((entry) => [entry.key, entry.from]));
  expect(from).toMatchObject({
    max_runs: join(given.home, "config.yaml"),
    max_parallel_steps: join(given.home, "project/uncaged.plans.yaml"),
    "agent.command": "UNCAGED_PLAN_AGENT_COMMAND",
    "sandbox.mode": "default",
  });
});

test("${NAME} inserts a variable, else a secret", () => {
  const given = sources("telegram: { token: 'a${ONE}b${TWO}' }\nmax_runs: ${MANY}\n", null, {
    ONE: "1",
    MANY: "7",
  });
  const config = readConfig({ ...given, secrets: { ONE: "no", TWO: "2" } });
  expect(config.telegram.token).toBe("a1b2");
  expect(config.max_runs).toBe(7);
});

test("no credential is shown, in any setting", () => {
  const secrets = { A_SECRET: "hidden-value", BOT: "123:abcdef", SHORT: "short" };
  const given = sources(
    "agent: { command: 'run --key=${A_SECRET}', model: '${SHORT}' }\ntelegram: { token: 'bot${BOT}', allowed_users: ['${A_SECRET}', '7'] }\n",
    null,
    { MY_TOKEN: "from-the-environment", UNCAGED_PLAN_PLANNER_MODEL: "m from-the-environment" },
  );
  const entries = configEntries({ ...given, secrets });
  const shown = Object.fromEntries(entries.map(({ key, value }) => [key, value]));
  expect(shown).toMatchObject({
    ...{ "agent.command": "run --key=[secret:A_SECRET]", "agent.model": "short" },
    ...{ "telegram.token": "***", "telegram.allowed_users": ["[secret:A_SECRET]", "7"] },
    "planner.model": "m [secret:MY_TOKEN]",
  });
  expect(readConfig({ ...given, secrets }).agent.command).toBe("run --key=hidden-value");
});

describe("an error names", () => {
  for (const [what, text, message] of [
    [
      "a variable that is not set",
      "telegram:\n  token: ${TOKEN}\n",
      "config.yaml: telegram.token: ${TOKEN} is not set",
    ],
    [
      "a variable that is empty",
      "telegram:\n  token: ${EMPTY}\n",
      "config.yaml: telegram.token: ${EMPTY} is not set",
    ],
    ["an empty key", "telegram:\n  token: ''\n", "config.yaml:2:10: telegram.token is empty"],
    ["a key without a value", "telegram:\n", "config.yaml:1:10: telegram is empty"],
    ["an unknown key", "telegramm: 1\n", 'config.yaml:1:12: unknown setting "telegramm"'],
    ["an inherited key", "constructor: 1\n", 'config.yaml:1:14: unknown setting "constructor"'],
    ["a prototype", "__proto__: 1\n", 'config.yaml:1:12: unknown setting "__proto__"'],
    [
      "an inherited key in a group",
      "agent:\n  toString: x\n",
      'config.yaml:2:13: unknown setting "agent.toString"',
    ],
    [
      "an unknown key in a group",
      "agent:\n  comand: x\n",
      'config.yaml:2:11: unknown setting "agent.comand"',
    ],
    ["a group of another type", "agent: x\n", "config.yaml:1:8: agent must have keys"],
    [
      "a value out of bounds",
      "max_runs: 0\n",
      "config.yaml: max_runs must be a whole number from 1 to 1000",
    ],
    [
      "a value of another kind",
      "sandbox: { required: maybe }\n",
      "config.yaml: sandbox.required must be true or false",
    ],
    ["invalid YAML", "agent: [\n", /^config\.yaml:\d:\d+: /],
    ["a list", "- a\n", "config.yaml:1:1: the file must have keys"],
    ["__proto__", "__proto__: { max_runs: 1 }\n", /__proto__/],
  ] as const) {
    test(what, () => {
      const found = refused(text, { EMPTY: "" });
      if (typeof message === "string") expect(found).toBe(message);
      else expect(found).toMatch(message);
    });
  }

  test("a variable with a wrong value", () => {
    expect(refused("", { UNCAGED_PLAN_MAX_RUNS: "many" })).toStartWith(
      "UNCAGED_PLAN_MAX_RUNS: max_runs must be",
    );
  });
});

describe("a project's file", () => {
  /** Returns the settings from a user's and a project's file, or the message of their refusal. */
  function both(user: string, project: string): string | ReturnType<typeof readConfig> {
    const given = sources(user, project);
    try {
      return readConfig({ ...given, userHome: given.home });
    } catch (error) {
      return (error as Error).message.replace(`${given.project}/`, "");
    }
  }

  for (const [user, project] of [
    ["", "sandbox: { mode: off }"],
    ["", "sandbox: { network: { allow: ['localhost:1'] } }"],
    ["sandbox: { mode: bubblewrap }", "sandbox: { mode: container }"],
    ["sandbox: { mode: bubblewrap }", "sandbox: { mode: auto }"],
    ["sandbox: { required: true }", "sandbox: { required: false }"],
    ["sandbox: { network: none }", "sandbox: { network: { mode: on } }"],
    ["", "max_runs: 6"],
    ["max_parallel_steps: 1", "max_parallel_steps: 2"],
    ["answer_timeout_ms: 5", "answer_timeout_ms: 6"],
    ["", "container: { timeout: 1800001 }"],
    ["", "container: { image: evil }"],
    ["", "container: { engine: podman }"],
    ["", "agent: { command: ./evil }"],
    ["", "agent: { tools: [Bash] }"],
    ["", "agent: { network: false }"],
    ["", "telegram: { api_root: 'http://evil' }"],
    ["", "telegram: { allowed_users: ['1'] }"],
    ["", "whatsapp: { enabled: true }"],
  ] as const) {
    test(`cannot have ${project} with ${user || "the defaults"} in the user's file`, () => {
      const found = both(user, project);
      expect(found).toMatch(
        /^uncaged\.plans\.yaml:1:\d+: a project's file can't (relax|set) [\w.]+$/,
      );
    });
  }

  test("can tighten limits, and name models", () => {
    const project = `sandbox: { mode: bubblewrap, required: true, network: none }
max_runs: 4
answer_timeout_ms: 60000
container: { timeout: 1000 }
agent: { model: m, command: claude }
`;
    expect(both("sandbox: { mode: off }", project)).toMatchObject({
      ...{ max_runs: 4, answer_timeout_ms: 60_000, container: { timeout: 1000 } },
      sandbox: { mode: "bubblewrap", required: true, network: "none" },
      agent: { model: "m" },
    });
  });

  test("cannot insert a secret into a value", () => {
    expect(both("", "agent: { model: '${TOKEN}' }")).toBe(
      "uncaged.plans.yaml:1:17: agent.model: a project's file can't refer to variables",
    );
  });
});

describe("sandbox.network", () => {
  test("is a mode, or a map with the reachable addresses", () => {
    for (const [text, network, networkAllow] of [
      ["none", "none", []],
      ["{ mode: none }", "none", []],
      ["{ allow: ['localhost:5432', '[::1]:80'] }", "on", ["localhost:5432", "[::1]:80"]],
      ["{ mode: none, allow: ['a.b:1'] }", "none", ["a.b:1"]],
    ] as const) {
      const { sandbox } = readConfig(sources(`sandbox: { network: ${text} }\n`));
      expect(sandbox).toMatchObject({ network, networkAllow });
    }
    const env = { UNCAGED_PLAN_SANDBOX_NETWORK_ALLOW: "127.0.0.1:80, db:5432" };
    expect(readConfig(sources("", null, env)).sandbox.networkAllow).toEqual([
      ...["127.0.0.1:80", "db:5432"],
    ]);
  });

  for (const address of [
    "localhost",
    "a:0",
    "a:65536",
    "::1:80",
    "[::1]",
    "[a]:1",
    "a b:1",
    "1.2.3:4",
    "-a:1",
    "http://a:1",
  ])
    test(`cannot allow ${address}`, () => {
      expect(refused(`sandbox: { network: { allow: ['${address}'] } }\n`)).toBe(
        `config.yaml: sandbox.network.allow has ${JSON.stringify(address)}, which is not host:port with a name or address (IPv6 in brackets) and a port from 1 to 65535`,
      );
    });

  test("is set in either form", () => {
    const given = sources("sandbox: { network: none }\n");
    setConfig(given, "sandbox.network.allow", "a:1");
    expect(readConfig(given).sandbox).toMatchObject({ network: "none", networkAllow: ["a:1"] });
    setConfig(given, "sandbox.network", "on");
    expect(readConfig(given).sandbox).toMatchObject({ network: "on", networkAllow: ["a:1"] });
    setConfig(given, "sandbox.network.allow", null);
    expect(readConfig(given).sandbox).toMatchObject({ network: "on", networkAllow: [] });
  });
});

describe("a change of a setting", () => {
  test("writes a file that only its owner can read, and keeps the rest of the file", () => {
    const given = sources("# mine\nagent:\n  command: one # first\n");
    setConfig(given, "max_runs", "9");
    setConfig(given, "agent.model", "m");
    setConfig(given, "telegram.allowed_users", "12,34");
    const path = join(given.home, "config.yaml");
    const text = readFileSync(path, "utf8");
    expect(text).toStartWith("# mine\nagent:\n  command: one # first\n  model: m\n");
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const config = readConfig(given);
    expect(config).toMatchObject({ max_runs: 9, agent: { command: "one", model: "m" } });
    expect(config.telegram.allowed_users).toEqual(["12", "34"]);
    setConfig(given, "max_runs", null);
    expect(readConfig(given).max_runs).toBe(5);
  });

  test("can remove a setting that is not set", () => {
    const empty = sources();
    setConfig(empty, "agent.model", null);
    expect(readConfig(empty).agent.model).toBe(readConfig(sources()).agent.model);
    const scalar = sources("sandbox: { network: none }\n");
    setConfig(scalar, "sandbox.network.allow", null);
    expect(readConfig(scalar).sandbox.network).toBe("none");
  });

  test("is refused when invalid, and the file stays unchanged", () => {
    const given = sources("max_runs: 2\n");
    for (const [key, value] of [
      ["max_runs", "0"],
      ["max_runs", ""],
      ["nothing", "1"],
      ["agent", "x"],
      ["sandbox.mode", "perhaps"],
    ] as const) {
      expect(() => setConfig(given, key, value)).toThrow(ConfigError);
    }
    expect(readFileSync(join(given.home, "config.yaml"), "utf8")).toBe("max_runs: 2\n");
  });

  test("is refused in a broken file", () => {
    const given = sources("agent: [\n");
    expect(() => setConfig(given, "max_runs", "3")).toThrow(ConfigError);
    expect(readFileSync(join(given.home, "config.yaml"), "utf8")).toBe("agent: [\n");
  });
});

test("concurrent changes of settings by several processes are not lost", async () => {
  const program = `import { readConfig, setConfig } from ${JSON.stringify(new URL("../src/entry/service.ts", import.meta.url).pathname)};
const [, , home, key, first, second] = process.argv;
const given = { home, env: {} };
for (let n = 1; n <= 20; n += 1) {
  setConfig(given, key, String(n));
  const kept = readConfig(given);
  if (String(second ? kept[first][second] : kept[first]) !== String(n)) process.exit(1);
}`;
  const path = join(top, "sets.ts");
  writeFileSync(path, program);
  const given = sources("# mine\nsandbox: { mode: off }\n");
  const ends = ["agent.model", "planner.model", "max_runs"].map((key) => {
    const words = [path, given.home, key, ...key.split(".")];
    return Bun.spawn([process.execPath, ...words], { stderr: "inherit" }).exited;
  });
  expect(await Promise.all(ends)).toEqual([0, 0, 0]);
  expect(readConfig(given)).toMatchObject({
    ...{ agent: { model: "20" }, planner: { model: "20" }, max_runs: 20 },
    sandbox: { mode: "off" },
  });
}, 60_000);
