import { isWorkflowError, type ThreadContext } from "@uncaged/workflow";
import {
  type ContextOptions,
  currentRun,
  type Effort,
  type Models,
  type ToolContext,
  type ToolRegistry,
  type ToolRunner,
  withRun,
} from "@uncaged/workflow-agents";
import {
  converse,
  inOwnAttempt,
  namedTools,
  paid,
  publish,
} from "@uncaged/workflow-agents/interpreter";
import type {
  AgentAnswer,
  AgentGuardrail,
  AgentSurroundings,
  AgentTree,
  GraphAgents,
} from "../agent/agent.ts";
import { guardrailFailed } from "../guardrail/errors.ts";
import { againText } from "../guardrail/guardrail.ts";
import { CallIds, type CallPlace, SubagentTools } from "./subagent-tools.ts";
import { emptyAnswer, noKey, noTools, unknownProvider } from "./errors.ts";

/** Options of agents that are models. */
export type ModelAgentsOptions = {
  /** The providers. A node's model selects a provider, by `provider/model` or by the model's name. */
  models: readonly Models[];
  /** The tools that nodes may enable, including tools of MCP servers. Default: none. */
  tools?: ToolRegistry;
  /** Maximum number of model answers in one run of an agent (50). For a subagent call, the maximum is 20. */
  maxTurns?: number;
  /** Settings for the summary of a conversation that fills the model's context window; `false` disables summaries. */
  context?: ContextOptions | false;
};

const subagentTurns = 20;

/**
 * Returns models as the agents of a graph. Calls each node's model with the node's prompt and tools, and with its
 * subagents as tools. The API keys come from the thread's environment.
 *
 *     const agents = modelAgents({ models: [openaiModels()], tools: graphTools() });
 *     export const { run, descriptor } = graphBundle(graph, { agents });
 */
export function modelAgents(options: ModelAgentsOptions): GraphAgents {
  return async (request, surroundings) => {
    const { thread } = surroundings;
    const player = new Player(options, surroundings);
    const work = () => player.play(request, request.prompt, options.maxTurns, null);
    const { result, spending } = await paid(thread, { stepID: request.nodeId }, work);
    const { usage, cost, model, models } = spending;
    return { output: result, usage, cost, model, models } satisfies AgentAnswer;
  };
}

/** Runs the agent of one node and all agents that it calls. */
class Player {
  readonly #options: ModelAgentsOptions;
  readonly #surroundings: AgentSurroundings;
  readonly #ids = new CallIds();

  constructor(options: ModelAgentsOptions, surroundings: AgentSurroundings) {
    this.#options = options;
    this.#surroundings = surroundings;
  }

  async play(
    agent: AgentTree,
    prompt: string,
    maxTurns: number | undefined,
    place: CallPlace,
  ): Promise<string> {
    const { thread } = this.#surroundings;
    const { models, name: model } = chosen(this.#options.models, agent.model);
    const runner = await this.#toolsOf(agent, place);
    const context = contextOf(thread);
    const { env, signal } = context;
    const { guardrail } = agent;
    const { schema = null } = guardrail ?? {};
    const request = {
      ...(schema && { format: { type: "json_schema" as const, schema: { ...schema } } }),
      ...{ model, system: agent.systemPrompt, effort: agent.reasoningEffort as Effort },
      messages: [{ role: "user" as const, content: prompt }],
      tools: runner ? await runner.definitions(context) : [],
    };
    const toolbox = runner && { runner, context };
    try {
      const { text } = await converse(models.provider, request, {
        ...{ env, signal, maxTurns, callbacks, context: this.#options.context ?? {} },
        // The call is part of the key of a subagent's steps, because two calls in one turn may have the same input.
        step: place ? { ...thread, key: place.key } : thread,
        ...(toolbox && { toolbox }),
        ...(guardrail && { form: checkOf(guardrail) }),
      });
      // The interpreter checks a node's own answer, so check only the answers of subagent calls here.
      const { problems } = (place && (await guardrail?.read(text))) ?? { problems: [] };
      if (problems.length > 0) throw guardrailFailed(agent.nodeId, problems);
      return text;
    } catch (error) {
      throw plainly(error, models);
    }
  }

  async #toolsOf({ subagents, tools }: AgentTree, place: CallPlace): Promise<ToolRunner | null> {
    const own = tools.length > 0 ? await this.#ownTools(tools) : null;
    if (!subagents) return own;
    const { onCall } = this.#surroundings;
    return new SubagentTools({
      ...{ subagents, own, onCall, place, ids: this.#ids },
      play: (child, message, at) => this.#playSubagent(child, message, at),
    });
  }

  async #ownTools(names: readonly string[]): Promise<ToolRunner> {
    const { thread } = this.#surroundings;
    const { tools } = this.#options;
    if (tools) return await namedTools(tools, names, contextOf(thread));
    throw noTools(names[0] ?? "");
  }

  /** Runs a subagent call as a separate attempt within the caller's attempt. */
  async #playSubagent(agent: AgentTree, message: string, place: CallPlace): Promise<string> {
    const { nodeId: role, agentName: title } = agent;
    const { thread } = this.#surroundings;
    const path = [{ in: thread.role ?? "graph", child: role }];
    return await inOwnAttempt(thread, { role, title, path }, () =>
      withRun({ ...currentRun(), stepID: role }, () => {
        return this.play(agent, message, subagentTurns, place);
      }),
    );
  }
}

const checkOf = ({ read, retries }: AgentGuardrail) => ({
  problemsOf: async (text: string) => (await read(text)).problems,
  repairs: retries,
  again: againText,
});

const callbacks = {
  onToken: (delta: string) => publish("llm_token", { delta }),
  onThinking: (delta: string) => publish("llm_thinking", { delta }),
  onToolUse: ({ id, name, input }: { id: string; name: string; input: object }) =>
    publish("llm_tool_use", { tool_use_id: id, name, input }),
  onToolResult: (result: object) => publish("llm_tool_result", { ...result }),
};

/** Returns a thread's tool context. Tools that need no directory also run in a thread without a directory. */
const contextOf = (thread: ThreadContext): ToolContext => {
  const { cwd, env = {}, signal = new AbortController().signal, blobs } = thread;
  return { cwd, env, blobs, signal, thread };
};

function chosen(all: readonly Models[], model: string): { models: Models; name: string } {
  const [, provider = "", own = ""] = /^([^/]+)\/(.+)$/.exec(model) ?? [];
  const named = all.find(({ name }) => name === provider);
  const models = named ?? all.find(({ serves }) => serves(model));
  if (models) return { models, name: named ? own : model };
  const names = all.map(({ name }) => name).join(", ") || "none";
  throw unknownProvider(model, names);
}

/** Replaces a provider's error text with the text that the graph format prescribes. */
function plainly(error: unknown, { keyVariable, name }: Models): unknown {
  if (!isWorkflowError(error)) return error;
  const { code } = error;
  if (code === "LLM_EMPTY") return emptyAnswer(code, error);
  if (code !== "LLM_NO_KEY") return error;
  return noKey(code, keyVariable ?? `the key of ${name}`, error);
}
