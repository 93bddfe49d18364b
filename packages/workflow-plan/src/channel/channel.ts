import type { Workflow } from "../plan/plan.ts";

/** A place for conversations: the terminal, Telegram or WhatsApp. */
export interface Channel {
  name: string;
  /**
   * Resolves when the channel has started to receive.
   * @throws ConfigError if it can never receive.
   */
  connect(): Promise<void>;
  /** Sends a text of any length. Returns the id of its last message, for later edits. */
  sendMessage(jid: string, text: string): Promise<string>;
  editMessage?(jid: string, messageId: string, text: string): Promise<void>;
  /** Sends a text that expects an answer. */
  sendQuestion(jid: string, text: string): Promise<Sent>;
  sendConfirmation(jid: string, workflow: Workflow): Promise<Sent>;
  isConnected(): boolean;
  ownsJid(jid: string): boolean;
  disconnect(): Promise<void>;
  setTyping?(jid: string, isTyping: boolean): Promise<void>;
}

/**
 * A sent question: the ids of its messages, and the place of the last message in its chat's order (null if unknown).
 */
export type Sent = { ids: string[]; order: number | null };

/** A received message. */
export type NewMessage = {
  text: string;
  sender: string;
  /** ISO 8601. */
  timestamp?: string;
  replyTo?: string;
  metadata?: MessageMetadata;
};

/** The properties of a message that the router needs in addition to the text. A channel may add keys. */
export type MessageMetadata = {
  /** The platform's id of the message. A message that arrives twice with one id is handled once. */
  id?: string;
  /**
   * The message's place in its chat's order, as the platform defines it. The router uses it to compare messages and
   * questions of one chat. Missing if unknown, for example for the lines of a pipe.
   */
  order?: number;
  /** The pressed button. */
  button?: Button;
  /** The kind of a message without readable text: `edit`, or its content, such as `voice message`. */
  unread?: string;
  /** Whether the message was written while the channel was not receiving. */
  isBacklog?: boolean;
  /**
   * Whether the message is a group command without the name of a bot. An unknown command may then be for another bot.
   */
  isUnnamed?: boolean;
  [key: string]: unknown;
};

/** Called for each received message. */
export type OnInboundMessage = (chatJid: string, message: NewMessage) => void;

/** Options of a channel. */
export type ChannelOptions = {
  onMessage: OnInboundMessage;
  /** Returns the text that asks for the confirmation of a plan. */
  describe: (workflow: Workflow) => string | Promise<string>;
  log: (line: string) => void;
  /** Called when a chat's id has changed. */
  onMoved?: (from: string, to: string) => void;
};

/** The platform's refusal of a text, or of every text to a chat. A retry cannot help. */
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

/**
 * A button that confirms or rejects a plan with one press. The button applies to exactly one plan in the version that
 * was shown.
 */
export type Button = { action: (typeof actions)[number]; workflowId: string; planHash: string };

/** The number of characters of the plan's hash in a button. */
export const buttonHashLength = 8;

/** Returns a button as the text that the platform sends back: at most 64 bytes. */
export const buttonText = ({ action, planHash, workflowId }: Button): string =>
  `${action}:${workflowId}:${planHash.slice(0, buttonHashLength)}`;

/** Parses the text of a button; null if the text is from another program. */
export function readButton(text: string): Button | null {
  const found = /^(\w+):(wf_[\w-]{1,40}):([\w-]{8})$/.exec(text);
  const action = actions.find((one) => one === found?.[1]);
  if (!action || !found) return null;
  return { action, workflowId: found[2] ?? "", planHash: found[3] ?? "" };
}

/** Returns the message of an error on one line. */
export const reasonOf = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).split("\n", 1)[0] ?? "";

/** Waits until a time has passed or a signal is aborted. */
export function waited(ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, signal.aborted ? 0 : ms);
  signal.addEventListener("abort", () => resolve(), { once: true });
  return promise.finally(() => clearTimeout(timer));
}
