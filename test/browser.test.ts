import { expect, test } from "bun:test";
import { join } from "node:path";
import { top } from "./source.ts";

/** Packages that the console imports, with their third-party dependencies. */
const entryPoints = [
  ["@uncaged/workflow/editing", []],
  ["@uncaged/workflow-steps/document", ["zod"]],
  ["@uncaged/workflow-steps/editing", ["zod"]],
  ["@uncaged/workflow-graph/document", ["zod"]],
  ["@uncaged/workflow-graph/editing", ["zod"]],
  ["@uncaged/workflow-graph/run", []],
  ["@uncaged/workflow-plan/editing", []],
] as const;

test.each(entryPoints)(
  "%s imports no module of Node, and only these packages: %p",
  async (name, packages) => {
    const { outputs, metafile } = await Bun.build({
      entrypoints: [Bun.resolveSync(name, join(top, "apps/web"))],
      target: "node",
      metafile: true,
    });
    const text = await outputs[0]?.text();
    expect(new Bun.Transpiler().scanImports(text ?? "no output")).toEqual([]);
    const inputs = Object.keys(metafile?.inputs ?? {});
    const found = inputs.flatMap((path) => /.*node_modules\/([^/]+)\//.exec(path)?.[1] ?? []);
    expect([...new Set(found)]).toEqual([...packages]);
  },
);
