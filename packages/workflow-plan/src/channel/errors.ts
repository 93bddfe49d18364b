import { ConfigError } from "../error/error.ts";

/* The errors of channels. */

export const telegramTokenRejected = (): ConfigError =>
  new ConfigError("Telegram rejects telegram.token", {
    hint: "get the bot's token from @BotFather, and set telegram.token",
  });

/** A missing client for WhatsApp. `client` is the package with its version. */
export const whatsAppMissing = (home: string, client: string): ConfigError =>
  new ConfigError(`whatsapp: missing package ${client}`, { hint: installHint(home, client) });

export const whatsAppUnloadable = (
  home: string,
  client: string,
  { reason, cause }: { reason: string; cause: unknown },
): ConfigError =>
  new ConfigError(`whatsapp: the package ${client} can't be loaded: ${reason}`, {
    cause,
    hint: installHint(home, client),
  });

const installHint = (home: string, client: string): string =>
  `install it: npm install --prefix ${home} ${client}`;
