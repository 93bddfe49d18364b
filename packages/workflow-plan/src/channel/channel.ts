import type { Workflow } from "../plan/plan.ts";

/** Where conversations take place: the terminal, Telegram, WhatsApp. */
export interface Channel {
  name: string;
  /** Resolves when the channel has begun to receive. @throws ConfigError when it never will. */
  connect(): Promise<void>;
  /** Sends a text of any length; gives the id of its last message, by which it can be edited. */
  sendMessage(jid: string, text: string): Promise<string>;
  editMessage?(jid: string, messageId: string, text: string): Promise<void>;
  /** Sends a text that waits for an answer. */
  sendQuestion(jid: string, text: string): Promise<Sent>;
  sendConfirmation(jid: string, workflow: Workflow): Promise<Sent>;
  isConnected(): boolean;
  ownsJid(jid: string): boolean;
  disconnect(): Promise<void>;
  setTyping?(jid: string, isTyping: boolean): Promise<void>;
}

/** A question as sent: the ids of its messages, and the place of the last one in its chat's order; null when unknown. */
export type Sent = { ids: string[]; order: number | null };

/** A message as it came in. */
export type NewMessage = {
  text: string;
  sender: string;
  /** ISO 8601. */
  timestamp?: string;
  replyTo?: string;
  metadata?: MessageMetadata;
};

/** What the router needs to know of a message beside its text. Further keys are the channel's. */
export type MessageMetadata = {
  /** The platform's id of it: what comes twice with one id is handled once. */
  id?: string;
  /**
   * Its place in its chat's order, which is the platform's: messages and questions of one chat are compared by it. Missing
   * where the channel can't know it, as for the lines of a pipe.
   */
  order?: number;
  /** The button that it is the press of. */
  button?: Button;
  /** What it is instead of a text that can be read: `edit`, or what was sent, as `voice message`. */
  unread?: string;
  /** Whether it was written while nothing received for this channel. */
  isBacklog?: boolean;
  /** Whether it is a command in a group that names no bot: one that is not known is another's. */
  isUnnamed?: boolean;
  [key: string]: unknown;
};

export type OnInboundMessage = (chatJid: string, message: NewMessage) => void;

/** What a channel is constructed with. */
export type ChannelOptions = {
  onMessage: OnInboundMessage;
  /** The text that asks for the confirmation of a plan. */
  describe: (workflow: Workflow) => string | Promise<string>;
  log: (line: string) => void;
  /** Called when a chat has got another id. */
  onMoved?: (from: string, to: string) => void;
};

/** A platform refuses a text, or every text to a chat: sending the same again is of no use. */
export class ChannelRefusal extends Error {
  override readonly name = "ChannelRefusal";

  constructor(
    readonly of: "text" | "chat",
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

const actions = ["confirm", "modify", "cancel"] as const;

/** What a confirmation can be answered with by one press: for exactly one plan, as it was shown. */
export type Button = { action: (typeof actions)[number]; workflowId: string; planHash: string };

/** How many characters of a plan's hash a button carries. */
export const buttonHashLength = 8;

/** A button as the text that comes back from the platform: at most 64 bytes. */
export const buttonText = ({ action, planHash, workflowId }: Button): string =>
  `${action}:${workflowId}:${planHash.slice(0, buttonHashLength)}`;

/** The button of such a text; null for one that is none of ours. */
export function readButton(text: string): Button | null {
  const found = /^(\w+):(wf_[\w-]{1,40}):([\w-]{8})$/.exec(text);
  const action = actions.find((one) => one === found?.[1]);
  if (!action || !found) return null;
  return { action, workflowId: found[2] ?? "", planHash: found[3] ?? "" };
}

/** An error in one line. */
export const reasonOf = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).split("\n", 1)[0] ?? "";

/** Waits, at most until a signal is aborted. */
export function waited(ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, signal.aborted ? 0 : ms);
  signal.addEventListener("abort", () => resolve(), { once: true });
  return promise.finally(() => clearTimeout(timer));
}
