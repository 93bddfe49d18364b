import { z } from "zod";

/*
 * The format of an agent graph, the one statement of it: the types come from it, and so do the checks of a
 * file and the JSON Schema for editors. What a bundle holds is checked already, so Zod stays out of bundles:
 * they import types of this file and no value.
 */

const text = (description: string) => z.string().describe(description);
const join = z
  .enum(["all", "each"])
  .optional()
  .describe("Whether the node runs once for all that reaches it (all), or once for each.");

/** `{{PREVIOUS_OUTPUT}}` and the like are filled in when the agent runs. */
const agentData = z.looseObject({
  agentName: text("The agent's name, as people and other agents see it.").optional(),
  systemPrompt: text(
    "What the agent is. You are a helpful assistant. when it is missing.",
  ).optional(),
  userPrompt: text(
    "What the agent is asked. {{PREVIOUS_OUTPUT}} is its input, {{APPROVAL_DECISION}} and {{APPROVAL_NOTE}} are the last answer to an approval. Without a prompt the input is.",
  ).optional(),
  model: text("The model, also as provider/model. gpt-5 when it is missing.").optional(),
  reasoningEffort: text(
    "How hard the model tries: none to max. low when it is missing.",
  ).optional(),
  tools: z
    .record(z.string(), z.boolean())
    .optional()
    .describe("The tools that the agent may use, by name; subagents allows it to call agents."),
  join,
});

const condition = z.looseObject({
  operator: text("equal or contains. Capitals do not matter."),
  value: text("What the input is compared with. An empty value never matches."),
});

const conditionData = z.looseObject({
  conditions: z.array(condition).optional().describe("Tested in order: the first match decides."),
  condition: text("The old form: one text that the input must contain.").optional(),
  join,
});

const startData = z.looseObject({
  initialInput: text("The prompt of a thread that is started without one.").optional(),
  join,
});

const approvalData = z.looseObject({
  prompt: text("What the person who approves is asked.").optional(),
  join,
});

/** What the data of a node of each type is; `input` is the old name of `approval`. */
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
    .describe("The node's id. What begins with __ is reserved."),
  type: text("start, agent, if or approval."),
  x: z.number().optional().describe("Where an editor draws it."),
  y: z.number().optional(),
  data: z.looseObject({}).nullish().describe("What the node does."),
});

const connection = z.looseObject({
  source: z.string().min(1).describe("The id of the node that the connection comes from."),
  target: z.string().min(1).describe("The id of the node that it leads to."),
  sourceHandle: z
    .string()
    .nullish()
    .describe("condition-<i> or false of a condition, approve or reject, or subagent."),
  targetHandle: z.string().nullish(),
});

/** The version of the format. A document of a later one is not read: nothing of it may be taken for something else. */
export const formatVersion = 1;

export const graphForm = z.looseObject({
  $schema: z.string().optional().describe("The JSON Schema, for editors."),
  version: z
    .union([z.number(), z.string()])
    .optional()
    .describe("The version of the format, 1 when it is missing."),
  description: text("What the graph is for.").optional(),
  nodes: z.array(node).describe("The nodes. A run begins at the first one of type start."),
  connections: z.array(connection).describe("What leads from node to node."),
});

export type Condition = z.infer<typeof condition>;
/** An agent graph, as a file has it. */
export type GraphDocument = z.infer<typeof graphForm>;
