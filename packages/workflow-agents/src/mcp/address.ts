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
