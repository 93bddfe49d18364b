import { describe, expect, test } from "bun:test";
import { files, type Node, readSource } from "./source.ts";

/* One name for one thing. */
const entryPoints = [
  "workflow/src/index",
  "workflow/src/document",
  "workflow/src/driver",
  "workflow/src/host",
  "workflow/src/sandbox",
  "workflow/src/testing",
  "workflow-agents/src/index",
  "workflow-agents/src/ledger",
  "workflow-agents/src/evals",
  "workflow-graph/src/index",
  "workflow-graph/src/agents",
  "workflow-graph/src/source",
  "workflow-plan/src/index",
  "workflow-plan/src/source",
  "workflow-restate/src/index",
  "workflow-restate/src/cluster",
  "workflow-restate/src/worker",
  "workflow-steps/src/entry/index",
  "workflow-steps/src/entry/adapters",
  "workflow-steps/src/entry/document",
  "workflow-steps/src/entry/source",
  "workflow-steps/src/entry/threads",
];

/** Names that mean one thing in the whole of the code. */
const declaredOnce = [
  "Engine",
  "FailureRecord",
  "Feed",
  "History",
  "LLMError",
  "LLMParams",
  "RunEvent",
];

const sources = files("{packages,apps}/*/src/**/*.{ts,tsx}")
  .filter((path) => !path.endsWith(".test.ts") && !path.includes("/template/"))
  .map(readSource);

const isDeclaration = ({ type }: Node): boolean =>
  ["ClassDeclaration", "TSTypeAliasDeclaration", "TSInterfaceDeclaration"].includes(type);

/** The names that an entry point exports of its own package's files. */
const exportedNames = (entryPoint: string): string[] =>
  readSource(`packages/${entryPoint}.ts`)
    .nodes.filter(({ type }) => type === "ExportNamedDeclaration")
    .filter(({ source }) => String((source as Node | null)?.value).startsWith("."))
    .flatMap(({ specifiers }) => specifiers as Node[])
    .map(({ exported }) => (exported as Node).name as string);

describe("a name", () => {
  test("that a package exports is exported by no other one", () => {
    const owners = new Map<string, Set<string>>();
    for (const entryPoint of entryPoints) {
      for (const name of exportedNames(entryPoint)) {
        const found = owners.get(name) ?? new Set();
        owners.set(name, found.add(entryPoint.split("/")[0] ?? ""));
      }
    }
    const shared = [...owners].filter(([, found]) => found.size > 1).map(([name]) => name);
    expect(shared).toEqual([]);
  });

  test.each(declaredOnce)("%s is declared at most once", (name) => {
    const declared = sources.flatMap(({ path, nodes }) =>
      nodes
        .filter((node) => isDeclaration(node) && (node.id as Node | null)?.name === name)
        .map(() => path),
    );
    expect(declared.length > 1 ? declared : []).toEqual([]);
  });
});
