import { chatCommands } from "../router/commands.ts";
import type { Channel } from "../channel/channel.ts";
import { decisions } from "../plan/terms.ts";
import type { CueclawConfig } from "../config/settings.ts";
import type { Router } from "../router/router.ts";
import type { PlanDatabase } from "../store/database.ts";
import type { ChatMessage } from "./message.ts";
import { commandTaken, unknownBotAction } from "./errors.ts";

/** The router of a service that runs in this process. */
export type MessageRouter = Router;

/** The loop that fires triggers in this process. */
export type TriggerLoop = { stop: () => Promise<unknown> };

/** The process that fires triggers and serves bots: this process, or a service that holds the lock. */
export type DaemonBridge = {
  /** Null when `isExternal`. */
  triggerLoop: TriggerLoop | null;
  /** Null when `isExternal`. */
  router: MessageRouter | null;
  botChannels: readonly Channel[];
  /** Whether a separate service fires triggers and serves bots. */
  isExternal: boolean;
};

/** Options for the bridge of a chat. `skipBots` opens no bots. */
export type InitDaemonBridgeOptions = { skipBots?: boolean };

/** The context of a terminal command. */
export type CommandContext = {
  db: PlanDatabase;
  config: CueclawConfig | null;
  cwd: string;
  bridge: DaemonBridge | null;
  addMessage: (message: ChatMessage) => void;
  clearMessages: () => void;
  setConfig: (config: CueclawConfig) => void;
  setThemeVersion: (change: (version: number) => number) => void;
  /** Passes a line to the router. */
  send: (text: string) => void;
  /** Shows each step of a plan's run as it changes; null ends the display. */
  follow: (id: string | null) => Promise<void>;
  /** Opens the bots of the settings in this process. @throws ConfigError */
  startBots: () => Promise<readonly Channel[]>;
  exit: () => void;
};

/** A command of the terminal: `/name` and its arguments. */
export type SlashCommand = {
  name: string;
  aliases: string[];
  description: string;
  usage: string;
  completion?: string[];
  execute: (args: string, context: CommandContext) => Promise<void> | void;
};

const registered: SlashCommand[] = [];

/** Adds a command. Refuses a name or alias that is in use. */
export function registerCommand(command: SlashCommand): void {
  for (const name of [command.name, ...command.aliases]) {
    if (findCommand(name)) throw commandTaken(name);
  }
  registered.push(command);
}

/** Returns the command with a name or an alias. */
export const findCommand = (name: string): SlashCommand | undefined =>
  registered.find((command) => command.name === name || command.aliases.includes(name));

export const getCommands = (): readonly SlashCommand[] => registered;

const completions: Record<string, string[]> = { answer: [...decisions] };
const aliases: Record<string, string[]> = { list: ["ls"], show: ["detail"], delete: ["rm"] };

for (const { description, name, usage } of chatCommands()) {
  if (name === "help") continue;
  registerCommand({
    ...{ name, usage, description, aliases: aliases[name] ?? [] },
    ...(completions[name] && { completion: completions[name] }),
    execute: (args, { send }) => send(`/${name} ${args}`.trim()),
  });
}

registerCommand({
  ...{ name: "help", aliases: ["?"], usage: "/help", description: "these commands" },
  execute(_, { addMessage }) {
    const rows = getCommands().map(({ description, usage }) => [usage, description]);
    addMessage({ type: "assistant-jsx", content: rows });
  },
});

registerCommand({
  ...{ name: "execution", aliases: ["follow"], usage: "/execution [ID]" },
  description: "shows the changes of a plan's run; without an ID stops the display",
  execute: (args, { follow }) => follow(args === "" ? null : args),
});

registerCommand({
  ...{ name: "bot", aliases: [], usage: "/bot [start|status]", completion: ["start", "status"] },
  description: "shows the bots and the process that serves them; start serves them here",
  async execute(args, { addMessage, bridge, startBots }) {
    if (args !== "" && args !== "start" && args !== "status") throw unknownBotAction(args);
    if (bridge?.isExternal) {
      return addMessage({
        type: "system",
        text: "A service fires the triggers and serves the bots.",
      });
    }
    const bots = args === "start" ? await startBots() : (bridge?.botChannels ?? []);
    const rows = bots.map((bot) => [bot.name, bot.isConnected() ? "connected" : "not connected"]);
    if (rows.length > 0) return addMessage({ type: "assistant-jsx", content: rows });
    addMessage({
      type: "system",
      text: "No bots are served here. Set telegram.token or whatsapp.enabled, then enter /bot start.",
    });
  },
});

registerCommand({
  ...{ name: "setup", aliases: ["onboarding"], usage: "/setup" },
  description: "current and missing settings",
  execute(_, { addMessage, config, cwd }) {
    const rows = [
      ["directory of the agents", cwd],
      ["agent", config?.agent.command ?? "claude"],
      ["telegram", config?.telegram.token ? "set" : "not set: telegram.token"],
      ["whatsapp", config?.whatsapp.enabled ? "enabled" : "not enabled: whatsapp.enabled"],
    ];
    addMessage({ type: "assistant-jsx", content: rows });
  },
});

registerCommand({
  ...{ name: "theme", aliases: [], usage: "/theme", description: "colours, or none" },
  execute: (_, { setThemeVersion }) => setThemeVersion((version) => version + 1),
});

registerCommand({
  ...{ name: "clear", aliases: [], usage: "/clear", description: "clears the screen" },
  execute: (_, { clearMessages }) => clearMessages(),
});

registerCommand({
  ...{ name: "exit", aliases: ["quit", "q"], usage: "/exit", description: "ends the chat" },
  execute: (_, { exit }) => exit(),
});
