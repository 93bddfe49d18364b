// These types are in their own file, so that importing them does not require the types of the MCP client.

/**
 * The command or the URL of a server. A command runs in the thread's directory. `env` lists the environment variables
 * that the command gets in addition to the harmless variables. `headers` may be a function of the thread's environment.
 */
export type Address =
  | { command: string; args?: readonly string[]; env?: readonly string[] }
  | { url: string; headers?: Env | ((env: Env) => Record<string, string>) };

type Env = Readonly<Record<string, string>>;

/** An MCP server: a command that uses stdin and stdout, or a URL (streamable HTTP). */
export type McpOptions = Address & { name: string };
