import {
  type Change,
  type Completion,
  type DocumentPath,
  type Edit,
  isRecord,
  type JsonSchema,
  listOf,
  type NodeForm,
  type Refused,
} from "@uncaged/workflow/editing";
import { graphSchema } from "../check/schema.ts";
import { SUBAGENT } from "../document/graph.ts";
import { removalOfLine, renumbered, setInData } from "./edits.ts";
import {
  callerOf,
  callsSubagents,
  conditionsOf,
  type Data,
  type GraphNode,
  nameOfNode,
  pathOfNode,
  type ReadGraph,
  readCondition,
  readDocument,
} from "./graph-document.ts";

/** The choices in forms: models with a configured key, and tools of the server's bundles. */
export type GraphChoices = {
  models: readonly string[];
  reasoningEfforts: readonly string[];
  tools: readonly string[];
};

/** Returns the form of a node's data; null for an unknown type. */
export function formOf(document: unknown, id: string, choices: GraphChoices): NodeForm | null {
  const graph = readDocument(document);
  const node = graph.nodes.get(id);
  const schema = node && schemaOf(node, choices);
  if (!node || !schema) return null;
  const caller = callerOf(graph, id);
  const name = nameOfNode(graph.nodes.get(caller ?? "") ?? node);
  return {
    schema,
    path: [...pathOfNode(node), "data"],
    value: valueOf(node),
    ...(caller !== null && {
      locked: { userPrompt: `${name} calls this agent and sends the prompt.` },
    }),
    ...(node.type === "agent" && { expressions: ["userPrompt"] }),
    edit: (path, value) => editOf(document, graph, node, path, value),
  };
}

const valueOf = ({ type, data }: GraphNode): Data =>
  type === "if" ? { ...data, conditions: conditionsOf(data) } : data;

function editOf(
  document: unknown,
  graph: ReadGraph,
  node: GraphNode,
  path: DocumentPath,
  value: unknown,
): Edit | Refused {
  const merge = `${node.id} ${path.join(".")}`;
  const label = `Edit ${nameOfNode(node)}`;
  if (node.type === "if" && path[0] === "conditions") {
    return { label, merge, changes: conditionChanges(document, graph, node, path, value) };
  }
  if (path[0] === "userPrompt" && callerOf(graph, node.id) !== null) {
    return { refused: "A subagent gets its prompt from its caller." };
  }
  const changes = setInData(document, node, path, value);
  return {
    ...{ label, merge },
    changes: [...changes, ...linesWithout(graph, node, path, value)],
  };
}

/** Returns the changes that remove the subagent lines of an agent that may not call subagents. */
function linesWithout(
  { lines }: ReadGraph,
  node: GraphNode,
  path: DocumentPath,
  value: unknown,
): Change[] {
  if (!callsSubagents(node) || path[0] !== "tools") return [];
  const isOn = path.length > 1 ? value : isRecord(value) && value.subagents;
  if ((path.length > 1 && path[1] !== "subagents") || isOn === true) return [];
  return lines
    .filter(({ source, port }) => source === node.id && port === SUBAGENT)
    .map(removalOfLine);
}

/** Returns the changes that move the lines of removed or reordered conditions. */
function conditionChanges(
  document: unknown,
  graph: ReadGraph,
  node: GraphNode,
  [, index, ...inner]: DocumentPath,
  value: unknown,
): Change[] {
  const before = conditionsOf(node.data);
  const after = typeof index === "number" ? listAfter(before, index, inner, value) : listOf(value);
  const lines = renumbered(graph, node, (at) => {
    if (at >= before.length) return at;
    if (typeof index !== "number") return foundAt(after, before[at]);
    return after.length >= before.length || at < index ? at : at === index ? null : at - 1;
  });
  if (typeof index !== "number" || !Array.isArray(node.data.conditions)) {
    const isOld = node.data.condition !== undefined;
    return [
      ...setInData(document, node, ["conditions"], after),
      ...(isOld ? setInData(document, node, ["condition"], undefined) : []),
      ...lines,
    ];
  }
  const path = ["conditions", index];
  if (inner.length > 0 && isRecord(before[index])) {
    return setInData(document, node, [...path, ...inner], value);
  }
  const changes = setInData(document, node, path, inner.length > 0 ? after[index] : value);
  const isNew = index >= before.length;
  return [
    ...(isNew ? changes.map((one) => ({ ...one, insert: true as const })) : changes),
    ...lines,
  ];
}

const foundAt = (list: readonly unknown[], item: unknown): number | null => {
  const at = list.indexOf(item);
  return at < 0 ? null : at;
};

function listAfter(
  before: readonly unknown[],
  index: number,
  [name]: DocumentPath,
  value: unknown,
): readonly unknown[] {
  if (name !== undefined) {
    const item = before[index];
    const held = isRecord(item) ? item : readCondition(item);
    return before.toSpliced(index, 1, { ...held, [name]: value });
  }
  return value === undefined ? before.toSpliced(index, 1) : before.toSpliced(index, 1, value);
}

/** The form's additions to the format's schema, by field. */
type Shown = Readonly<Record<string, JsonSchema>>;

const long = { format: "multiline" };

const shown: Readonly<Record<string, Shown>> = {
  start: { initialInput: { title: "Prompt", ...long } },
  agent: {
    agentName: { title: "Name" },
    systemPrompt: { title: "System prompt", ...long },
    userPrompt: { title: "User prompt", ...long },
    model: { title: "Model" },
    reasoningEffort: { title: "Reasoning effort" },
    tools: { title: "Tools" },
    guardrail: { title: "Guardrail" },
  },
  if: { conditions: { title: "Conditions" } },
  approval: { prompt: { title: "Prompt", ...long } },
};

const runs = { title: "When several paths lead here" };

let formats: ReadonlyMap<string, JsonSchema> | null = null;

/** Returns the format's schema of a type's data. */
function formatOf(type: string): JsonSchema | undefined {
  formats ??= new Map(byType());
  return formats.get(type);
}

function byType(): [string, JsonSchema][] {
  const { nodes } = graphSchema().properties as Record<string, JsonSchema>;
  const { allOf } = (nodes?.items ?? {}) as { allOf?: unknown };
  return listOf(allOf).flatMap((given): [string, JsonSchema][] => {
    const rule = given as {
      if: { properties: { type: { const: string } } };
      then: { properties: { data: { anyOf: JsonSchema[] } } };
    };
    const [schema] = rule.then.properties.data.anyOf;
    return schema ? [[rule.if.properties.type.const, schema]] : [];
  });
}

function schemaOf({ type, data }: GraphNode, choices: GraphChoices): JsonSchema | null {
  const format = formatOf(type);
  const fields = Object.hasOwn(shown, type) ? shown[type] : undefined;
  if (!format || !fields) return null;
  const known = format.properties as Record<string, JsonSchema>;
  const properties = Object.entries(fields).map(([name, more]): [string, JsonSchema] => [
    name,
    { ...known[name], ...more, ...choicesOf(type, name, data, choices) },
  ]);
  return {
    ...format,
    properties: { ...Object.fromEntries(properties), join: { ...known.join, ...runs } },
  };
}

function choicesOf(type: string, name: string, data: Data, choices: GraphChoices): JsonSchema {
  if (type === "if") return { items: conditionSchema };
  switch (name) {
    case "model":
      return { examples: choices.models };
    case "reasoningEffort":
      return { examples: choices.reasoningEfforts };
    case "tools":
      return toolsSchema(data, choices);
    default:
      return {};
  }
}

const conditionSchema: JsonSchema = {
  type: "object",
  properties: {
    operator: { title: "Operator", enum: ["contains", "equal"], default: "contains" },
    value: { title: "Value", type: "string", default: "" },
  },
  required: ["operator", "value"],
};

/** Returns the schema of a switch for each tool of the server or the document. */
function toolsSchema({ tools }: Data, choices: GraphChoices): JsonSchema {
  const named = isRecord(tools) ? Object.keys(tools) : [];
  const names = new Set([...choices.tools, ...named]);
  names.delete("subagents");
  const calls = { type: "boolean", title: "May call subagents" };
  return {
    type: "object",
    properties: {
      subagents: calls,
      ...Object.fromEntries([...names].map((name) => [name, { type: "boolean", title: name }])),
    },
    additionalProperties: false,
  };
}

/** Returns the placeholders of a node's prompt, with the nodes that fill them. */
export function completionsAt(
  document: unknown,
  id: string,
  path: DocumentPath,
): readonly Completion[] {
  if (path.at(-1) !== "userPrompt") return [];
  const { lines, nodes } = readDocument(document);
  const before = lines.filter(({ target, port }) => target === id && port !== SUBAGENT);
  const named = before.flatMap(({ source }) => {
    const node = nodes.get(source);
    return node ? [nameOfNode(node)] : [];
  });
  const from = [...new Set(named)].join(", ") || "the previous node";
  const isApproved = [...nodes.values()].some(({ type }) => type === "approval");
  const review = isApproved ? "of the last approval" : "of an approval; the graph has none";
  return [
    { text: "{{PREVIOUS_OUTPUT}}", detail: `text: output of ${from}` },
    { text: "{{APPROVAL_DECISION}}", detail: `approve or reject, ${review}` },
    { text: "{{APPROVAL_NOTE}}", detail: `text: note ${review}` },
  ];
}
