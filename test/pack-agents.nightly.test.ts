import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { answerOf } from "../packages/workflow-agents/test/agents-runs.ts";
import { responsesServer } from "../packages/workflow-agents/test/responses-server.ts";
import { pack } from "../scripts/pack.ts";
import { LocalRegistry } from "./local-registry.ts";
import { samplesIn } from "./samples.ts";
import { top } from "./source.ts";

/*
 * Runs exports of Agent Builder as docs/coming-from/agent-builder.md describes, in an empty project with its own
 * `@openai/agents`: with the command from a registry, and with the command of the checkout and its linked packages.
 */
setDefaultTimeout(600_000);

const folder = realpathSync(mkdtempSync(join(tmpdir(), "uncaged-exported-")));
let registry: LocalRegistry;
let model: Awaited<ReturnType<typeof responsesServer>>;
/** The number of the request, from 1, that gets no response. */
let hung = { at: 0, came: Promise.withResolvers<void>() };

beforeAll(async () => {
  mkdirSync(join(folder, "home"));
  registry = new LocalRegistry(join(folder, "registry"), Object.values(await pack()));
  model = await responsesServer((body, nth) => {
    if (nth + 1 !== hung.at) return answerOf(body as object);
    hung.came.resolve();
    return { fault: { kind: "hang" } };
  });
});

afterAll(async () => {
  await Promise.all([registry.stop(), model.stop()]);
  rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
});

async function perform(argv: readonly string[], cwd: string) {
  const env = {
    PATH: process.env.PATH,
    HOME: join(folder, "home"),
    UNCAGED_WORKFLOW_IDLE_MS: "100",
    ...{ OPENAI_API_KEY: model.key, OPENAI_BASE_URL: model.url },
    ...{ npm_config_cache: join(folder, "cache"), npm_config_registry: registry.url },
    ...{ npm_config_audit: "false", npm_config_fund: "false", npm_config_update_notifier: "false" },
  };
  const streams = { stdin: "ignore", stdout: "pipe", stderr: "pipe" } as const;
  const child = Bun.spawn([...argv], { cwd, env, ...streams });
  const [code, stdout, stderr] = await Promise.all([
    child.exited,
    child.stdout.text(),
    child.stderr.text(),
  ]);
  return { code, stdout, stderr };
}

const page = readFileSync(join(top, "docs/coming-from/agent-builder.md"), "utf8");
const sample = samplesIn(page, "ts")[0] ?? "";
const ways = ["registry", "checkout"] as const;

describe.each(ways)("with the command of the %s", (way) => {
  const project = join(folder, way);
  const program = (...words: string[]) => {
    const own = way === "registry" ? project : top;
    return perform([join(own, "node_modules/.bin/uncaged-workflow"), ...words], project);
  };

  beforeAll(async () => {
    mkdirSync(join(project, ".uncaged"), { recursive: true });
    writeFileSync(join(project, "package.json"), '{"type": "module"}');
    const linked = (name: string) => `file:${join(top, ".pack/linked/install", name)}`;
    const ours =
      way === "registry"
        ? ["uncaged-workflow"]
        : ["@uncaged/workflow", "@uncaged/workflow-agents"].map(linked);
    if (way === "checkout")
      expect(await perform([process.execPath, "scripts/linked.ts"], top)).toMatchObject({
        code: 0,
      });
    const installed = await perform(
      ["npm", "install", ...ours, "@openai/agents", "openai", "zod"],
      project,
    );
    expect(installed).toMatchObject({ code: 0 });
  });

  test.each([
    ["knowledge", 3, "on its way"],
    ["service", 2, "Your return is on the way."],
  ])("%s continues after kill -9, and no request is sent twice", async (name, requests, result) => {
    const exported = `packages/workflow-agents/test/openai-agents/exports/${name}.ts`;
    writeFileSync(join(project, "support.ts"), readFileSync(join(top, exported)));
    writeFileSync(join(project, "workflow.ts"), sample);
    expect(await program("add", name, "workflow.ts")).toMatchObject({ code: 0 });
    model.came.length = 0;
    hung = { at: requests, came: Promise.withResolvers<void>() };
    const id = (await program("run", name, "--prompt", "Where is my order?")).stdout.trim();
    await hung.came.promise;
    const [{ pid }] = JSON.parse((await program("ps", "--json")).stdout) as [{ pid: number }];
    process.kill(pid, "SIGKILL");
    hung.at = 0;
    let resumed = await program("resume", id, "--wait");
    if (resumed.code === 6) resumed = await program("resume", id, "--approve", "--wait");
    expect(resumed).toMatchObject({ code: 0, stderr: expect.stringContaining(result) });
    const answered = model.came.filter(({ reported }) => reported.requests > 0);
    expect(answered.length).toBe(requests);
  });
});
