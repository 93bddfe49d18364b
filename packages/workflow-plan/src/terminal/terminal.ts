import { clearLine, createInterface, cursorTo, type Interface } from "node:readline";
import { type Channel, type ChannelOptions, reasonOf } from "../channel/channel.ts";
import { TerminalChannel } from "../channel/terminal.ts";
import type { CueclawConfig } from "../config/settings.ts";
import { readCommand } from "../router/commands.ts";
import type { Messaging } from "../router/messaging.ts";
import type { Router } from "../router/router.ts";
import type { Plans } from "../home/plans.ts";
import {
  type CommandContext,
  type DaemonBridge,
  findCommand,
  getCommands,
  type TriggerLoop,
} from "./commands.ts";
import { Follower } from "./follow.ts";
import { type ChatMessage, linesOf } from "./message.ts";
import { unknownCommand } from "../router/errors.ts";

export type TerminalChatOptions = {
  plans: Plans;
  config: CueclawConfig | null;
  cwd: string;
  bridge: DaemonBridge | null;
  /** Opens the channels, including the terminal. */
  open: (terminal: (options: ChannelOptions) => TerminalChannel) => Promise<Messaging>;
  /** Fires triggers while the chat is open. If missing, or while a service fires them, this process does not. */
  openTriggers?: (onError: (error: unknown) => void) => TriggerLoop;
  /** Whether the planner's model is available. */
  hasModel: boolean;
  input: NodeJS.ReadableStream & { isTTY?: boolean };
  output: NodeJS.WritableStream & { isTTY?: boolean };
  /** Whether to use colours (default: whether the output is a terminal). */
  colours?: boolean;
};

const tickMs = 500;
/** Maximum wait for keys pressed before a question, in milliseconds. */
const typedBeforeMs = 100;
const prompt = "> ";

/**
 * Runs the chat at a terminal, line by line: in any terminal, in tmux, and with a file or a pipe as input. Resolves
 * when the user leaves it, or when the input has ended and all lines are answered. Runs continue.
 */
export async function runTerminalChat(options: TerminalChatOptions): Promise<void> {
  const chat = new TerminalChat(options);
  await chat.run();
}

class TerminalChat {
  readonly #options: TerminalChatOptions;
  #lines: Interface | null = null;
  readonly #isInteractive: boolean;
  readonly #follower: Follower;
  readonly #context: Omit<CommandContext, "send" | "startBots">;
  #messaging: Messaging | null = null;
  #channel: TerminalChannel | null = null;
  /** The place at which the user started the current line; null while the line is empty. */
  #begun: number | null = null;
  #theme: number;
  #isOver = false;
  #isTicking = false;
  /** The errors that were already shown. Each is shown once. */
  readonly #failed = new Set<string>();

  constructor(options: TerminalChatOptions) {
    const { bridge, config, cwd, input, output, plans } = options;
    this.#options = options;
    this.#isInteractive = input.isTTY === true && output.isTTY === true;
    this.#theme = (options.colours ?? output.isTTY === true) ? 0 : 1;
    this.#follower = new Follower(plans, (text) => this.#show({ type: "system", text }));
    this.#context = {
      ...{ db: plans.database, config, cwd, bridge },
      addMessage: (message) => this.#show(message),
      clearMessages: () => this.#isInteractive && output.write("\x1b[2J\x1b[H"),
      setConfig: (changed) => {
        this.#context.config = changed;
      },
      setThemeVersion: (change) => {
        this.#theme = change(this.#theme);
      },
      follow: (id) => this.#follower.follow(id),
      exit: () => this.#end(),
    };
  }

  async run(): Promise<void> {
    const messaging = await this.#options.open((given) => {
      const show = (message: ChatMessage) => this.#show(message);
      const allTyped = () => Bun.sleep(typedBeforeMs);
      this.#channel = new TerminalChannel({
        ...{ ...given, show },
        ...(this.#isInteractive && { allTyped }),
      });
      return this.#channel;
    });
    this.#messaging = messaging;
    messaging.connect();
    const triggerLoop = this.#openTriggers(messaging);
    this.#greet();
    const ticking = setInterval(() => void this.#tick(messaging), tickMs);
    try {
      await messaging.notices.send();
      await this.#read(messaging);
    } finally {
      clearInterval(ticking);
      await triggerLoop?.stop();
      this.#lines?.close();
      await messaging.close();
    }
  }

  #openTriggers({ router }: Messaging): TriggerLoop | null {
    const { bridge, openTriggers } = this.#options;
    if (bridge?.isExternal || !openTriggers) return null;
    const triggerLoop = openTriggers((error) => this.#showError(error));
    this.#context.bridge = { triggerLoop, router, botChannels: [], isExternal: false };
    return triggerLoop;
  }

  #showError(error: unknown): void {
    const text = reasonOf(error);
    if (!this.#failed.has(text)) this.#show({ type: "error", text });
    this.#failed.add(text);
  }

  /** Shows a greeting to a new or returning user. */
  #greet(): void {
    const { bridge, hasModel } = this.#options;
    const system = (text: string) => this.#show({ type: "system", text });
    system("Write a request. /help lists the commands, /exit ends the chat.");
    if (!hasModel) {
      const text =
        "The planner has no model: set ANTHROPIC_API_KEY. Existing plans work without it.";
      this.#show({ type: "warning", text });
    }
    if (bridge?.isExternal) system("A service fires the triggers and serves the bots.");
    else if (this.#context.bridge)
      system("No service runs: triggers fire while this chat is open.");
  }

  async #read({ router }: Messaging): Promise<void> {
    const { input, output } = this.#options;
    const lines = createInterface({
      ...{ input, prompt, terminal: this.#isInteractive, completer: completed },
      ...(this.#isInteractive && { output }),
    });
    this.#lines = lines;
    const closed = Promise.withResolvers<void>();
    let work = Promise.resolve();
    lines.on("close", closed.resolve);
    lines.on("line", (line) => {
      const order = this.#begun ?? undefined;
      this.#begun = null;
      work = work.then(() => this.#next(line, order, router));
    });
    if (this.#isInteractive) {
      // Listen after readline, which has then added the key to the line.
      input.on("keypress", () => this.#noteBegin(lines));
      lines.prompt();
    }
    await closed.promise;
    await work;
    if (!this.#isOver) await router.idle();
  }

  /** Records when the user starts a line, because an answer started before its question does not count. */
  #noteBegin({ line }: Interface): void {
    if (line === "") this.#begun = null;
    else this.#begun ??= this.#channel?.place() ?? null;
  }

  async #next(line: string, order: number | undefined, router: Router): Promise<void> {
    if (this.#isOver) return;
    if (!this.#isInteractive && line.trim() !== "") this.#show({ type: "user", text: line });
    await this.#take(line.trim(), order);
    if (!this.#isInteractive) await router.idle();
    else if (!this.#isOver) this.#lines?.prompt(true);
  }

  async #take(text: string, order: number | undefined): Promise<void> {
    if (text === "") return;
    const send = (line: string) => this.#channel?.receive(line, order);
    const command = readCommand(text);
    if (!command) return send(text);
    const found = command.to ? undefined : findCommand(command.name);
    if (!found) {
      const { message } = unknownCommand(`${command.name}${command.to ?? ""}`);
      return this.#show({ type: "error", text: message });
    }
    try {
      const startBots = () => this.#startBots();
      await found.execute(command.args, { ...this.#context, send, startBots });
    } catch (error) {
      this.#show({ type: "error", text: reasonOf(error) });
    }
  }

  async #startBots(): Promise<readonly Channel[]> {
    const botChannels = (await this.#messaging?.startBots()) ?? [];
    const { bridge } = this.#context;
    if (bridge) this.#context.bridge = { ...bridge, botChannels };
    return botChannels;
  }

  /** Shows the changes. Skips a turn while the previous call still runs. */
  async #tick({ notices }: Messaging): Promise<void> {
    if (this.#isTicking) return;
    this.#isTicking = true;
    try {
      await this.#follower.look();
      await notices.send();
    } catch (error) {
      this.#showError(error);
    } finally {
      this.#isTicking = false;
    }
  }

  /** Shows a message above the line that the user is writing. */
  #show(message: ChatMessage): void {
    const { output } = this.#options;
    if (this.#isInteractive) {
      cursorTo(output, 0);
      clearLine(output, 0);
    }
    for (const line of linesOf(message, this.#theme % 2 === 0)) output.write(`${line}\n`);
    if (this.#isInteractive && !this.#isOver) this.#lines?.prompt(true);
  }

  #end(): void {
    this.#isOver = true;
    this.#lines?.close();
  }
}

/** Returns the commands that complete a line, or the arguments that complete its command. */
export function completed(line: string): [string[], string] {
  const [, name, last = ""] = /^\/(\w+)\s(?:.*\s)?(\S*)$/.exec(line) ?? [];
  const words = name === undefined ? undefined : findCommand(name)?.completion;
  if (words) return [words.filter((word) => word.startsWith(last)), last];
  const names = getCommands().map((command) => `/${command.name}`);
  const found = names.filter((one) => one.startsWith(line));
  return [line.startsWith("/") ? found : [], line];
}
