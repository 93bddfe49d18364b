import type { ThreadContext } from "@uncaged/workflow";
import type { Block, Message } from "./message.ts";

/**
 * What a thread is to a model that takes part in it: the user's prompt, and what each role said so
 * far, a block each, so that a later call of the same role begins with the same blocks (and finds them
 * in the provider's cache).
 */
export function threadMessages(ctx: ThreadContext): Message[] {
  const steps = ctx.steps.map(({ role, content }, at): Block => {
    return { type: "text", text: `<step number="${at + 1}" role="${role}">\n${content}\n</step>` };
  });
  const prompt = { type: "text", text: ctx.start.content.trim() || "(no prompt)" };
  return [{ role: "user", content: [prompt, ...steps] }];
}
