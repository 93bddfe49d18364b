/*
 * Recognizes other formats by their distinctive fields, so that the error names the format instead of missing fields.
 */

type Fields = Readonly<Record<string, unknown>>;

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const fieldsOf = (value: unknown): Fields => (isFields(value) ? value : {});

const listOf = (value: unknown): Fields[] => (Array.isArray(value) ? value.map(fieldsOf) : []);

const has = (value: Fields, ...names: string[]): boolean =>
  names.every((name) => Object.hasOwn(value, name));

const formats: { name: string; is: (document: Fields) => boolean }[] = [
  {
    name: 'the record of a run: its graph is under "workflow"',
    is: (document) => has(document, "runId", "workflow", "logs"),
  },
  {
    name: "a plan (schema_version, trigger, steps)",
    is: (document) =>
      has(document, "steps") && (has(document, "trigger") || has(document, "phase")),
  },
  {
    name: "a step workflow (version, steps)",
    is: ({ steps, version }) => Array.isArray(steps) && typeof version === "string",
  },
  {
    name: "a workflow of n8n",
    is: ({ connections, nodes }) =>
      listOf(nodes).some(({ type }) => /^(n8n-nodes-|@n8n\/)/.test(String(type))) ||
      (isFields(connections) && listOf(nodes).some((node) => has(node, "typeVersion"))),
  },
  {
    name: "an app of Dify",
    is: ({ workflow }) => has(fieldsOf(fieldsOf(workflow).graph), "nodes", "edges"),
  },
  {
    name: "a flow of Langflow",
    is: ({ data }) => has(fieldsOf(data), "nodes", "edges"),
  },
  {
    name: "a workflow of ComfyUI",
    is: (document) => has(document, "nodes", "links", "last_node_id"),
  },
  {
    name: "a flow of Flowise",
    is: ({ edges, nodes }) =>
      Array.isArray(edges) && listOf(nodes).some(({ data }) => has(fieldsOf(data), "inputAnchors")),
  },
  {
    name: "a document of React Flow (nodes with a position, edges)",
    is: ({ edges, nodes }) =>
      Array.isArray(edges) && listOf(nodes).some((node) => has(node, "position")),
  },
  {
    name: "a graph of LangGraph, or another graph of nodes and edges",
    is: ({ edges, nodes }) => Array.isArray(edges) && Array.isArray(nodes),
  },
  {
    name: "a state machine of Amazon States Language",
    is: (document) => has(document, "StartAt", "States"),
  },
  {
    name: "a workflow of GitHub Actions",
    is: (document) => has(document, "on", "jobs"),
  },
];

/** Returns the name of a foreign format; null for an agent graph or an unknown format. */
export function foreignFormat(document: unknown): string | null {
  if (typeof document === "string" && /^\s*[{[]/.test(document)) {
    return "a string that contains JSON, not the JSON itself";
  }
  if (Array.isArray(document)) {
    return listOf(document).some((one) => has(one, "id", "wires")) ? "a flow of Node-RED" : null;
  }
  if (!isFields(document)) return null;
  if (Array.isArray(document.nodes) && Array.isArray(document.connections)) return null;
  return formats.find(({ is }) => is(document))?.name ?? null;
}
