import type { Workflow } from "../plan/plan.ts";
import { type Channel, type ChannelOptions, reasonOf } from "./channel.ts";

/** The chat of the terminal: there is one. */
export const terminalJid = "local";

export type TerminalOptions = ChannelOptions & {
  /** Shows what came for the user. */
  show: (
    message: { type: "assistant"; text: string } | { type: "plan-ready"; workflowName: string },
  ) => void;
};

/** The terminal as a channel: what is written at it comes in by {@link TerminalChannel.receive}. */
export class TerminalChannel implements Channel {
  readonly name = "terminal";
  readonly #options: TerminalOptions;
  #isConnected = false;

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

  /** Takes what the user has written. */
  receive(text: string): void {
    const timestamp = new Date().toISOString();
    try {
      this.#options.onMessage(terminalJid, { text, sender: terminalJid, timestamp });
    } catch (error) {
      this.#options.log(`terminal: ${reasonOf(error)}`);
    }
  }

  /** Shows a text. It can't be edited, so it has no id. */
  sendMessage(_jid: string, text: string): Promise<string> {
    this.#options.show({ type: "assistant", text });
    return Promise.resolve("");
  }

  async sendConfirmation(_jid: string, workflow: Workflow): Promise<void> {
    this.#options.show({ type: "assistant", text: await this.#options.describe(workflow) });
    this.#options.show({ type: "plan-ready", workflowName: workflow.name });
  }
}
