import type { ThreadContext } from "@uncaged/workflow";
import { stepText } from "../run/run.ts";
import { type Block, cacheEnd, type Message } from "./provider.ts";
import { historyAndMessages, invalidHistory } from "./errors.ts";

/**
 * The thread's steps that a model gets after the prompt: `all` steps, the `last` step, or the messages that a function
 * returns for the steps.
 */
export type SeenSteps = "all" | "last" | ((steps: ThreadContext["steps"]) => readonly Message[]);

type Messages = (ctx: ThreadContext) => Message[];

/**
 * Returns a function that returns the first messages of an agent's conversation.
 * @throws WorkflowError `BAD_HISTORY` for invalid options.
 */
export function messagesBy(
  history: SeenSteps | undefined,
  messages: Messages | undefined,
): Messages {
  if (history !== undefined && messages) throw historyAndMessages();
  if (messages) return messages;
  if (history === undefined || history === "all") return threadMessages;
  if (history === "last") return (ctx) => [asked([promptOf(ctx), ...textsOf(ctx).slice(-1)])];
  if (typeof history !== "function") throw invalidHistory(history);
  return (ctx) => [asked([promptOf(ctx)]), ...history(ctx.steps)];
}

/**
 * Returns a message with one block for each step, so that a later call finds the same blocks in the provider's cache.
 */
function threadMessages(ctx: ThreadContext): Message[] {
  // The call of the role's last step ended with the block before that step.
  const seen = ctx.steps.findLastIndex(({ role }) => role === ctx.role);
  return [asked([promptOf(ctx), ...textsOf(ctx)], seen)];
}

const promptOf = ({ start }: ThreadContext): string => start.content.trim() || "(no prompt)";
const textsOf = ({ steps }: ThreadContext): string[] =>
  steps.map((step, at) => stepText(step, at + 1));

const asked = (texts: readonly string[], seen = -1): Message => ({
  role: "user",
  content: texts.map((text, at): Block => {
    return { type: "text", text, ...(at === seen && { [cacheEnd]: true }) };
  }),
});
