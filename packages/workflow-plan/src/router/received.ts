import type { AnsweredBy } from "@uncaged/workflow/host";
import { terminalUser } from "@uncaged/workflow/internal";
import type { Channel, NewMessage, Sent } from "../channel/channel.ts";
import { terminalName } from "../channel/terminal.ts";
import type { Workflow } from "../plan/plan.ts";
import type { Plans } from "../home/plans.ts";
import type { Chat, Standing } from "./chat.ts";
import type { Conversation } from "./conversation.ts";

/** A message with its channel and its chat. */
export type Received = { channel: Channel; chat: Chat; message: NewMessage };

/** Returns the sender of a message: the user in its channel, or the user at the terminal. */
export function answererOf({ channel, message }: Received): AnsweredBy {
  if (channel.name === terminalName) return terminalUser();
  return { kind: "channel", name: `${channel.name}:${message.sender}` };
}

/** The dependencies of the answer handlers: the plans, and the ways to reply to the chat. */
export type Desk = {
  plans: Plans;
  now: () => number;
  conversationOf: (received: Received) => Conversation;
  /** Returns the plans whose owner is the chat. */
  ownPlans: (received: Received) => Promise<Workflow[]>;
  /** Marks the message as handled, and sends a text. */
  reply: (received: Received, text: string) => Promise<void>;
  /** Marks the message as handled, and sends a text that expects an answer. */
  question: (received: Received, text: string) => Promise<Sent>;
  /** Replies that no question is open for the answer, and lists the open questions. */
  replyState: (received: Received) => Promise<void>;
};

/** The reason why a message is not an answer. */
export const reasons: Record<Exclude<Standing, "answer">, string> = {
  early: "You wrote this before the question was asked.",
  elsewhere: "This replies to another message.",
  unordered: "The time of your message is unknown here, so it decides nothing.",
  unasked: "The question was not asked here yet.",
};
