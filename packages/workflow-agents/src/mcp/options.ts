// A file of its own, so that the types of who imports it do not need those of the MCP client.

/**
 * Where a server is. A command runs in the thread's directory; `env` names the variables that it gets
 * besides those that hold no secret. `headers` may be made of the thread's environment.
 */
export type Address =
  | { command: string; args?: readonly string[]; env?: readonly string[] }
  | { url: string; headers?: Env | ((env: Env) => Record<string, string>) };

type Env = Readonly<Record<string, string>>;

/** An MCP server: a command that speaks by stdin and stdout, or a URL (streamable HTTP). */
export type McpOptions = Address & { name: string };
