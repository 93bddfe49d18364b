import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type MovingHost, movingRoot } from "@uncaged/workflow/internal";
import { registryPath, type Root } from "@uncaged/workflow/store";
import type { PostgresStore } from "../store/store.ts";
import { registryBusy } from "./errors.ts";

const mostTries = 20;

/**
 * Returns the functions that copy names out of and into a database. A change applies the rules of a storage root to a
 * copy of the registry in `root`, and writes the copy back with compare-and-set.
 */
export function movingNames(
  store: PostgresStore,
  root: () => Root,
): Pick<MovingHost, "workflow" | "takeWorkflow"> {
  /** Copies the registry to `root`. Returns the text and its version. */
  async function pull(): Promise<{ text: string; version: string }> {
    const state = await store.readRegistry();
    const path = registryPath(root());
    if (state.text === "") rmSync(path, { force: true });
    else writeFileSync(path, state.text, { mode: 0o600 });
    return state;
  }
  return {
    async workflow(name) {
      await pull();
      return await movingRoot(root(), "").workflow(name);
    },
    async takeWorkflow(...given) {
      for (let tries = 0; tries < mostTries; tries += 1) {
        const { text, version } = await pull();
        const taken = await movingRoot(root(), "").takeWorkflow(...given);
        const path = registryPath(root());
        const changed = existsSync(path) ? readFileSync(path, "utf8") : "";
        if (changed === text || (await store.replaceRegistry(changed, version))) return taken;
      }
      throw registryBusy();
    },
  };
}
