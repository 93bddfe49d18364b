import type { CommandOptions } from "./command.ts";

/**
 * Options of the agents that are known commands. `command` is the program, `args` what it gets
 * besides; the others are {@link CommandOptions}'.
 */
export type PresetOptions = Pick<CommandOptions, "set" | "timeoutMs" | "graceMs" | "say"> & {
  command?: string;
  model?: string;
  args?: readonly string[];
  /** Variables that it gets besides its own. */
  env?: readonly string[];
};

/** Where the network is reached, for those that do not reach it directly. */
export const proxies = [
  "HTTP_PROXY",
  "HTTPS_PROXY",
  "NO_PROXY",
  "http_proxy",
  "https_proxy",
  "no_proxy",
  "SSL_CERT_FILE",
  "NODE_EXTRA_CA_CERTS",
];
