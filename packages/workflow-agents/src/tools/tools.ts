/**
 * What a tool's run belongs to: the thread's signal, working directory and environment. An agent takes
 * them from its `ThreadContext`.
 */
export type ToolContext = {
  signal: AbortSignal;
  cwd: string;
  env: Readonly<Record<string, string>>;
};

/** A tool as a model is told of it. `input_schema` is a JSON Schema of type object. */
export type ToolDefinition = {
  name: string;
  description: string;
  input_schema: Record<string, unknown>;
};

/** What a model gets back. An error's `content` says what is wrong in words that it can act on. */
export type ToolAnswer = { content: string; is_error: boolean };

/**
 * All that an agent needs of tools. `run` never rejects: whatever goes wrong is an answer with
 * `is_error`. It publishes the `tool_*` events; `llm_tool_use` and `llm_tool_result` are the agent's.
 */
export type ToolRunner = {
  definitions(context: ToolContext): Promise<ToolDefinition[]>;
  run(name: string, input: unknown, context: ToolContext): Promise<ToolAnswer>;
};
