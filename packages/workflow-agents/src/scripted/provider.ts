import { noUsage } from "@uncaged/workflow/interpreter";
import {
  type Block,
  blocksOf,
  type Message,
  type ModelAnswer,
  type ModelProvider,
  type ModelRequest,
  textOf,
  type ToolUse,
} from "../llm/provider.ts";
import { noAnswerFor, toolNotFound, turnsEnded } from "./errors.ts";

/** A tool call of a scripted model. Calls the first tool whose name contains `tool`. */
export type ScriptedCall = { tool: string; input: object };

/** One turn of a scripted model: a text, tool calls, or a function of the request that returns one of these. */
export type ScriptedTurn =
  | string
  | readonly ScriptedCall[]
  | ((request: ModelRequest) => string | readonly ScriptedCall[]);

/** The turns of scripted models. The first key that a system prompt contains selects the turns. */
export type ModelScript = Readonly<Record<string, readonly ScriptedTurn[]>>;

/**
 * Returns a provider that answers from a script. The answers depend only on the conversation, so they are the same
 * after a restart. Unlike `scriptedAgent`, a scripted model can call tools.
 *
 *     const provider = scriptedProvider({ "You plan": [[{ tool: "search", input: {} }], "1. read"] });
 *
 * A call throws the {@link WorkflowError} `NO_ANSWER` if the script lacks an answer.
 */
export function scriptedProvider(script: ModelScript): ModelProvider {
  return {
    name: "the script",
    async answer(request, sink, { signal }) {
      signal?.throwIfAborted();
      const given = turnOf(script, request);
      const turn = typeof given === "function" ? given(request) : given;
      if (typeof turn === "string") {
        for (const [delta] of turn.matchAll(/\S*\s*/g)) if (delta) sink.onToken?.(delta);
        return answerOf(request, [{ type: "text", text: turn }], []);
      }
      const turns = turnsOf(request.messages);
      const uses = turn.map(({ input, tool }, at) => ({
        ...{ id: `call_${turns + 1}_${at + 1}`, name: toolName(request, tool), input },
      }));
      return answerOf(
        request,
        uses.map((use) => ({ type: "tool_use", ...use })),
        uses,
      );
    },
  };
}

const turnsOf = (messages: readonly Message[]): number =>
  messages.filter(({ role }) => role === "assistant").length;

function turnOf(script: ModelScript, { messages, system }: ModelRequest): ScriptedTurn {
  const turns = Object.entries(script).find(([part]) => system.includes(part))?.[1];
  const turn = turns?.[turnsOf(messages)];
  if (turn !== undefined) return turn;
  throw turns
    ? turnsEnded(system)
    : noAnswerFor(system, "a turn to the scripted provider's script");
}

function toolName({ tools }: ModelRequest, wanted: string): string {
  const found = tools.find(({ name }) => name.includes(wanted));
  if (found) return found.name;
  throw toolNotFound(
    wanted,
    tools.map(({ name }) => name),
  );
}

function answerOf(request: ModelRequest, blocks: Block[], toolUses: ToolUse[]): ModelAnswer {
  const text = textOf(blocks);
  const count = (texts: string): number => Math.ceil(texts.length / 4);
  const input = request.messages.map((message) => textOf(blocksOf(message))).join("");
  return {
    ...{ id: "scripted", model: request.model, blocks, text, thinking: "", toolUses },
    ...(toolUses.length > 0
      ? { stop: "tools" as const, finishReason: "tool_use" }
      : { stop: "end" as const, finishReason: "end_turn" }),
    usage: { ...noUsage, input_tokens: count(input), output_tokens: count(text) },
  };
}
