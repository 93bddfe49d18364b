import { copyFileSync, cpSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { pack, packStandalone } from "../scripts/pack.ts";
import type { Bench } from "./row.ts";

const top = fileURLToPath(new URL("..", import.meta.url));

/** Creates a bench in a folder of this repository, because the packed command searches its parent folders for Bun. */
export function benchIn(folder: string): Bench {
  const packed = once(async () => void (await pack()));
  return {
    folder,
    command: once(async () => {
      await packed();
      cpSync(join(top, ".pack/cli-workflow"), join(folder, "command"), { recursive: true });
      return join(folder, "command/bin/uncaged-workflow");
    }),
    binary: once(async () => {
      await packed();
      const path = join(folder, "uncaged-workflow");
      copyFileSync(await packStandalone(), path);
      return path;
    }),
  };
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | null = null;
  return () => (made ??= make());
}
