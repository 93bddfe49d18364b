import { join } from "node:path";

/** Returns the folder in which a worker keeps bundles. Its files may be deleted at any time while no worker runs. */
export function cacheOf(
  { XDG_CACHE_HOME, HOME = "/tmp" }: Record<string, string>,
  worker: string,
): string {
  const base = XDG_CACHE_HOME || join(HOME, ".cache");
  return join(base, "uncaged-workflow", `worker-${worker}`);
}
