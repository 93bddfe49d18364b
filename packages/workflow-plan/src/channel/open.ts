import { join } from "node:path";
import type { CueclawConfig } from "../config/form.ts";
import type { Channel, ChannelOptions } from "./channel.ts";

/** The channels that the settings name. Their clients are loaded for them alone. @throws ConfigError */
export async function openChannels(
  { telegram, whatsapp }: Pick<CueclawConfig, "telegram" | "whatsapp">,
  options: ChannelOptions & { home: string },
): Promise<Channel[]> {
  const channels: Channel[] = [];
  if (telegram.enabled && telegram.token !== undefined) {
    const { TelegramChannel } = await import("./telegram.ts");
    const { api_root, token } = telegram;
    channels.push(new TelegramChannel({ ...options, token, apiRoot: api_root }));
  }
  if (whatsapp.enabled) {
    const { WhatsAppChannel } = await import("./whatsapp.ts");
    const { whatsAppOpener } = await import("./baileys.ts");
    const openSocket = await whatsAppOpener(options.home, options.log);
    const { auth_dir = join(options.home, "whatsapp"), phone } = whatsapp;
    const more = { authDir: auth_dir, openSocket, ...(phone !== undefined && { phone }) };
    channels.push(new WhatsAppChannel({ ...options, ...more }));
  }
  return channels;
}
