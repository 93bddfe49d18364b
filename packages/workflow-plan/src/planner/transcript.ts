import type { Block, Message } from "@uncaged/workflow-agents";
import { stepLines } from "../plan/definition.ts";
import type { PlanStep } from "../plan/plan.ts";
import { wishIn } from "./prompt.ts";
import type { PlannerSession } from "./session.ts";

/** The tool results after a question to the user, and after a plan was shown to the user. */
export const asked = "The user was asked; the answer follows.";
export const shown = "The plan is shown to the user, who may confirm it or ask for a change.";

/** A message of a conversation as the user sees it. */
export type PlannerMessage = { by: "user" | "planner"; text: string };

/** Returns a conversation as texts, questions, plans and the user's messages, without other tool calls. */
export function transcriptOf({ messages }: Pick<PlannerSession, "messages">): PlannerMessage[] {
  const results = new Map(
    messages
      .flatMap(blocksOf)
      .flatMap(({ content, tool_use_id, type }) =>
        type === "tool_result" ? [[tool_use_id, content] as const] : [],
      ),
  );
  return messages
    .flatMap((message): PlannerMessage[] => {
      const by = message.role === "user" ? "user" : "planner";
      return blocksOf(message).map((block) => ({
        by,
        text: by === "user" ? wishIn(textIn(block)) : plannerText(block, results.get(block.id)),
      }));
    })
    .filter(({ text }) => text.trim() !== "");
}

const blocksOf = ({ content }: Message): Block[] =>
  typeof content === "string" ? [{ type: "text", text: content }] : content;

const textIn = ({ text, type }: Block): string =>
  type === "text" && typeof text === "string" ? text : "";

/** Returns the visible text of a block of the model's answer. Only executed tool calls are visible. */
function plannerText(block: Block, result: unknown): string {
  if (block.type !== "tool_use") return textIn(block);
  const input = block.input as { question?: unknown; name?: unknown; steps?: unknown };
  if (result === asked) return String(input.question);
  if (result !== shown) return "";
  const steps = input.steps as PlanStep[];
  return [String(input.name), ...stepLines({ steps })].join("\n");
}
