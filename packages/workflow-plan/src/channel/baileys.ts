import { existsSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { reasonOf } from "./channel.ts";
import type { WhatsAppSocket } from "./whatsapp.ts";
import { whatsAppMissing, whatsAppUnloadable } from "./errors.ts";

/*
 * WhatsApp's client, baileys, is not a dependency, because one of its packages is under the GPL and most users write to
 * their plans from a terminal. Users install the client. The search starts in the plan home.
 */
type Baileys = {
  default: (
    config: object,
  ) => WhatsAppSocket & { ev: { on(event: string, listener: unknown): void } };
  useMultiFileAuthState: (
    folder: string,
  ) => Promise<{ state: unknown; saveCreds: () => Promise<void> }>;
};

const packageName = "baileys";
/** The supported version. Earlier versions need packages that are not in a registry. */
const version = "7.0.0-rc14";

/**
 * Returns a function that opens connections to WhatsApp with the installed client.
 * @throws ConfigError if no client is installed.
 */
export async function whatsAppOpener(
  home: string,
  log: (line: string) => void,
): Promise<(authDir: string) => Promise<WhatsAppSocket>> {
  const { default: open, useMultiFileAuthState } = await load(home);
  return async (authDir) => {
    mkdirSync(authDir, { recursive: true, mode: 0o700 });
    const { saveCreds, state } = await useMultiFileAuthState(authDir);
    const socket = open({ auth: state, logger: silent, markOnlineOnConnect: false });
    socket.ev.on("creds.update", () => {
      saveCreds().catch((error: unknown) => log(`whatsapp: ${reasonOf(error)}`));
    });
    return socket;
  };
}

async function load(home: string): Promise<Baileys> {
  const client = `${packageName}@${version}`;
  const folder = [home, import.meta.dir].map(installedAt).find((one) => one !== null);
  if (!folder) throw whatsAppMissing(home, client);
  try {
    return (await import(pathToFileURL(Bun.resolveSync(packageName, folder)).href)) as Baileys;
  } catch (cause) {
    throw whatsAppUnloadable(home, client, { reason: reasonOf(cause), cause });
  }
}

/**
 * Returns the nearest folder, from `folder` upwards, in which the package is installed. Bun's resolver would
 * download a missing package.
 */
function installedAt(folder: string): string | null {
  if (existsSync(join(folder, "node_modules", packageName))) return folder;
  const parent = dirname(folder);
  return parent === folder ? null : installedAt(parent);
}

const nothing = (): void => {};
const silent = {
  ...{ level: "silent", trace: nothing, debug: nothing, info: nothing },
  ...{ warn: nothing, error: nothing, child: () => silent },
};
