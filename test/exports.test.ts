import { expect, test } from "bun:test";
import { entryPoint, listOf } from "./entry-point.ts";
import type { Node } from "./source.ts";

/** The entry points of the packages, by file. */
const entryPoints = [
  ...["index", "document", "driver", "host", "sandbox", "testing"].map(
    (name) => `workflow/src/${name}`,
  ),
  ...["index", "ledger", "evals"].map((name) => `workflow-agents/src/${name}`),
  ...["index", "agents", "source", "document", "run"].map((name) => `workflow-graph/src/${name}`),
  ...["index", "source", "terms", "service"].map((name) => `workflow-plan/src/${name}`),
  ...["index", "adapters", "source", "document", "threads"].map(
    (name) => `workflow-steps/src/entry/${name}`,
  ),
];

// A change here changes the public API. `bun test -u test/exports.test.ts` writes the new lists.
test.each(entryPoints)("the exported names of %s, types included", (name) => {
  expect(listOf(name)).toMatchSnapshot();
});

test.each(entryPoints)("%s only exports again, each by its name", (name) => {
  const strays = entryPoint(name)
    .nodes.filter(({ type }) => type === "Program")
    .flatMap(({ body }) => body as Node[])
    .filter(({ type, source }) => type !== "ExportNamedDeclaration" || source === null);
  expect(strays.map(({ type }) => type)).toEqual([]);
});
