import { StreamableHTTPClientTransport, type Transport } from "@modelcontextprotocol/client";
import { allowed } from "../child/environment.ts";
import { maskOf } from "@uncaged/workflow";
import type { ToolContext } from "../tools/tools.ts";
import type { Address } from "./address.ts";
import { ServerProcess } from "./process.ts";

/** A way to a server. `mask` takes the secrets that the server was given out of what it says. */
export type Route = { transport: Transport; mask: (text: string) => string };

/** The way to a server; each line of a command's error output is given to `onLine`. */
export function routeTo(
  address: Address,
  { cwd, env }: ToolContext,
  onLine: (chunk: Uint8Array) => void,
): Route {
  if ("command" in address) {
    const { command, args = [], env: list = [] } = address;
    const own = allowed(env, list);
    const transport = new ServerProcess({ command, args, env: own, cwd }, onLine);
    return { transport, mask: maskOf(own) };
  }
  const { url, headers = {} } = address;
  const made = typeof headers === "function" ? headers(env) : headers;
  const secrets = Object.entries(made).map(([name, value]) => [`${name}_AUTH`, value]);
  const tokens = secrets.map(([name, value = ""]) => [`${name}_2`, value.replace(/^\w+ +/, "")]);
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers: made },
  });
  return { transport, mask: maskOf(Object.fromEntries([...secrets, ...tokens])) };
}
