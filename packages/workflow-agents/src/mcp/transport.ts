import { StreamableHTTPClientTransport, type Transport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { allowed } from "../child/environment.ts";
import { maskOf } from "../child/mask.ts";
import type { ToolContext } from "../tools/tools.ts";

/**
 * Where a server is. A command runs in the thread's directory; `env` names the variables that it gets
 * besides those that hold no secret. `headers` may be made of the thread's environment.
 */
export type Address =
  | { command: string; args?: readonly string[]; env?: readonly string[] }
  | { url: string; headers?: Headers };

type Headers =
  | Readonly<Record<string, string>>
  | ((env: Readonly<Record<string, string>>) => Record<string, string>);

/** A way to a server. `mask` takes the secrets that the server was given out of what it says. */
export type Route = { transport: Transport; mask: (text: string) => string };

// The client starts a second process to ask for the protocol's version, but not for a class of our own.
class OneProcess extends StdioClientTransport {}

/** The way to a server; each line of a command's error output is given to `onLine`. */
export function routeTo(
  address: Address,
  { cwd, env }: ToolContext,
  onLine: (chunk: Uint8Array) => void,
): Route {
  if ("command" in address) {
    const { command, args = [], env: list = [] } = address;
    const own = allowed(env, list);
    const transport = new OneProcess({ command, args: [...args], env: own, cwd, stderr: "pipe" });
    transport.stderr?.on("data", onLine);
    return { transport, mask: maskOf(own).text };
  }
  const { url, headers = {} } = address;
  const made = typeof headers === "function" ? headers(env) : headers;
  const secrets = Object.entries(made).map(([name, value]) => [`${name}_AUTH`, value]);
  const tokens = secrets.map(([name, value = ""]) => [`${name}_2`, value.replace(/^\w+ +/, "")]);
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers: made },
  });
  return { transport, mask: maskOf(Object.fromEntries([...secrets, ...tokens])).text };
}
