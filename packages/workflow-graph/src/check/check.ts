import type { DocumentPath, DocumentProblem } from "@uncaged/workflow/document";
import type { z } from "zod";
import {
  type AgentNode,
  type Edge,
  type GraphNode,
  readGraph,
  REJECTED,
  SUBAGENT,
} from "../document/graph.ts";
import { dataForms, formatVersion, type GraphDocument, graphForm } from "../document/schema.ts";
import { Outline } from "../outline/outline.ts";
import { subagentViolations } from "../outline/subagents.ts";
import { foreignFormat } from "./formats.ts";

/** Errors and warnings of a graph. */
export type GraphFindings = { errors: DocumentProblem[]; warnings: DocumentProblem[] };

/** Options of a graph's check. */
export type CheckOptions = {
  /** The tools that nodes may enable. Default: any tool. */
  tools?: readonly string[];
};

/** Checks an agent graph: first its form, then its references. */
export function checkGraph(document: unknown, options: CheckOptions = {}): GraphFindings {
  const otherwise = otherwiseMeant(document);
  if (otherwise) return { errors: [otherwise], warnings: [] };
  const form = problemsOf(graphForm, document, []);
  if (form.length > 0) return { errors: form, warnings: [] };
  const graph = document as GraphDocument;
  const data = graph.nodes.flatMap(({ type, data: given }, index) =>
    Object.hasOwn(dataForms, type)
      ? problemsOf(dataForms[type as keyof typeof dataForms], given ?? {}, ["nodes", index, "data"])
      : [],
  );
  const twins = twinsIn(graph);
  if (data.length > 0 || twins.length > 0) return { errors: [...data, ...twins], warnings: [] };
  const read = readGraph(graph);
  const outline = new Outline(read);
  return {
    errors: [
      ...(outline.start ? [] : [noStart]),
      ...read.nodes.flatMap((node, index) => unknownTools(node, index, options)),
      ...read.nodes.flatMap(brokenPatterns),
      ...subagentViolations(outline).map(({ index, message }) => ({
        path: ["connections", index],
        message,
      })),
    ],
    warnings: [
      ...read.nodes.flatMap((node, index) => doubtsAbout(node, index, outline)),
      ...read.edges.flatMap((edge) => looseEnds(edge, outline)),
    ],
  };
}

/** Returns the error for a document of another format or of a newer version; null for an agent graph. */
function otherwiseMeant(document: unknown): DocumentProblem | null {
  const format = foreignFormat(document);
  const wanted = 'an agent graph is an object with the arrays "nodes" and "connections"';
  if (format !== null) return { path: [], message: `this is ${format}; ${wanted}` };
  const { version } = (document ?? {}) as { version?: unknown };
  if (typeof version !== "number" || version <= formatVersion) return null;
  const message = `the graph has format version ${version}, but this program supports version ${formatVersion}: update uncaged-workflow`;
  return { path: ["version"], message };
}

const noStart: DocumentProblem = {
  path: ["nodes"],
  message: "no start node found: a run needs one",
};

function twinsIn({ nodes }: GraphDocument): DocumentProblem[] {
  const first = new Map<string, number>();
  return nodes.flatMap(({ id }, index) => {
    if (!first.has(id)) first.set(id, index);
    const earlier = first.get(id);
    if (earlier === index) return [];
    const message = `duplicate id ${JSON.stringify(id)}, first in nodes[${earlier}]`;
    return [{ path: ["nodes", index, "id"], message }];
  });
}

function unknownTools(node: GraphNode, index: number, { tools }: CheckOptions): DocumentProblem[] {
  if (node.kind !== "agent" || tools === undefined) return [];
  const lower = (name: string) => name.charAt(0).toLowerCase() + name.slice(1);
  return node.tools
    .filter((name) => !tools.includes(name) && !tools.includes(lower(name)))
    .map((name) => ({
      path: ["nodes", index, "data", "tools", name],
      message: `${node.id}: no tool ${JSON.stringify(name)} found; tools: ${[...tools, "subagents"].join(", ")}`,
    }));
}

function doubtsAbout(node: GraphNode, index: number, outline: Outline): DocumentProblem[] {
  const at = (...path: DocumentPath) => ["nodes", index, ...path];
  const { id, kind } = node;
  if (kind === "unknown") {
    const message = `${id}: ${JSON.stringify(node.type)} is not a node type; the node is skipped with an empty output`;
    return [{ path: at("type"), message }];
  }
  if (kind === "start" && node !== outline.start) {
    return [{ path: at("type"), message: `${id}: a run begins at ${outline.start?.id}, not here` }];
  }
  if (kind === "agent") return doubtsAboutRejected(node, index, outline);
  if (kind !== "if") return [];
  return node.conditions.flatMap(({ operator, value }, number) => {
    const path = at("data", "conditions", number);
    const isKnown = operator === "equal" || operator === "contains";
    return [
      ...(isKnown
        ? []
        : [
            { path, message: `${id}: unknown operator ${JSON.stringify(operator)}, used as equal` },
          ]),
      ...(value.trim() === "" ? [{ path, message: `${id}: an empty value never matches` }] : []),
    ];
  });
}

function doubtsAboutRejected(
  { guardrail, id }: AgentNode,
  index: number,
  outline: Outline,
): DocumentProblem[] {
  if (guardrail !== null || outline.edgesFrom(id, REJECTED).length === 0) return [];
  const message = `${id}: without a guardrail, the handle rejected has no special meaning`;
  return [{ path: ["nodes", index, "data"], message }];
}

/** Finds regular expressions that can't be compiled. */
function brokenPatterns(node: GraphNode, index: number): DocumentProblem[] {
  if (node.kind !== "agent" || node.guardrail === null) return [];
  const { matches, rejects } = node.guardrail;
  const lists = { matches, rejects };
  return Object.entries(lists).flatMap(([name, patterns]) =>
    patterns.flatMap((pattern, number) => {
      try {
        void new RegExp(pattern, "u");
        return [];
      } catch (error) {
        const path = ["nodes", index, "data", "guardrail", name, number];
        return [{ path, message: `${node.id}: ${(error as Error).message}` }];
      }
    }),
  );
}

function looseEnds({ handle, index, source, target }: Edge, outline: Outline): DocumentProblem[] {
  const path = ["connections", index];
  const missing = [source, target].filter((id) => !outline.nodes.has(id));
  if (missing.length > 0) {
    const message = `no node ${missing.map((id) => JSON.stringify(id)).join(" or ")} found: runs ignore this connection`;
    return [{ path, message }];
  }
  if (handle === SUBAGENT || outline.edgesFrom(source, null).some((edge) => edge.index === index)) {
    return [];
  }
  const message = `${source}: no handle ${JSON.stringify(handle)} found: runs ignore this connection`;
  return [{ path, message }];
}

function problemsOf(form: z.ZodType, value: unknown, at: DocumentPath): DocumentProblem[] {
  const { error } = form.safeParse(value, { reportInput: true });
  return (error?.issues ?? []).map((issue) => {
    const path = [...at, ...issue.path.map((part) => (typeof part === "symbol" ? "" : part))];
    return { path, message: `${showPath(path)} ${reasonOf(issue)}` };
  });
}

function showPath(path: DocumentPath): string {
  const parts = path.map((part) => (typeof part === "number" ? `[${part}]` : `.${part}`));
  return parts.join("").replace(/^\./, "") || "the graph";
}

function reasonOf(issue: z.core.$ZodIssue): string {
  if (issue.code === "invalid_type") {
    if (issue.input === undefined) return "is missing";
    return `must be ${words[issue.expected] ?? issue.expected}, not ${kindOf(issue.input)}`;
  }
  if (issue.code === "invalid_value")
    return `must be one of ${issue.values.map(String).join(", ")}`;
  if (issue.code === "too_small") return "must not be empty";
  if (issue.code === "too_big") return `must have at most ${issue.maximum} characters`;
  if (issue.code === "invalid_format") return "must not begin with __, which is reserved";
  return issue.message;
}

const words: Readonly<Record<string, string>> = {
  string: "a string",
  number: "a number",
  boolean: "true or false",
  array: "an array",
  object: "an object",
  record: "an object",
};

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return "an array";
  if (typeof value === "object" && value !== null) return "an object";
  return JSON.stringify(typeof value === "string" ? value.slice(0, 60) : value);
}
