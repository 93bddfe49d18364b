import { isWorkflowError } from "@uncaged/workflow";
import {
  type Button,
  type Channel,
  type NewMessage,
  type OnInboundMessage,
  reasonOf,
} from "../channel/channel.ts";
import { planHash } from "../plan/hash.ts";
import type { ChannelContext, Workflow } from "../plan/plan.ts";
import type { Planner } from "../planner/planner.ts";
import type { Plans } from "../service/plans.ts";
import { decisions } from "../plan/terms.ts";
import { answerMs, type Asked, Chat, waitingChats } from "./chat.ts";
import { findCommand, readCommand } from "./commands.ts";
import { Conversation } from "./conversation.ts";
import type { Classifier } from "./intent.ts";

export type RouterOptions = {
  plans: Plans;
  /** The planner of a chat. */
  planner: (context: ChannelContext) => Planner;
  /** The ids of the senders who may write, by the channel's name. Nobody else may, but the terminal always. */
  allowed?: Readonly<Record<string, readonly string[]>>;
  /** What somebody wants who writes without a command; all is a request without it. */
  classify?: Classifier;
  log?: (line: string) => void;
  now?: () => number;
};

const answers: Record<string, Button["action"]> = {
  ...{ yes: "confirm", y: "confirm", confirm: "confirm", "1": "confirm" },
  ...{ modify: "modify", m: "modify", "2": "modify" },
  ...{ no: "cancel", n: "cancel", cancel: "cancel", "3": "cancel" },
};

/** A message with the channel and the chat that it came by. */
type Received = { channel: Channel; chat: Chat; message: NewMessage };

/**
 * The one way from a user to the plans, whatever the channel is. In this order: who may write, how often, a command, the
 * planner's question, the confirmation of a plan or a decision about a step, and what else the text may be.
 */
export class Router {
  /** What a channel is constructed with. */
  readonly onMessage: OnInboundMessage = (jid, message) => this.receive(jid, message);
  readonly #options: RouterOptions;
  readonly #channels: Channel[] = [];
  readonly #chats = new Map<string, Chat>();
  readonly #conversations = new Map<Chat, Conversation>();

  constructor(options: RouterOptions) {
    this.#options = options;
  }

  /** The channels that messages come by and go to. */
  get channels(): readonly Channel[] {
    return this.#channels;
  }

  add(channel: Channel): void {
    this.#channels.push(channel);
  }

  /** Takes a message. It never throws: what goes wrong is logged, and reported where the message came from. */
  receive(jid: string, message: NewMessage): void {
    const channel = this.#channels.find((one) => one.ownsJid(jid));
    if (!channel) return this.#log(`a message came from ${jid}, which no channel has`);
    if (!this.#isAllowed(channel, message.sender))
      return this.#log(`${channel.name}: ${JSON.stringify(message.sender)} may not write`);
    try {
      const chat = this.#chatOf(channel, jid);
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

  /** Handles what came by a channel to a process that died before it had. */
  resume(channel: Channel): void {
    for (const jid of waitingChats(this.#options.plans.folder, channel.name))
      this.#attempt(channel, () => this.#chatOf(channel, jid));
  }

  /** Resolves when all messages that have come are handled. */
  async idle(): Promise<void> {
    await Promise.all([...this.#chats.values()].map((chat) => chat.idle()));
  }

  #isAllowed({ name }: Channel, sender: string): boolean {
    if (name === "terminal") return true;
    return sender !== "" && (this.#options.allowed?.[name] ?? []).includes(sender);
  }

  /** Whether a chat has written too often. At the terminal nobody else can write. */
  #isRefused({ channel, chat }: Received): boolean {
    if (channel.name === "terminal") return false;
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

  /** What can't be kept, as on a full disk, is handled all the same. */
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
    const { channel, chat, message } = received;
    const { metadata, sender } = message;
    const conversation = this.#conversationOf(received);
    if (metadata?.button) return await this.#press(received, metadata.button);
    const text = message.text.trim();
    if (text === "") return;
    const command = readCommand(text);
    if (command) {
      const found = findCommand(command.name);
      if (!found) throw new Error(`there is no command /${command.name}; /help lists them`);
      return await found.execute(command.args, {
        ...{ plans: this.#options.plans, conversation },
        ...{ by: `${channel.name}:${sender}`, now: this.#now() },
        reply: (answer) => this.#reply(received, answer),
        confirm: (id) => this.#confirm(received, id),
      });
    }
    if (conversation.isOpen()) return await conversation.write(text);
    const { asked } = chat.state;
    if (asked && (await this.#answerAsked(received, asked, text))) return;
    const isDecision = decisions.some((one) => one === text.toLowerCase());
    if (isDecision && (await this.#decide(received, text))) return;
    await this.#intend(received, text);
  }

  /** Takes a text as the answer to a confirmation; false when it is none, or too late for one. */
  async #answerAsked(received: Received, asked: Asked, text: string): Promise<boolean> {
    const { chat } = received;
    const isLate = this.#now() - asked.at > answerMs;
    const action = answers[text.toLowerCase()];
    const { planHash: hash, workflowId } = asked;
    if (!isLate && asked.wants === "answer" && action) {
      await this.#press(received, { action, workflowId, planHash: hash });
      return true;
    }
    if (!isLate) {
      await this.#conversationOf(received).change(workflowId, text);
      return true;
    }
    chat.set({ asked: null });
    if (!action) return false;
    await this.#reply(
      received,
      `That was asked more than ten minutes ago. Confirm it with /confirm ${workflowId}, or look at it with /show ${workflowId}.`,
    );
    return true;
  }

  /** Does what a button, or the word in its place, wants of a plan as it was shown. */
  async #press(received: Received, { action, planHash: hash, workflowId }: Button): Promise<void> {
    const { plans } = this.#options;
    const { chat } = received;
    const id = plans.get(workflowId).id;
    const shown = plans.draft(id) ?? plans.get(id);
    if (!planHash(shown).startsWith(hash)) {
      const how = `/show ${id} shows it as it is now.`;
      return await this.#reply(received, `This plan has changed. ${how}`);
    }
    if (action === "confirm") return await this.#confirm(received, id, hash);
    if (action === "modify") {
      chat.set({ asked: { workflowId: id, planHash: hash, at: this.#now(), wants: "change" } });
      return await this.#reply(received, "What is to change?");
    }
    await plans.reject(id);
    chat.set({ asked: null, session: null });
    await this.#reply(
      received,
      `${shown.name} is not confirmed. Change it with /modify ${id} and what is to change, or remove it with /delete ${id}.`,
    );
  }

  async #confirm(received: Received, id: string, hash?: string): Promise<void> {
    const { plans } = this.#options;
    const { phase, runId, workflowId } = await plans.confirm(id, hash ? { planHash: hash } : {});
    received.chat.set({ asked: null, session: null });
    const { name } = plans.get(workflowId);
    const what = runId === null ? `is ${phase}` : `runs now (${runId})`;
    await this.#reply(received, `Confirmed: ${name} ${what}.`);
  }

  /** Takes a text as the decision about the one step that this chat was asked about; false when there is none. */
  async #decide(received: Received, decision: string): Promise<boolean> {
    const { plans } = this.#options;
    const { channel, chat, message } = received;
    const own = contextOf(channel, chat.jid, message.sender);
    const asked = await plans.wanted();
    // One that is damaged is nobody's, and keeps no other from being decided about.
    const isOwn = new Set(
      (await plans.list(() => {})).flatMap((plan) => (isOwner(plan, own) ? plan.id : [])),
    );
    const wanted = asked.filter(({ workflowId }) => isOwn.has(workflowId));
    const [one, ...others] = wanted;
    if (!one) return false;
    if (others.length > 0) {
      const lines = wanted.map(({ runId, stepId }) => `/answer ${runId} ${decision} (${stepId})`);
      const all = ["More than one step waits for a decision. Which one?", ...lines];
      await this.#reply(received, all.join("\n"));
      return true;
    }
    const by = `${channel.name}:${message.sender}`;
    await plans.answer(one.runId, decision.toLowerCase(), { by, stepId: one.stepId });
    await this.#reply(received, `${one.stepId}: ${decision.toLowerCase()}`);
    return true;
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
   * Sends a text to a chat, without any secret. A channel that throws is logged. What is answered was done: the message is
   * marked first, so that a crash in between does not do it twice.
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

  #chatOf(channel: Channel, jid: string): Chat {
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

const contexts: Record<string, ChannelContext["channel"]> = {
  terminal: "tui",
  telegram: "telegram",
  whatsapp: "whatsapp",
};

/** Where a chat is, as plans have it in their owner. */
function contextOf({ name }: Channel, jid: string, sender: string): ChannelContext {
  const channel = contexts[name] ?? "tui";
  return channel === "tui" ? { channel } : { channel, chatJid: jid, sender };
}

/** Whether a plan belongs to a chat. */
const isOwner = ({ metadata }: Workflow, { channel, chatJid }: ChannelContext): boolean =>
  metadata?.owner?.channel === channel && metadata.owner.chatJid === chatJid;
