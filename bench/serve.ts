/** A server process. */
export type Served = { port: number; token: string; pid: number; stop(): void };

/** Starts a server that prints its port as JSON. */
export async function serve(command: string[]): Promise<Served> {
  const child = Bun.spawn(command, { stdin: "ignore", stdout: "pipe", stderr: "inherit" });
  const { value } = await child.stdout.getReader().read();
  const { port, token } = JSON.parse(new TextDecoder().decode(value)) as Served;
  return { port, token, pid: child.pid, stop: () => child.kill() };
}

/** Starts the server of a storage root. */
export const serveRoot = (command: string, root: string): Promise<Served> =>
  serve([command, "serve", "--port", "0", "--json", "--root", root]);
