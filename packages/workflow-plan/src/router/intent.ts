import { anthropicProvider, type ModelProvider } from "@uncaged/workflow-agents";

/** The intent of a text without a command. */
export type Intent = { type: "create_workflow_request" } | { type: "chat_reply"; text: string };

export type Classifier = (text: string) => Promise<Intent>;

export type ClassifierOptions = {
  env: Readonly<Record<string, string>>;
  /** The provider of the model (default: the Anthropic API). */
  provider?: ModelProvider;
  model?: string;
};

const defaultModel = "claude-haiku-4-5";

const system =
  "A user writes to a program that plans and runs work: it turns requests into plans of steps that agents carry out, now, on a schedule, or when something changes. Call create_workflow_request when the user asks for something to be done, watched, checked or reported. Else call chat_reply with a short answer to the message; the program's commands are listed by /help.";

const tools = [
  {
    name: "create_workflow_request",
    description: "The user asks for something to be done.",
    input_schema: { type: "object", properties: {}, additionalProperties: false },
  },
  {
    name: "chat_reply",
    description: "Answers a user who asks for nothing to be done.",
    input_schema: {
      type: "object",
      properties: { text: { type: "string" } },
      required: ["text"],
      additionalProperties: false,
    },
  },
];

/** Asks a model for the intent of a message. If the model fails or is unclear, the message is a request. */
export const intentClassifier =
  ({ env, model = defaultModel, provider = anthropicProvider() }: ClassifierOptions): Classifier =>
  async (text) => {
    const messages = [{ role: "user" as const, content: text }];
    const request = { model, system, messages, tools };
    const { toolUses } = await provider.answer(
      request,
      {},
      { env, signal: new AbortController().signal },
    );
    const [use] = toolUses;
    const { text: reply } = (use?.input ?? {}) as { text?: unknown };
    if (use?.name !== "chat_reply" || typeof reply !== "string" || reply.trim() === "")
      return { type: "create_workflow_request" };
    return { type: "chat_reply", text: reply };
  };
