import type { AnsweredBy } from "@uncaged/workflow/host";
import { terminalUser } from "@uncaged/workflow/internal";
import type { Channel, NewMessage, Sent } from "../channel/channel.ts";
import { terminalName } from "../channel/terminal.ts";
import type { Workflow } from "../plan/plan.ts";
import type { Plans } from "../home/plans.ts";
import type { Chat, Standing } from "./chat.ts";
import type { Conversation } from "./conversation.ts";

/** A message with the channel and the chat that it came by. */
export type Received = { channel: Channel; chat: Chat; message: NewMessage };

/** Who a message is from: the sender in its channel, or the user at the terminal. */
export function answererOf({ channel, message }: Received): AnsweredBy {
  if (channel.name === terminalName) return terminalUser();
  return { kind: "channel", name: `${channel.name}:${message.sender}` };
}

/** What answers are taken with: the plans, and the ways to the chat that an answer came by. */
export type Desk = {
  plans: Plans;
  now: () => number;
  conversationOf: (received: Received) => Conversation;
  /** The plans whose owner is the chat. */
  ownPlans: (received: Received) => Promise<Workflow[]>;
  /** Marks the message as handled, and sends a text. */
  reply: (received: Received, text: string) => Promise<void>;
  /** Marks the message as handled, and sends a text that is to be answered. */
  question: (received: Received, text: string) => Promise<Sent>;
  /** Says that nothing waits for the answer, and what is open. */
  replyState: (received: Received) => Promise<void>;
};

/** Why a message answers nothing. */
export const reasons: Record<Exclude<Standing, "answer">, string> = {
  early: "You wrote that before the question was asked.",
  elsewhere: "That replies to another message.",
  unordered: "When that was written can't be known here, so it decides nothing.",
  unasked: "The question was not asked here yet.",
};
