import type { ThreadContext } from "@uncaged/workflow";
import { stepText } from "../run/run.ts";
import { type Block, cacheEnd, type Message } from "./provider.ts";
import { historyAndMessages, invalidHistory } from "./errors.ts";

/**
 * The thread's steps that an agent sees after the prompt: `all` steps, the `last` step, or the messages that a function
 * makes from them.
 */
export type SeenSteps = "all" | "last" | ((steps: ThreadContext["steps"]) => readonly Message[]);

type Messages = (ctx: ThreadContext) => Message[];

/**
 * Returns the function that makes an agent's messages.
 * @throws WorkflowError `BAD_HISTORY` at once for an invalid value.
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

/** Returns one block per step, so that a later call finds the same blocks in the provider's cache. */
function threadMessages(ctx: ThreadContext): Message[] {
  // The role's last step saw everything before it.
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
