import { afterEach, beforeEach, expect, test } from "bun:test";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ConfigError } from "../src/entry/index.ts";
import { plan, runPlan, step } from "./parts.ts";
import {
  baseEnv,
  checkSecretName,
  credentialsIn,
  offeredNames,
  readSecrets,
  secretsFor,
  withoutSecrets,
} from "../src/secret/secret.ts";

let home = "";
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "uncaged-secrets-"));
});
const path = () => join(home, "secrets.json");
const write = (text: string) => writeFileSync(path(), text, { mode: 0o600 });
afterEach(() => rmSync(home, { recursive: true }));

test("a value is masked whole, with its lines and quotes", () => {
  const value = 'two\nlines, "quoted" and \\n';
  write(JSON.stringify({ ODD_VALUE: value }));
  expect(readSecrets(home)).toEqual({ ODD_VALUE: value });
  const texts = {
    plain: `<${value}>`,
    json: JSON.stringify(value),
    part: 'lines, "quoted" and \\n',
  };
  expect(withoutSecrets(texts, { ODD_VALUE: value })).toEqual({
    ...{ plain: "<[secret:ODD_VALUE]>", json: '"[secret:ODD_VALUE]"', part: "[secret:ODD_VALUE]" },
  });
});

test.each([
  "PATH",
  "a b",
  "token",
  "",
  "LD_PRELOAD",
  "ANTHROPIC_API_KEY",
  "X".repeat(65),
  "__proto__",
])("a secret can't be named %p", (name) => {
  expect(() => checkSecretName(name)).toThrow(ConfigError);
});

test("a file that others can read, or that is broken, is refused", () => {
  expect(readSecrets(home)).toEqual({});
  write("{}");
  chmodSync(path(), 0o640);
  expect(() => readSecrets(home)).toThrow(/can be read by other users/);
  chmodSync(path(), 0o600);
  for (const text of ["{ half", "[]", '{"A": 1}', '{"A": ""}', '{"PATH": "x"}']) {
    write(text);
    expect(() => readSecrets(home)).toThrow(ConfigError);
  }
});

test("a step gets the secrets that it names literally, and otherwise only the base variables", () => {
  const secrets = { A_TOKEN: "1", A_TOKEN_2: "2", OTHER: "3" };
  expect(secretsFor(["use $A_TOKEN, not A_TOKEN_25 or ANOTHER"], secrets)).toEqual({
    A_TOKEN: "1",
  });
  const env = {
    PATH: "/bin",
    HOME: "/h",
    GITHUB_TOKEN: "t",
    AWS_SECRET: "s",
    https_proxy: "p",
    ANTHROPIC_API_KEY: "k",
  };
  expect(Object.keys(baseEnv(env)).sort()).toEqual([
    "ANTHROPIC_API_KEY",
    "HOME",
    "PATH",
    "https_proxy",
  ]);
  expect(offeredNames({ ...env, SLACK_WEBHOOK_URL: "u", EMPTY_TOKEN: "" })).toEqual([
    ...["GITHUB_TOKEN", "AWS_SECRET", "SLACK_WEBHOOK_URL"],
  ]);
});

test("credentials are the stored credentials, and variables with the names of credentials", () => {
  write(JSON.stringify({ A_TOKEN: "stored" }));
  const env = { A_TOKEN: "of the environment", B_API_KEY: "key", PATH: "/bin", NODE_TOKEN: "no" };
  expect(credentialsIn(home, env)).toEqual({ A_TOKEN: "stored", B_API_KEY: "key" });
});

test("the mark of a secret is not masked as the value of another secret", () => {
  const secrets = { ONE: "secret", TWO: "value-of-two" };
  expect(withoutSecrets("value-of-two and secret", secrets)).toBe("[secret:TWO] and [secret:ONE]");
});

test("a step's start, answer and failure do not contain a secret's value", async () => {
  write(JSON.stringify({ A_TOKEN: "value-of-a-token" }));
  const inputs = { news: "$trigger_data" };
  const outcome = await runPlan(
    plan([step("a", [], { inputs }), step("b", ["a"]), step("c")]),
    {
      a: async ({ prompt }) => ({
        output: `asked: ${prompt.includes("value-of-a-token")}, value-of-a-token`,
      }),
      c: new Error("no value-of-a-token"),
    },
    { options: { planHome: home, workflowId: "wf_x", triggerData: "new: value-of-a-token" } },
  );
  expect(outcome.steps[0]?.meta.inputs).toEqual({ news: "new: [secret:A_TOKEN]" });
  const [succeeded] = outcome.steps.filter(({ meta }) => meta.event === "succeeded");
  expect(succeeded?.content).toBe("asked: true, [secret:A_TOKEN]");
  expect(JSON.stringify(outcome)).not.toContain("value-of-a-token");
});
