import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { prepareBundle } from "../src/bundle/prepare.ts";
import type { SourceKind } from "../src/bundle/build.ts";
import { WorkflowError } from "../src/contract/error.ts";
import { buildSource, openLocalHost } from "../src/entry/host.ts";

let folder: string;
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), "source-kind-")));
  await mkdir(join(folder, "package"));
  await writeFile(
    join(folder, "package/greeting.ts"),
    `import type { WorkflowFn } from "@uncaged/workflow";
     import { INPUT } from "@uncaged/workflow";
     export const greet = (name: string): WorkflowFn => async function* () {
       yield { role: "greeter", content: "hello " + name, meta: { INPUT } };
       return { returnCode: 0, summary: "greeted" };
     };`,
  );
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** A kind of source that holds a name and becomes a workflow that greets it. */
function greetings(): SourceKind {
  return {
    matches: (file) => file.endsWith(".json"),
    async module(text, file) {
      const { name } = JSON.parse(text) as { name?: string };
      if (name === undefined) {
        const message = `${file}:1:1: missing name`;
        throw new WorkflowError({ code: "NO_NAME", kind: "failed", message, hint: "give a name" });
      }
      return {
        code: `import { greet } from "greetings";
export const descriptor = { description: ${JSON.stringify(name)}, roles: {} };
export const run = greet(${JSON.stringify(name)});
`,
        resolve: { greetings: join(folder, "package/greeting.ts") },
      };
    },
  };
}

async function source(text: string, at = "flow.json"): Promise<string> {
  const path = join(folder, at);
  await mkdir(join(path, ".."), { recursive: true });
  await writeFile(path, text);
  return path;
}

const thrownBy = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => null,
    (thrown: unknown) => thrown,
  );

describe("a kind of source", () => {
  test("is built with the packages of the program, and registered", async () => {
    const host = openLocalHost({ path: join(folder, "root") });
    const added = await host.register("greet", await source('{"name":"you"}'), {
      sources: [greetings()],
    });
    const { descriptor } = await host.workflow("greet");
    expect(descriptor).toEqual({ description: "you", roles: {} });
    expect(added.unchanged).toBe(false);
  });

  test("has the same hash in every folder, and another hash for another text", async () => {
    const sources = [greetings()];
    const hashOf = async (text: string, at: string) =>
      (await buildSource(await source(text, at), { sources })).hash;
    const first = await hashOf('{"name":"you"}', "flow.json");
    expect(await hashOf('{ "name": "you" }', "deep/in/other.json")).toBe(first);
    expect(await hashOf('{"name":"me"}', "flow.json")).not.toBe(first);
  });

  test("reports the problems of its texts itself", async () => {
    const file = await source("{}");
    expect(await thrownBy(prepareBundle(file, { sources: [greetings()] }))).toMatchObject({
      code: "NO_NAME",
      message: `${file}:1:1: missing name`,
    });
  });

  test("whose module does not build names the user's file", async () => {
    const file = await source('{"name":"you"}');
    const broken: SourceKind = {
      matches: () => true,
      module: async () => ({ code: 'import "nowhere";\nexport const a = = 1;', resolve: {} }),
    };
    const error = (await thrownBy(prepareBundle(file, { sources: [broken] }))) as WorkflowError;
    expect(error.code).toBe("BUILD_FAILED");
    expect(error.message).toStartWith(`${file}:2:`);
  });

  test("that the caller did not provide is refused", async () => {
    const file = await source('{"name":"you"}');
    const yaml: SourceKind = { ...greetings(), matches: (name) => name.endsWith(".yaml") };
    for (const sources of [undefined, [], [yaml]]) {
      expect(await thrownBy(prepareBundle(file, { sources }))).toMatchObject({
        code: "NOT_A_BUNDLE",
        kind: "usage",
        message: expect.stringContaining("JSON and YAML are not supported here"),
      });
    }
  });

  test("must be UTF-8", async () => {
    const file = join(folder, "flow.json");
    await writeFile(file, new Uint8Array([0x22, 0xff, 0x22]));
    expect(await thrownBy(prepareBundle(file, { sources: [greetings()] }))).toMatchObject({
      code: "NOT_UTF8",
    });
  });
});
