import type { Host } from "@uncaged/workflow/host";
import { join } from "node:path";
import { type Channel, type ChannelOptions, reasonOf } from "../channel/channel.ts";
import type { CueclawConfig } from "../config/settings.ts";
import { Notices } from "./notices.ts";
import { Router, type RouterOptions } from "./router.ts";

/** Options of {@link openMessaging}. */
export type MessagingOptions = Pick<RouterOptions, "plans" | "planner" | "classify" | "now"> &
  Pick<ChannelOptions, "describe" | "log"> & {
    host: Host;
    /** The settings of the bots and their allowed users; null if another process serves the bots. */
    config: Pick<CueclawConfig, "telegram" | "whatsapp"> | null;
    /** Whether bots open only on request. */
    skipBots?: boolean;
    /** Creates the terminal channel, if there is a terminal. */
    terminal?: (options: ChannelOptions) => Channel;
  };

/** The channels of a process with their shared router, and the notices to the owners of plans. */
export type Messaging = {
  router: Router;
  notices: Notices;
  channels: readonly Channel[];
  /** Opens closed bots of the settings, and connects them. @throws ConfigError */
  startBots: () => Promise<readonly Channel[]>;
  /** Connects all channels independently. Logs errors. */
  connect: () => void;
  /** Closes all connections within some seconds. */
  close: () => Promise<void>;
};

/** Opens the channels of the settings. @throws ConfigError */
export async function openMessaging(options: MessagingOptions): Promise<Messaging> {
  const { config, describe, host, plans, terminal, ...more } = options;
  const log = (line: string): void => options.log(plans.secrets.hidden(line));
  const allowed = {
    telegram: config?.telegram.allowed_users ?? [],
    whatsapp: config?.whatsapp.allowed_jids ?? [],
  };
  const router = new Router({ ...more, plans, allowed, log });
  const { onMessage } = router;
  const onMoved = (from: string, to: string): void => {
    router.moved(from, to).catch((error: unknown) => log(reasonOf(error)));
  };
  const given = { onMessage, onMoved, describe, log };
  if (terminal) router.add(terminal(given));
  const bots: Channel[] = [];
  const openBots = async (): Promise<void> => {
    if (!config || bots.length > 0) return;
    bots.push(...(await openChannels(config, { ...given, home: plans.home })));
    for (const bot of bots) router.add(bot);
  };
  if (!options.skipBots) await openBots();
  const { channels } = router;
  const connectAll = (some: readonly Channel[]): void => {
    // A channel that cannot connect logs the reason.
    for (const channel of some) {
      channel.connect().then(
        () => router.resume(channel),
        () => {},
      );
    }
  };
  const notices = new Notices({
    ...{ plans, host, log, now: options.now, channels: () => channels },
    onAsked: (channel, jid, asked) => router.chat(channel, jid).ask(asked.about, asked),
  });
  return {
    ...{ router, notices, channels },
    connect: () => connectAll(channels),
    async startBots() {
      const isOpen = bots.length > 0;
      await openBots();
      if (!isOpen) connectAll(bots);
      return bots;
    },
    async close() {
      const closing = channels.map((channel) =>
        channel.disconnect().catch((error: unknown) => log(`${channel.name}: ${reasonOf(error)}`)),
      );
      await Promise.all(closing);
    },
  };
}

/** Opens the channels of the settings. Loads only the clients of these channels. @throws ConfigError */
async function openChannels(
  { telegram, whatsapp }: Pick<CueclawConfig, "telegram" | "whatsapp">,
  options: ChannelOptions & { home: string },
): Promise<Channel[]> {
  const channels: Channel[] = [];
  if (telegram.enabled && telegram.token !== undefined) {
    const { TelegramChannel } = await import("../channel/telegram.ts");
    const { api_root, token } = telegram;
    channels.push(new TelegramChannel({ ...options, token, apiRoot: api_root }));
  }
  if (whatsapp.enabled) {
    const { WhatsAppChannel } = await import("../channel/whatsapp.ts");
    const { whatsAppOpener } = await import("../channel/baileys.ts");
    const openSocket = await whatsAppOpener(options.home, options.log);
    const { auth_dir = join(options.home, "whatsapp"), phone } = whatsapp;
    const more = { authDir: auth_dir, openSocket, ...(phone !== undefined && { phone }) };
    channels.push(new WhatsAppChannel({ ...options, ...more }));
  }
  return channels;
}
