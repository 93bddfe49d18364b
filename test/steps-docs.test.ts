import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  Engine,
  type StepDocument,
  StepType,
  type WorkflowDocument,
} from "@uncaged/workflow-steps";
import { checkedDocument } from "@uncaged/workflow-steps/source";
import { fields } from "../packages/workflow-steps/src/document/format.ts";
import { samplesIn, typeErrorsIn } from "./samples.ts";
import { top } from "./source.ts";
import { StepsHouse, textIn } from "./steps/examples.ts";
import { aroundStep } from "./steps/fragment.ts";
import { warningsOn } from "./warned.ts";

/* Checks, builds and runs every sample of the pages on step workflows. */
const house = new StepsHouse();
const cache = join(top, ".cache");
mkdirSync(cache, { recursive: true });
const sources = mkdtempSync(join(cache, "steps-docs-"));
const guide = readFileSync(join(top, "docs/guides/step-workflows.md"), "utf8");
const reference = readFileSync(join(top, "docs/reference/steps.md"), "utf8");
const readme = readFileSync(join(top, "packages/workflow-steps/README.md"), "utf8");
const engineGuide = readFileSync(join(top, "docs/guides/step-engine.md"), "utf8");
const samples = [guide, reference, readme]
  .flatMap((text) => samplesIn(text, "json"))
  .map((text) => ({
    text,
    value: JSON.parse(text) as object,
  }));
const flows = samples.filter(({ value }) => "steps" in value);
const steps = samples
  .filter(({ value }) => "id" in value)
  .map(({ value }) => ({ id: (value as StepDocument).id, step: value as StepDocument }));
const programs = [guide, engineGuide, readme]
  .flatMap((text) => samplesIn(text, "ts"))
  .map((text, index) => ({
    name: `sample-${index + 1}`,
    text,
  }));
const [workflow, ...engines] = programs;

beforeAll(() => {
  for (const { name, text } of programs) writeFileSync(join(sources, `${name}.ts`), text);
});

afterAll(() => {
  house.close();
  rmSync(sources, { recursive: true, force: true });
});

test("the pages have samples", () => {
  expect(flows).toHaveLength(2);
  expect(steps.length + flows.length).toBe(samples.length);
  expect(steps.length).toBeGreaterThan(6);
  expect(engines).toHaveLength(2);
});

test("the reference lists every type of steps and every field", () => {
  const words = [...Object.values(StepType), ...fields.map(({ name }) => name)];
  expect(words.filter((word) => !reference.includes(`\`${word}\``))).toEqual([]);
});

test("the flow of the first screen runs and prints what the guide shows", async () => {
  const cwd = house.place();
  const file = join(house.folder, "flow.json");
  writeFileSync(file, flows[0]?.text ?? "");
  expect(await house.add("greet", file)).toEqual([]);
  const [, params = ""] = /run greet --params '([^']*)'/.exec(guide) ?? [];
  const thread = await house.run("greet", { cwd, params: JSON.parse(params) as object });
  const shown = [...guide.matchAll(/^ {2}\d {2}(\S+) .*0\.0s/gm)].map(([, role]) => role ?? "");
  expect(thread.steps.map(({ role }) => role)).toEqual(shown);
  const [, summary] = /^completed: (.*)$/m.exec(guide) ?? [];
  expect(thread.result).toEqual({ returnCode: 0, summary: summary ?? "" });
  expect(textIn(cwd, "greetings.json")).toContain('"Hello, Alan"');
});

test("add reports an unknown step as the guide shows", () => {
  const [, shown = ""] = /^error: (flow\.json:.*); hint/m.exec(guide) ?? [];
  const broken = (flows[0]?.text ?? "").replace('"next": "Write_All"', '"next": "Write_Al"');
  expect(() => checkedDocument(broken, "flow.json")).toThrow(shown);
});

test("the flow on the package's page runs", async () => {
  const file = join(house.folder, "own.json");
  writeFileSync(file, flows[1]?.text ?? "");
  expect(await house.add("own", file)).toEqual([]);
  const thread = await house.run("own", { cwd: house.place(), prompt: "Ada" });
  expect(thread.result?.summary).toBe("Hello, Ada");
});

test.each(steps)("the step $id is valid", ({ step }) => {
  const document: WorkflowDocument = aroundStep(step);
  expect(new Engine(document).validate()).toEqual([]);
});

describe("the programs", () => {
  test("have no type errors", () => {
    expect(typeErrorsIn(sources)).toBe("");
  }, 180_000);

  test("make a bundle", async () => {
    await house.add("count", join(sources, `${workflow?.name}.ts`));
    const thread = await house.run("count", { cwd: house.place(), prompt: "one two" });
    expect(thread.result?.summary).toBe("2: ONE TWO!");
  }, 180_000);

  test.each(engines)("run an engine: $name", ({ name, text }) => {
    const { stdout, exitCode } = Bun.spawnSync([process.execPath, join(sources, `${name}.ts`)]);
    expect(exitCode).toBe(0);
    const printed = stdout.toString().replace(/\s+/g, " ");
    const ends: [string, string][] = [
      ["resume", "stopped"],
      ["Hello", "Hello, Ada"],
    ];
    expect(printed).toContain(ends.find(([word]) => text.includes(word))?.[1] ?? "nothing");
  });
});

test("no step of a documented workflow violates its descriptor", async () => {
  expect(await warningsOn(house.host)).toEqual([]);
});
