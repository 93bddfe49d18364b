import type { Host } from "@uncaged/workflow/host";

/** Returns the warnings of a host's threads, such as output that does not match a descriptor. */
export async function warningsOn(host: Host): Promise<string[]> {
  const found: string[] = [];
  const { rows } = await host.threads({ limit: 10_000 });
  for (const row of rows) {
    for (const { warnings } of await host.attempts(row)) found.push(...warnings);
  }
  return found;
}
