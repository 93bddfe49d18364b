import { misuse } from "../run/error.ts";

// A file of its own, so that the types of who imports it do not need those of the MCP client.

/**
 * Where a server is. A command runs in the thread's directory; `env` names the variables that it gets
 * besides those that hold no secret. `headers` may be made of the thread's environment.
 */
export type Address =
  | { command: string; args?: readonly string[]; env?: readonly string[] }
  | { url: string; headers?: Env | ((env: Env) => Record<string, string>) };

type Env = Readonly<Record<string, string>>;

/**
 * An MCP server: a command that speaks by stdin and stdout, or a URL (streamable HTTP). Its tools are
 * named `name__tool`.
 */
export type McpOptions = Address & { name: string };

export function checkOptions(options: McpOptions): void {
  const { name } = options;
  const refuse = (problem: string) => misuse("BAD_MCP", problem, "fix mcpTools' options");
  if (!/^[A-Za-z0-9-]{1,32}$/.test(name)) {
    throw refuse(`${JSON.stringify(name)} is no name: letters, digits and - only, 32 at most`);
  }
  if ("url" in options && !URL.canParse(options.url)) {
    throw refuse(`${JSON.stringify(options.url)} is no URL`);
  }
}
