import { z } from "zod";

/*
 * Schema of the agent graph format. It is the source of the types, the checks of files and the JSON Schema for editors.
 * Bundles import only types of this file and so don't contain Zod: the build checks their document.
 */

const text = (description: string) => z.string().describe(description);
const join = z
  .enum(["all", "each"])
  .optional()
  .describe("Whether the node runs once for all arriving outputs (all), or once for each output.");

/** A check of an agent's answer. */
const guardrail = z.looseObject({
  schema: z
    .looseObject({})
    .optional()
    .describe(
      "JSON Schema of the answer, which must be JSON. The node's output is the parsed value.",
    ),
  matches: z
    .array(z.string())
    .optional()
    .describe("Regular expressions that must all match the answer."),
  rejects: z
    .array(z.string())
    .optional()
    .describe("Regular expressions that must not match the answer."),
  retries: z
    .int()
    .min(0)
    .max(20)
    .optional()
    .describe("Maximum number of retries after a failed check. Default: 2."),
});

/** The agent fills placeholders such as `{{PREVIOUS_OUTPUT}}` when it runs. */
const agentData = z.looseObject({
  agentName: text("The agent's name, as people and other agents see it.").optional(),
  systemPrompt: text("System prompt. Default: You are a helpful assistant.").optional(),
  userPrompt: text(
    "User prompt. {{PREVIOUS_OUTPUT}} is the input, {{APPROVAL_DECISION}} and {{APPROVAL_NOTE}} are the last answer to an approval. Default: the input.",
  ).optional(),
  model: text("The model, or provider/model. Default: gpt-5.").optional(),
  reasoningEffort: text("Reasoning effort, from none to max. Default: low.").optional(),
  tools: z
    .record(z.string(), z.boolean())
    .optional()
    .describe("The tools that the agent may use, by name; subagents allows it to call agents."),
  guardrail: guardrail
    .optional()
    .describe(
      "A check of the answer. If the last answer fails, the run follows the handle rejected; without such a connection, the node fails.",
    ),
  join,
});

const condition = z.looseObject({
  operator: text("equal or contains, both case-insensitive."),
  value: text("Value to compare the input with. An empty value never matches."),
});

const conditionData = z.looseObject({
  conditions: z.array(condition).optional().describe("Tested in order: the first match decides."),
  condition: text("The legacy form: one text that the input must contain.").optional(),
  join,
});

const startData = z.looseObject({
  initialInput: text("Prompt of a thread that is started without a prompt.").optional(),
  join,
});

const approvalData = z.looseObject({
  prompt: text("Question to the approver.").optional(),
  join,
});

/** Schema of a node's data, by type. `input` is the legacy name of `approval`. */
export const dataForms = {
  start: startData,
  agent: agentData,
  if: conditionData,
  approval: approvalData,
  input: approvalData,
} as const;

const node = z.looseObject({
  id: z
    .string()
    .min(1)
    .max(200)
    .regex(/^(?!__)/)
    .describe("Id of the node. Ids that begin with __ are reserved."),
  type: text("Type of the node: start, agent, if or approval."),
  x: z.number().optional().describe("Horizontal position in an editor."),
  y: z.number().optional(),
  data: z.looseObject({}).nullish().describe("Data of the node; the fields depend on its type."),
});

const connection = z.looseObject({
  source: z.string().min(1).describe("The id of the node that the connection comes from."),
  target: z.string().min(1).describe("The id of the node that the connection leads to."),
  sourceHandle: z
    .string()
    .nullish()
    .describe("condition-<i> or false of a condition, approve or reject, subagent or rejected."),
  targetHandle: z.string().nullish(),
});

const note = z.looseObject({
  id: z.string().min(1).describe("Id of the note."),
  text: text("Markdown."),
  x: z.number().describe("Horizontal position in an editor."),
  y: z.number(),
});

/** The version of the format. The check refuses documents of later versions, because it could misread their parts. */
export const formatVersion = 1;

export const graphForm = z.looseObject({
  $schema: z.string().optional().describe("The JSON Schema, for editors."),
  version: z
    .union([z.number(), z.string()])
    .optional()
    .describe("The version of the format. Default: 1."),
  description: text("Purpose of the graph.").optional(),
  nodes: z.array(node).describe("The nodes. A run begins at the first start node."),
  connections: z.array(connection).describe("Connections between nodes."),
  notes: z.array(note).optional().describe("Notes for readers; a run ignores them."),
});

export type Condition = z.infer<typeof condition>;
/** An agent graph, as in its file. */
export type GraphDocument = z.infer<typeof graphForm>;
