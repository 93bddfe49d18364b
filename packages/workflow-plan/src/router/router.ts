import { isWorkflowError } from "@uncaged/workflow";
import {
  type Channel,
  type NewMessage,
  type OnInboundMessage,
  reasonOf,
  type Sent,
} from "../channel/channel.ts";
import type { ChannelContext, Workflow } from "../plan/plan.ts";
import { decisions } from "../plan/terms.ts";
import type { Planner } from "../planner/planner.ts";
import type { Plans } from "../home/plans.ts";
import { Chat, waitingChats } from "./chat.ts";
import { findCommand, readCommand } from "./commands.ts";
import { actionOf, Confirmations } from "./confirmations.ts";
import { Conversation } from "./conversation.ts";
import type { Classifier } from "./intent.ts";
import { reasons, type Received } from "./received.ts";
import { StepDecisions } from "./step-decisions.ts";
import { otherBot, unknownCommand } from "./errors.ts";

export type RouterOptions = {
  plans: Plans;
  /** Makes the planner of a chat. */
  planner: (context: ChannelContext) => Planner;
  /** The ids of the allowed senders by channel name. All others are refused, except at the terminal. */
  allowed?: Readonly<Record<string, readonly string[]>>;
  /** Returns the intent of a text without a command. If missing, each of these texts is a request. */
  classify?: Classifier;
  log?: (line: string) => void;
  now?: () => number;
};

/**
 * Routes messages from all channels to the plans. Checks in this order: the allowed senders, the rate limit, a
 * command, the planner's question, the confirmation of a plan or a decision about a step, and other meanings of the
 * text.
 * A word decides only a question that its chat was asked before the word was written, in the order of the channel. A
 * command with the name of a plan or a failure is refused if the plan or the failure was shown after the command was
 * written, or has changed since. In a channel without an order, such as a pipe, a command must use a name that only the
 * question contains: the hash of the plan or of the failure.
 */
export class Router {
  /** The callback for the options of a channel. */
  readonly onMessage: OnInboundMessage = (jid, message) => this.receive(jid, message);
  readonly #options: RouterOptions;
  readonly #channels: Channel[] = [];
  readonly #chats = new Map<string, Chat>();
  readonly #confirmations: Confirmations;
  readonly #steps: StepDecisions;
  readonly #conversations = new Map<Chat, Conversation>();

  constructor(options: RouterOptions) {
    this.#options = options;
    const desk = {
      ...{ plans: options.plans, now: () => this.#now() },
      conversationOf: (received: Received) => this.#conversationOf(received),
      ownPlans: (received: Received) => this.#ownPlans(received),
      reply: (received: Received, text: string) => this.#reply(received, text),
      question: (received: Received, text: string) => this.#question(received, text),
      replyState: (received: Received) => this.#replyState(received),
    };
    this.#confirmations = new Confirmations(desk);
    this.#steps = new StepDecisions(desk);
  }

  /** The channels of the router. */
  get channels(): readonly Channel[] {
    return this.#channels;
  }

  add(channel: Channel): void {
    this.#channels.push(channel);
  }

  /** Handles a message. Never throws: logs errors, and reports them to the sender's chat. */
  receive(jid: string, message: NewMessage): void {
    const channel = this.#channels.find((one) => one.ownsJid(jid));
    if (!channel) return this.#log(`a message came from ${jid}, which no channel has`);
    if (!this.#isAllowed(channel, message.sender))
      return this.#log(`${channel.name}: ${JSON.stringify(message.sender)} may not write`);
    try {
      const chat = this.chat(channel, jid);
      if (chat.knows(message)) return;
      const received = { channel, chat, message };
      if (this.#isRefused(received)) return this.#settle(received);
      this.#attempt(channel, () => chat.keep(message));
      if (/^[/!]cancel$/i.test(message.text.trim())) this.#conversations.get(chat)?.abort();
      chat.next(() => this.#handle(received));
    } catch (error) {
      this.#log(`${channel.name}: ${reasonOf(error)}`);
    }
  }

  /** Follows a chat whose id has changed: moves the ownership of its plans, and its planning session. */
  readonly moved = async (from: string, to: string): Promise<void> => {
    const channel = this.#channels.find((one) => one.ownsJid(to));
    if (!channel) return;
    const done = Promise.withResolvers<void>();
    // Unfinished work in the old chat may still make a plan.
    this.chat(channel, from).next(() =>
      this.#move(channel, from, to).then(done.resolve, done.reject),
    );
    await done.promise;
  };

  async #move(channel: Channel, from: string, to: string): Promise<void> {
    const { plans } = this.#options;
    for (const { id, metadata } of await plans.list(() => {})) {
      const { owner } = metadata ?? {};
      if (owner?.channel !== channel.name || owner.chatJid !== from) continue;
      await plans.updateMetadata(id, (one) => ({ ...one, owner: { ...owner, chatJid: to } }));
    }
    const { session } = this.chat(channel, from).state;
    const chat = this.chat(channel, to);
    if (session !== null && chat.state.session === null) chat.set({ session });
  }

  /** Handles messages of a channel that a dead process received but did not handle. */
  resume(channel: Channel): void {
    for (const jid of waitingChats(this.#options.plans.folder, channel.name))
      this.#attempt(channel, () => this.chat(channel, jid));
  }

  /** Resolves when all received messages are handled. */
  async idle(): Promise<void> {
    await Promise.all([...this.#chats.values()].map((chat) => chat.idle()));
  }

  #isAllowed({ name }: Channel, sender: string): boolean {
    if (name === "terminal") return true;
    return sender !== "" && (this.#options.allowed?.[name] ?? []).includes(sender);
  }

  /** Tells whether a chat has written too often. The terminal has only one user and is exempt. */
  #isRefused({ channel, chat, message }: Received): boolean {
    // Users may have written backlog messages over a longer time.
    if (channel.name === "terminal" || message.metadata?.isBacklog) return false;
    const { isFirstTooMany, isTooMany } = chat.count(this.#now());
    if (isFirstTooMany)
      chat.next(() =>
        this.#reply({ channel, chat }, "That is too much at once. Wait for a minute."),
      );
    return isTooMany;
  }

  /** Marks a message as handled. */
  #settle({ channel, chat, message }: Received): void {
    this.#attempt(channel, () => chat.settle(message));
  }

  /** Runs `act` and logs its error. A message that cannot be stored, for example on a full disk, is still handled. */
  #attempt(channel: Channel, act: () => unknown): void {
    try {
      act();
    } catch (error) {
      this.#log(`${channel.name}: ${reasonOf(error)}`);
    }
  }

  async #handle(received: Received): Promise<void> {
    try {
      await this.#answer(received);
      this.#settle(received);
    } catch (error) {
      const isOurs = isWorkflowError(error);
      this.#log(`${received.channel.name}: ${reasonOf(error)}`);
      const hint = isOurs && error.hint ? ` (${error.hint})` : "";
      await this.#reply(received, `${reasonOf(error)}${hint}`);
    }
  }

  async #answer(received: Received): Promise<void> {
    const { chat, message } = received;
    const { metadata } = message;
    const conversation = this.#conversationOf(received);
    if (metadata?.button) return await this.#confirmations.press(received, metadata.button);
    if (metadata?.unread) return await this.#reply(received, unreadText(metadata.unread));
    const text = message.text.trim();
    if (text === "") return;
    const command = readCommand(text);
    if (command) {
      if (command.to) throw otherBot(command.name, command.to);
      const found = findCommand(command.name);
      if (!found && metadata?.isUnnamed) return;
      if (!found) throw unknownCommand(command.name);
      return await found.execute(command.args, {
        ...{ plans: this.#options.plans, conversation },
        reply: (answer) => this.#reply(received, answer),
        confirm: (named) => this.#confirmations.confirmNamed(received, named),
        answer: (named, decision) => this.#steps.decideNamed(received, named, decision),
        isUnseen: (run) => this.#steps.isUnseen(received, run),
      });
    }
    if (conversation.isOpen()) return await this.#answerPlanner(received, text);
    const decision = decisions.find((one) => one === text.toLowerCase());
    if (decision) return await this.#steps.decide(received, decision);
    const { asked } = chat.state;
    if (asked && (await this.#confirmations.answer(received, asked, text))) return;
    if (actionOf(text)) return await this.#replyState(received);
    await this.#intend(received, text);
  }

  /** Passes a text to the planner. The text does not decide anything, so the line of a pipe is accepted too. */
  async #answerPlanner(received: Received, text: string): Promise<void> {
    const { chat, message } = received;
    const conversation = this.#conversationOf(received);
    const standing = chat.standing(message, conversation.about);
    const counts = standing === "answer" || message.metadata?.order === undefined;
    if (counts || !(await conversation.remind(reasons[standing]))) await conversation.write(text);
  }

  /** Returns the plans of a chat. A damaged plan does not belong to a chat. */
  async #ownPlans({ channel, chat, message }: Received): Promise<Workflow[]> {
    const own = contextOf(channel, chat.jid, message.sender);
    return (await this.#options.plans.list(() => {})).filter((plan) => isOwner(plan, own));
  }

  /** Answers a text that does not match a question with the current state. */
  async #replyState(received: Received): Promise<void> {
    const { plans } = this.#options;
    const lines = (await this.#ownPlans(received)).flatMap(({ id, name, phase }) => {
      const isOpen = phase === "awaiting_confirmation" || plans.draft(id) !== null;
      if (isOpen) return `${name} is not confirmed: /show ${id}`;
      return phase === "executing" || phase === "paused"
        ? `${name} is ${phase}: /status ${id}`
        : [];
    });
    const state = ["Nothing waits for that answer. /status shows the current state.", ...lines];
    await this.#reply(received, state.join("\n"));
  }

  /** Sends a text that expects an answer. If sending fails, no answer is accepted. */
  async #question(received: Received, text: string): Promise<Sent> {
    const { channel, chat } = received;
    this.#settle(received);
    const clean = this.#options.plans.secrets.hidden(text);
    return await channel.sendQuestion(chat.jid, clean).catch((error: unknown) => {
      this.#log(`${channel.name}: ${reasonOf(error)}`);
      return { ids: [], order: null };
    });
  }

  async #intend(received: Received, text: string): Promise<void> {
    const { classify } = this.#options;
    const conversation = this.#conversationOf(received);
    const intent = await classify?.(text).catch((error: unknown) => {
      this.#log(`the intent of a message is not known: ${reasonOf(error)}`);
    });
    if (intent?.type === "chat_reply") return await this.#reply(received, intent.text);
    await conversation.begin(text);
  }

  /**
   * Sends a text to a chat, with secrets removed. Logs errors of a channel. The message counts as handled before the
   * reply is sent, so that a crash between the two does not repeat the message's effect.
   */
  async #reply(
    { channel, chat, message }: Omit<Received, "message"> & { message?: NewMessage },
    text: string,
  ): Promise<void> {
    if (message) this.#settle({ channel, chat, message });
    const clean = this.#options.plans.secrets.hidden(text);
    await channel.sendMessage(chat.jid, clean).catch((error: unknown) => {
      this.#log(`${channel.name}: ${reasonOf(error)}`);
    });
  }

  /** Returns a chat of a channel, and handles its waiting messages. */
  chat(channel: Channel, jid: string): Chat {
    const key = `${channel.name} ${jid}`;
    const known = this.#chats.get(key);
    if (known) return known;
    const chat = new Chat({ channel: channel.name, folder: this.#options.plans.folder, jid });
    this.#chats.set(key, chat);
    for (const message of chat.state.waiting) {
      const received = { channel, chat, message };
      if (this.#isAllowed(channel, message.sender)) chat.next(() => this.#handle(received));
      else this.#settle(received);
    }
    return chat;
  }

  #conversationOf({ channel, chat, message }: Received): Conversation {
    const known = this.#conversations.get(chat);
    if (known) return known;
    const { planner, plans } = this.#options;
    const conversation = new Conversation({
      ...{ plans, channel, chat, now: () => this.#now() },
      planner: () => planner(contextOf(channel, chat.jid, message.sender)),
      log: (line) => this.#log(line),
    });
    this.#conversations.set(chat, conversation);
    return conversation;
  }

  #log(line: string): void {
    this.#options.log?.(this.#options.plans.secrets.hidden(line));
  }

  #now(): number {
    return (this.#options.now ?? Date.now)();
  }
}

const unreadText = (what: string): string =>
  what === "edit"
    ? "An edit changes nothing here. Write it as a new message."
    : `Only text is read here; this is a ${what}. Write what you want as a message.`;

const contexts: Record<string, ChannelContext["channel"]> = {
  terminal: "tui",
  telegram: "telegram",
  whatsapp: "whatsapp",
};

/** Returns a chat in the form that plans store as their owner. */
function contextOf({ name }: Channel, jid: string, sender: string): ChannelContext {
  const channel = contexts[name] ?? "tui";
  return channel === "tui" ? { channel } : { channel, chatJid: jid, sender };
}

/** Returns whether a plan belongs to a chat. */
const isOwner = ({ metadata }: Workflow, { channel, chatJid }: ChannelContext): boolean =>
  metadata?.owner?.channel === channel && metadata.owner.chatJid === chatJid;
