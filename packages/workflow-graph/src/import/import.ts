import { isWorkflowError } from "@uncaged/workflow";
import { foreignFormat } from "../check/formats.ts";
import type { GraphDocument } from "../document/schema.ts";
import { builderGraph, isBuilderWorkflow } from "./agent-builder.ts";
import { isAgentsScript, scriptGraph } from "./agents-sdk.ts";
import type { Draft, LeftOut } from "./draft.ts";
import { notJson, tooDeep, tooLong, unknownExport } from "./errors.ts";
import { flowiseGraph, isAgentFlow } from "./flowise.ts";

/** A graph made from a file of another program. */
export type ImportedGraph = {
  from: "Agent Builder" | "Flowise";
  document: GraphDocument;
  /** The parts of the file that the graph lacks or represents differently, with their places. */
  left: LeftOut[];
};

// In characters.
const longest = 4 * 1024 * 1024;

/** Tells whether a text may be a file that {@link importGraph} reads. */
export function isImportable(text: string): boolean {
  if (isAgentsScript(text)) return true;
  try {
    const value: unknown = JSON.parse(text);
    return isBuilderWorkflow(value) || isAgentFlow(value);
  } catch {
    return false;
  }
}

/**
 * Makes an agent graph from an export of OpenAI's Agent Builder (the TypeScript for the Agents SDK, or the workflow's
 * JSON) or of Flowise (an AgentFlow of version 2).
 *
 * @throws WorkflowError `IMPORT_INVALID` with one line, for an unknown or incomplete file.
 */
export function importGraph(text: string, file = "the file"): ImportedGraph {
  if (text.length > longest) throw tooLong(file, longest);
  try {
    if (isAgentsScript(text)) return imported("Agent Builder", scriptGraph(text, file));
    const value = parsed(text, file);
    if (isBuilderWorkflow(value)) return imported("Agent Builder", builderGraph(value));
    if (isAgentFlow(value)) return imported("Flowise", flowiseGraph(value));
    throw unknownExport(file, `this is ${foreignFormat(value) ?? "not a known export"}`);
  } catch (error) {
    if (isWorkflowError(error)) throw error;
    if (error instanceof RangeError) throw tooDeep(file);
    throw error;
  }
}

function parsed(text: string, file: string): unknown {
  if (/^\s*(from agents\b|from\s+\w+\s+import\b|import\s+\w+\s*$)/m.test(text)) {
    throw unknownExport(file, "this is Python, not TypeScript or JSON");
  }
  if (!/^\s*[[{]/.test(text)) throw unknownExport(file, "this is neither JSON nor an export");
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof RangeError) throw error;
    throw notJson(file, (error as Error).message);
  }
}

type Drafted = { draft: Draft; description: string | null };

const imported = (from: ImportedGraph["from"], { draft, description }: Drafted): ImportedGraph => {
  const document = draft.document(description);
  const lineOf = ({ at }: LeftOut): number => Number(/^line (\d+)$/.exec(at)?.[1] ?? 0);
  return { from, document, left: draft.left.toSorted((one, other) => lineOf(one) - lineOf(other)) };
};
