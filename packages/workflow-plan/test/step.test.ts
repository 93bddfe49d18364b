import { afterEach, beforeEach, expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { runThread } from "@uncaged/workflow/testing";
import { until } from "../../workflow/test/fixtures/until.ts";
import { planBundle, type PlanMetadata } from "../src/entry/index.ts";
import { checkSandbox } from "../src/entry/service.ts";
import { scriptedEngine } from "./engine.ts";
import { plan, result, step } from "./parts.ts";

const command = fileURLToPath(new URL("./agents/script.mjs", import.meta.url));
let top = "";
beforeEach(() => {
  top = mkdtempSync(join(tmpdir(), "uncaged-step-"));
  for (const name of ["bin", "home", "plans", "project"])
    mkdirSync(join(top, name), { mode: 0o700 });
});
afterEach(() => rmSync(top, { recursive: true, force: true }));

const env = () => ({ PATH: `${join(top, "bin")}:${process.env.PATH}`, HOME: join(top, "home") });

const run = (script: string, metadata: PlanMetadata) => {
  const definition = plan([step("a", [], { description: script })]);
  const bundle = planBundle({
    ...definition,
    metadata: { cwd: join(top, "project"), ...metadata },
  });
  const options = { planHome: join(top, "plans"), workflowId: "wf_x", agentCommand: command };
  return runThread(bundle.run, { maxRounds: 1000, env: env(), options });
};

test("the file `_close` in a step's folder ends the agent and fails the attempt", async () => {
  const folder = join(top, "plans/ipc/wf_x");
  const running = run("sleep 600", { sandbox: "off" });
  const of = () =>
    existsSync(folder) ? readdirSync(folder).map((name) => join(folder, name, "a")) : [];
  await until(() => of().some((path) => existsSync(join(path, "output"))));
  const [path = ""] = of();
  writeFileSync(join(path, "_close"), "");
  const outcome = await running;
  expect(result(outcome)).toMatchObject({
    returnCode: 1,
    summary: expect.stringContaining("the step was closed"),
  });
}, 180_000);

test("a step has the credentials that its own texts name, also from the environment, and no others", async () => {
  const folder = join(top, "plans");
  writeFileSync(join(folder, "secrets.json"), '{"A_TOKEN":"aaaaaa","B_TOKEN":"bbbbbb"}', {
    mode: 0o600,
  });
  const script = (...names: string[]) => `env | grep -c ^._TOKEN= # ${names.join(" ")}`;
  const inputs = { news: "$trigger_data" };
  const definition = plan([
    step("data", [], { description: script(), inputs }),
    step("names", [], { description: script("A_TOKEN", "C_TOKEN"), inputs }),
  ]);
  const bundle = planBundle({
    ...definition,
    metadata: { cwd: join(top, "project"), sandbox: "off" },
  });
  const options = { planHome: folder, workflowId: "wf_x", agentCommand: command };
  const outcome = await runThread(bundle.run, {
    ...{ maxRounds: 1000, env: { ...env(), C_TOKEN: "cccccc" } },
    options: { ...options, triggerData: "use A_TOKEN and B_TOKEN" },
  });
  const outputs = outcome.steps.filter(({ meta }) => meta.event === "succeeded");
  expect(Object.fromEntries(outputs.map(({ content, role }) => [role, content.trim()]))).toEqual({
    ...{ data: "0", names: "2" },
  });
}, 180_000);

/** Writes an engine that has one image, and records its calls. */
function engine(name: string, image: string): void {
  const path = join(top, "bin", name);
  const script = `#!/bin/sh
printf '%s\\n' "$@" >> '${top}/calls'
[ "$1" = image ] && { [ "$3" = '${image}' ]; exit; }
[ "$1" = run ] || exit 0
case "$*" in *process.versions.node) echo 22.0.0; exit ;; esac
cat > /dev/null
echo '{"type":"result","subtype":"success","is_error":false,"session_id":"s","result":"in it"}'
`;
  writeFileSync(path, script);
  chmodSync(path, 0o755);
}

test("a container gets the step's folders, limits and variables by name, and ends with the step", async () => {
  engine("docker", "agent:1");
  writeFileSync(join(top, "plans/secrets.json"), '{"A_TOKEN": "value-of-a-token"}', {
    mode: 0o600,
  });
  const sandbox = { mode: "container", image: "agent:1", memory: 1024 ** 3, cpus: 1 } as const;
  const container = {
    additionalMounts: [{ hostPath: join(top, "home"), containerPath: "data, more" }],
  };
  const outcome = await run("use A_TOKEN", { sandbox, container });
  expect(result(outcome)).toMatchObject({ returnCode: 0 });
  expect(outcome.steps[0]?.meta).toMatchObject({
    sandbox: "container",
    limits: ["1 GiB for all processes", "1 cpu", "4096 processes and threads", "10 GiB of files"],
  });
  await until(() => readFileSync(join(top, "calls"), "utf8").includes("\nkill\n"));
  const calls = readFileSync(join(top, "calls"), "utf8");
  // Skip the first start, which looks for the interpreter of the launcher.
  const words = calls.slice(calls.lastIndexOf("\nrun\n--rm\n--interactive")).split("\n");
  const after = (word: string) => words[words.indexOf(word) + 1];
  expect(after("--memory")).toBe(String(1024 ** 3));
  expect(after("--cpus")).toBe("1");
  expect(after("--network")).toBe("none");
  for (const option of ["--read-only", "--init", "--rm", "no-new-privileges"])
    expect(words).toContain(option);
  expect(words).toContain("A_TOKEN");
  expect(calls).not.toContain("value-of-a-token");
  expect(words).toContain(
    `type=bind,source=${join(top, "home")},"target=/workspace/mounts/data, more",readonly`,
  );
  const name = after("--name");
  expect(after("kill")).toBe(name);
}, 180_000);

test.skipIf(!Bun.which("bwrap"))(
  "auto prefers a container engine with the image to bubblewrap, and reports its choice",
  async () => {
    scriptedEngine(join(top, "bin/docker"), "uncaged-workflow-agent");
    const question = { planHome: join(top, "plans"), root: top, env: env() };
    const report = await checkSandbox({ metadata: { cwd: join(top, "project") } }, question);
    expect(report).toMatchObject({
      mode: "container",
      limits: [
        "4 GiB for all processes",
        "2 cpus",
        "4096 processes and threads",
        "10 GiB of files",
      ],
    });
    expect(report.text).toStartWith("container; the project can be");
    const bare = { ...question, env: { HOME: join(top, "home"), PATH: "/none" } };
    const other = await checkSandbox({ metadata: { cwd: join(top, "project") } }, bare);
    expect(other.mode).toBe("bubblewrap");
  },
);

test("a step fails when the command line that checks its commands is missing", async () => {
  const definition = {
    ...plan([step("a")]),
    metadata: { cwd: join(top, "project"), sandbox: "off" as const },
  };
  const gone = join(top, "gone");
  const options = {
    ...{ planHome: join(top, "plans"), workflowId: "wf_x", agentCommand: command },
    planProgram: { argv: [gone], folders: [gone] },
  };
  const outcome = await runThread(planBundle(definition).run, {
    maxRounds: 1000,
    env: env(),
    options,
  });
  expect(result(outcome)).toMatchObject({
    summary: expect.stringContaining(`is gone: ${gone}`),
  });
});

test("the thread's options name the agent's model and its tools", async () => {
  const path = join(top, "bin/agent");
  const line = `{"type":"result","subtype":"success","is_error":false,"session_id":"s","result":"ok"}`;
  writeFileSync(
    path,
    `#!/bin/sh\ncat > /dev/null\nprintf '%s\\n' "$@" > '${top}/calls'\necho '${line}'\n`,
  );
  chmodSync(path, 0o755);
  const definition = { ...plan([step("a")]), metadata: { cwd: join(top, "project") } };
  const options = { agentCommand: path, agentModel: "some-model", agentTools: ["Read", "Grep"] };
  const outcome = await runThread(planBundle(definition).run, {
    maxRounds: 1000,
    env: env(),
    options,
  });
  expect(result(outcome)).toMatchObject({ returnCode: 0 });
  const words = readFileSync(join(top, "calls"), "utf8").split("\n");
  expect(words[words.indexOf("--model") + 1]).toBe("some-model");
  expect(words[words.indexOf("--allowedTools") + 1]).toBe("Read,Grep");
});
