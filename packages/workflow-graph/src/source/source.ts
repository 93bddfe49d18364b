import {
  entryFiles,
  locatedProblems,
  type Position,
  readDocument,
} from "@uncaged/workflow/document";
import { messageOf } from "@uncaged/workflow/interpreter";
import { checkGraph, type CheckOptions } from "../check/check.ts";
import { foreignFormat } from "../check/formats.ts";
import { builtInTools, readGraph } from "../document/graph.ts";
import type { GraphDocument } from "../document/schema.ts";
import { checkSchema } from "../guardrail/check-schema.ts";
import { invalidGraphFile } from "./errors.ts";

/** The position of each node in the text, by the node's id. */
type NodePositions = Record<string, Position>;

/** A valid graph. Each warning is `file:line:column: …`. */
export type CheckedGraph = {
  document: GraphDocument;
  warnings: string[];
  positions: NodePositions;
};

/**
 * Reads and checks an agent graph.
 * @throws WorkflowError `GRAPH_INVALID` with the file's first error as `file:line:column: message`; `details` lists all
 * errors if there are several.
 */
export function checkedGraph(text: string, file: string, options: CheckOptions = {}): CheckedGraph {
  const { document, positionOf } = readDocument(text, file, "GRAPH_INVALID");
  const { errors, warnings } = checkGraph(document, options);
  if (errors.length === 0) {
    const graph = document as GraphDocument;
    const located = locatedProblems(warnings, file, positionOf);
    return { document: graph, warnings: located, positions: positionsIn(graph, positionOf) };
  }
  throw invalidGraphFile(locatedProblems(errors, file, positionOf));
}

function uncheckedGraph(text: string, file: string): CheckedGraph {
  const { document, positionOf } = readDocument(text, file, "GRAPH_INVALID");
  const graph = document as GraphDocument;
  return { document: graph, warnings: [], positions: positionsIn(graph, positionOf) };
}

function positionsIn(
  document: Partial<GraphDocument>,
  positionOf: ReturnType<typeof readDocument>["positionOf"],
): NodePositions {
  const { nodes } = readGraph(document);
  return Object.fromEntries(nodes.map(({ id }, n) => [id, positionOf(["nodes", n, "id"])]));
}

/** A kind of source for `addWorkflow` and `buildSource` of `@uncaged/workflow/host`. */
export type GraphSource = {
  matches(file: string): boolean;
  recognizes(text: string, file: string): boolean;
  module(
    text: string,
    file: string,
  ): Promise<{ code: string; resolve: Record<string, string>; roles: NodePositions }>;
};

/**
 * Returns a kind of source that builds bundles from agent graphs: `.json`, `.yaml` and `.yml` files with an object that
 * has `nodes` and `connections`. The bundle has the built-in tools and the providers that its nodes use. `warn`
 * receives each warning with file, line and column. Without `isChecked`, refuses only node ids that are not valid step
 * names.
 */
export function graphSource(
  warn: (warning: string) => void,
  { isChecked = true }: { isChecked?: boolean } = {},
): GraphSource {
  const read = isChecked ? checkedGraph : uncheckedGraph;
  return {
    matches: (file) => /\.(json|ya?ml)$/i.test(file),
    recognizes: isGraph,
    async module(text, file) {
      const { document, positions, warnings } = read(text, file, { tools: builtInTools });
      for (const warning of warnings) warn(warning);
      await checkSchemas(document, file, positions);
      return { code: moduleCode(document), resolve: ownFiles(), roles: positions };
    },
  };
}

/** Compiles the schemas of all guardrails. @throws WorkflowError `GRAPH_INVALID` for an invalid schema. */
async function checkSchemas(
  document: GraphDocument,
  file: string,
  positions: NodePositions,
): Promise<void> {
  for (const { guardrail, id } of agentsIn(document)) {
    if (!guardrail?.schema) continue;
    const { line, column } = positions[id] ?? { line: 1, column: 1 };
    await checkSchema(guardrail.schema).catch((error: unknown) => {
      throw invalidGraphFile([`${file}:${line}:${column}: ${id}: ${messageOf(error)}`]);
    });
  }
}

/**
 * Tells whether a text is an agent graph, valid or not, or a graph of another program. False for an unreadable text.
 */
export function isGraph(text: string, file: string): boolean {
  try {
    const { document } = readDocument(text, file);
    if (typeof document !== "object" || document === null || "steps" in document) return false;
    return "nodes" in document || "connections" in document || foreignFormat(document) !== null;
  } catch {
    return false;
  }
}

const packageName = "@uncaged/workflow-graph";
const agentsName = `${packageName}/agents`;

const ownFiles = () => entryFiles(import.meta, [packageName, agentsName]);

/** Returns the source of a bundle: equal graphs give equal sources, with only the providers and tools that they use. */
function moduleCode(document: GraphDocument): string {
  const { $schema: _, ...graph } = document;
  const hasTools = agentsIn(document).some(({ tools }) => tools.length > 0);
  const models = providersOf(document)
    .map((name) => `agents.${name}Models()`)
    .join(", ");
  const options = `models: [${models}]${hasTools ? ", tools: agents.graphTools()" : ""}`;
  const hasSchemas = agentsIn(document).some(({ guardrail }) => guardrail?.schema);
  const schemas = hasSchemas ? ", schemas: agents.checkSchema" : "";
  return [
    `import { graphBundle } from ${JSON.stringify(packageName)};`,
    `import * as agents from ${JSON.stringify(agentsName)};`,
    // Embed the graph as text: `__proto__` is special in an object literal, which is also slower to parse.
    `const graph = JSON.parse(${JSON.stringify(JSON.stringify(graph))});`,
    `export const { run, descriptor } = graphBundle(graph, { agents: agents.modelAgents({ ${options} })${schemas} });`,
    "",
  ].join("\n");
}

const agentsIn = (document: Partial<GraphDocument>) =>
  readGraph(document).nodes.filter((node) => node.kind === "agent");

type Provider = "anthropic" | "openai";

/** Returns the names of the providers that a graph's agents use. */
export const providersOf = (document: Partial<GraphDocument>): Provider[] =>
  [...new Set(agentsIn(document).map(({ model }) => providerOf(model)))].toSorted();

const providerOf = (model: string): Provider =>
  /^(anthropic\/|claude\b)/i.test(model) ? "anthropic" : "openai";
