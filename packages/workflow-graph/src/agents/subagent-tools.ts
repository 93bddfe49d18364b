import { messageOf } from "@uncaged/workflow/interpreter";
import type { ToolAnswer, ToolContext, ToolDefinition, ToolRunner } from "@uncaged/workflow-agents";
import type { AgentTree, SubagentCall } from "../agent/agent.ts";

/** The enclosing subagent call; null at the top level. `key` is the idempotency key of the call. */
export type CallPlace = { callId: string; depth: number; key: string | undefined } | null;

export type SubagentParts = {
  subagents: readonly AgentTree[];
  /** Tools that are not agents. */
  own: ToolRunner | null;
  onCall: (call: SubagentCall) => void;
  place: CallPlace;
  play: (agent: AgentTree, message: string, place: CallPlace) => Promise<string>;
  ids: CallIds;
};

/** Unique ids for the calls below one node. Models may omit or repeat ids. */
export class CallIds {
  readonly #taken = new Set<string>();

  of(tool: string, given: string | undefined): string {
    const base = given || tool;
    let id = given || `${tool}_1`;
    for (let count = 2; this.#taken.has(id); count += 1) id = `${base}_${count}`;
    this.#taken.add(id);
    return id;
  }
}

const longestName = 64;
const longestPrompt = 280;
const mostNames = 4;

/** An agent's subagents as tools, together with its other tools. */
export class SubagentTools implements ToolRunner {
  readonly #parts: SubagentParts;
  readonly #byName = new Map<string, AgentTree>();

  constructor(parts: SubagentParts) {
    this.#parts = parts;
    for (const agent of parts.subagents) this.#byName.set(this.#freeName(agent), agent);
  }

  async definitions(context: ToolContext): Promise<ToolDefinition[]> {
    const own = (await this.#parts.own?.definitions(context)) ?? [];
    const agents = [...this.#byName].map(([name, agent]) => ({
      name,
      description: descriptionOf(agent),
      input_schema: messageSchema,
    }));
    return [...own, ...agents];
  }

  async run(
    name: string,
    input: unknown,
    context: ToolContext,
    callId?: string,
  ): Promise<ToolAnswer> {
    const agent = this.#byName.get(name);
    if (agent) return await this.#call(agent, { name, input, callId, key: context.key });
    const { own } = this.#parts;
    if (own) return await own.run(name, input, context, callId);
    const names = [...this.#byName.keys()].join(", ");
    const content = `no tool ${JSON.stringify(name)} found\ntools: ${names}`;
    return { content, is_error: true };
  }

  /** Returns the question to ask before a call. Returns null for a subagent, which asks before its own calls. */
  async approval(name: string, input: unknown, context: ToolContext) {
    const { own } = this.#parts;
    return this.#byName.has(name) ? null : ((await own?.approval?.(name, input, context)) ?? null);
  }

  async #call(
    agent: AgentTree,
    { name, input, key, ...asked }: { name: string; input: unknown; callId?: string; key?: string },
  ): Promise<ToolAnswer> {
    const { ids, onCall, place, play } = this.#parts;
    const callId = ids.of(name, asked.callId);
    const depth = (place?.depth ?? 0) + 1;
    const call = {
      ...{ subagentNodeId: agent.nodeId, subagentName: agent.agentName, callId, depth },
      ...(place && { parentCallId: place.callId }),
    };
    const message = messageIn(input);
    if (message === null) return { content: "message must be a non-empty string", is_error: true };
    onCall({ type: "subagent_call_start", ...call, message });
    try {
      const answer = await play(agent, message, { callId, depth, key });
      onCall({ type: "subagent_call_end", ...call, message: answer });
      return { content: answer, is_error: false };
    } catch (error) {
      const reason = messageOf(error);
      onCall({ type: "subagent_call_error", ...call, message: reason });
      return { content: reason, is_error: true };
    }
  }

  #freeName({ agentName, nodeId }: AgentTree): string {
    const slug = (text: string) =>
      text
        .toLowerCase()
        .replace(/[^a-z0-9]+/g, "_")
        .replace(/^_+|_+$/g, "");
    const id = nodeId.toLowerCase().replace(/[^a-z0-9_-]/g, "_");
    const whole = `subagent_${slug(agentName) || "agent"}_${id}`;
    const short = whole.length > longestName ? `subagent_${id}`.slice(0, longestName) : whole;
    let name = short;
    for (let count = 2; this.#byName.has(name); count += 1) {
      name = `${short.slice(0, longestName - 4)}_${count}`;
    }
    return name;
  }
}

const messageSchema = {
  type: "object",
  properties: { message: { type: "string", description: "The complete task of the agent." } },
  required: ["message"],
  additionalProperties: false,
};

function messageIn(input: unknown): string | null {
  const { message } = (input ?? {}) as { message?: unknown };
  return typeof message === "string" && message.trim() !== "" ? message : null;
}

/** Returns the tool description of an agent: short forms of its prompt, tools and subagents. */
function descriptionOf({ agentName, subagents = [], systemPrompt, tools }: AgentTree): string {
  const prompt = systemPrompt.replace(/\s+/g, " ").trim();
  const names = subagents.slice(0, mostNames).map((agent) => agent.agentName);
  const more = subagents.length - names.length;
  return [
    `Asks the agent ${agentName}: ${prompt.length > longestPrompt ? `${prompt.slice(0, longestPrompt)}…` : prompt}`,
    tools.length > 0 && `Tools: ${tools.join(", ")}.`,
    names.length > 0 && `Subagents: ${names.join(", ")}${more > 0 ? ` +${more} more` : ""}.`,
  ]
    .filter(Boolean)
    .join("\n");
}
