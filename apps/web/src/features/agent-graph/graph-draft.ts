import { browserStorage, readDraft } from "../../editor/document/draft.ts";
import { isRecord, readJson } from "../../lib/json.ts";
import { ApiError, request } from "../../lib/request.ts";
import { emptyGraph, otherFormatOf } from "./agent-graph.ts";

/** Where the browser keeps the graph that is edited. */
export const draftKey = "agentflow-workflow";
/** Where it keeps what was found there and is no graph. */
export const brokenKey = "agentflow-workflow-broken";

/** The text that an editor begins with, and what its reader should know about it. */
type Begun = { text: string; notices: string[] };

/** The graph that was edited here before, else the server's own, else a single Start. */
export async function beginGraph(): Promise<Begun> {
  const notices: string[] = [];
  const text = storedGraph(notices) ?? (await defaultGraph(notices)) ?? emptyGraph;
  return { text, notices };
}

function storedGraph(notices: string[]): string | null {
  let text: string | null;
  try {
    text = localStorage.getItem(draftKey);
  } catch {
    notices.push("This browser stores nothing: save the graph before you leave the page.");
    return null;
  }
  const { text: typed } = readDraft(browserStorage, draftKey);
  // It need not be JSON yet: the editor shows where it breaks.
  if (typed !== null && typed !== text) return typed;
  if (text === null || text.trim() === "") return null;
  const { value, problem } = readJson(text);
  const reason = problem ?? misshapeOf(value);
  if (reason === null) return isEmpty(value) ? null : inLines(text, value);
  notices.push(`What this browser had stored is no graph: ${reason} It is kept as ${brokenKey}.`);
  setAside(text, notices);
  return null;
}

function misshapeOf(value: unknown): string | null {
  const other = otherFormatOf(value);
  if (other !== null) return `it is ${other}.`;
  const { nodes, connections } = value as Record<string, unknown>;
  if (!Array.isArray(nodes) || !Array.isArray(connections)) {
    return "nodes and connections must be lists.";
  }
  const isWhole = nodes.every((node) => isRecord(node) && typeof node.id === "string");
  return isWhole ? null : "a node has no id.";
}

const isEmpty = (value: unknown): boolean => {
  const { nodes } = value as { nodes: unknown[] };
  return nodes.length === 0;
};

/** What other programs write in one line is read in many. */
const inLines = (text: string, value: unknown): string =>
  text.trim().includes("\n") ? text : `${JSON.stringify(value, null, 2)}\n`;

function setAside(text: string, notices: string[]): void {
  try {
    // First, so that there is room for it.
    localStorage.removeItem(draftKey);
    localStorage.setItem(brokenKey, text);
  } catch {
    notices.push(`There was no room to keep it: ${text.slice(0, 200)}`);
  }
}

async function defaultGraph(notices: string[]): Promise<string | null> {
  try {
    const graph = await request<unknown>("/default-workflow");
    const reason = misshapeOf(graph);
    if (reason === null) return isEmpty(graph) ? null : `${JSON.stringify(graph, null, 2)}\n`;
    notices.push(`The server's default graph can't be used: ${reason}`);
  } catch (error) {
    const isNone = error instanceof ApiError && error.status === 404;
    if (!isNone)
      notices.push(`The server's default graph can't be read: ${(error as Error).message}`);
  }
  return null;
}
