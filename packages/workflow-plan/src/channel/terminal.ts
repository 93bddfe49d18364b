import type { Workflow } from "../plan/plan.ts";
import { planHash } from "../plan/hash.ts";
import {
  buttonHashLength,
  type Channel,
  type ChannelOptions,
  reasonOf,
  type Sent,
} from "./channel.ts";

export const terminalName = "terminal";

/** The jid of the terminal's only chat. */
export const terminalJid = "local";

export type TerminalOptions = ChannelOptions & {
  /** Shows a message to the user. */
  show: (
    message: { type: "assistant"; text: string } | { type: "plan-ready"; workflowName: string },
  ) => void;
  /**
   * Resolves when everything typed so far is read. If missing, the input is a pipe, whose lines have no known time of
   * writing.
   */
  allTyped?: () => Promise<unknown>;
};

/** The terminal as a channel. Its input arrives by {@link TerminalChannel.receive}. */
export class TerminalChannel implements Channel {
  readonly name = terminalName;
  readonly #options: TerminalOptions;
  #isConnected = false;
  #order = 0;

  constructor(options: TerminalOptions) {
    this.#options = options;
  }

  connect(): Promise<void> {
    this.#isConnected = true;
    return Promise.resolve();
  }

  isConnected(): boolean {
    return this.#isConnected;
  }

  ownsJid(jid: string): boolean {
    return jid === terminalJid;
  }

  disconnect(): Promise<void> {
    this.#isConnected = false;
    return Promise.resolve();
  }

  /** Returns the next place in the common order of questions and started lines. */
  place(): number {
    this.#order += 1;
    return this.#order;
  }

  /** Receives a line. `order` is the place at which the line was started, or undefined for a line of a pipe. */
  receive(text: string, order?: number): void {
    const timestamp = new Date().toISOString();
    const metadata = order === undefined ? {} : { order };
    try {
      this.#options.onMessage(terminalJid, { text, sender: terminalJid, timestamp, metadata });
    } catch (error) {
      this.#options.log(`terminal: ${reasonOf(error)}`);
    }
  }

  /** Shows a text. A shown text cannot be edited, so the id is empty. */
  sendMessage(_jid: string, text: string): Promise<string> {
    this.#options.show({ type: "assistant", text });
    return Promise.resolve("");
  }

  async sendQuestion(jid: string, text: string): Promise<Sent> {
    await this.#options.allTyped?.();
    await this.sendMessage(jid, text);
    return this.#asked();
  }

  async sendConfirmation(_jid: string, workflow: Workflow): Promise<Sent> {
    const { allTyped, describe, show } = this.#options;
    show({ type: "assistant", text: await describe(workflow) });
    if (allTyped) {
      await allTyped();
      show({ type: "plan-ready", workflowName: workflow.name });
    } else {
      const hash = planHash(workflow).slice(0, buttonHashLength);
      show({ type: "assistant", text: `${workflow.name}: confirm it with /confirm ${hash}` });
    }
    return this.#asked();
  }

  /** Returns the place of a shown question. Everything typed before it has been read. */
  #asked(): Sent {
    return { ids: [], order: this.place() };
  }
}
