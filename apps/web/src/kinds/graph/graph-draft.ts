import { graphEditing } from "@uncaged/workflow-graph/editing";
import { readDraft } from "../../editor/document/draft.ts";
import { isRecord, readJson } from "../../lib/json.ts";
import { ApiError, request } from "../../lib/request.ts";
import { fewChoices } from "./agent-graph.ts";

const { emptyText, recognize } = graphEditing(() => fewChoices);

/** Storage key of the edited graph. */
export const draftKey = "agentflow-workflow";
/** Storage key for an invalid graph that the editor moved away from the draft's key. */
export const brokenKey = "agentflow-workflow-broken";

/** The initial text of an editor, with notices for the user. */
type Begun = { text: string; notices: string[] };

/** The stored draft, else the server's default graph, else a single Start. */
export async function beginGraph(): Promise<Begun> {
  const notices: string[] = [];
  const text = storedGraph(notices) ?? (await defaultGraph(notices)) ?? emptyText;
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
  const { text: typed } = readDraft(draftKey);
  // The draft may be invalid JSON; the editor then shows the position.
  if (typed !== null && typed !== text) return typed;
  if (text === null || text.trim() === "") return null;
  const { value, problem } = readJson(text);
  const reason = problem ?? misshapeOf(value);
  if (reason === null) return isEmpty(value) ? null : inLines(text, value);
  notices.push(`The stored graph is invalid: ${reason} It is kept as ${brokenKey}.`);
  setAside(text, notices);
  return null;
}

function misshapeOf(value: unknown): string | null {
  const other = recognize(value);
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

/** Formats JSON that was stored in one line. */
const inLines = (text: string, value: unknown): string =>
  text.trim().includes("\n") ? text : `${JSON.stringify(value, null, 2)}\n`;

function setAside(text: string, notices: string[]): void {
  try {
    // Removing the draft first frees its space in the storage.
    localStorage.removeItem(draftKey);
    localStorage.setItem(brokenKey, text);
  } catch {
    notices.push(`It could not be stored: ${text.slice(0, 200)}`);
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
