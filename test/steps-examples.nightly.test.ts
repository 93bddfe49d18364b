import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { ThreadJson } from "@uncaged/workflow/host";
import { getStepType, StepType, type WorkflowDocument } from "@uncaged/workflow-steps";
import { checkedDocument } from "@uncaged/workflow-steps/source";
import { anthropicServer } from "../packages/workflow-agents/test/anthropic-server.ts";
import { files, top } from "./source.ts";
import { warningsOn } from "./warned.ts";
import { StepsHouse, textIn, writtenBy } from "./steps/examples.ts";
import { webServer } from "./steps/web-server.ts";

/* Adds and runs the examples of step workflows as a user would, offline. */
const house = new StepsHouse();
const documents = files("examples/{steps,release-notes}/*.json").map((path) => {
  const text = readFileSync(join(top, path), "utf8");
  return { path, text, document: JSON.parse(text) as WorkflowDocument };
});
const rolesOf = ({ steps }: ThreadJson): string[] => steps.map(({ role }) => role);
const warnings: Record<string, string[]> = {};

beforeAll(async () => {
  for (const name of readdirSync(join(top, "examples/steps"))) {
    const file = join(top, "examples/steps", name);
    if (name !== "services.json") {
      warnings[name] = await house.add(name.replace(/\.\w+$/, ""), file);
    }
  }
}, 180_000);

afterAll(() => house.close());

describe("the examples of step workflows", () => {
  test.each(documents)(
    "$path is valid, and its editor finds its schema",
    ({ path, text, document }) => {
      const custom = path.endsWith("services.json") ? ["Shout"] : [];
      expect(() => checkedDocument(text, path, { customTypes: custom })).not.toThrow();
      expect(existsSync(join(top, dirname(path), String(document.$schema)))).toBe(true);
    },
  );

  test("show every type of steps", () => {
    const shown = documents.flatMap(({ document }) => document.steps.map(getStepType));
    const missing = Object.values(StepType).filter((type) => !shown.includes(type));
    expect(missing).toEqual([]);
  });

  test("have no warnings except for the repeated question", () => {
    const found = Object.values(warnings).flat();
    expect(found).toHaveLength(1);
    expect(found[0]).toContain("Pause_Approve: it leads back to itself");
  });
});

describe("loops", () => {
  test("run serially until BREAK, in parallel, or while a condition holds", async () => {
    const cwd = house.place();
    const thread = await house.run("loops", { cwd });
    expect(thread.result).toEqual({ returnCode: 0, summary: "15 letters" });
    expect(textIn(cwd, "loops.txt")).toBe("one! two!, 15 letters, 10 rounds\n");
    expect(rolesOf(thread).filter((role) => role === "Set_Shouted")).toHaveLength(2);
    expect(writtenBy(thread)).toMatchObject({ $power: 1024, $rounds: 10, $total: 15 });
    expect(rolesOf(thread)).not.toContain("Set_Few");
    expect(await house.events(thread)).toContain("step_print");
  });
});

describe("a fan-out", () => {
  test("joins its chains and drops a failed chain", async () => {
    const cwd = house.place();
    writeFileSync(join(cwd, "notes.md"), "some notes\n");
    const thread = await house.run("fan-out", { cwd });
    expect(thread.result?.summary).toBe("11 characters");
    expect(writtenBy(thread)).toMatchObject({ $files: "notes.md", $size: 11 });
    expect(rolesOf(thread)).not.toContain("Tool_Missing");
    expect(await house.events(thread)).toContain("tool_error");
  });
});

test("tools are addressed by id or field, and an optional tool may fail", async () => {
  const cwd = house.place();
  const thread = await house.run("tools", { cwd });
  expect(thread.result).toEqual({ returnCode: 0, summary: "1 tools.md" });
  expect(writtenBy(thread)).toMatchObject({ $ok: false, $exit: 0 });
  expect(textIn(cwd, "tools.md")).toMatch(/^# Tools\n- .*no-such-file\.md/);
});

describe("the built-in tools", () => {
  test("accept the documented fields and return the results in the guide", async () => {
    const cwd = house.place();
    const thread = await house.run("built-in-tools", { cwd });
    expect(thread.result).toEqual({ returnCode: 0, summary: "lines.txt:2: Two" });
    expect(textIn(cwd, "lines.txt")).toBe("one\nTwo\nThree\n");
    expect(writtenBy(thread)).toMatchObject({
      $written: { created: true, bytes: 14 },
      $edited: { places: 2 },
      $files: "lines.txt",
      $echo: { exitCode: 0, signal: null },
    });
    expect(writtenBy(thread).$line).toStartWith("Two\n");
  });

  test("have the fields that the guide lists", () => {
    const guide = readFileSync(join(top, "docs/reference/steps.md"), "utf8");
    const rows = [
      ...guide.matchAll(/^\| `([A-Z]\w+File|ListFiles|Search|RunCommand)` \| (.*?) \|/gm),
    ];
    const fields = rows.map(([, name = "", text = ""]) => {
      return [name, [...text.matchAll(/`(\w+)`/g)].map(([, field = ""]) => field).sort()];
    });
    const { document } = documents.find(({ path }) => path.endsWith("built-in-tools.json")) ?? {};
    const used = document?.steps
      .filter(({ input }) => input)
      .map(({ id, input = {} }) => [id.replace(/^Tool_\d_/, ""), Object.keys(input).sort()]);
    expect(Object.fromEntries(fields)).toEqual(Object.fromEntries(used ?? []));
  });
});

describe("the web", () => {
  const env = { DEMO_TOKEN: "t-12345678" };
  const server = webServer(env.DEMO_TOKEN);
  afterAll(() => server.stop());

  test("returns a user, a file and an archive", async () => {
    const cwd = house.place();
    const thread = await house.run("web", { cwd, params: { base: server.url }, env });
    expect(thread.result?.summary).toBe("3 files for ada");
    expect(server.came.map(({ method, path }) => `${method} ${path}`)).toEqual([
      "GET /users/7?full=true",
      "GET /archive.zip",
      "POST /reports",
    ]);
    expect(server.came.at(-1)?.body).toMatchObject({ user: "ada" });
    expect(JSON.parse(textIn(cwd, "web/ada.json"))).toEqual({ id: 7, name: "ada" });
    expect(textIn(cwd, "web/texts/in/b.txt")).toBe("beta\n");
    expect(textIn(cwd, "web/pictures/c.png")).toBe("not really\n");
    expect(existsSync(join(cwd, ".tmp", thread.threadId))).toBe(false);
  });
});

describe("models", () => {
  test("stream, answer in a schema, and use documents and tools", async () => {
    const server = await anthropicServer((body) => {
      const asked = JSON.stringify(body.messages);
      if (asked.includes("Write about")) return { text: "Rain on the roof tonight." };
      if (asked.includes("Judge")) return { text: '{"score": 7, "why": "short"}' };
      if (asked.includes("tool_result")) return { text: "Add a cat." };
      return { tools: [{ name: "readFile", input: { path: "poem.md" } }] };
    });
    const cwd = house.place();
    mkdirSync(join(cwd, "docs"));
    writeFileSync(join(cwd, "docs/1.md"), "Every poem has a cat.");
    const env = { ANTHROPIC_API_KEY: server.key, ANTHROPIC_BASE_URL: server.url };
    const thread = await house.run("models", { cwd, params: { topic: "rain" }, env });
    await server.stop();
    expect(thread.result).toEqual({ returnCode: 0, summary: "Add a cat." });
    expect(textIn(cwd, "poem.md")).toBe("Rain on the roof tonight.");
    expect(writtenBy(thread).$score).toEqual({ score: 7, why: "short" });
    expect(writtenBy(thread).$tokens).toBeGreaterThan(0);
    const [, , advice] = server.came.map(({ body }) => JSON.stringify(body.system));
    expect(advice).toContain("Every poem has a cat.");
    const events = await house.events(thread);
    for (const type of ["llm_token", "llm_tool_use", "llm_tool_result", "llm_done"]) {
      expect(events).toContain(type);
    }
  });
});

describe("an approval", () => {
  test("is requested again with another text, and publishes it", async () => {
    const cwd = house.place();
    const asked = await house.run("approval", { cwd, params: { text: "Hi." } });
    expect(asked.status).toBe("waiting");
    const again = await house.answer(asked, "Hello there.");
    expect(again.status).toBe("waiting");
    expect(again.steps.at(-1)?.content).toEndWith("another text: Hello there.");
    const done = await house.answer(again, "yes");
    expect(done.result).toEqual({ returnCode: 0, summary: "published" });
    expect(textIn(cwd, "published.txt")).toBe("Hello there.");
    const refused = await house.run("approval", { cwd });
    const late = await house.answer(refused, "yes");
    expect(late).toMatchObject({ status: "failed" });
  });

  test("can be rejected", async () => {
    const asked = await house.run("approval", { cwd: house.place() });
    const done = await house.answer(asked, "no");
    expect(done.result).toEqual({ returnCode: 0, summary: "refused" });
  });
});

test("a workflow runs another workflow, and the thread has the steps of both", async () => {
  const thread = await house.run("subflow", { cwd: house.place() });
  expect(thread.result?.summary).toBe("Hello, Ada. Hello, Grace.");
  expect(rolesOf(thread).filter((role) => role === "Subflow_Greet/Set_Greeting")).toHaveLength(2);
});

test("a source adds its own services, components and types", async () => {
  const thread = await house.run("services", { cwd: house.place() });
  expect(thread.result?.summary).toBe("4 WORDS!");
  expect(rolesOf(thread)).toEqual([
    "Service_CountWords",
    "Component_card",
    "Shout_Title",
    "Stop_Done",
  ]);
});

test("a JSON file with services fails with a hint about a source", async () => {
  const file = join(house.folder, "lonely.json");
  const steps = [{ id: "Service_Count", in: {}, next: "Stop_Done" }, { id: "Stop_Done" }];
  const registry = { services: ["Count()"] };
  writeFileSync(file, JSON.stringify({ version: "3.18", name: "lonely", registry, steps }));
  await house.add("lonely", file);
  const thread = await house.run("lonely", { cwd: house.place() });
  expect(thread.result?.summary).toContain('Service_Count: missing adapter "service"');
  expect(await house.host.read(thread)).toMatchObject({
    error: { code: "NO_ADAPTER", hint: expect.stringContaining("stepsBundle") as string },
  });
});

test("no step of an example violates its descriptor", async () => {
  expect(await warningsOn(house.host)).toEqual([]);
});
