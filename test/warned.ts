import type { Host } from "@uncaged/workflow/host";

/** The warnings that the threads of a host have: what breaks a descriptor of ours is our mistake. */
export async function warningsOn(host: Host): Promise<string[]> {
  const found: string[] = [];
  const { rows } = await host.threads({ limit: 10_000 });
  for (const row of rows) {
    for (const { warnings } of await host.attempts(row)) found.push(...warnings);
  }
  return found;
}
