import type { Host } from "@uncaged/workflow/host";

/** The warnings of a host's threads: one of our workflows must not break its own descriptor. */
export async function warningsOn(host: Host): Promise<string[]> {
  const found: string[] = [];
  const { rows } = await host.threads({ limit: 10_000 });
  for (const row of rows) {
    for (const { warnings } of await host.attempts(row)) found.push(...warnings);
  }
  return found;
}
